package trial_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/blueprint/trial"
	"github.com/ramet-run/ramet/document/documenttest"
	"github.com/ramet-run/ramet/domain"
)

var update = flag.Bool("update", false, "write docs/blueprint-test.schema.json")

func TestTheSchemaInTheDocsIsCurrent(t *testing.T) {
	const path = "../../docs/blueprint-test.schema.json"
	if *update {
		if err := os.WriteFile(path, trial.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != string(trial.Schema()) {
		t.Errorf("%s is not current (%v): go test ./blueprint/trial -update", path, err)
	}
}

const plan = `
name: towns
steps:
  - {name: list, script: x, script_type: shell}
  - {name: measure, needs: list, each: params.towns, script: x, script_type: shell}
  - {name: look, kind: approval, needs: measure}
  - {name: tell, needs: look, when: needs.look.state == "succeeded", effect: {target: mail}}
`

// write writes files into a folder, and returns the path of the tests.
func write(t *testing.T, tests string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"towns.yaml": plan, "towns_test.yaml": tests} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "towns_test.yaml")
}

// fixed plays what somebody else has decided: a list, three measurements, of which ends are
// asked, and a call.
func fixed(_ context.Context, _ *domain.Blueprint, ask trial.Ask, end func(trial.Job) trial.End) (trial.Played, error) {
	p := trial.Played{End: "failed", Why: "step measure: closed", States: map[string]string{"list": "succeeded", "measure": "failed"},
		Texts: map[string]string{"measure": "closed"}, Order: []string{"list", "measure"}, Result: map[string]string{"n": "3"}, Whens: map[string]bool{"tell": true}}
	for i, item := range []string{`"Oslo"`, `{"name":"Rome","n":2}`, `7`} {
		j := trial.Job{Step: "measure", Index: int64(i), Item: []byte(item), Params: ask.Params, Payload: []byte(`{"a":[1,{"b":2}],"c":3}`)}
		j.End = end(j).End + end(j).Text
		p.Jobs = append(p.Jobs, j)
		p.Result["end"+string(rune('0'+i))] = j.End
	}
	p.Result["look"] = end(trial.Job{Step: "look", Approval: true}).End
	return p, nil
}

func TestWhatIsNotAsExpectedIsSaid(t *testing.T) {
	path := write(t, `
params: {day: monday, hour: 1}
cases:
  - name: as it is
    params: {hour: 2}
    given:
      - {step: measure, end: failed, error: all}
      - {step: measure, item: {n: 2, name: Rome}, end: errored, error: one}
      - {step: measure, index: 2}
    expect:
      end: failed
      error: closed
      states: {measure: failed}
      order: [list, measure]
      counts: {measure: 3, tell: 0}
      jobs:
        - {step: measure, item: Oslo, params: {day: monday, hour: 2}, payload: {a: [1, {b: 2}]}}
        - {step: measure, index: 1, item: {n: 2, name: Rome}}
      result: {n: 3, end0: failedall, end1: erroredone, end2: succeeded, look: waits}
  - name: as it is not
    given:
      - {step: look, end: approved}
      - {step: measure, item: {n: 2}}
      - {step: measure, index: 3}
      - {step: list, index: 3} # of a step without any jobs nothing is said: its state is
    expect:
      end: succeeded
      error: open
      states: {measure: succeeded, tell: skipped}
      order: [measure, list]
      counts: {measure: 2}
      jobs:
        - {step: measure, params: {day: friday, night: 1}, payload: {a: [1, {b: 3}], d: 4}}
        - {step: measure, index: 9}
        - {step: measure, range: 0-9}
        - {step: measure, item: Lima}
      result: {n: 4, m: 1, look: approved}
`)
	r, err := trial.Run(t.Context(), path, "", fixed)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cases[0].Lines) > 0 || r.Failed() != 1 {
		t.Errorf("the first case: %q", r.Cases[0].Lines)
	}
	const elements, indexes = `(there are those for "Oslo", {"name":"Rome","n":2}, 7)`, `(there are those for 0, 1, 2)`
	want := []string{
		`given[1]: got no such job ` + elements + `, want one of step measure for {"n":2}`,
		`given[2]: got no such job ` + indexes + `, want one of step measure with the index 3`,
		`end: got "failed" (step measure: closed), want "succeeded"`,
		`error: got "step measure: closed", want one with "open"`,
		`states.measure: got "failed" (closed), want "succeeded"`,
		`states.tell: got "", want "skipped"`,
		`order: got list, measure, want measure, list`,
		`counts.measure: got 3, want 2`,
		`jobs[0].params.day: got "monday", want "friday"`,
		`jobs[0].params.night: got nothing, want "1"`,
		`jobs[0].payload.a[1].b: got 2, want 3`,
		`jobs[0].payload.d: got nothing, want 4`,
		`jobs[1]: got no such job ` + indexes + `, want one of step measure with the index 9`,
		`jobs[2]: got no such job ` + elements + `, want one of step measure for the range 0-9`,
		`jobs[3]: got no such job ` + elements + `, want one of step measure for "Lima"`,
		`result.m: got nothing, want "1"`,
		`result.n: got "3", want "4"`,
	}
	if got := strings.Join(r.Cases[1].Lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if got := strings.Join(r.Coverage, "; "); got != "step look is begun in no case; step tell is begun in no case" {
		t.Errorf("not shown: %s", got)
	}
	var text strings.Builder
	if err := r.Text(&text, true, true); err != nil || !strings.Contains(text.String(), "FAIL  as it is not\n") || strings.Contains(text.String(), "ok    ") {
		t.Errorf("got %v\n%s", err, &text)
	}
	if r, err := trial.Run(t.Context(), path, "is not", fixed); err != nil || len(r.Cases) != 1 {
		t.Errorf("one case: %+v, %v", r, err)
	}
	if _, err := trial.Run(t.Context(), path, "nothing", fixed); err == nil {
		t.Error("no case is taken for all that are right")
	}
}

func TestTheHookIsCompared(t *testing.T) {
	path := write(t, `
cases:
  - {name: it is called, expect: {hook: {on: failed, params: {day: monday}, payload: {rows: 7}}}}
  - {name: another is meant, expect: {hook: {on: none, params: {day: friday}, payload: {rows: 8}}}}
`)
	fault := ""
	play := func(context.Context, *domain.Blueprint, trial.Ask, func(trial.Job) trial.End) (trial.Played, error) {
		h := &trial.Hook{On: "failed", Params: map[string]string{"day": "monday"}, Payload: []byte(`{"rows":7}`), Fault: fault}
		return trial.Played{End: "failed", Hook: h}, nil
	}
	r, err := trial.Run(t.Context(), path, "", play)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`hook.on: got "failed", want "none"`, `hook.params.day: got "monday", want "friday"`, `hook.payload.rows: got 7, want 8`}
	if len(r.Cases[0].Lines) > 0 || strings.Join(r.Cases[1].Lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %+v", r.Cases)
	}
	fault = "there is no rows"
	if r, err = trial.Run(t.Context(), path, "it is", play); err != nil || len(r.Cases[0].Lines) != 1 {
		t.Errorf("of a hook that fails: %v, %v", r.Cases, err)
	}
}

func TestWhatIsNoTest(t *testing.T) {
	for text, want := range map[string]string{
		"cases: []":             "want at least one",
		"cases: [{expect: {}}]": "name",
		"cases: [{name: a, expect: {stats: {}}}]":                              "did you mean",
		"cases: [{name: a, given: [{step: lists}], expect: {}}]":               `did you mean "list"`,
		"cases: [{name: a, expect: {states: {lst: x}}}]":                       `cases[0].expect.states`,
		"cases: [{name: a, given: [{step: list, end: approved}], expect: {}}]": "want succeeded, failed or errored",
		"cases: [{name: a, given: [{step: look, end: failed}], expect: {}}]":   "want approved, rejected or waits",
		"cases: [{name: a, given: [{step: list, item: 1}], expect: {}}]":       "which has no elements",
		"blueprint: ../x.yaml\ncases: [{name: a, expect: {}}]":                 "within the folder",
		"blueprint: y.yaml\ncases: [{name: a, expect: {}}]":                    "y.yaml",
		"x": "want fields such as",
	} {
		if _, err := trial.Run(t.Context(), write(t, text), "", fixed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want one with %q", text, err, want)
		}
	}
}

// What the parser takes, the schema takes.
func FuzzTests(f *testing.F) {
	f.Add("cases:\n- {name: a, given: [{step: s, item: {a: 1}, result: {x: 1}}], expect: {end: succeeded, jobs: [{step: s, payload: null}]}}\n")
	f.Add("blueprint: a.yaml\nparams: {a: true}\ncases: [{name: 7, skip: x, expect: {order: s, counts: {s: 1}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		if !trial.Parses([]byte(text)) {
			return
		}
		if err := documenttest.Validate(t, trial.Schema(), text); err != nil {
			t.Errorf("%q: it is read, and its schema says %v", text, err)
		}
	})
}
