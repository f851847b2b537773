package machine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
)

// answers is a saga whose program gives what its event's text says.
func answers(t testing.TB, answer string) *rig {
	t.Helper()
	return newRig(t, `
name: answers
triggers: [{of: Order, types: [Go]}]
initial: one
effects: [pay, ship]
timers: [Tick]
compensation: {steps: [a], effects: [refund], done: end, failed: end}
states:
  one: {on: {"*": handle}}
  end: {final: true}
script: |
  fn on_event(state, event) { answer(state, event) } // which is not looked into when it is compiled
  fn answer(state, event) {
    `+answer+`
  }
  fn compensate(state, work) { () }
`)
}

func TestWhatProgramsMayGive(t *testing.T) {
	for _, tc := range []struct{ name, answer, state, data, asked string }{
		{"nothing", `()`, "one", `{}`, ""},
		{"an empty map", `#{}`, "one", `{}`, ""},
		{"() is nothing", `#{state: (), next: (), work: (), timers: (), cancel: (), compensate: ()}`, "one", `{}`, ""},
		{"data of all kinds", `#{state: #{i: 1, f: 1.0, e: 1e20, t: "ä\n", c: 'x', u: (), b: true, a: [1, [2.5]], m: #{z: 1, a: 2}}}`, "one",
			`{"a":[1,[2.5]],"b":true,"c":"x","e":1e20,"f":1.0,"i":1,"m":{"a":2,"z":1},"t":"ä\n","u":null}`, ""},
		{"next", `#{next: "end"}`, "end", `{}`, ""},
		{"work of all kinds", `#{work: [#{effect: "pay", step: "a", payload: #{n: 1}, metadata: #{retries: 3}}, #{effect: "ship", step: ()}, #{command: ` +
			`#{aggregate_type: "Order", aggregate_id: 17}, payload: [1]}, #{saga: "stock", correlation: 5, event: "Reserve", payload: "x"}, #{fact: ` +
			`"Late", metadata: ()}]}`, "one", `{}`,
			`effect pay {"n":1}; effect ship; command Order [1]; workflow stockReserve "x"; fact Late`},
		{"what a loop makes", `let w = []; for i in 0..3 { w.push(#{fact: "F", payload: i}); } #{work: w}`, "one", `{}`, `fact F 0; fact F 1; fact F 2`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := answers(t, tc.answer)
			r.send(r.event("Go", ""))
			r.is(tc.state, map[bool]domain.SagaStatus{true: domain.SagaEnded, false: domain.SagaRunning}[tc.state == "end"], tc.data)
			same(t, "work", r.asked(), tc.asked)
		})
	}
}

func TestWhatProgramsMayNotGive(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tc := range []struct{ answer, want string }{
		{`1`, "the program gave a i64, want () or a map with cancel, compensate, next, state, timers, work"},
		{`#{nxt: "end"}`, `nxt: there is no such key; did you mean "next"?`},
		{`#{"` + long + `": 1}`, "x: there is no such key; there are cancel"},
		{`#{state: 1}`, "state: it is a i64, want a map"},
		{`#{state: #{f: 1.0 / 0.0}}`, "state: it has a float that is no number, which JSON cannot hold"},
		{`#{state: #{f: |x| x}}`, "state: it has a Fn, which JSON cannot hold"},
		{`#{state: #{f: 0..3}}`, "state: it has a range, which JSON cannot hold"},
		{`#{state: #{b: blob(3)}}`, "state: it has a blob, which JSON cannot hold"},
		{`let s = ""; s.pad(600000, 'x'); #{state: #{s: s}}`, "state: it has more than 524288 bytes as JSON"},
		{`let s = "xxxxxxxxxxxxxxxx"; for i in 0..16 { s += s; } #{state: #{s: s}}`, "state: it has more than 524288 bytes as JSON"},
		{`let a = [1]; for i in 0..30 { a = [a, a]; } #{state: #{a: a}}`, "state: it has more than 524288 bytes as JSON"},
		{`let a = [1]; for i in 0..110 { a = [a]; } #{state: #{a: a}}`, "state: it nests too deep"},
		{`#{next: 1}`, "next: it is a i64, want a text"},
		{`#{next: "ennd"}`, `next: there is no state "ennd"; did you mean "end"?`},
		{`#{next: "end", compensate: true}`, "next: it is given together with compensate"},
		{`#{compensate: 1}`, "compensate: it is a i64, want true or false"},
		{`#{work: #{}}`, "work: it is a map, want an array"},
		{`#{work: [1]}`, "work[0]: it is a i64, want a map with effect, command, saga or fact"},
		{`#{work: [#{}]}`, "work[0]: it has none of effect, command, saga and fact; want one"},
		{`#{work: [#{effect: "pay", fact: "x"}]}`, "work[0]: it has more than one of effect, command, saga and fact; want one"},
		{`#{work: [#{effect: "pya"}]}`, `work[0].effect: "pya" is none of the definition's effects; did you mean "pay"?`},
		{`#{work: [#{effect: "refund"}]}`, `work[0].effect: "refund" is none of the definition's effects; there are pay, ship`},
		{`#{work: [#{effect: 1}]}`, "work[0].effect: it is a i64, want a text"},
		{`#{work: [#{effect: "pay", stp: "a"}]}`, `work[0].stp: there is no such key; did you mean "step"?`},
		{`#{work: [#{effect: "pay", step: "a b"}]}`, `work[0].step: step "a b": want a letter`},
		{`#{work: [#{fact: "F", step: "a"}]}`, "work[0].step: there is no such key; there are fact, metadata, payload"},
		{`#{work: [#{fact: "F F"}]}`, `work[0].fact: event type "F F": want 1 to 128 bytes of text without spaces`},
		{`#{work: [#{fact: "F", payload: |x| x}]}`, "work[0].payload: it has a Fn, which JSON cannot hold"},
		{`let s = "xxxxxxxxxxxxxxxx"; for i in 0..14 { s += s; } #{work: [#{fact: "F", payload: s}]}`, "work[0].payload: it has more than 262144 bytes as JSON"},
		{`let s = "xxxxxxxxxxxxxxxx"; for i in 0..13 { s += s; } let p = #{fact: "F", payload: s}; #{work: [p, p, p, p]}`,
			"more than 256 items of work, or 524288 bytes of payloads"},
		{`let w = []; for i in 0..257 { w.push(#{fact: "F"}); } #{work: w}`, "work: it has 257 items, one transition may ask for 256: ask for"},
		{`#{work: [#{command: 1}]}`, "work[0].command: it is a i64, want a map with aggregate_type and aggregate_id"},
		{`#{work: [#{command: #{aggregate_type: "A"}}]}`, "work[0].command.aggregate_id: want 1 to 128 bytes of text"},
		{`#{work: [#{command: #{aggregate_type: "A\n", aggregate_id: 1}}]}`, "work[0].command.aggregate_type: want 1 to 128 bytes of text"},
		{`#{work: [#{command: #{aggregate_type: "A", aggregate_id: 1}, step: "x"}]}`, `work[0].step: "x" is none of the definition's commands`},
		{`#{work: [#{command: #{typ: "A"}}]}`, "work[0].command.typ: there is no such key"},
		{`#{work: [#{saga: "s", event: "E"}]}`, "work[0]: it has no correlation: which instance it is for"},
		{`#{work: [#{saga: "s", correlation: "1"}]}`, "work[0]: it has no event"},
		{`#{work: [#{saga: "s t", correlation: "1", event: "E"}]}`, `work[0].saga: saga "s t": want a letter`},
		{`#{work: [#{saga: "s", correlation: " ", event: "E"}]}`, `work[0].correlation: correlation id " ": want 1 to 100 bytes`},
		{`#{work: [#{fact: "F", metadata: 1}]}`, "work[0].metadata: it is a i64, want a map"},
		{`#{work: [#{fact: "F", metadata: #{saga: "x"}}]}`, "work[0].metadata.saga: it is set by the machine itself, as are correlation_id"},
		{`#{work: [#{fact: "F", metadata: #{a: [1]}}]}`, "work[0].metadata.a: it is a array, want a text"},
		{`#{work: [#{fact: "F", metadata: #{a: "` + long + `"}}]}`, "work[0].metadata.a: want a name of up to 64 bytes and a text of up to 256"},
		{`let m = #{}; for i in 0..17 { m["k" + i] = 1; } #{work: [#{fact: "F", metadata: m}]}`, "work[0].metadata: it has 17 names, the limit is 16"},
		{`#{timers: [1]}`, "timers[0]: it is a i64, want a map with after, at_ms, event, payload"},
		{`#{timers: [#{event: "Tikc", after: 1}]}`, `timers[0].event: "Tikc" is none of the definition's timers; did you mean "Tick"?`},
		{`#{timers: [#{after: 1}]}`, "timers[0]: it has no event"},
		{`#{timers: [#{event: "Tick"}]}`, "timers[0]: it has no time"},
		{`#{timers: [#{event: "Tick", after: "soon"}]}`, `timers[0].after: "soon" is no span of time`},
		{`#{timers: [#{event: "Tick", after: -1}]}`, "timers[0].after: want a span"},
		{`#{timers: [#{event: "Tick", after: 1.5}]}`, "timers[0].after: want a span"},
		{`#{timers: [#{event: "Tick", after: 1, at_ms: 1}]}`, "timers[0]: after and at_ms are both given; want one of them"},
		{`#{timers: [#{event: "Tick", at_ms: "x"}]}`, "timers[0].at_ms: it is a string, want Unix milliseconds"},
		{`#{timers: [#{event: "Tick", at_ms: 9000000000000000000}]}`, "would come after the year 9999"},
		{`#{timers: [#{event: "Tick", after: 1, x: 1}]}`, "timers[0].x: there is no such key"},
		{`let w = []; for i in 0..65 { w.push(#{event: "Tick", after: i}); } #{timers: w}`, "timers: it has 65 items, the limit is 64"},
		{`let s = "xxxxxxxxxxxxxxxx"; for i in 0..13 { s += s; } let p = #{event: "Tick", after: 1, payload: s}; #{timers: [p, p]}`,
			"timers have 262148 bytes of payload, the limit is 262144"},
		{`#{cancel: ["Tock"]}`, `cancel[0]: "Tock" is none of the definition's timers`},
		{`let n = 0; loop { n += 1; }`, "Too many operations"},
		{`let f = Fn("timestamp"); f.call()`, "not available in deterministic mode"},
		{`state.nope(1)`, "Function not found: nope (map, i64)"},
		{`let a = []; loop { a.push("0123456789abcdef"); }`, "script: line"},
		{`let s = "x"; loop { s += s; }`, "too large"},
		{`event.payload.x.y`, "line 3, column 17: Unknown property 'x'"},
		{`on_event(state, event)`, "Stack overflow"},
		{`import "x" as y; 1`, "script: Too many modules imported"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			r := answers(t, tc.answer)
			if err := r.refused(r.event("Go", "")); !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s:\ngot  %v\nwant %s", tc.answer, err, tc.want)
			}
		})
	}
}

func TestWhatAProgramIsGiven(t *testing.T) {
	r := answers(t, `state.event = event; #{state: state}`)
	ev := r.event("Go", `{"x":[1,2.0]}`)
	ev.Tenant, ev.SchemaVersion, ev.Metadata = "acme", 3, map[string]string{"b": "2", "a": "1"}
	r.send(ev)
	same(t, "event", string(r.in.Data),
		fmt.Sprintf(`{"event":{"aggregate_id":"17","aggregate_type":"Order","correlation":"17","id":"e1","metadata":{"a":"1","b":"2"},`+
			`"now_ms":%d,"payload":{"x":[1,2.0]},"schema_version":3,"source":"aggregate","state":"one","tenant":"acme","time_ms":%d,"type":"Go"}}`, start, start))

	r = answers(t, `if event.result == () { return #{work: [#{effect: "pay", step: "a"}]}; } event.remove("metadata"); #{state: event}`)
	r.send(r.event("Go", ""))
	r.send(r.result("a", domain.ResultTimedOut, `{}`))
	same(t, "result", string(r.in.Data),
		fmt.Sprintf(`{"command_id":%q,"correlation":"17","effect":"pay","id":"e2","now_ms":%d,"payload":{},"result":"TimedOut","saga":"answers",`+
			`"schema_version":1,"source":"effect_result","state":"one","step":"a","time_ms":%d,"type":"pay.TimedOut"}`, r.work[0].ID, start+1000, start+1000))
}

func TestConstantsOfAScript(t *testing.T) {
	r := newRig(t, `
name: constants
triggers: [{of: Order, types: [Go]}]
initial: one
states: {one: {on: {"*": handle}}}
script: |
  const LIMIT = 5;
  fn helper(n) { n * global::LIMIT }
  fn on_event(state, event) { print("x"); debug(event); #{state: #{n: helper(2)}} }
`)
	r.send(r.event("Go", ""))
	r.is("one", domain.SagaRunning, `{"n":10}`)
}

func TestPayloadsThatAreNoJSON(t *testing.T) {
	r := answers(t, `()`)
	for _, payload := range []string{"{", "nope", `{"a":01}`} {
		ev := r.event("Go", payload)
		if err := r.refused(ev); !strings.Contains(err.Error(), "the event's payload is no JSON") {
			t.Error(err)
		}
		r.take(r.m.Pause(r.in, r.now))
	}
	r.send(r.event("Go", ""))
	r.take(r.m.Pause(r.in, r.now))
	r.refused(r.event("Go", "{"))
}

func TestPrograms(t *testing.T) {
	const head = "name: n\ntriggers: [{of: Order, types: [Go]}]\ninitial: one\nstates: {one: {on: {'*': handle}}, end: {final: true}}\n"
	for _, tc := range []struct{ name, text, want string }{
		{"a graph", "nodes: {a: event.payload.x, b: a + 1, state: '#{n: b}'}", ""},
		{"no on_event", "script: fn f(a) { a }", "script: it has no function on_event: want `fn on_event(state, event)`"},
		{"other parameters", "script: fn on_event(e) { e }", "script: its function on_event has other parameters: want `fn on_event(state, event)`"},
		{"no compensate", "script: fn on_event(s, e) { }\ncompensation: {steps: [a], done: end, failed: end}",
			"script: it has no function compensate: want `fn compensate(state, work)`"},
		{"other parameters of migrate", "script: fn on_event(s, e) { } fn migrate(s) { s }",
			"script: its function migrate has other parameters: want `fn migrate(state, from)`"},
		{"a name that is not there", "script: fn on_event(s, e) { x }", "script: Syntax error: Undefined variable: x"},
		{"eval", `script: fn on_event(s, e) { eval("1") }`, "script: Syntax error: reserved keyword 'eval' is disabled"},
		{"a function that is not there", "script: fn on_event(s, e) { rnad(1) }", "script: there is no function rnad"},
		{"a function with other parameters", "script: fn on_event(s, e) { f(1) } fn f(a, b) { }", "script: there is no function f with 1 parameters"},
		{"one of the library with others", "script: fn on_event(s, e) { abs(1, 2, 3) }", "script: there is no function abs with 3 parameters"},
		{"a clock", "script: fn on_event(s, e) { f() } fn f() { timestamp() }", "script: timestamp: sagas have no clock and no chance"},
		{"a pause", "nodes: {next: sleep(1)}", "nodes.next.expr: sleep: sagas have no clock and no chance"},
		{"an answer's key", "script: 'fn on_event(s, e) { #{nxt: 1} }'", `script: there is no such key as nxt; did you mean "next"?`},
		{"a state, by return", "script: 'fn on_event(s, e) { if s.x { return #{next: \"ned\"}; } () }'", `script: there is no state "ned"; did you mean "end"?`},
		{"a state, by branches", "script: 'fn on_event(s, e) { switch e.type { \"a\" => #{next: if s.x { \"end\" } else { \"emd\" }}, _ => { " +
			"1; () } } }'", `script: there is no state "emd"; did you mean "end"?`},
		{"an effect", "script: 'fn on_event(s, e) { #{work: [#{effect: \"pya\"}]} }'\neffects: [pay]",
			`script: "pya" is none of the definition's effects; did you mean "pay"?`},
		{"a command's step", "script: 'fn on_event(s, e) { #{work: [#{command: #{aggregate_type: \"A\", aggregate_id: 1}, step: \"tlel\"}]} }'\ncommands: [tell]",
			`script: "tlel" is none of the definition's commands; did you mean "tell"?`},
		{"an item's key", "script: 'fn on_event(s, e) { #{work: [#{fact: \"F\", step: 1}]} }'",
			`script: there is no such key as step; there are fact, metadata, payload`},
		{"a timer", "script: 'fn on_event(s, e) { #{timers: [#{event: \"Tikc\", after: 1}]} }'\ntimers: [Tick]",
			`script: "Tikc" is none of the definition's timers; did you mean "Tick"?`},
		{"a timer that is cancelled", "script: 'fn on_event(s, e) { #{cancel: [\"Tikc\"]} }'\ntimers: [Tick]",
			`script: "Tikc" is none of the definition's timers; did you mean "Tick"?`},
		{"a state of a graph", "nodes: {next: 'if state.x { \"end\" } else { \"ned\" }'}", `nodes.next.expr: there is no state "ned"; did you mean "end"?`},
		{"an effect of a graph", "nodes: {work: '[#{effect: \"pya\"}]'}\neffects: [pay]",
			`nodes.work.expr: "pya" is none of the definition's effects; did you mean "pay"?`},
		{"an effect that undoes", "script: 'fn on_event(s, e) { } fn compensate(s, w) { #{effect: \"pya\"} }'\ncompensation: {steps: [a], effects: " +
			"[pay], done: end, failed: end}", `script: "pya" is none of the definition's effects; did you mean "pay"?`},
		{"what is only asked for to undo", "script: 'fn on_event(s, e) { #{work: [#{effect: \"pay\"}]} } fn compensate(s, w) { #{effect: \"pay\"} " +
			"}'\ncompensation: {steps: [a], effects: [pay], done: end, failed: end}",
			`script: "pay" is none of the definition's effects; it has none`},
		{"an effect that undoes, of a graph", "nodes: {next: '\"end\"'}\ncompensation: {steps: [a], done: end, failed: end, nodes: {effect: " +
			"'\"pya\"'}}\neffects: [pay]", `compensation.nodes.effect.expr: "pya" is none of the definition's effects; did you mean "pay"?`},
		{"nodes in a circle", "nodes: {a: b, b: c + 1, c: a, next: a}", "nodes.a: nodes need each other in a circle: a -> b -> c -> a"},
		{"a node that needs itself", "nodes: {next: next + 1}", "nodes.next: nodes need each other in a circle: next -> next"},
		{"a circle through a condition", "nodes: {next: {expr: '1', when: x}, x: next}", "nodes.next: nodes need each other in a circle: next -> x -> next"},
		{"a node that is not there", "nodes: {next: nxt}", "nodes.next.expr: Syntax error: Undefined variable: nxt"},
		{"a statement", "nodes: {next: let x = 1; x}", "nodes.next.expr: Syntax error: "},
		{"an open comment", "nodes: {next: '1 /* x'}", "nodes.next.expr: Syntax error: "},
		{"an open parenthesis", "nodes: {next: '1) + (2'}", "nodes.next.expr: Syntax error: "},
		{"nodes that do nothing", "nodes: {a: '1'}", "nodes: none of the nodes is named cancel, compensate, next, state, timers or work: they would do nothing"},
		{"the name of an input", "nodes: {event: '1', next: '1'}", "nodes.event: the name is that of what nodes are given"},
		{"a word of the language", "nodes: {let: '1', next: '1'}", "nodes.let: the name is a word of the language"},
		{"a graph that undoes nothing", "nodes: {next: '1'}\ncompensation: {steps: [a], done: end, failed: end, nodes: {payload: work.name}}",
			"compensation.nodes: none of the nodes is named effect: they would undo nothing"},
		{"a wrong correlation", "correlation: event.\nnodes: {next: '1'}", "correlation: Syntax error: "},
		{"a function of a correlation", "correlation: to_uper(event.aggregate_id)\nnodes: {next: '1'}",
			"correlation: there is no function to_uper; did you mean to_upper?"},
		{"a method of a correlation", "correlation: event.payload.id.to_strng()\nnodes: {next: '1'}",
			"correlation: there is no function to_strng with 1 parameters; did you mean to_string?"},
		{"a function of an upcast", "nodes: {next: '1'}\nevents: {Go: {versions: 1..2, upcast: {1: mixx(payload)}}}",
			"events.Go.upcast.1: there is no function mixx"},
		{"a field of the event", "correlation: event.agregate_id\nnodes: {next: '1'}", "correlation: an event has no agregate_id; did you mean event.aggregate_id?"},
		{"a field of the payload", "correlation: 'if event.type == \"a\" { event.order.id } else { event.metadata.order }'\nnodes: {next: '1'}",
			"correlation: an event has no order; did you mean event.payload.order?"},
		{"a step that is undone", "script: 'fn on_event(s, e) { #{work: [#{effect: \"pay\", step: \"payment\"}, " +
			"#{effect: \"pay\", step: if s.x { \"b\" } else { \"c\" }}]} } " +
			"fn compensate(s, w) { () }'\neffects: [pay]\ncompensation: {steps: [paymnet, b], done: end, failed: end}",
			`compensation.steps[0]: the program asks for no step "paymnet"; did you mean "payment"?`},
		{"steps that are computed", "script: 'fn on_event(s, e) { #{work: [#{effect: \"pay\", step: \"payment\"}, #{effect: \"pay\", " +
			"step: \"line-\" + s.x}]} } fn compensate(s, w) { () }'\neffects: [pay]\ncompensation: {steps: [paymnet], done: end, failed: end}", ""},
		{"a step of a graph", "nodes: {work: '[#{effect: \"pay\", step: \"pay\"}]'}\neffects: [pay]\ncompensation: {steps: [pya], done: end, failed: end, " +
			"nodes: {effect: '\"pay\"'}}", `compensation.steps[0]: the program asks for no step "pya"; did you mean "pay"?`},
		{"a wrong upcast", "nodes: {next: '1'}\nevents: {Go: {versions: 1..2, upcast: {1: event}}}", "events.Go.upcast.1: Syntax error: Undefined variable: event"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := definition.Parse("", []byte(head+tc.text))
			var got []string
			if wrong := (*definition.Error)(nil); errors.As(err, &wrong) {
				for _, f := range wrong.Faults {
					got = append(got, f.Path+": "+f.Text)
				}
			}
			if tc.want == "" && len(got) == 0 || len(got) == 1 && strings.HasPrefix(got[0], tc.want) {
				return
			}
			t.Errorf("got %q, want %q", got, tc.want)
		})
	}
}

func TestWhatMayBeWrong(t *testing.T) {
	_, warnings, err := definition.Lint("", []byte(`name: n
triggers: [{of: Order, types: [Go]}]
initial: one
effects: [pay]
timers: [Tick]
states:
  one: {on: {Gone: ignore, "*": handle}}
compensation: {steps: [a], effects: [refund], done: one, failed: one}
script: |
  fn on_event(state, event) {
    let work = [];
    work.push(#{effect: "pya", payload: #{effect: "nothing", of: "ours"}});
    work.push(#{effect: "refund", step: "refunds"});
    let t = #{event: "Tock", after: 5};
    state.items.sortt();
    state.items.sleep();
    let f = #{event: "Tock", where: 5, effect: "x"};
    #{work: work, timers: [t]}
  }
  fn compensate(state, work) { () }
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range warnings {
		got = append(got, f.String())
	}
	want := []string{
		`7:20: states.one.on.Gone: no trigger, effect or timer brings "Gone"`,
		`12:25: script: "pya" is none of the definition's effects; did you mean "pay"?`,
		`14:22: script: "Tock" is none of the definition's timers; did you mean "Tick"?`,
		"15:17: script: there is no function sortt with 1 parameters; did you mean sort?",
		"16:17: script: sleep: sagas have no clock and no chance; what they may know of those is in the event",
		`8:24: compensation.steps[0]: the program asks for no step "a": nothing of it can be undone`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGraphsSayWhereTheyFail(t *testing.T) {
	r := newRig(t, `
name: n
triggers: [{of: Order, types: [Go]}]
initial: one
states: {one: {on: {"*": handle}}}
nodes:
  sum: |
    event.payload
      .a
      .b
  state: "#{n: sum}"
`)
	same(t, "error", r.refused(r.event("Go", `{"a":1}`)).Error(),
		"nodes.sum.expr: line 3, column 4: Unknown property 'b' - a getter is not registered for type 'i64'")
	r.send(r.event("Go", `{"a":{"b":2}}`))
	r.is("one", domain.SagaRunning, `{"n":2}`)
}

func TestAnInstanceThatIsBrokenIsRefused(t *testing.T) {
	r := answers(t, `()`)
	r.send(r.event("Go", ""))
	r.in.State = "gone"
	if err := r.refused(r.event("Go", "")); !strings.Contains(err.Error(), `in state "gone", which version 1 of the definition does not have`) {
		t.Error(err)
	}
	r.in.State, r.in.Data = "one", []byte("{")
	if _, err := r.m.Advance(r.in, r.event("Go", "")); err == nil || !strings.Contains(err.Error(), "the instance's data is no JSON") {
		t.Error(err)
	}
}

func TestTheDefinitionsData(t *testing.T) {
	m := compiled(t, "name: n\ntriggers: [{of: Order, types: [Go]}]\ninitial: one\nstates: {one: {on: {'*': handle}}}\nnodes: {next: '1'}\ndata: {b: "+
		"1.0, a: [1, x]}\n")
	want := &domain.SagaInstance{Saga: "n", Correlation: "17", Tenant: "acme", Definition: 1, Hash: "h", State: "one",
		Data: []byte(`{"a":[1,"x"],"b":1.0}`), Status: domain.SagaRunning}
	if diff := cmp.Diff(want, m.New("acme", "17", "h")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
