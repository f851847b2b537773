package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/migrate"
)

func dagu(t *testing.T, text string) *migrate.Imported {
	t.Helper()
	in, err := migrate.Import("dagu", "f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func noted(in *migrate.Imported, line int, want string) bool {
	return slices.ContainsFunc(in.Notes, func(n migrate.Note) bool { return n.Line == line && strings.Contains(n.Text, want) })
}

// TestBranchesOfDaguGoOn: what does not need the step that failed is done there.
func TestBranchesOfDaguGoOn(t *testing.T) {
	in := dagu(t, "type: graph\ntimeout_sec: 2\nsteps:\n- {name: bad, command: 'false'}\n- {name: other, command: 'true'}\nhandlerOn: {exit: {command: 'true'}}\n")
	b := in.Blueprints[0]
	if b.OnError != domain.OnErrorContinue {
		t.Errorf("on_error is %q", b.OnError)
	}
	if b.Steps[0].Timeout != 2 || b.On.Failed.Timeout == 2 || !noted(in, 2, "no time limit as a whole") {
		t.Errorf("the time limit became %d, of the handler %d: %v", b.Steps[0].Timeout, b.On.Failed.Timeout, in.Notes)
	}
}

// TestHandlersOfDagu: that of success looks whether the preconditions were met, the code of that of
// failure is not lost to that of exit, and all find how it ended.
func TestHandlersOfDagu(t *testing.T) {
	b := dagu(t, `
params: {DAY: monday}
preconditions: [test -f /x, {condition: $DAY, expected: monday}]
steps: [{name: a, command: 'true'}]
handlerOn:
  success: {command: exit 7}
  failure: {command: exit 9}
  exit: {command: test "$DAG_RUN_STATUS" = "$WANT"}
`).Blueprints[0]
	for _, tc := range []struct {
		hook               *domain.Hook
		on, want, day, met string
		code               int
	}{
		{b.On.Succeeded, "succeeded", "succeeded", "monday", "yes", 7},
		{b.On.Succeeded, "succeeded", "succeeded", "monday", "", 0},
		{b.On.Succeeded, "succeeded", "succeeded", "sunday", "yes", 0},
		{b.On.Failed, "failed", "failed", "monday", "", 9},
		{b.On.Cancelled, "cancelled", "aborted", "monday", "", 0},
		{b.On.Cancelled, "cancelled", "failed", "monday", "", 1},
	} {
		t.Setenv("RAMET_HOOK", tc.on)
		t.Setenv("WANT", tc.want)
		t.Setenv("DAY", tc.day)
		t.Setenv("RAMET_PARAM_PRECONDITIONS_MET", tc.met)
		if _, code := play(t, domain.Step{Script: tc.hook.Script}); code != tc.code {
			t.Errorf("%+v ends with %d\n%s", tc, code, tc.hook.Script)
		}
	}
	if guard := b.Steps[0]; !strings.Contains(guard.Script, "params.preconditions_met=yes") {
		t.Errorf("nobody tells the handler:\n%s", guard.Script)
	}
}

// TestParamsOfDagu are read with their quotes and types, and everything that is run finds them.
func TestParamsOfDagu(t *testing.T) {
	for _, tc := range []struct{ params, want, env string }{
		{`A=1 B="two words" C='x y'`, `map[A:1 B:two words C:x y] []`, "[A B C]"},
		{`["A=a \"b", 'B="c d"']`, "", ""},
		{`[{A: 1}, 'B="c d" C=e\f']`, `map[A:1 B:c d C:e\f] []`, "[A B C]"},
		{`[{name: LEVEL, default: low, enum: [low, high]}, {name: N, type: integer, default: 2, minimum: 1}, X: y]`,
			`map[] [X text "y" [] false LEVEL text "low" [low high] false N integer "2" [] false]`, "[LEVEL N X]"},
		{`[{name: N, type: number, required: true}, {name: OFF, type: boolean}]`, `map[] [N number none [] true OFF flag none [] false]`, "[N]"},
		{`[{name: bob}]`, `map[name:bob] []`, "[name]"},
		{`A="open`, "", ""},
	} {
		in, err := migrate.Import("dagu", "f.yaml", []byte("params: "+tc.params+"\nsteps: [{name: a, command: run}]\n"))
		if tc.want == "" {
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "line 1: params: the quote") {
				t.Errorf("%s: got %v, want that a quote has no end", tc.params, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.params, err)
			continue
		}
		b := in.Blueprints[0]
		var inputs, env []string
		for _, f := range b.Inputs {
			def := "none"
			if f.Default != nil {
				def = fmt.Sprintf("%q", *f.Default)
			}
			inputs = append(inputs, fmt.Sprint(f.Name, " ", f.TypeOr(), " ", def, " ", f.Enum, " ", f.Required))
		}
		for name, value := range b.Env {
			if value == "${params."+name+"}" {
				env = append(env, name)
			}
		}
		slices.Sort(env)
		if got := fmt.Sprint(b.Params, " ", inputs); got != tc.want || fmt.Sprint(env) != tc.env {
			t.Errorf("%s: got %s, in the environment %v; want %s, %s", tc.params, got, env, tc.want, tc.env)
		}
	}
}

// TestWhatScriptsOfDaguDoNotFindHere is said by line, and the step that names it fails.
func TestWhatScriptsOfDaguDoNotFindHere(t *testing.T) {
	for script, want := range map[string]string{
		`echo $1`:                               "$1, a param by its place",
		`sh -c 'echo $1' x`:                     "",
		`f() { echo $1; }; f a`:                 "",
		`echo "${2}"`:                           "$2, a param by its place",
		`echo ${q.exit_code}`:                   "${q.exit_code}",
		`echo $DAG_RUN_STATUS`:                  "$DAG_RUN_STATUS",
		`cat $DAG_RUN_LOG_FILE`:                 "$DAG_RUN_LOG_FILE",
		`echo $DAG_RUN_ID $DAG_NAME $A`:         "",
		`echo "${CHILD}"`:                       "$CHILD, which no step leaves",
		"import os\nprint('${A}')":              "${A} in Python",
		"import os\nprint(os.environ['A'])":     "",
		"import os\nprint(os.environ['CHILD'])": "$CHILD, which no step leaves",
	} {
		by := ""
		if strings.HasPrefix(script, "import") {
			by = "\n  command: python3"
		}
		in := dagu(t, "params: A=1\nsteps:\n- {name: call, call: child, output: CHILD}\n- name: s"+by+"\n  script: |\n    "+
			strings.ReplaceAll(script, "\n", "\n    ")+"\n")
		s := in.Blueprints[0].Steps[1]
		stops := strings.Contains(s.Script, "put here what")
		if stops != (want != "") || stops && !noted(in, 4, want) {
			t.Errorf("%s: got %v, want %q\n%s", script, in.Notes, want, s.Script)
		}
	}
}

// TestDAGsOfOneFile become blueprints each, and their lines are those of the file.
func TestDAGsOfOneFile(t *testing.T) {
	in := dagu(t, "---\nname: parent\nsteps: [{name: a, call: child}]\n--- # its own\nname: child\nsteps:\n- {name: b, command: x, odd: 1}\n")
	if len(in.Blueprints) != 2 || in.Blueprints[1].Name != "child" || in.Blueprints[0].Steps[0].Flow.Blueprint != "child" {
		t.Errorf("got %+v", in.Blueprints)
	}
	if !noted(in, 7, "odd") || len(in.Notes) != 1 {
		t.Errorf("got %v", in.Notes)
	}
	for text, want := range map[string]string{
		"name: a\nsteps: [x]\n---\nsteps: [x]\n":          "line 4: a DAG beside another has no name",
		"name: a\nsteps: [x]\n---\nname: a\nsteps: [x]\n": "line 4: two DAGs have the name a",
	} {
		if _, err := migrate.Import("dagu", "f.yaml", []byte(text)); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
