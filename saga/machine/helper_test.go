package machine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/saga/machine"
)

// start is the time of the first event of a test.
const start = 1_700_000_000_000

// parsed is a definition of YAML.
func parsed(t testing.TB, text string) *domain.SagaDefinition {
	t.Helper()
	def, err := definition.Parse("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	def.Version = 1
	return def
}

func compiled(t testing.TB, text string) *machine.Machine {
	t.Helper()
	m, err := machine.Compile(parsed(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rig is an instance that moves on, with all that came of it.
type rig struct {
	t    testing.TB
	m    *machine.Machine
	in   *domain.SagaInstance
	now  int64
	n    int
	work []domain.WorkItem
	last machine.Transition
}

func newRig(t testing.TB, text string) *rig {
	t.Helper()
	m := compiled(t, text)
	return &rig{t: t, m: m, in: m.New("acme", "17", "h"), now: start}
}

func (r *rig) id() string {
	r.n++
	return fmt.Sprintf("e%d", r.n)
}

// event is one of the aggregate Order.
func (r *rig) event(typ, payload string) *domain.Event {
	return &domain.Event{ID: r.id(), Type: typ, Source: domain.SourceAggregate, AggregateType: "Order", AggregateID: "17",
		TimeMs: r.now, Payload: raw(payload)}
}

// result is that of the newest step of a name, or of what undoes it.
func (r *rig) result(step string, result domain.ResultType, payload string) *domain.Event {
	r.t.Helper()
	for i := len(r.work) - 1; i >= 0; i-- {
		w := &r.work[i]
		if w.Kind == domain.WorkEffect && (w.Step == step || w.Compensates == step || w.Effect == step) {
			return &domain.Event{ID: r.id(), Type: domain.ResultEvent(w.Effect, result), Source: domain.SourceResult, Effect: w.Effect,
				CommandID: w.ID, Saga: r.in.Saga, Correlation: r.in.Correlation, TimeMs: r.now, Payload: raw(payload)}
		}
	}
	r.t.Fatalf("nothing was asked for step or effect %q: %+v", step, r.work)
	return nil
}

func (r *rig) ok(step string) *domain.Event { return r.result(step, domain.ResultSucceeded, "") }
func (r *rig) no(step string) *domain.Event { return r.result(step, domain.ResultFailed, "") }

// timer is the event of the timer that is set for a type.
func (r *rig) timer(typ string) *domain.Event {
	r.t.Helper()
	for _, x := range r.in.Timers {
		if x.Event == typ {
			return &domain.Event{ID: r.id(), Type: typ, Timer: x.DueMs, Saga: r.in.Saga, Correlation: r.in.Correlation, TimeMs: x.DueMs, Payload: x.Payload}
		}
	}
	r.t.Fatalf("no timer is set for %q: %v", typ, r.in.Timers)
	return nil
}

// send advances the instance.
func (r *rig) send(ev *domain.Event) machine.Transition {
	r.t.Helper()
	next, err := r.m.Advance(r.in, ev)
	if err != nil {
		r.t.Fatalf("%s: %v", ev.Type, err)
	}
	return r.take(next)
}

// refused is an event on which the program fails.
func (r *rig) refused(ev *domain.Event) error {
	r.t.Helper()
	before := mustJSON(r.in)
	_, err := r.m.Advance(r.in, ev)
	if err == nil {
		r.t.Fatalf("%s is handled", ev.Type)
	}
	if after := mustJSON(r.in); after != before {
		r.t.Errorf("the instance was changed by an event that failed:\n%s\n%s", before, after)
	}
	return err
}

func (r *rig) take(next machine.Transition) machine.Transition {
	r.in, r.last = next.Instance, next
	r.work = append(r.work, next.Work...)
	r.now += 1000
	return next
}

// is checks state, status and data at once.
func (r *rig) is(state string, status domain.SagaStatus, data string) {
	r.t.Helper()
	if r.in.State != state || r.in.Status != status || data != "" && string(r.in.Data) != data {
		r.t.Fatalf("got %s, %s, %s, want %s, %s, %s", r.in.State, r.in.Status, r.in.Data, state, status, data)
	}
}

// asked are the last transition's items of work, in short.
func (r *rig) asked() string {
	var list []string
	for i := range r.last.Work {
		w := &r.last.Work[i]
		text := string(w.Kind) + " " + w.Effect + w.AggregateType + w.ToSaga + w.Type
		if w.Compensates != "" {
			text += " undoes " + w.Compensates
		}
		if w.Payload != nil {
			text += " " + string(w.Payload)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// entries are the last transition's lines of history, in short.
func (r *rig) entries() string {
	var list []string
	for _, e := range r.last.Entries {
		text := fmt.Sprintf("%s %s %s->%s", e.Type, e.Reaction, e.From, e.To)
		if e.Note != "" {
			text += " (" + e.Note + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// timers are those that are set, as seconds from an instant.
func (r *rig) timers(from int64) string {
	var list []string
	for _, x := range r.in.Timers {
		list = append(list, fmt.Sprintf("%s %.3g", x.Event, float64(x.DueMs-from)/1000))
	}
	return strings.Join(list, ", ")
}

func (r *rig) steps() string {
	var list []string
	for _, s := range r.in.Steps {
		list = append(list, s.Name+" "+string(s.State))
	}
	return strings.Join(list, ", ")
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func same(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got  %s\nwant %s", what, got, want)
	}
}
