package machine_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
)

// order is the saga of the examples.
func order(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/order-saga/order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const placed = `{"lines":[{"sku":"tea","count":2}],"total":19.5,"card":"visa-1","email":"ann@example.org"}`

func TestAnOrderGoesThrough(t *testing.T) {
	r := newRig(t, order(t))
	r.send(r.event("OrderPlaced", placed))
	r.is("reserving", domain.SagaRunning, `{"card":"visa-1","email":"ann@example.org","order":"17","total":19.5}`)
	same(t, "work", r.asked(), `effect reserve-stock {"lines":[{"count":2,"sku":"tea"}],"order":"17"}`)
	r.send(r.result("reserve", domain.ResultSucceeded, `{"reservation":"r-1"}`))
	same(t, "timers", r.timers(start+1000), "PaymentReminder 600, PaymentTimedOut 1.8e+03")
	r.send(r.result("pay", domain.ResultSucceeded, `{"charge":"c-1"}`))
	same(t, "timers", r.timers(start), "")
	if len(r.last.Clear) != 2 || len(r.last.Set) != 0 {
		t.Errorf("cleared %v, set %v", r.last.Clear, r.last.Set)
	}
	r.send(r.result("ship", domain.ResultSucceeded, `{"parcel":"p-1"}`))
	r.is("shipped", domain.SagaEnded, "")
	if r.in.Outcome != domain.OutcomeSucceeded || r.in.EndedMs != start+3000 || r.in.CreatedMs != start || r.in.Version != 4 || r.in.Work != 6 {
		t.Errorf("%+v", r.in)
	}
	same(t, "steps", r.steps(), "reserve completed, pay completed, ship completed")
	if r.send(r.event("OrderCancelled", "")); !r.last.Ignored || r.in.Version != 4 {
		t.Error("an instance that has ended was changed")
	}
}

func TestWorkIsWhole(t *testing.T) {
	r := newRig(t, order(t))
	ev := r.event("OrderPlaced", placed)
	ev.Metadata = map[string]string{"trace_id": "t-1", "other": "x"}
	again, err := r.m.Advance(r.in, ev)
	if err != nil {
		t.Fatal(err)
	}
	w := r.send(ev).Work[0]
	if diff := cmp.Diff(again, r.last); diff != "" {
		t.Errorf("the same event makes another transition (-first +second):\n%s", diff)
	}
	want := domain.WorkItem{
		Kind: domain.WorkEffect, ID: w.ID, N: 1, Tenant: "acme", Saga: "order", Correlation: "17", Effect: "reserve-stock", Step: "reserve",
		Payload: w.Payload, MadeMs: start,
		Metadata: map[string]string{"correlation_id": "17", "saga": "order", "step": "reserve", "causation_id": "e1", "trace_id": "t-1"},
	}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(`^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(w.ID) {
		t.Errorf("%s is no UUID of version 7 of the event's time", w.ID)
	}
	wantEntry := domain.SagaEntry{Version: 1, AtMs: start, EventID: "e1", Type: "OrderPlaced", Reaction: domain.Handle, From: "new", To: "reserving",
		Work: []string{"effect reserve-stock " + w.ID}}
	if diff := cmp.Diff([]domain.SagaEntry{wantEntry}, r.last.Entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Another tenant, saga, instance, or time has others.
	for _, other := range []func(*domain.SagaInstance){
		func(in *domain.SagaInstance) { in.Tenant = "" },
		func(in *domain.SagaInstance) { in.Correlation = "18" },
		func(in *domain.SagaInstance) { in.Tenant, in.Correlation = "acme1", "7" },
		func(in *domain.SagaInstance) { in.Version = 0; in.Saga = "orders" },
	} {
		in := r.m.New("acme", "17", "h")
		other(in)
		tr, err := r.m.Advance(in, ev)
		if err != nil || tr.Work[0].ID == w.ID {
			t.Errorf("%+v has the same work: %v", in, err)
		}
	}
}

// TestIDsOfWorkAreThoseOfTheEvent: when events are read again their work has the
// ids that it had, whatever came between them; and another life of an instance
// has others, though it goes the same way at the same time.
func TestIDsOfWorkAreThoseOfTheEvent(t *testing.T) {
	const asks = `{"work":[{"effect":"work","step":"a"},{"effect":"work"},{"fact":"F"}]}`
	work := func(way ...*domain.Event) (ids []string) {
		r := newRig(t, counter)
		for _, ev := range way {
			r.send(ev)
		}
		for i := range r.work {
			ids = append(ids, r.work[i].ID)
		}
		return ids
	}
	event := func(id, typ, payload string, at int64) *domain.Event {
		return &domain.Event{ID: id, Type: typ, Source: domain.SourceAggregate, AggregateType: "Order", AggregateID: "17", TimeMs: 5, StoredMs: at,
			Payload: raw(payload)}
	}
	first, asked, other := event("e1", "Do", "", start), event("e2", "Do", asks, start+7), event("e3", "Do", "", start+3)
	want := work(first, asked)
	for name, way := range map[string][]*domain.Event{
		"another event came first":  {other, first, asked},
		"an event is gone":          {asked},
		"it waited for another one": {first, event("e2", "Wait", asks, start+7), event("e4", "Do", `{"next":"two"}`, start+90)},
	} {
		if diff := cmp.Diff(want, work(way...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	again := work(first, event("e5", "Do", asks, start+7))
	for _, id := range again {
		if slices.Contains(want, id) {
			t.Errorf("another life has the command %s, too", id)
		}
	}
	// An event that was forgotten and comes again asks for steps of its own.
	r := newRig(t, counter)
	r.send(asked)
	r.send(asked)
	if s := r.in.Steps; len(s) != 2 || s[0].CommandID == s[1].CommandID {
		t.Errorf("%+v", s)
	}
}

// counter is a saga in which events do what their payload says.
const counter = `
name: counter
triggers:
  - {of: Order, types: [Do, Wait, Skip, Bad]}
  - {source: workflow, types: [Poke]}
initial: one
data: {n: 0}
effects: [work]
timers: [Tick, Tock]
compensation: {steps: [a, b, c], effects: [undo], attempts: 2, done: undone, failed: broken}
states:
  one:
    on: {Do: handle, Wait: defer, Skip: ignore, Bad: fail, One: handle, "*": handle}
    timeout: {after: 60s, event: One}
  two:
    on: {Skip: ignore, "*": handle}
    timeout: {after: 30s, event: Two}
  three:
    on: {Skip: ignore, Tick: defer, "*": handle}
  undone: {on: {Skip: ignore, "*": handle}}
  broken: {final: true, outcome: failed}
  end: {final: true}
script: |
  fn on_event(state, event) {
    state.n += 1;
    state.last = event.type;
    if event.payload == () { return #{state: state}; }
    let answer = event.payload;
    if "fault" in answer { throw answer.fault; }
    if event.result != () { return #{state: state}; }
    answer.state = state;
    answer
  }
  fn compensate(state, work) {
    if type_of(work.payload) == "map" && "fault" in work.payload { throw "cannot undo " + work.name; }
    if type_of(work.payload) == "map" && "nothing" in work.payload { return []; }
    [#{effect: "undo", payload: #{step: work.name, result: work.result}}]
  }
`

func TestStatesHaveTheirTimeouts(t *testing.T) {
	r := newRig(t, counter)
	if r.send(r.event("Skip", "")); !r.last.Ignored || r.in.Version != 0 {
		t.Fatalf("an event that is ignored begins an instance: %+v", r.last)
	}
	r.now = start
	r.send(r.event("Do", ""))
	same(t, "a new instance", r.timers(start), "One 60")
	r.send(r.event("Do", ""))
	same(t, "without next the time-out goes on", r.timers(start), "One 60")
	r.send(r.event("Do", `{"next":"one"}`))
	same(t, "next to the same state begins anew", r.timers(start+2000), "One 60")
	stale := r.timer("One")
	r.send(r.event("Do", `{"next":"two"}`))
	same(t, "another state has another", r.timers(start+3000), "Two 30")
	if r.send(stale); !r.last.Ignored {
		t.Errorf("the time-out of a state that was left is handled: %+v", r.last)
	}
	r.send(r.timer("Two"))
	same(t, "entries", r.entries(), "Two handle two->two")
	same(t, "it comes once", r.timers(start), "")
	r.send(r.event("Do", `{"next":"three"}`))
	same(t, "a state without", r.timers(start), "")
}

func TestTimersOfPrograms(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", `{"timers":[{"event":"Tick","after":60,"payload":{"compensate":false}},{"event":"Tick","after":"1m"},{"event":"Tock",`+
		`"at_ms":1700000060000},{"event":"Tock","at_ms":5}]}`))
	same(t, "each has an instant of its own, none before the present", r.timers(start), "One 60, Tick 60, Tick 60, Tock 60, Tock 0.001")
	if a, b, c := r.in.Timers[1].DueMs, r.in.Timers[2].DueMs, r.in.Timers[3].DueMs; a != start+60_001 || b != start+60_002 || c != start+60_003 {
		t.Errorf("got %d, %d, %d", a-start, b-start, c-start)
	}
	r.send(r.timer("Tick"))
	if string(r.in.Data) != `{"last":"Tick","n":2}` || len(r.last.Clear) != 1 || string(r.last.Clear[0].Payload) != `{"compensate":false}` {
		t.Errorf("%s %+v", r.in.Data, r.last.Clear)
	}
	r.send(r.event("Do", `{"cancel":["Tock"],"timers":[{"event":"Tock","after":5}]}`))
	same(t, "what is cancelled goes before what is set", r.timers(start+2000), "One 58, Tick 58, Tock 5")

	// One that sets itself again has another instant, whatever the clock of
	// the event says.
	ev := r.timer("Tock")
	ev.Payload, ev.TimeMs = []byte(`{"timers":[{"event":"Tock","after":1}]}`), ev.TimeMs-1000
	r.send(ev)
	if due := r.in.Timers[len(r.in.Timers)-1].DueMs; due != ev.Timer+1 {
		t.Errorf("the timer is set again for %d, it was %d", due, ev.Timer)
	}
}

func TestATimerIsSetUntilItsEventIsHandled(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", `{"next":"three","timers":[{"event":"Tick","after":1}]}`))
	r.send(r.timer("Tick"))
	same(t, "deferred", r.entries(), "Tick defer three->three")
	if len(r.in.Timers) != 1 || len(r.in.Deferred) != 1 {
		t.Fatalf("%+v", r.in)
	}
	r.send(r.event("Do", `{"next":"two"}`))
	same(t, "then handled", r.entries(), "Do handle three->two; Tick handle two->two")
	same(t, "timers", r.timers(start+2000), "Two 30")

	// Cancelled while it waits, it is void.
	r = newRig(t, counter)
	r.send(r.event("Do", `{"next":"three","timers":[{"event":"Tick","after":1}]}`))
	r.send(r.timer("Tick"))
	r.send(r.event("Do", `{"cancel":["Tick"]}`))
	same(t, "void", r.entries(), "Do handle three->three; Tick ignore three->three (the timer is not set any more)")

	// The time-out of a state that is left while its instance is held, too.
	r = newRig(t, counter)
	r.send(r.event("Do", ""))
	bad := r.event("Bad", "")
	r.take(r.m.Fail(r.in, bad, r.refused(bad)))
	r.send(r.timer("One"))
	bad.Payload, bad.Type = []byte(`{"next":"two"}`), "Do"
	tr, err := r.m.Replay(r.in, bad, r.now)
	if err != nil {
		t.Fatal(err)
	}
	r.take(tr)
	same(t, "void", r.entries(), "Do handle one->two; One ignore two->two (the timer is not set any more)")
}

// TestATimersEventWaitsOnce: one that is set again by somebody who took it for
// lost comes as another event.
func TestATimersEventWaitsOnce(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", `{"next":"three","timers":[{"event":"Tick","after":1}]}`))
	r.send(r.timer("Tick"))
	if r.send(r.timer("Tick")); !r.last.Ignored || len(r.in.Deferred) != 1 || len(r.in.Timers) != 1 {
		t.Errorf("it waits twice: %+v", r.in)
	}
	r.send(r.event("Do", `{"next":"two"}`))
	same(t, "then handled", r.entries(), "Do handle three->two; Tick handle two->two")
}

func TestDeferredEventsComeInTurn(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Wait", `{"timers":[{"event":"Tock","after":9}]}`))
	same(t, "an event that is deferred begins an instance", r.entries(), "Wait defer one->one")
	r.send(r.event("Wait", `{"next":"one"}`))
	r.send(r.event("Wait", `{"next":"end"}`))
	r.send(r.event("Do", ""))
	r.is("one", domain.SagaRunning, `{"last":"Do","n":1}`)
	r.send(r.event("Do", `{"next":"two"}`))
	same(t, "in order, until one leads where they wait", r.entries(), "Do handle one->two; Wait handle two->two; Wait handle two->one")
	r.is("one", domain.SagaRunning, `{"last":"Wait","n":4}`)
	if len(r.in.Deferred) != 1 || r.in.Version != 5 || r.last.Entries[2].Version != 5 {
		t.Errorf("%+v", r.in)
	}
	// The instant of what it sets is that of the transition.
	same(t, "timers", r.timers(start+4000), "Tock 9, One 60")
	r.send(r.event("Wait", ""))
	r.send(r.event("Do", `{"next":"two"}`))
	r.is("end", domain.SagaEnded, "")
	same(t, "what is left at the end is dropped", r.entries(), "Do handle one->two; Wait handle two->end (1 deferred events dropped)")
	if r.in.Deferred != nil || r.in.Timers != nil {
		t.Errorf("%+v", r.in)
	}
}

func TestAProgramSeesWhenADeferredEventHappened(t *testing.T) {
	r := newRig(t, strings.Replace(counter, "state.n += 1;", "state.n += 1; state.seen = event.now_ms - event.time_ms; state.of = event.state;", 1))
	r.send(r.event("Wait", ""))
	r.send(r.event("Do", `{"next":"two"}`))
	r.is("two", domain.SagaRunning, `{"last":"Wait","n":2,"of":"two","seen":1000}`)
}

func TestDeferredEventsAreBounded(t *testing.T) {
	r := newRig(t, counter)
	for range domain.MaxDeferredEvents {
		r.send(r.event("Wait", ""))
	}
	if err := r.refused(r.event("Wait", "")); !strings.Contains(err.Error(), "no more events can be deferred") {
		t.Error(err)
	}
	r = newRig(t, counter)
	large := `"` + strings.Repeat("x", domain.MaxDeferredBytes*2/3) + `"`
	r.send(r.event("Wait", large))
	if err := r.refused(r.event("Wait", large)); !strings.Contains(err.Error(), "no more events can be deferred") {
		t.Error(err)
	}
}

// TestManyDeferredEventsTakeSeveralTransitions: each is bounded, in events and
// in work, and a timer brings the next one.
func TestManyDeferredEventsTakeSeveralTransitions(t *testing.T) {
	for _, tc := range []struct {
		name, payload string
		want          []int // entries of each transition
		events        int
	}{
		{name: "many events", payload: "", events: 70, want: []int{33, 33, 7}},
		{name: "much work", payload: `{"work":[` + strings.Repeat(`{"effect":"work"},`, 79) + `{"effect":"work"}]}`, events: 7, want: []int{4, 4, 2}},
	} {
		r := newRig(t, counter)
		for range tc.events {
			r.send(r.event("Wait", tc.payload))
		}
		r.send(r.event("Do", `{"next":"three"}`))
		got := []int{len(r.last.Entries)}
		for len(r.in.Timers) > 0 {
			r.send(r.timer("ramet.resume"))
			got = append(got, len(r.last.Entries))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tc.name, diff)
		}
		if len(r.in.Deferred) != 0 || !strings.Contains(string(r.in.Data), `"n":`+itoa(tc.events+1)) {
			t.Errorf("%s: %d are left, data %s", tc.name, len(r.in.Deferred), r.in.Data)
		}
		seen := map[string]bool{}
		for _, w := range r.work {
			if seen[w.ID] {
				t.Errorf("%s: two items have the id %s", tc.name, w.ID)
			}
			seen[w.ID] = true
		}
	}
	// An event that comes before the timer waits behind them.
	r := newRig(t, counter)
	for range 40 {
		r.send(r.event("Wait", ""))
	}
	r.send(r.event("Do", `{"next":"three"}`))
	r.send(r.event("Do", `{"next":"end"}`))
	if n := len(r.last.Entries); n != 1+8+1 || r.last.Entries[9].Type != "Do" || r.in.State != "end" {
		t.Errorf("%d entries: %s", n, r.entries())
	}
}

func TestEventsOnWhichTheProgramFails(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", ""))
	bad := r.event("Do", `{"fault":"no luck"}`)
	err := r.refused(bad)
	var program *machine.ProgramError
	if !errors.As(err, &program) || !errors.Is(err, domain.ErrInvalid) || program.Line != 6 || program.Path != "script" {
		t.Errorf("%+v", err)
	}
	same(t, "error", err.Error(), "script: line 6, column 26: Runtime error: no luck")

	r.take(r.m.Fail(r.in, bad, err))
	if r.in.Held != bad.ID || r.in.Version != 2 {
		t.Fatalf("%+v", r.in)
	}
	same(t, "held", r.entries(), "Do fail one->one (script: line 6, column 26: Runtime error: no luck; held)")
	r.send(r.event("Do", ""))
	same(t, "held events wait", r.entries(), "Do defer one->one (held)")
	if _, err := r.m.Replay(r.in, bad, r.now); err == nil {
		t.Error("it does not fail again")
	}
	tr := r.m.Drop(r.in, bad, r.now)
	r.take(tr)
	same(t, "dropped", r.entries(), "Do fail one->one (dropped); Do handle one->one")
	r.is("one", domain.SagaRunning, `{"last":"Do","n":2}`)
	if r.in.Held != "" {
		t.Errorf("%+v", r.in)
	}

	fails := r.event("Bad", "")
	same(t, "a reaction", r.refused(fails).Error(), `state "one" fails on event "Bad"`)

	// Of events that wait, one that fails becomes poison.
	r.send(r.event("Wait", `{"fault":"later"}`))
	r.send(r.event("Wait", ""))
	r.send(r.event("Do", `{"next":"two"}`))
	if len(r.last.Poison) != 1 || r.last.Poison[0].Event.ID != r.in.Held || len(r.in.Deferred) != 1 {
		t.Errorf("%+v", r.last)
	}
	same(t, "poison", r.entries(), "Do handle one->two; Wait fail two->two (script: line 6, column 26: Runtime error: later; held)")
	held := r.last.Poison[0].Event
	held.Payload = nil
	tr, err = r.m.Replay(r.in, &held, r.now)
	if err != nil {
		t.Fatal(err)
	}
	r.take(tr)
	same(t, "replayed", r.entries(), "Wait handle two->two; Wait handle two->two")
}

// TestAnInstanceMayBeginHeld: its first state's time runs all the same.
func TestAnInstanceMayBeginHeld(t *testing.T) {
	r := newRig(t, counter)
	bad := r.event("Do", `{"fault":"no"}`)
	r.take(r.m.Fail(r.in, bad, r.refused(bad)))
	same(t, "timers", r.timers(start), "One 60")
	if r.in.Held != bad.ID || r.in.Version != 1 || r.in.CreatedMs != start || len(r.last.Set) != 1 {
		t.Errorf("%+v", r.in)
	}
	bad.Payload = nil
	tr, err := r.m.Replay(r.in, bad, r.now)
	if err != nil {
		t.Fatal(err)
	}
	r.take(tr)
	r.is("one", domain.SagaRunning, `{"last":"Do","n":1}`)
}

func TestThePolicySkip(t *testing.T) {
	r := newRig(t, counter+"on_poison: skip\n")
	bad := r.event("Do", `{"fault":"no"}`)
	if tr := r.m.Fail(r.in, bad, r.refused(bad)); !tr.Ignored {
		t.Error("an event that is skipped begins an instance")
	}
	r.send(r.event("Do", `{"work":[{"effect":"work","step":"a"}]}`))
	bad = r.result("a", domain.ResultSucceeded, `{"fault":"no"}`)
	r.take(r.m.Fail(r.in, bad, r.refused(bad)))
	same(t, "how a step ended is kept", r.steps(), "a completed")
	if r.in.Held != "" {
		t.Errorf("%+v", r.in)
	}
	r.send(r.event("Wait", `{"fault":"no"}`))
	r.send(r.event("Wait", ""))
	r.send(r.event("Do", `{"next":"two"}`))
	if len(r.last.Poison) != 1 || len(r.in.Deferred) != 0 || r.in.Held != "" {
		t.Errorf("%+v", r.last)
	}
}

func TestPaused(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", ""))
	r.take(r.m.Pause(r.in, r.now))
	same(t, "paused", r.entries(), "  one->one (paused)")
	if !r.m.Pause(r.in, r.now).Ignored {
		t.Error("it is paused twice")
	}
	r.send(r.event("Do", ""))
	r.send(r.timer("One"))
	same(t, "waits", r.entries(), "One defer one->one (paused)")
	r.take(r.m.Resume(r.in, r.now))
	same(t, "resumed", r.entries(), "  one->one (resumed); Do handle one->one; One handle one->one")
	same(t, "timers", r.timers(start), "")
}

func TestWhatComesLateDoesNotBeginAnInstance(t *testing.T) {
	r := newRig(t, counter)
	r.send(r.event("Do", `{"work":[{"effect":"work","step":"a"}]}`))
	late, timer := r.ok("a"), r.timer("One")
	r.in = r.m.New("acme", "17", "h")
	for _, ev := range []*domain.Event{late, timer} {
		if r.send(ev); !r.last.Ignored {
			t.Errorf("%s begins an instance", ev.Type)
		}
	}
	poke := &domain.Event{ID: "p", Type: "Poke", Source: domain.SourceWorkflow, Saga: "counter", Correlation: "17", TimeMs: start}
	if r.send(poke); r.last.Ignored {
		t.Error("what is sent by name begins none")
	}
}

func TestTimesThatCannotBe(t *testing.T) {
	r := newRig(t, counter)
	for _, ms := range []int64{-1, domain.MaxNotBefore + 1} {
		ev := r.event("Do", "")
		ev.TimeMs = ms
		r.refused(ev)
		if tr := r.m.Fail(r.in, ev, errors.New("x")); tr.Instance.Held != ev.ID {
			t.Errorf("%+v", tr)
		}
	}
	ev := r.event("Do", "")
	ev.TimeMs = domain.MaxNotBefore
	if err := r.refused(ev); !strings.Contains(err.Error(), "after the year 9999") {
		t.Error(err)
	}
}
