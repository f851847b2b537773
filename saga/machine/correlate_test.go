package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
)

// small is a saga with these lines.
func small(lines string) string {
	return "name: small\ninitial: one\nstates: {one: {on: {'*': handle}}}\nnodes: {next: '\"one\"'}\n" + lines
}

func TestTakes(t *testing.T) {
	m := compiled(t, small(`
triggers:
  - {of: Order, types: [Placed, Paid]}
  - {of: "*", types: [Any]}
  - {source: workflow_event, of: stock, types: [Low]}
  - {source: effect_result, of: pay}
  - {source: effect_result, of: ship, types: [Failed]}
  - {source: workflow, types: [Poke]}
`))
	for _, tc := range []struct {
		name string
		ev   domain.Event
		want bool
	}{
		{"a type of an aggregate", domain.Event{Source: domain.SourceAggregate, AggregateType: "Order", Type: "Paid"}, true},
		{"another type", domain.Event{Source: domain.SourceAggregate, AggregateType: "Order", Type: "Any2"}, false},
		{"another aggregate", domain.Event{Source: domain.SourceAggregate, AggregateType: "Stock", Type: "Paid"}, false},
		{"any aggregate", domain.Event{Source: domain.SourceAggregate, AggregateType: "Stock", Type: "Any"}, true},
		{"a fact", domain.Event{Source: domain.SourceFact, Saga: "stock", Type: "Low"}, true},
		{"a fact of another saga", domain.Event{Source: domain.SourceFact, Saga: "order", Type: "Low"}, false},
		{"an event of that type that is no fact", domain.Event{Source: domain.SourceAggregate, AggregateType: "stock", Type: "Low"}, false},
		{"any result", domain.Event{Source: domain.SourceResult, Type: "pay.TimedOut"}, true},
		{"one of some results", domain.Event{Source: domain.SourceResult, Type: "ship.Failed"}, true},
		{"another result", domain.Event{Source: domain.SourceResult, Type: "ship.Succeeded"}, false},
		{"what is no result", domain.Event{Source: domain.SourceResult, Type: "ship"}, false},
		{"by name", domain.Event{Source: domain.SourceWorkflow, Saga: "small", Type: "Poke"}, true},
		{"a timer of that type", domain.Event{Source: domain.SourceWorkflow, Saga: "small", Type: "Poke", Timer: 5}, false},
		{"nothing", domain.Event{}, false},
	} {
		if got := m.Takes(&tc.ev); got != tc.want {
			t.Errorf("%s: got %v", tc.name, got)
		}
	}
}

func TestCorrelate(t *testing.T) {
	const triggers = "triggers: [{of: Order, types: [Placed]}, {source: effect_result, of: pay}, {source: workflow_event, of: stock, types: [Low]}]\n"
	order := func(payload string, meta map[string]string) domain.Event {
		return domain.Event{Source: domain.SourceAggregate, AggregateType: "Order", AggregateID: "a-1", Type: "Placed", Payload: raw(payload), Metadata: meta}
	}
	for _, tc := range []struct {
		name, lines string
		ev          domain.Event
		want, bad   string
	}{
		{name: "an expression", lines: "correlation: event.payload.id", ev: order(`{"id":"o-1"}`, nil), want: "o-1"},
		{name: "a number", lines: "correlation: event.payload.id", ev: order(`{"id":17}`, nil), want: "17"},
		{name: "put together", lines: `correlation: '"o:" + event.aggregate_id + event.metadata.x'`, ev: order("", map[string]string{"x": "y"}), want: "o:a-1y"},
		{name: "no text", lines: "correlation: event.payload.id", ev: order(`{"id":1.5}`, nil), bad: "correlation: it gave a f64, want a text or a whole number"},
		{name: "nothing", lines: "correlation: event.payload.nope", ev: order(`{"id":1}`, nil), bad: "correlation: it gave a ()"},
		{name: "a fault", lines: "correlation: event.payload.a.b", ev: order(`{}`, nil), bad: "correlation: line 1, column 17: "},
		{name: "an endless one", lines: `correlation: '"".pad(1000000000000, "x")'`, ev: order(`{}`, nil), bad: "correlation: "},
		{name: "no id", lines: "correlation: event.payload.id", ev: order(`{"id":" x"}`, nil), bad: `correlation id " x": want 1 to 100 bytes`},
		{name: "a long one", lines: "correlation: event.payload.id", ev: order(`{"id":"`+strings.Repeat("x", 101)+`"}`, nil), bad: `want 1 to 100 bytes of text`},
		{name: "a payload that is no JSON", lines: "correlation: event.payload.id", ev: order(`{`, nil), bad: "the event's payload is no JSON"},
		{name: "a header", lines: "correlation_header: order", ev: order("", map[string]string{"order": "o-2", "correlation_id": "x"}), want: "o-2"},
		{name: "no header", lines: "correlation_header: order", ev: order("", nil), bad: `correlation id ""`},
		{name: "metadata", ev: order("", map[string]string{"correlation_id": "o-3"}), want: "o-3"},
		{name: "no metadata", ev: order("", nil), bad: `correlation id ""`},
		{name: "a fact by an expression", lines: "correlation: event.payload.id", ev: domain.Event{Source: domain.SourceFact, Saga: "stock",
			Type: "Low", Correlation: "s-1", Payload: raw(`{"id":"o-4"}`)}, want: "o-4"},
		{name: "a fact as it stands", ev: domain.Event{Source: domain.SourceFact, Saga: "stock", Type: "Low", Correlation: "s-1"}, want: "s-1"},
		{name: "its own result", lines: "correlation: event.payload.id",
			ev: domain.Event{Source: domain.SourceResult, Type: "pay.Failed", Saga: "small", Correlation: "o-5"}, want: "o-5"},
		{name: "another's result", lines: "correlation: event.payload.id", ev: domain.Event{Source: domain.SourceResult, Type: "pay.Failed",
			Saga: "other", Correlation: "o-5", Payload: raw(`{"id":"o-6"}`)}, want: "o-6"},
		{name: "a timer", lines: "correlation: event.payload.id",
			ev: domain.Event{Source: domain.SourceWorkflow, Type: "T", Timer: 5, Correlation: "o-7"}, want: "o-7"},
		{name: "by name", lines: "correlation: event.payload.id",
			ev: domain.Event{Source: domain.SourceWorkflow, Type: "T", Saga: "small", Correlation: "o-8"}, want: "o-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := compiled(t, small(triggers+tc.lines)).Correlate(&tc.ev)
			switch {
			case tc.bad == "" && (err != nil || got != tc.want):
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			case tc.bad != "" && (err == nil || !strings.Contains(err.Error(), tc.bad) || !errors.Is(err, domain.ErrInvalid)):
				t.Errorf("got %q, %v, want %q", got, err, tc.bad)
			}
		})
	}
}

func TestUpcast(t *testing.T) {
	m := compiled(t, small(`
triggers: [{of: Order, types: [A, B, C, D, E]}]
events:
  A: {versions: 1..3, upcast: {1: '#{n: payload.n, v: 2}', 2: '#{n: payload.n * 2, v: 3, was: payload}'}}
  B: {versions: 2..}
  C: {versions: ..4}
  D: {versions: 2}
  E: {versions: 1..2, upcast: {1: payload.a.b}}
`))
	for _, tc := range []struct {
		name, typ, payload string
		version            int
		want               string
		wantVersion        int
		bad                string
	}{
		{name: "from the oldest", typ: "A", version: 1, payload: `{"n":5}`, want: `{"n":10,"v":3,"was":{"n":5,"v":2}}`, wantVersion: 3},
		{name: "no version is the first", typ: "A", payload: `{"n":5}`, want: `{"n":10,"v":3,"was":{"n":5,"v":2}}`, wantVersion: 3},
		{name: "from the middle", typ: "A", version: 2, payload: `{"n":5}`, want: `{"n":10,"v":3,"was":{"n":5}}`, wantVersion: 3},
		{name: "the newest stays as it is", typ: "A", version: 3, payload: `{ "n": 5 }`, want: `{ "n": 5 }`, wantVersion: 3},
		{name: "a newer one", typ: "A", version: 4, bad: `event "A" has schema version 4, want 1 to 3`},
		{name: "one that fails", typ: "A", version: 2, payload: `{"n":"x"}`, bad: "events.A.upcast.2: line 1, column 16: "},
		{name: "one that fails on nothing", typ: "E", payload: `{}`, bad: "events.E.upcast.1: "},
		{name: "no JSON", typ: "A", payload: `{`, bad: "the event's payload is no JSON"},
		{name: "too old", typ: "B", bad: `event "B" has schema version 1, want 2 or more`},
		{name: "without an end", typ: "B", version: 99, wantVersion: 99},
		{name: "without a beginning", typ: "C", version: 4, wantVersion: 4},
		{name: "after the end", typ: "C", version: 5, bad: `event "C" has schema version 5, want 4 at the most`},
		{name: "one version", typ: "D", version: 3, bad: `event "D" has schema version 3, want 2`},
		{name: "an event that nothing is said of", typ: "Z", version: 99, wantVersion: 99},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ev := &domain.Event{Type: tc.typ, SchemaVersion: tc.version, Payload: raw(tc.payload)}
			err := m.Upcast(ev)
			if tc.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tc.bad) || !errors.Is(err, domain.ErrInvalid) {
					t.Errorf("got %v, want %q", err, tc.bad)
				}
				if version := (*machine.VersionError)(nil); errors.As(err, &version) != strings.Contains(tc.bad, "has schema version") {
					t.Errorf("%T", err)
				}
				return
			}
			if err != nil || string(ev.Payload) != tc.want || ev.SchemaVersion != tc.wantVersion {
				t.Errorf("got %s, version %d, %v, want %s, version %d", ev.Payload, ev.SchemaVersion, err, tc.want, tc.wantVersion)
			}
		})
	}
}

func TestWhere(t *testing.T) {
	in := &domain.SagaInstance{
		Saga: "order", Correlation: "17", Definition: 3, Version: 9, State: "paying", Status: domain.SagaRunning, Data: raw(`{"total":19.5,"n":2}`),
		Steps:  []domain.SagaStep{{Name: "pay", State: domain.StepAsked, Payload: raw(`{"amount":5}`)}},
		Timers: []domain.SagaTimer{{Event: "T", DueMs: 77}}, Deferred: make([]domain.Event, 2), Held: "e1", CreatedMs: 1, UpdatedMs: 2,
	}
	for text, want := range map[string]bool{
		`state == "paying" && data.total > 19`: true, `data.n == 2 && status == "running"`: true, `data.missing == ()`: true,
		`saga == "order" && correlation == "17"`:                                         true,
		`steps.some(|s| s.name == "pay" && s.state == "asked" && s.payload.amount == 5)`: true, `timers[0].due_ms == 77`: true,
		`deferred == 2 && held && !paused`:                                           true,
		`definition == 3 && version > 8 && created_ms < updated_ms && ended_ms == 0`: true, `outcome == ""`: true, `state == "new"`: false,
	} {
		q, err := machine.Where(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := q.Holds(context.Background(), in); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"sate == 1", "state ==", ""} {
		if _, err := machine.Where(text); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"state", "data.total.x == 1"} {
		q, err := machine.Where(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Holds(context.Background(), in); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMigrate(t *testing.T) {
	const head = "name: n\ntriggers: [{of: Order, types: [Go, Wait]}]\ninitial: one\neffects: [work]\n"
	const first = head + `
timers: [Tick]
states:
  one: {on: {Wait: defer, "*": handle}, timeout: {after: 60s, event: One}}
  two: {on: {"*": handle}, timeout: {after: 30s, event: Two}}
  three: {on: {"*": handle}}
script: |
  fn on_event(state, event) { event.payload }
`
	move := func(state string) *rig {
		r := newRig(t, first)
		r.send(r.event("Wait", `{"state":{"seen":1}}`))
		r.send(r.event("Go", `{"next":"`+state+`","state":{"n":1},"work":[{"effect":"work","step":"a"}]}`))
		return r
	}
	for _, tc := range []struct {
		name, from, to string
		want           string // data and timers
		bad            string
	}{
		{name: "data stays", from: "one", to: first, want: `{"n":1} One 60`},
		{name: "the program changes data", from: "one", to: strings.Replace(first, "script: |\n",
			"script: |\n  fn migrate(state, from) { state.from = from; state }\n", 1), want: `{"from":1,"n":1} One 60`},
		{name: "or does not", from: "one", to: strings.Replace(first, "script: |\n", "script: |\n  fn migrate(state, from) { }\n", 1), want: `{"n":1} One 60`},
		{name: "another time for the same event: what has passed counts", from: "one", to: strings.Replace(first, "60s", "90s", 1), want: `{"n":1} One 60`},
		{name: "another event", from: "one", to: strings.Replace(first, "60s, event: One", "5s, event: Uno", 1), want: `{"n":1} Uno 8`},
		{name: "no time-out any more", from: "one", to: strings.Replace(first, ", timeout: {after: 60s, event: One}", "", 1), want: `{"n":1}`},
		{name: "a time-out that is new", from: "three", to: strings.Replace(first, `three: {on: {"*": handle}}`,
			`three: {on: {"*": handle}, timeout: {after: 9s, event: T}}`, 1), want: `{"seen":1} T 12`},
		{name: "what was deferred is handled, where it is no more", from: "one", to: strings.Replace(first, "Wait: defer, ", "", 1), want: `{"seen":1} One 60`},
		{name: "the state is gone", from: "two", to: strings.Replace(first, "two: {", "tow: {", 1),
			bad: `the instance is in state "two", which version 2 does not have; did you mean "tow"?`},
		{name: "the state is final", from: "three", to: strings.Replace(first, `three: {on: {"*": handle}}`, `three: {final: true}`, 1),
			bad: `in state "three", which is final in version 2`},
		{name: "migrate fails", from: "one", to: strings.Replace(first, "script: |\n", "script: |\n  fn migrate(state, from) { throw \"no\" }\n", 1),
			bad: "script: line 1, column 27: Runtime error: no"},
		{name: "migrate gives no data", from: "one", to: strings.Replace(first, "script: |\n", "script: |\n  fn migrate(state, from) { 1 }\n", 1),
			bad: "migrate gave a i64, want the instance's data, or ()"},
		{name: "another saga", from: "one", to: strings.Replace(first, "name: n", "name: m", 1), bad: `the instance is one of saga "n", not "m"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := move(tc.from)
			def := parsed(t, tc.to)
			def.Version = 2
			m, err := machine.Compile(def)
			if err != nil {
				t.Fatal(err)
			}
			before := mustJSON(r.in)
			tr, err := m.Migrate(r.in, "h2", start+3000)
			if mustJSON(r.in) != before {
				t.Error("the instance was changed")
			}
			if tc.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tc.bad) {
					t.Errorf("got %v, want %s", err, tc.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r.take(tr)
			since := start + int64(1000)
			if strings.Contains(tc.name, "another event") || strings.Contains(tc.name, "is new") {
				since = start
			}
			same(t, "instance", strings.TrimSpace(string(r.in.Data)+" "+r.timers(since)), tc.want)
			if r.in.Definition != 2 || r.in.Hash != "h2" || r.in.Version != 3 || r.steps() != "a asked" || r.last.Entries[0].Note != "migrated" {
				t.Errorf("%+v %+v", r.in, r.last.Entries)
			}
		})
	}
	r := move("one")
	r.send(r.event("Go", `{"timers":[{"event":"Tick","after":1}]}`))
	if _, err := compiled(t, strings.Replace(first, "timers: [Tick]\n", "", 1)).Migrate(r.in, "h", start); err == nil ||
		!strings.Contains(err.Error(), `its timer "Tick" is none of version 1's; it has none`) {
		t.Error(err)
	}
}

func TestWorkItemsSurviveJSON(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", three))
	text, err := json.Marshal(r.in)
	if err != nil {
		t.Fatal(err)
	}
	again := new(domain.SagaInstance)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.in, again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
