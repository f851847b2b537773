package template_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

func TestTemplates(t *testing.T) {
	values := map[string]string{"params.day": "2026-01-31", "item": `${params.day}`, "n-1": "1", "item.0.x": "deep"}
	for _, c := range []struct {
		text, want string
		names      []string
	}{
		{"", "", nil},
		{"plain $HOME and $$ 5", "plain $HOME and $$ 5", nil},
		{"${params.day}", "2026-01-31", []string{"params.day"}},
		{"a${n-1}b${n-1}", "a1b1", []string{"n-1", "n-1"}},
		{"$${params.day}", "${params.day}", nil},
		{"$$${n-1}", "$${n-1}", nil},
		{"$${${n-1}}", "${1}", []string{"n-1"}},
		{"what was put in is not looked at: ${item}", "what was put in is not looked at: ${params.day}", []string{"item"}},
		{"${item.0.x}", "deep", []string{"item.0.x"}},
		{"${none}", "${none}", []string{"none"}},
		{"${", "${", nil},
		{"${a b} ${} ${.a} ${a.} ${HOME:-x} ${n-1", "${a b} ${} ${.a} ${a.} ${HOME:-x} ${n-1", nil},
	} {
		tmpl := template.Parse(c.text)
		got, err := tmpl.Fill(100, func(name string) (string, bool, error) {
			text, known := values[name]
			return text, known, nil
		})
		if err != nil || got != c.want || !slices.Equal(tmpl.Names(), c.names) {
			t.Errorf("%q: got %q of %q, %v, want %q of %q", c.text, got, tmpl.Names(), err, c.want, c.names)
		}
		none := func(string) (string, bool, error) { return "", false, errors.New("there is a name in it") }
		if again, err := template.Parse(template.Escape(c.text)).Fill(1000, none); err != nil || again != c.text {
			t.Errorf("%q: got %q of the template of the text itself, %v", c.text, again, err)
		}
	}
	long := func(string) (string, bool, error) { return strings.Repeat("x", 60), true, nil }
	if _, err := template.Parse("${a}${a}").Fill(119, long); !errors.Is(err, domain.ErrLimit) {
		t.Errorf("too long: got %v", err)
	}
	if got, err := template.Parse("${a}${a}").Fill(120, long); err != nil || len(got) != 120 {
		t.Errorf("as long as may be: got %d bytes, %v", len(got), err)
	}
}

func TestFillVariables(t *testing.T) {
	got, err := template.FillVariables(map[string]string{
		"a": "${x}", "b": "${x}${y}-${z}$${x}", "c": "$x ${} ${ x } ${x", "${x}": "1", "d": "${nested}",
	}, map[string]string{"x": "X", "y": "", "nested": "${x}"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "X", "b": "X-${z}$X", "c": "$x ${} ${ x } ${x", "${x}": "1", "d": "${x}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFillVariablesIsBounded(t *testing.T) {
	// 4 bytes become 4 KiB each.
	params := map[string]string{"a": strings.Repeat("${x}", domain.MaxParamBytes/8)}
	_, err := template.FillVariables(params, map[string]string{"x": strings.Repeat("x", domain.MaxVariableBytes)})
	if !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v, want invalid", err)
	}
}
