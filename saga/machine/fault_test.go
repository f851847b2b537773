package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
)

// saga is a right definition, changed.
func saga(change func(d *domain.SagaDefinition)) *domain.SagaDefinition {
	d := &domain.SagaDefinition{
		Name: "order", Initial: "new", Script: "x", Effects: []string{"pay"}, Timers: []string{"Tick"},
		Triggers: []domain.SagaTrigger{{Of: "Order", Types: []string{"Placed"}}, {Source: domain.SourceWorkflow, Types: []string{"Poke"}}},
		States: []domain.SagaState{
			{Name: "new", On: map[string]domain.Reaction{"Placed": domain.Handle, "*": domain.Ignore}},
			{Name: "paying", On: map[string]domain.Reaction{"*": domain.Handle}, Timeout: &domain.SagaTimeout{After: 5, Event: "TooLate"}},
			{Name: "done", Final: true, Outcome: domain.OutcomeFailed},
		},
		Events:       []domain.SagaEvent{{Type: "Placed", MinVersion: 1, MaxVersion: 3, Upcast: []domain.SagaUpcast{{From: 1, Expr: "x"}, {From: 2, Expr: "x"}}}},
		Compensation: &domain.SagaCompensation{Steps: []string{"pay"}, Effects: []string{"refund"}, Done: "done", Failed: "done"},
		OnPoison:     domain.PoisonSkip, OnVersion: domain.VersionCompensate, Partitions: 64,
	}
	if change != nil {
		change(d)
	}
	return d
}

func TestFaultsOfASaga(t *testing.T) {
	on := func(d *domain.SagaDefinition, list ...string) {
		d.States[0].On = map[string]domain.Reaction{}
		for i := 0; i < len(list); i += 2 {
			d.States[0].On[list[i]] = domain.Reaction(list[i+1])
		}
	}
	for _, tc := range []struct {
		name   string
		change func(d *domain.SagaDefinition)
		want   []string
	}{
		{"a right one has none", nil, nil},
		{"nothing", func(d *domain.SagaDefinition) { *d = domain.SagaDefinition{} }, []string{
			`name: name "": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
			"states: there are none: want at least one", "initial: it is missing; want the name of a state",
			"triggers: there are none: nothing would ever begin", "script: there is no program; want script, or nodes"}},
		{"the head", func(d *domain.SagaDefinition) {
			d.Version, d.Partitions, d.Summary, d.OnPoison, d.OnVersion = -1, 65, strings.Repeat("x", 4097), "stop", "newest"
			d.Correlation, d.CorrelationHeader = strings.Repeat("x", 8193), "x\n"
		}, []string{
			"version: -1: want 1 to 2147483647, or none for the next", "summary: 4097 bytes, the limit is 4096", "partitions: 65: want 1 to 64",
			"correlation_header: correlation is given too; want one of them", "correlation: 8193 bytes, the limit is 8192",
			`correlation_header: "x?": want the name of metadata`,
			`on_poison: "stop": want hold or skip`, `on_version: "newest": want deadletter, ignore or compensate`}},
		{"compensate without compensation", func(d *domain.SagaDefinition) {
			d.Compensation = nil
		}, []string{"on_version: compensate: the definition has no compensation"}},
		{"names", func(d *domain.SagaDefinition) {
			d.Effects, d.Timers = []string{"pay", "p y", "pay"}, []string{"ramet.resume", "*", "a b"}
		}, []string{
			`effects[1]: effect "p y": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`, `effects[2]: "pay" is named twice`,
			`timers[0]: event type "ramet.resume": those that begin with "ramet." are Ramet's own`,
			`timers[1]: event type "*": want 1 to 128 bytes of text without spaces`,
			`timers[2]: event type "a b": want 1 to 128 bytes of text without spaces`}},
		{"initial", func(d *domain.SagaDefinition) { d.Initial = "nwe" }, []string{`initial: there is no state "nwe"; did you mean "new"?`}},
		{"initial is final", func(d *domain.SagaDefinition) { d.Initial = "done" }, []string{`initial: state "done" is final: nothing would ever happen`}},
		{"triggers", func(d *domain.SagaDefinition) {
			d.Triggers = []domain.SagaTrigger{{}, {Source: "mail", Of: "x", Types: []string{"T"}}, {Source: domain.SourceFact, Of: "a b", Types: []string{"T", "T"}},
				{Source: domain.SourceResult, Of: "pay", Types: []string{"Done"}}, {Source: domain.SourceWorkflow, Of: "x", Types: []string{"ramet:drop"}},
				{Source: domain.SourceResult}, {Of: "a b", Types: []string{"T"}}, {Of: "Order.>", Types: []string{"T"}}, {Of: "Größe", Types: []string{"T"}}}
		}, []string{
			`triggers[0].of: "": want the type of an aggregate, or "*" for any`, "triggers[0].types: there are none: want the types of events that are taken",
			`triggers[1].source: "mail": want aggregate, workflow_event, effect_result or workflow`,
			`triggers[2].of: saga "a b": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`, `triggers[2].types[1]: "T" is named twice`,
			`triggers[3].types[0]: "Done": want Succeeded, Failed or TimedOut`, "triggers[4].of: events of source workflow are of nobody; leave it out",
			`triggers[4].types[0]: event type "ramet:drop": those that begin with "ramet:" are Ramet's own`,
			`triggers[5].of: effect "": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
			`triggers[6].of: aggregate type "a b": want 1 to 128 bytes of ASCII, without spaces, '.', '*' and '>'`,
			`triggers[7].of: aggregate type "Order.>": want 1 to 128 bytes of ASCII, without spaces, '.', '*' and '>'`,
			`triggers[8].of: aggregate type "Größe": want 1 to 128 bytes of ASCII, without spaces, '.', '*' and '>'`}},
		{"states", func(d *domain.SagaDefinition) {
			d.States = append(d.States, domain.SagaState{Name: "n w"}, domain.SagaState{Name: "new"},
				domain.SagaState{Name: "a", Outcome: domain.OutcomeFailed, On: map[string]domain.Reaction{"*": "hndle", "a b": domain.Fail}},
				domain.SagaState{Name: "b", Final: true, Outcome: "maybe", On: map[string]domain.Reaction{"*": domain.Handle}, Timeout: &domain.SagaTimeout{}})
		}, []string{
			`states[3].name: name "n w": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
			`states[4].name: "new" is the name of states[0] too: each state needs its own`, "states.a.outcome: only final states have an outcome",
			`states.a.on.*: "hndle": want handle, defer, ignore or fail`, `states.a.on.a b: event type "a b": want 1 to 128 bytes of text without spaces`,
			`states.b.outcome: "maybe": want succeeded or failed`, "states.b.on: the state is final: nothing comes after it",
			"states.b.timeout: the state is final: nothing comes after it"}},
		{"every event has a reaction", func(d *domain.SagaDefinition) { on(d, "Placed", "handle") }, []string{
			`states.new.on: it does not say what to do with Poke, Tick, pay.Failed, pay.Succeeded, pay.TimedOut; name each, or "*" for all others`}},
		{"results of others too", func(d *domain.SagaDefinition) {
			d.Triggers = append(d.Triggers, domain.SagaTrigger{Source: domain.SourceResult, Of: "ship", Types: []string{"Failed"}})
			on(d, "Placed", "handle", "Poke", "defer", "Tick", "ignore", "pay.Failed", "fail", "pay.Succeeded", "handle", "pay.TimedOut", "handle")
		}, []string{`states.new.on: it does not say what to do with ship.Failed; name each, or "*" for all others`}},
		{"results of any effect need *", func(d *domain.SagaDefinition) {
			d.Triggers = append(d.Triggers, domain.SagaTrigger{Source: domain.SourceResult, Of: "*"})
			on(d, "Placed", "handle", "Poke", "defer", "Tick", "ignore", "pay.Failed", "fail", "pay.Succeeded", "handle", "pay.TimedOut", "handle")
		}, []string{`states.new.on: it does not say what to do with *; name each, or "*" for all others`}},
		{"a time-out needs a reaction in its state", func(d *domain.SagaDefinition) {
			on(d, "Placed", "handle", "Poke", "defer", "Tick", "ignore", "pay.Failed", "fail", "pay.Succeeded", "handle", "pay.TimedOut", "handle")
			d.States[0].Timeout = &domain.SagaTimeout{Event: "TooLate"}
		},
			[]string{"states.new.timeout.after: it is missing; want a span of time, as 30m",
				`states.new.on: it does not say what to do with TooLate; name each, or "*" for all others`}},
		{"a time-out that is deferred", func(d *domain.SagaDefinition) { d.States[1].On = map[string]domain.Reaction{"*": domain.Defer} }, []string{
			`states.paying.on: "TooLate" is deferred: the time-out of a state is void when that is left, so it would never come`}},
		{"many are missing", func(d *domain.SagaDefinition) {
			d.Effects = []string{"a", "b", "c", "d"}
			on(d)
		},
			[]string{`states.new.on: it does not say what to do with Placed, Poke, Tick, a.Failed, a.Succeeded, a.TimedOut, b.Failed, b.Succeeded and 7 ` +
				`more; name each, or "*" for all others`}},
		{"events", func(d *domain.SagaDefinition) {
			d.Events = []domain.SagaEvent{{Type: "a b"}, {Type: "A", MinVersion: 3, MaxVersion: 2}, {Type: "A"},
				{Type: "B", MinVersion: 2, Upcast: []domain.SagaUpcast{{From: 1, Expr: "x"}}},
				{Type: "C", MaxVersion: 3, Upcast: []domain.SagaUpcast{{From: 1}, {From: 1, Expr: "x"}, {From: 3, Expr: "x"}}},
				{Type: "D", MaxVersion: 102, Upcast: []domain.SagaUpcast{{From: 1, Expr: "x"}}}}
		}, []string{
			`events[0].type: event type "a b": want 1 to 128 bytes of text without spaces`, "events.A.versions: 3 to 2: want versions such as 1..3",
			`events[2].type: "A" is named twice`,
			"events.B.upcast: want versions with an end, as 1..3, and up to 100 of them", "events.C.upcast.1: it is empty; want an expression over payload",
			"events.C.upcast[1]: version 1 stands twice", "events.C.upcast.3: there is nothing to make of version 3: 1 to 3 are taken",
			"events.C.upcast: version 2 is taken, but nothing makes version 3 of it", "events.D.upcast: want versions with an end, as 1..3, and up to 100 of them"}},
		{"nodes", func(d *domain.SagaDefinition) {
			d.Nodes = []domain.SagaNode{{Name: "A", Expr: "1"}, {Name: "a"}, {Name: "a", Expr: "1", When: strings.Repeat("x", 8193)}}
		}, []string{
			"nodes: script is given too; want one of them", `nodes[0].name: "A": want a lower-case letter first, then such, digits and '_', up to 64 in all`,
			"nodes.a.expr: it is empty; want a Rhai expression", `nodes[2].name: "a" is named twice`, "nodes.a.when: 8193 bytes, the limit is 8192"}},
		{"a long script", func(d *domain.SagaDefinition) {
			d.Script = strings.Repeat("x", domain.MaxSagaBytes+1)
		}, []string{"script: 524289 bytes, the limit is 524288"}},
		{"compensation", func(d *domain.SagaDefinition) {
			d.Compensation = &domain.SagaCompensation{Attempts: 101, Done: "doen", Effects: []string{"a b"}, Nodes: []domain.SagaNode{{Name: "effect", Expr: "1"}}}
		}, []string{
			"compensation.steps: there are none: want the steps that can be undone",
			`compensation.effects[0]: effect "a b": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
			"compensation.attempts: 101: want 1 to 100",
			`compensation.done: there is no state "doen"; did you mean "done"?`, "compensation.failed: it is missing; want the name of a state",
			"compensation.nodes: the program is a script, of which the function compensate says how a step is undone"}},
		{"compensation of a graph", func(d *domain.SagaDefinition) { d.Script, d.Nodes = "", []domain.SagaNode{{Name: "next", Expr: "1"}} }, []string{
			"compensation.nodes: there are none: want nodes that say what undoes a step, such as `effect:` and `payload:`"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, f := range faultsOf(saga(tc.change)) {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsOfASaga(t *testing.T) {
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, "n"+strings.Repeat("x", i%40)+string(rune('a'+i/40)))
		}
		return list
	}
	got := faultsOf(saga(func(d *domain.SagaDefinition) {
		d.Effects, d.Timers, d.Compensation.Steps = many(101), many(201), many(201)
		d.Triggers = make([]domain.SagaTrigger, 51)
		d.States[1].On = map[string]domain.Reaction{}
		for _, n := range many(201) {
			d.States[1].On[n] = domain.Handle
		}
		for range 200 {
			d.States = append(d.States, domain.SagaState{Name: "new"})
		}
		d.Events = make([]domain.SagaEvent, 201)
		for i, n := range many(201) {
			d.Events[i].Type = n
		}
		d.Nodes = make([]domain.SagaNode, 201)
	}))
	var text []string
	for _, f := range got {
		if strings.Contains(f.Text, "limit") {
			text = append(text, f.String())
		}
	}
	want := []string{"effects: 101 names, the limit is 100", "timers: 201 names, the limit is 200", "states: 203 states, the limit is 200",
		"triggers: 51 triggers, the limit is 50",
		"states.paying.on: 201 reactions, the limit is 200"}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got) != 50 {
		t.Errorf("%d faults are told, want the first 50", len(got))
	}
}

func TestReactionsToWhatNeverComes(t *testing.T) {
	var got []string
	d := saga(func(d *domain.SagaDefinition) {
		d.States[0].On["pay.Suceeded"] = domain.Handle
		d.States[0].On["TooLate"] = domain.Handle
		d.States[1].On["TooLate"] = domain.Handle
	})
	for _, f := range idle(d) {
		got = append(got, f.String())
	}
	want := []string{
		`states.new.on.TooLate: no trigger, effect or timer brings "TooLate"`,
		`states.new.on.pay.Suceeded: no trigger, effect or timer brings "pay.Suceeded"; did you mean "pay.Succeeded"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Triggers = append(d.Triggers, domain.SagaTrigger{Source: domain.SourceResult, Of: "*"})
	if list := idle(d); list != nil {
		t.Errorf("where any result may come: %v", list)
	}
}
