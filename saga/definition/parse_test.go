package definition_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
)

// whole has every field that there is.
const whole = `
name: order
version: 4
summary: all fields
triggers:
  - {of: Order, types: [Placed, "a.b"]}
  - {source: workflow_event, of: stock, types: Low}
  - {source: effect_result, of: ship}
  - {source: workflow, types: [Poke]}
correlation: event.payload.id
partitions: 8
initial: new
data: {n: 1, f: 2.0, big: 9007199254740993, text: "5", list: [1, {a: null}], no: false}
states:
  new:
    on: {Placed: handle, "*": defer}
  paying:
    on: {a.b: ignore, TooLate: fail, "*": handle}
    timeout: {after: 1h30m, event: TooLate}
  done: {final: true}
  broken: {final: true, outcome: failed}
  stuck:
    on: {"*": ignore}
effects: [pay, ship]
timers: Tick
gateway: {attempts: 9, max_backoff: 1m, give_up: 2h}
events:
  Placed: {versions: 1..3, upcast: {1: payload, 2: '#{x: payload}'}}
  Low: {versions: 2}
  a.b: {versions: 2..}
  Poke: {versions: ..7}
  Tick: {}
script: |
  fn on_event(state, event) { () }
  fn compensate(state, work) { () }
compensation:
  steps: [pay]
  effects: refund
  attempts: 5
  done: done
  failed: broken
on_poison: skip
on_version: compensate
retention: 90
dedupe: 48h
`

func wholeWant() *domain.SagaDefinition {
	return &domain.SagaDefinition{
		Name: "order", Version: 4, Summary: "all fields",
		Triggers: []domain.SagaTrigger{{Of: "Order", Types: []string{"Placed", "a.b"}}, {Source: domain.SourceFact, Of: "stock", Types: []string{"Low"}},
			{Source: domain.SourceResult, Of: "ship"}, {Source: domain.SourceWorkflow, Types: []string{"Poke"}}},
		Correlation: "event.payload.id", Partitions: 8, Initial: "new",
		Data: json.RawMessage(`{"big":9007199254740993,"f":2.0,"list":[1,{"a":null}],"n":1,"no":false,"text":"5"}`),
		States: []domain.SagaState{
			{Name: "new", On: map[string]domain.Reaction{"Placed": domain.Handle, "*": domain.Defer}},
			{Name: "paying", On: map[string]domain.Reaction{"a.b": domain.Ignore, "TooLate": domain.Fail, "*": domain.Handle},
				Timeout: &domain.SagaTimeout{After: 5400, Event: "TooLate"}},
			{Name: "done", Final: true}, {Name: "broken", Final: true, Outcome: domain.OutcomeFailed},
			{Name: "stuck", On: map[string]domain.Reaction{"*": domain.Ignore}},
		},
		Effects: []string{"pay", "ship"}, Timers: []string{"Tick"}, Gateway: &domain.SagaGateway{Attempts: 9, MaxBackoff: 60, GiveUp: 7200},
		Events: []domain.SagaEvent{{Type: "Placed", MinVersion: 1, MaxVersion: 3,
			Upcast: []domain.SagaUpcast{{From: 1, Expr: "payload"}, {From: 2, Expr: "#{x: payload}"}}},
			{Type: "Low", MinVersion: 2, MaxVersion: 2}, {Type: "a.b", MinVersion: 2}, {Type: "Poke", MaxVersion: 7}, {Type: "Tick"}},
		Script:       "fn on_event(state, event) { () }\nfn compensate(state, work) { () }\n",
		Compensation: &domain.SagaCompensation{Steps: []string{"pay"}, Effects: []string{"refund"}, Attempts: 5, Done: "done", Failed: "broken"},
		OnPoison:     domain.PoisonSkip, OnVersion: domain.VersionCompensate, Retention: 90, Dedupe: 48 * 3600,
	}
}

func TestAWholeDefinitionIsRead(t *testing.T) {
	if diff := cmp.Diff(wholeWant(), parsed(t, whole)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEveryFormIsReadBack: YAML as we write it, canonical JSON, and the JSON
// of the Go type.
func TestEveryFormIsReadBack(t *testing.T) {
	graph := wholeWant()
	graph.Script = ""
	graph.Nodes = []domain.SagaNode{{Name: "next", Expr: `"done"`, When: "ready"}, {Name: "ready", Expr: "event.payload.ok <\n 1"}}
	graph.Compensation.Nodes = []domain.SagaNode{{Name: "effect", Expr: `"refund"`}}
	for _, want := range []*domain.SagaDefinition{wholeWant(), graph} {
		plain, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"YAML": definition.YAML(want), "JSON": plain} {
			if diff := cmp.Diff(want, parsed(t, string(text))); diff != "" {
				t.Errorf("%s: %s\n(-want +got):\n%s", name, text, diff)
			}
		}
		got := parsed(t, string(definition.Canonical(want)))
		got.Version = want.Version
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("canonical: (-want +got):\n%s", diff)
		}
	}
	text := string(definition.YAML(graph))
	for _, want := range []string{"\nstates:\n  new:\n    on:\n", "versions: 1..3", "  next:\n    expr: '\"done\"'\n    when: ready\n",
		"    effect: '\"refund\"'\n", "      after: 1h30m\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// right is a definition to which a line is added.
const right = `name: n
triggers: [{of: Order, types: [Go]}]
initial: one
states:
  one: {on: {"*": handle}}
  end: {final: true}
`

func TestFaultsSayWhereTheyAre(t *testing.T) {
	const nodes = "nodes: {next: '1'}\n"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"right", right + nodes, nil},
		{"nothing", "", []string{"the text is empty; want a saga, with `name:`, `triggers:` and `states:`"}},
		{"no YAML", "name: [", []string{"1:1: did not find expected node content"}},
		{"* without quotes", "states: {one: {on: {*: handle}}}", []string{`1:1: did not find expected alphabetic or numeric character; a "*" needs quotes`}},
		{"a list", "- 1", []string{"1:1: got a list, want fields such as `name:`"}},
		{"an unknown field", right + nodes + "efects: [a]\n", []string{`8:1: efects: unknown field "efects"; did you mean "effects"?`}},
		{"a word of others", right + nodes + "program: x\n", []string{`8:1: program: unknown field "program"; did you mean "script"?`}},
		{"a wrong kind", strings.Replace(right, "one: {on", "one: {final: 1, on", 1) + nodes,
			[]string{"5:16: states.one.final: got the number 1, want true or false"}},
		{"a wrong reaction", strings.Replace(right, "handle", "hanlde", 1) + nodes,
			[]string{`5:19: states.one.on.*: got the text "hanlde", want handle, defer, ignore or fail; did you mean "handle"?`}},
		{"states as a text", "name: n\ntriggers: [{of: O, types: [Go]}]\ninitial: one\nstates: one\n" + nodes,
			[]string{"4:9: states: got the text \"one\", want names, of which each has fields such as `on:`"}},
		{"a state twice", strings.Replace(right, "  end:", "  one: {final: true}\n  end:", 1) + nodes, []string{"6:3: states.one: it stands twice, at line 5 too"}},
		{"names of states", strings.Replace(right, "initial: one", "initial: onne", 1) + nodes,
			[]string{`3:10: initial: there is no state "onne"; did you mean "one"?`}},
		{"a state without reactions", strings.Replace(right, "  end:", "  two:\n  end:", 1) + nodes,
			[]string{`6:7: states.two.on: it does not say what to do with Go; name each, or "*" for all others`}},
		{"totality", strings.Replace(right, `"*": handle`, `a.b: handle`, 1) + nodes,
			[]string{`5:13: states.one.on: it does not say what to do with Go; name each, or "*" for all others`}},
		{"a trigger", strings.Replace(right, "of: Order", "source: mail", 1) + nodes, []string{
			`2:21: triggers[0].source: "mail": want aggregate, workflow_event, effect_result or workflow`}},
		{"a script", right + "script: |\n  fn on_event(state, event) {\n    let x = ;\n  }\n", []string{"9:13: script: Syntax error: Unexpected ';'"}},
		{"a script in quotes", right + `script: "fn on_event(s, e) { x }"`, []string{"7:30: script: Syntax error: Undefined variable: x"}},
		{"a script without its function", right + "script: let x = 1;\n", []string{"7:9: script: it has no function on_event: want `fn on_event(state, event)`"}},
		{"a node", right + "nodes:\n  next: nxt\n  deep:\n    expr: 1 +\n    when: |\n      true &&\n      tru\n", []string{
			"8:9: nodes.next.expr: Syntax error: Undefined variable: nxt", "10:14: nodes.deep.expr: Syntax error: Script is incomplete",
			"13:7: nodes.deep.when: Syntax error: Undefined variable: tru"}},
		{"nodes in a circle", right + "nodes:\n  next: a\n  a: next\n", []string{"8:9: nodes.next: nodes need each other in a circle: next -> a -> next"}},
		{"a correlation", right + nodes + "correlation: event.payload.\n", []string{"8:28: correlation: Syntax error: Expecting name of a property"}},
		{"versions", right + nodes + "events:\n  Go: {versions: 3..1}\n  X: {versions: a..b}\n  Y: {versions: ..}\n  Z: {versions: 1, min_version: 1}\n", []string{
			"9:18: events.Go.versions: 3 to 1: want versions such as 1..3", `10:17: events.X.versions: got "a..b", want versions such as 2, 1..3, 2.. or ..3`,
			`11:17: events.Y.versions: got "..", want versions such as 2, 1..3, 2.. or ..3`,
			"12:17: events.Z.versions: min_version or max_version is given too; want one of them"}},
		{"an upcast", right + nodes + "events:\n  a.b:\n    versions: 1..3\n    upcast: {1: pyload, x: payload}\n", []string{
			"11:17: events.a.b.upcast.1: Syntax error: Undefined variable: pyload", `11:25: events.a.b.upcast.x: got the text "x", want a whole number`}},
		{"an upcast that is wrong", right + nodes + "events:\n  a.b:\n    versions: 1..2\n    upcast:\n      1: pyload\n", []string{
			`12:10: events.a.b.upcast.1: Syntax error: Undefined variable: pyload`}},
		{"data", right + nodes + "data: [1]\n", []string{"8:7: data: got a list, want names with values"}},
		{"data that JSON cannot hold", right + nodes + "data: {a: .nan, b: [.inf]}\n", []string{
			"8:11: data.a: got the number .nan, want a value that JSON can hold", "8:21: data.b[0]: got the number .inf, want a value that JSON can hold"}},
		{"a file", right + "script_file: x.rhai\n",
			[]string{"7:14: script_file: a file is read only by the command line, next to the saga's own file; give its text as script"}},
		{"script and nodes", right + nodes + "script: fn on_event(s, e) { }\n", []string{"7:8: nodes: script is given too; want one of them"}},
		{"JSON", `{"name":"n","triggers":[{"of":"Order","types":["Go"]}],"initial":"two","states":[{"name":"one","on":{"*":"handle"}}],` +
			`"nodes":[{"name":"next","expr":"1"}]}`, []string{
			`1:66: initial: there is no state "two"`}},
		{"a list of states with faults", `{"name":"n","triggers":[{"of":"Order","types":["Go"]}],"initial":"one","states":[{"name":"one",` +
			`"on":{"Go":"x"}},{"nam":"two"}],"nodes":[{"name":"next","expr":"1"}]}`, []string{
			`1:101: states.one.on: it does not say what to do with Go; name each, or "*" for all others`,
			`1:107: states[0].on.Go: got the text "x", want handle, defer, ignore or fail`,
			`1:114: states[1].nam: unknown field "nam"; known are on, timeout, final, outcome`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(t, tc.text)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.text, diff)
			}
		})
	}
}

func TestHostileTexts(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, tc := range map[string]struct{ text, want string }{
		"too long": {strings.Repeat("x", domain.MaxSagaBytes+1), "the text has more than 524288 bytes; put large data into events"},
		"anchors": {"a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, " +
			"*c, *c]\ne: &e [*d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e]\ng: &g [*f, *f, *f, *f, *f, *f]\ndata: {x: [*g, *g, *g, *g]}",
			"the text is longer than 1048576 characters"},
		"deep data":         {right + "data: {a: " + deep + "}", "it is nested more than 120 deep"},
		"a document after":  {right + "---\nx: 1\n", "here begins a second document; want one"},
		"data in a circle":  {right + "data: &d {a: *d}\n", "the alias stands in what it stands for"},
		"too many states":   {"states: {" + strings.Repeat("a: {}, ", 1) + strings.Join(numbered("s", 201), ", ") + "}", "202 states, the limit is 200"},
		"too many triggers": {"triggers: [" + strings.Repeat("{of: A}, ", 51) + "]", "51 triggers, the limit is 50"},
	} {
		got := strings.Join(lines(t, tc.text), "\n")
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %.300s, want %s", name, got, tc.want)
		}
	}
}

func numbered(prefix string, n int) (list []string) {
	for i := range n {
		list = append(list, prefix+strings.Repeat("x", i/26)+string(rune('a'+i%26))+": {final: true}")
	}
	return list
}

func TestScriptsAreReadFromTheDefinitionsFolder(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("on.rhai", "fn on_event(state, event) {\n  ()\n}\n")
	write("bad.rhai", "fn on_event(state, event) {\n  x\n}\n")
	for _, tc := range []struct{ line, want, bad string }{
		{"script_file: on.rhai", "fn on_event(state, event) {\n  ()\n}\n", ""},
		{"script_file: ../on.rhai", "", `:7:14: script_file: "../on.rhai" is not in the saga's folder; want a relative path without ".."`},
		{"script_file: none.rhai", "", "no such file or directory"},
		{"script_file: bad.rhai", "", "saga.yaml:7:14: script_file: bad.rhai:2:3: Syntax error: Undefined variable: x"},
		{"script: fn on_event(s, e) { }\nscript_file: on.rhai", "", ":8:14: script_file: script and script_file are both given; want one of them"},
	} {
		write("saga.yaml", right+tc.line)
		d, err := definition.ParseFile(filepath.Join(folder, "saga.yaml"))
		switch {
		case tc.bad == "" && (err != nil || d.Script != tc.want):
			t.Errorf("%s: %v", tc.line, err)
		case tc.bad != "" && (err == nil || !strings.Contains(err.Error(), tc.bad)):
			t.Errorf("%s: got %v, want %s", tc.line, err, tc.bad)
		}
	}
}

func TestDefinitionsThatAreNoText(t *testing.T) {
	if err := definition.Validate(wholeWant()); err != nil {
		t.Error(err)
	}
	d := wholeWant()
	d.Script = "fn on_event(state, event) { x }"
	d.Data = json.RawMessage("{")
	err := definition.Validate(d)
	if err == nil || err.Error() != "data: it is no JSON: EOF while parsing an object at line 1 column 1\nscript: Syntax error: Undefined variable: x" {
		t.Errorf("%v", err)
	}
	d = wholeWant()
	d.Summary = strings.Repeat("ä", 2000)
	d.Script += "//" + strings.Repeat("\t", domain.MaxSagaBytes-200)
	if err := definition.Validate(d); err == nil || !strings.Contains(err.Error(), "bytes as JSON, the limit is 524288") {
		t.Errorf("%.300v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add(right + "nodes: {next: '1'}")
	f.Add(string(definition.Canonical(wholeWant())))
	files, _ := filepath.Glob("../*/testdata/*.yaml")
	for _, file := range append(files, "../../examples/order-saga/order.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := definition.Parse("f", []byte(text))
		if err != nil {
			return
		}
		// What is right is right in every form, and the same.
		for _, form := range [][]byte{definition.YAML(d), definition.Canonical(d)} {
			again, err := definition.Parse("", form)
			if err != nil {
				t.Fatalf("%q as %q: %v", text, form, err)
			}
			if definition.Hash(again) != definition.Hash(d) {
				t.Fatalf("%q as %q is another one", text, form)
			}
		}
	})
}
