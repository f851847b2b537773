package condition_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

func TestConditions(t *testing.T) {
	job := domain.Job{ID: 7, ScriptType: "python", Status: domain.JobError, Error: "no luck", Timeout: 90}
	for _, tc := range []struct {
		name, text string
		want       bool
		bad        string // part of the error
	}{
		{name: "a field", text: `job.status == "error"`, want: true},
		{name: "a number", text: `job.timeout > 60 && job.id < 8`, want: true},
		{name: "a text", text: `job.error.contains("luck")`, want: true},
		{name: "a field that is left out is nothing", text: `job.reason == ()`, want: true},
		{name: "no", text: `job.script_type == "shell"`},
		{name: "no yes or no", text: `job.id + 1`, bad: "want true or false"},
		{name: "a name that there is not", text: `flow.id == 1`, bad: "flow"},
		{name: "a statement", text: `let x = 1; true`, bad: ""},
		{name: "not finished", text: `job.id ==`, bad: ""},
		{name: "too long", text: strings.Repeat(" ", condition.MaxBytes) + "true", bad: "limit"},
		{name: "work without end", text: `(0..100000000).reduce(|a, b| 0) == 1`, bad: ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := condition.Compile(tc.text, "job")
			got := false
			if err == nil {
				v, verr := condition.Of(job)
				if verr != nil {
					t.Fatal(verr)
				}
				got, err = c.Holds(t.Context(), v)
			}
			wantErr := tc.bad != "" || strings.Contains(tc.name, "statement") || strings.Contains(tc.name, "not finished") || strings.Contains(tc.name, "without end")
			if wantErr != (err != nil) || got != tc.want {
				t.Fatalf("got %v, %v, want %v, error %v", got, err, tc.want, wantErr)
			}
			if err != nil && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.bad)) {
				t.Errorf("got %v, want one with %q", err, tc.bad)
			}
		})
	}
}

func TestExpressionsThatGiveData(t *testing.T) {
	for text, want := range map[string]string{
		`#{id: params.id, n: parse_int(params.n) + 1, list: [1, 2.5, true, ()]}`: `{"id":"a\"b","list":[1,2.5,true,null],"n":8}`,
		`params`:      `{"id":"a\"b","n":"7"}`,
		`params.none`: `null`,
	} {
		c, err := condition.Compile(text, "params")
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Value(t.Context(), condition.Texts(map[string]string{"id": `a"b`, "n": "7"}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := value.AppendJSON(nil, v); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	c, err := condition.Compile(`parse_int(params.id)`, "params")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Value(t.Context(), condition.Texts(map[string]string{"id": "x"})); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsStoredIsReadWhateverItsJSONHas(t *testing.T) {
	c, err := condition.Compile(`thing.of == "Order"`, "thing")
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{`1e400`, `-1e400`, `"\ud800"`, `"\udc00 and \ud800\u0041"`, `{"\ud800": [1e999]}`, `"\ud83d\ude00"`} {
		v, err := condition.Of(map[string]any{"of": "Order", "payload": json.RawMessage(payload)})
		if err != nil {
			t.Errorf("%s: %v", payload, err)
			continue
		}
		if holds, err := c.Holds(t.Context(), v); !holds || err != nil {
			t.Errorf("%s: got %v, %v", payload, holds, err)
		}
	}
}
