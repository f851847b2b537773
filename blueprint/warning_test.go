package blueprint_test

import (
	"testing"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestAScriptThatIsNoTemplateIsWarnedOf(t *testing.T) {
	for script, want := range map[string]string{
		`{"to": "${params.to}"}`:           "steps[0].script: ${params.to} is not replaced in a script",
		`{"n": ${needs.count.rows}}`:       "steps[0].script: ${needs.count.rows} is not replaced in a script",
		`{"to": "ada", "how": "${other}"}`: "",
		`{"to": "$${params.to}"}`:          "",
		"let a = `${params.to}`;":          "",
	} {
		for _, typ := range []domain.ScriptType{"mail", domain.ScriptShell} {
			b := &domain.Blueprint{Name: "b", Steps: []domain.Step{{Name: "a", Script: script, ScriptType: typ}}}
			got := blueprint.Warnings(b)
			want := want
			if typ == domain.ScriptShell && script[0] == 'l' {
				want = "steps[0].script: ${params.to} is not replaced in a script"
			}
			if (want == "") != (len(got) == 0) || len(got) > 1 {
				t.Errorf("%s %s: got %v, want %q", typ, script, got, want)
			} else if want != "" && got[0].String()[:len(want)] != want {
				t.Errorf("%s %s: got %q, want %q", typ, script, got[0], want)
			}
		}
	}
}
