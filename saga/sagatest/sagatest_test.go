package sagatest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/document/documenttest"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/sagatest"
)

func TestTheExamplesPass(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*-test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		report, err := sagatest.RunFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if report.Failed() > 0 || len(report.Warnings) > 0 {
			var out bytes.Buffer
			report.Text(&out, true)
			t.Errorf("%s fails:\n%s", file, out.String())
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := documenttest.Validate(t, sagatest.Schema(), string(text)); err != nil {
			t.Errorf("%s: the schema says %v", file, err)
		}
	}
}

const saga = `
name: small
triggers:
  - {of: Order, types: [Go, Later, Stop]}
  - {of: "*", types: [Any]}
  - {source: workflow_event, of: stock, types: [Low]}
  - {source: workflow, types: [Poke]}
initial: one
data: {n: 0}
effects: [pay]
timers: [Tick]
compensation: {steps: [pay], effects: [refund], done: undone, failed: undone}
states:
  one:
    on: {Later: defer, Stop: fail, "*": handle}
    timeout: {after: 1m, event: TooLate}
  two: {on: {"*": handle, Lost: ignore}}
  undone: {on: {"*": ignore}}
  end: {final: true}
script: |
  fn on_event(state, event) {
    state.n += 1;
    state.last = event.type;
    state.at = event.time_ms;
    let out = event.payload ?? #{};
    if "boom" in out { throw out.boom; }
    if event.result != () { return #{state: state}; }
    out.state = state;
    out
  }
  fn compensate(state, work) { #{effect: "refund", payload: work.result} }
commands: [tell]
`

// run runs cases, and gives the report as text.
func run(t *testing.T, cases string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"s.yaml": saga, "t.yaml": "saga: s.yaml\ncases:\n" + cases} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := sagatest.RunFile(filepath.Join(folder, "t.yaml"))
	if err != nil {
		return strings.ReplaceAll(err.Error(), folder+"/", "")
	}
	var out bytes.Buffer
	if err := report.Text(&out, true); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), folder+"/", "")
}

const (
	passed  = "s.yaml:17:33: states.two.on.Lost: no trigger, effect or timer brings \"Lost\" (warning)\nok    t.yaml: 1 case of saga small\n"
	warning = "s.yaml:17:33: states.two.on.Lost: no trigger, effect or timer brings \"Lost\" (warning)\n"
)

func TestWhatIsAsExpected(t *testing.T) {
	for name, moves := range map[string]string{
		"events of all triggers": `[{event: {type: Go}}, {event: {type: Any, of: Box, aggregate_id: 5, metadata: {correlation_id: "1"}}}, {event: ` +
			`{type: Low}}, {event: {type: Poke}, expect: {data: {n: 4}}}]`,
		"data, all of it": `[{event: {type: Go}, expect: {data_is: {n: 1, last: Go, at: 1767225600000}}}]`,
		"time passes, then an event comes": `[{event: {type: Go}}, {after: 10s, event: {type: Go}, expect: {data: {at: 1767225610000}}},
        {at: "2026-01-01T00:00:20Z", event: {type: Go}, expect: {data: {at: 1767225620000}, timers: {TooLate: 40s}}}]`,
		"a timer that sets itself again": `[{event: {type: Go, payload: {timers: [{event: Tick, after: 10, payload: {timers: [{event: Tick, after: 10}]}}]}}},
        {after: 20s, expect: {data: {n: 3, at: 1767225620000}, timers: {TooLate: 40s}}}]`,
		"timers come in their order": `[{event: {type: Go, payload: {timers: [{event: Tick, after: 10}]}}}, {after: 2m, expect: {data: {n: 3, last: ` +
			`TooLate}, timers: {}}}]`,
		"what is deferred": `[{event: {type: Later}, expect: {deferred: [Later], work: []}}, {event: {type: Go, payload: {next: two}}, expect: ` +
			`{deferred: [], data: {n: 2, last: Later}}}]`,
		"what is ignored": `[{event: {type: Go, payload: {compensate: true}}, expect: {state: undone, ignored: false}}, {event: {type: Go}, expect: ` +
			`{ignored: true}}]`,
		"an error": `[{event: {type: Go}}, {event: {type: Go, payload: {boom: no luck}}, expect: {error: no luck, held: true, state: one}},
        {event: {type: Go}, expect: {deferred: [Go]}}]`,
		"an error of a state": `[{event: {type: Stop}, expect: {error: fails on}}]`,
		"an error of what was deferred": `[{event: {type: Later, payload: {boom: later}}}, {event: {type: Go, payload: {next: two}}, expect: {error: ` +
			`"deferred event Later", held: true}}]`,
		"results": `[{event: {type: Go, payload: {work: [{effect: pay, step: pay}, {effect: pay}]}}}, {result: {effect: pay, ` +
			`type: TimedOut}, expect: {data: {last: pay.TimedOut}, steps: {pay: asked}}}, {result: {step: pay, payload: {ref: 1}}, expect: {steps: {pay: ` +
			`completed}}}, {event: {type: Go, payload: {compensate: true}}, expect: {work: [{effect: refund, compensates: pay, payload: {ref: 1}}]}}, ` +
			`{result: {undo: pay}, expect: {steps: {pay: compensated}, state: undone}}]`,
		"a command that is refused": `[{event: {type: Go, payload: {work: [{command: {aggregate_type: Box, aggregate_id: 7}, step: tell}]}}}, {event: ` +
			`{type: tell.Refused}, expect: {data: {n: 2, last: tell.Refused}}}]`,
		"work of all kinds": `[{event: {type: Go, payload: {work: [{command: {aggregate_type: Box, aggregate_id: 7}}, {saga: other, ` +
			`correlation: 8, event: E, payload: [1.0]}, {fact: F, metadata: {a: b}}]}}, expect: {work: [{command: {aggregate_type: Box, aggregate_id: ` +
			`"7"}}, {saga: other, correlation: "8", event: E, payload: [1]}, {fact: F, metadata: {a: b, causation_id: e1}}]}}]`,
		"timers that the instance holds": `[{event: {type: Go, payload: {boom: x}}, expect: {error: x}}, {event: {type: Go}}, {after: 5m, expect: ` +
			`{deferred: [Go, TooLate], data: {n: 0}}}]`,
	} {
		got := run(t, "  - name: x\n    then: "+moves+"\n")
		if got != passed {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

func TestWhatIsNotAsExpected(t *testing.T) {
	for _, tc := range []struct{ moves, want string }{
		{`[{event: {type: Go}, expect: {state: two, status: ended, outcome: failed, data: {n: 2, x: [1]}, ignored: true, held: true, error: x}}]`,
			"FAIL  x\n      t.yaml:4: then[0], event Go\n" +
				"        error: got none, want \"x\"\n        state: got \"one\", want \"two\"\n        status: got \"running\", want \"ended\"\n        " +
				"outcome: got \"\", want \"failed\"\n" +
				"        data.n: got 1, want 2\n        data.x: got nothing, want [1]\n        ignored: got false, want true\n        held: got false, want true\n"},
		{`[{event: {type: Go}, expect: {data_is: {n: 1, last: [Go]}}}]`,
			"FAIL  x\n      t.yaml:4: then[0], event Go\n        data.last: got \"Go\", want [\"Go\"]\n        data.at: got 1767225600000, want nothing\n"},
		{`[{event: {type: Go, payload: {work: [{effect: pay, payload: {a: 1}}]}}, expect: {work: [{effect: refund, step: pay, payload: {a: 2, b: 3}}]}}]`,
			"FAIL  x\n      t.yaml:4: then[0], event Go\n        work[0].effect: got \"pay\", want \"refund\"\n        work[0].payload.a: got 1, want 2\n  " +
				"      work[0].payload.b: got nothing, want 3\n        work[0].step: got nothing, want \"pay\"\n"},
		{`[{event: {type: Go, payload: {work: [{fact: F}]}}, expect: {work: []}}]`,
			"FAIL  x\n      t.yaml:4: then[0], event Go\n        work: got 1 items: " +
				"{\"fact\":\"F\",\"metadata\":{\"causation_id\":\"e1\",\"correlation_id\":\"1\",\"saga\":\"small\"}}, want 0 items\n"},
		{`[{event: {type: Go}, expect: {timers: {Tick: 5s, Other: soon}, steps: {pay: asked}, deferred: [A]}}]`,
			"FAIL  x\n      t.yaml:4: then[0], event Go\n        timers.Other: got \"soon\", want a span of time, as 30m\n        timers.Tick: got none, " +
				"want 5s\n        timers.TooLate: got 1m0s, want none\n" +
				"        steps.pay: got none, want \"asked\"\n        deferred: got [], want [A]\n"},
		{`[{event: {type: Go}}, {event: {type: Go, payload: {boom: no luck}}}]`,
			"FAIL  x\n      t.yaml:4: then[1], event Go\n        error: got \"script: line 6, column 22: Runtime error: no luck\", want none\n"},
		{`[{event: {type: Go, payload: {boom: x}}, expect: {error: y}}]`,
			"FAIL  x\n      t.yaml:4: then[0], event Go\n        error: got \"script: line 6, column 22: Runtime error: x\", want one with \"y\"\n"},
		{`[{event: {type: Gone}}]`, "FAIL  x\n      t.yaml:4: then[0], event Gone\n        no trigger takes event \"Gone\"\n"},
		{`[{event: {type: Go, metadata: {correlation_id: "2"}}}]`,
			"FAIL  x\n      t.yaml:4: then[0], event Go\n        the event is for instance \"2\", and this case is about \"1\"\n"},
		{`[{result: {step: pay}}]`, "FAIL  x\n      t.yaml:4: then[0], result of step pay: Succeeded\n        no such effect was asked for; there were null\n"},
		{`[{event: {type: Go}}, {event: {type: tell.Refused}}]`, "FAIL  x\n      t.yaml:4: then[1], event tell.Refused\n        " +
			"no command was sent under step \"tell\"\n"},
		{`[{at: "2020-01-01T00:00:00Z"}]`, "FAIL  x\n      t.yaml:4: then[0], time passes\n        at: the instant is in the past\n"},
	} {
		got := run(t, "  - name: x\n    then: "+tc.moves+"\n")
		if diff := cmp.Diff(warning+tc.want+"FAIL  t.yaml: 1 of 1 case of saga small\n", got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tc.moves, diff)
		}
	}
}

func TestAReportOfSomeCases(t *testing.T) {
	got := run(t, "  - name: one\n    given: [{event: {type: Go}}]\n    then:\n      - event: {type: Go}\n        expect: {data: {n: 2}}\n"+
		"  - name: two\n    correlation: o-2\n    given:\n      - event: {type: Nope}\n  - {name: three, then: [{event: {type: Go}, expect: {state: one}}]}\n")
	want := warning + "FAIL  two\n      t.yaml:11: given[0], event Nope\n        no trigger takes event \"Nope\"\nFAIL  t.yaml: 1 of 3 cases of saga small\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	for cases, want := range map[string]string{
		"  - then: []\n":                         "t.yaml:3:5: cases[0]: it has no name",
		"  - name: x\n    then: [{}]\n":          "t.yaml:4:12: cases[0].then[0]: nothing happens; want event, result, after or at",
		"  - name: x\n    then: [{evnt: 1}]\n":   `t.yaml:4:13: cases[0].then[0].evnt: unknown field "evnt"; did you mean "event"?`,
		"  - name: x\n    then: [{event: {}}]\n": "t.yaml:4:12: cases[0].then[0]: the event has no type",
		"  - name: x\n    then: [{result: {}}]\n": "t.yaml:4:12: cases[0].then[0]: of what is it the result? want one of step, " +
			"undo and effect",
		"  - name: x\n    given: [{after: 1, at: 5}]":                    "t.yaml:4:13: cases[0].given[0]: after and at are both given; want one of them",
		"  - name: x\n    then: [{event: {type: a}, result: {step: a}}]": "t.yaml:4:12: cases[0].then[0]: event and result are both given; want one of them",
		"  - {name: x, correlation: ' '}": `t.yaml:3:5: cases[0]: correlation id " ": want 1 to 100 bytes of text, ` +
			`without spaces around it`,
		"": "t.yaml:2:7: cases: there are none: want at least one",
	} {
		if got := run(t, cases); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", cases, got, want)
		}
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "t.yaml")
	for text, want := range map[string]string{
		"cases: [{name: x}]\n":                  "saga: it is missing; want the file of the saga",
		"saga: ../s.yaml\ncases: [{name: x}]\n": "saga: want a path within the folder of this file",
		"saga: none.yaml\ncases: [{name: x}]\n": "no such file",
		"saga: t.yaml\ncases: [{name: x}]\n":    `unknown field "saga"`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sagatest.RunFile(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := sagatest.RunFile(filepath.Join(folder, "none.yaml")); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(file, []byte("saga: t.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong *document.Error
	if _, err := sagatest.RunFile(file); !errors.As(err, &wrong) || wrong.File != file {
		t.Errorf("%v", err)
	}
}

// TestTheDocsAreRight: the file of docs/sagas.md passes with the example.
func TestTheDocsAreRight(t *testing.T) {
	docs, err := os.ReadFile("../../docs/sagas.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(docs), "```yaml\nsaga: order.yaml\n")
	if !found {
		t.Fatal("docs/sagas.md has no file of tests")
	}
	block, _, _ = strings.Cut(block, "```")
	example, err := os.ReadFile("../../examples/order-saga/order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"order.yaml": string(example), "t.yaml": "saga: order.yaml\n" + block} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := sagatest.RunFile(filepath.Join(folder, "t.yaml"))
	if err != nil || report.Failed() > 0 || len(report.Cases) != 2 {
		var out bytes.Buffer
		report.Text(&out, true)
		t.Errorf("%v\n%s", err, out.String())
	}
}
