package blueprint_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestValuesOfInputs(t *testing.T) {
	for _, c := range []struct {
		input domain.TypedField
		right string // separated by |
		wrong string
		text  string // of the error
	}{
		{domain.TypedField{}, "|any text|1", "", ""},
		{domain.TypedField{Pattern: "[a-z]+", Min: "2", Max: "4"}, "ab|abcd", "a|abcde|AB|ab1|xab\n", "want a text, 2 to 4 characters, that fits [a-z]+"},
		{domain.TypedField{Enum: []string{"eu", "us"}}, "eu|us", "|EU|asia", "want one of eu, us"},
		{domain.TypedField{Type: "number", Min: "-0.5"}, "-0.5|1e3|7", "-0.6|x||NaN|Inf", "want a number, at least -0.5"},
		{domain.TypedField{Type: "integer", Max: "10"}, "-3|10", "11|1.0|ten|0x1|", "want a whole number, at most 10"},
		{domain.TypedField{Type: "flag"}, "true|false|yes|Off|1", "ja|2|", "want true or false"},
		{domain.TypedField{Type: "list", Min: "1", Max: "2"}, `["a"]|[1, {"b":2}]|a|a, b`, `[]|[1,2,3]|a,b,c||[1`, "want a list, 1 to 2 elements"},
		{domain.TypedField{Type: "instant"}, "2026-01-31T02:00:00Z|1769824800000", "tomorrow|", "want an instant"},
		{domain.TypedField{Type: "span"}, "90|1h30m", "an hour|", "want a span"},
		{domain.TypedField{Type: "span", Min: "1h", Max: "1d"}, "3600|1d| 2h ", "59m|25h", "want a span, as 1h30m, 1h to 1d"},
		{domain.TypedField{Type: "instant", Min: "2026-01-31T02:00:00Z"}, "1769824800000", "2026-01-31T01:59:59Z", "at least 2026-01-31T02:00:00Z"},
	} {
		c.input.Name = "it"
		for value := range strings.SplitSeq(c.right, "|") {
			if _, err := blueprint.FieldValue(&c.input, value); err != nil {
				t.Errorf("%s: %q: got %v", blueprint.FieldWants(&c.input), value, err)
			}
		}
		if c.text == "" {
			continue
		}
		for value := range strings.SplitSeq(c.wrong, "|") {
			if _, err := blueprint.FieldValue(&c.input, value); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %q: got %v", blueprint.FieldWants(&c.input), value, err)
			}
		}
	}
	list := domain.TypedField{Name: "it", Type: domain.TypeList}
	for text, want := range map[string]string{" a , b\"": `["a","b\""]`, "": "[]", `[1, 2]`: `[1, 2]`} {
		if got, err := blueprint.FieldValue(&list, text); err != nil || got != want {
			t.Errorf("the list %q: got %q, %v", text, got, err)
		}
	}
}

func TestWhatABlueprintTakes(t *testing.T) {
	two := "2"
	b := domain.Blueprint{Name: "b", Params: map[string]string{"fixed": "x", "size": "7"}, Inputs: []domain.TypedField{
		{Name: "day", Type: domain.TypeInstant, Required: true, Description: "Whose rows"}, {Name: "rows", Type: domain.TypeInteger, Default: &two},
		{Name: "size", Type: domain.TypeInteger}, {Name: "note"}}, Steps: []domain.Step{{Name: "a", Params: map[string]string{"own": "y"}}}}
	day := map[string]string{"day": "2026-01-31T02:00:00Z"}
	with := func(name, value string) map[string]string {
		m := maps.Clone(day)
		m[name] = value
		return m
	}
	for _, c := range []struct {
		params map[string]string
		text   string
	}{
		{day, ""}, {with("rows", "3"), ""}, {with("rows", "${n}"), ""},
		{nil, `needs day, an instant, as 2026-01-31T02:00:00Z: Whose rows`},
		{with("rows", "many"), `rows is "many", want a whole number`},
		{with("row", "3"), `no input "row"; did you mean "rows"?`},
		{with("fixed", "3"), `no input "fixed"; its inputs are day, rows, size, note`},
		{with("own", "3"), `no input "own"`},
	} {
		err := blueprint.TakesParams(&b, c.params)
		if c.text == "" && err != nil || c.text != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%v: got %v", c.params, err)
		}
	}
	if err := blueprint.FillInputs(&b); err == nil || !strings.Contains(err.Error(), "needs day") {
		t.Errorf("got %v", err)
	}
	b.Params["day"] = day["day"]
	if err := blueprint.FillInputs(&b); err != nil || !maps.Equal(b.Params, map[string]string{"fixed": "x", "size": "7", "day": day["day"], "rows": "2"}) {
		t.Errorf("got %v, %v", b.Params, err)
	}
	b.Params["rows"] = "${n}"
	if err := blueprint.FillInputs(&b); err == nil {
		t.Error("what no schedule has filled in was taken")
	}
}
