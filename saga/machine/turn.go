package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// turn is a transition that is being made.
type turn struct {
	m   *Machine
	in  *domain.SagaInstance // as it was
	out *domain.SagaInstance // as it becomes
	now int64                // the instant of the transition, in Unix milliseconds

	data    value.Value // that of out, parsed; none: not yet
	work    []domain.WorkItem
	entries []domain.SagaEntry
	poison  []Poison
	notes   []string // of the event that is being handled
	changed bool     // there is something to store
	skips   bool     // what fails is passed over
	drained int      // deferred events
	origin  origin   // of the work that is asked for
	replays bool     // what is taken was a dead letter
}

// turn begins a transition at an instant.
func (m *Machine) turn(in *domain.SagaInstance, now int64) (*turn, error) {
	switch {
	case now < 0 || now > domain.MaxNotBefore:
		return nil, failf("the event's time, %d ms, is no instant up to the year 9999", now)
	case m.states[in.State] == nil:
		return nil, failf("the instance is in state %q, which version %d of the definition does not have", in.State, m.def.Version)
	}
	t := m.open(in, now)
	if in.Version == 0 {
		return t, t.enter(in.State)
	}
	return t, nil
}

// open makes a copy of an instance that may be changed.
func (m *Machine) open(in *domain.SagaInstance, now int64) *turn {
	out := *in
	out.Steps, out.Timers, out.Deferred = slices.Clone(in.Steps), slices.Clone(in.Timers), slices.Clone(in.Deferred)
	out.Asked = slices.Clone(in.Asked)
	out.Version++
	out.UpdatedMs = now
	if in.Version == 0 {
		out.CreatedMs = now
	}
	return &turn{m: m, in: in, out: &out, now: now, skips: m.def.OnPoison == domain.PoisonSkip}
}

// begins notes by which event an instance began.
func (t *turn) begins(ev *domain.Event) {
	if t.in.Version == 0 && t.out.Life == "" {
		t.out.Life = ev.ID
	}
}

// end is the transition.
func (t *turn) end() Transition {
	if !t.changed {
		return Transition{Instance: t.in, Ignored: true}
	}
	set, cleared := changes(t.in.Timers, t.out.Timers)
	return Transition{Instance: t.out, Work: t.work, Entries: t.entries, Set: set, Clear: cleared, Poison: t.poison}
}

// take does with an event what the instance does with such.
func (t *turn) take(ev *domain.Event) error {
	t.begins(ev)
	t.origin = t.originOf(ev, len(t.work))
	t.origin.replayed = t.replays
	reaction, note := t.reaction(ev)
	switch reaction {
	case domain.Handle:
		return t.handle(ev)
	case domain.Defer:
		if ev.Timer != 0 && Waits(t.out, ev.Type, ev.Timer) {
			return nil // somebody took it for lost and set it again
		}
		return t.keep(ev, note)
	case domain.Fail:
		return failf("state %q %s event %q", t.out.State, note, domain.PlainText(ev.Type, domain.MaxEventType))
	}
	if t.note(note); t.pass(ev) {
		t.changed = true
	}
	t.entry(ev, reaction, t.out.State, len(t.work))
	return nil
}

// reaction is what the instance does with an event, and why.
func (t *turn) reaction(ev *domain.Event) (domain.Reaction, string) {
	out := t.out
	part, i := t.part(ev)
	switch {
	case out.Status == domain.SagaEnded:
		return domain.Ignore, "it has ended"
	case ev.Timer != 0 && t.timer(ev) < 0:
		return domain.Ignore, "the timer is not set any more"
	case out.Held != "":
		return domain.Defer, "held"
	case out.Paused:
		return domain.Defer, "paused"
	case resumes(ev):
		return domain.Handle, ""
	case part != noPart && !t.awaited(part, i):
		return domain.Ignore, "this result was here already"
	case part == noPart && t.stray(ev):
		return domain.Ignore, "nobody waits for this result"
	case out.Status == domain.SagaCompensating && part == noPart:
		return domain.Defer, "compensating"
	case out.Status == domain.SagaCompensating:
		return domain.Handle, ""
	}
	s := t.m.states[out.State]
	if r := s.On[ev.Type]; r != "" {
		return r, verbOf(r)
	}
	if s.other != "" {
		return s.other, verbOf(s.other)
	}
	return domain.Fail, "has no reaction to"
}

// verbOf is how a state fails; other reactions explain themselves.
func verbOf(r domain.Reaction) string {
	if r == domain.Fail {
		return "fails on"
	}
	return ""
}

// handle lets an event do what it does.
func (t *turn) handle(ev *domain.Event) error {
	from, first := t.out.State, len(t.work)
	part, step := t.part(ev)
	t.changed = true
	t.dropTimer(ev)
	t.answered(ev)
	if part != noPart {
		if err := t.record(part, step, ev); err != nil {
			return err
		}
	}
	var err error
	switch {
	case resumes(ev):
		t.note("deferred events are handled")
	case t.out.Status == domain.SagaCompensating:
		err = t.compensate()
	default:
		err = t.run(ev, step)
	}
	if err != nil {
		return err
	}
	t.label(ev, first)
	t.entry(ev, domain.Handle, from, first)
	return nil
}

// run asks the program, and does what it wants. step is the one that the event
// is the result of, or -1.
func (t *turn) run(ev *domain.Event, step int) error {
	event, err := EventValue(ev, t.now)
	if err != nil {
		return err
	}
	m := event.AsMap()
	m.Set("correlation", value.Str(t.out.Correlation))
	m.Set("state", value.Str(t.out.State))
	if step >= 0 {
		m.Set("step", value.Str(t.out.Steps[step].Name))
	}
	data, err := t.dataValue()
	if err != nil {
		return err
	}
	answer, err := t.m.program.event.call(data, event)
	if err != nil {
		return err
	}
	d, err := output{m: t.m, now: t.now}.decision(answer)
	if err != nil {
		return err
	}
	return t.apply(d)
}

// dataValue is the instance's data, parsed once in a transition unless it
// becomes different: what is read again is the same in every other transition.
func (t *turn) dataValue() (value.Value, error) {
	if t.data.IsNone() {
		v, err := value.ReadJSON(string(t.out.Data))
		if err != nil {
			return v, failf("the instance's data is no JSON: %v", err)
		}
		t.data = v
	}
	return t.data, nil
}

// apply does what the program wants.
func (t *turn) apply(d *decision) error {
	if d.data != nil {
		t.out.Data, t.data = d.data, value.Value{}
	}
	t.cancel(d.cancel)
	for i := range d.work {
		if err := t.ask(&d.work[i]); err != nil {
			return err
		}
	}
	for _, timer := range d.timers {
		if err := t.set(timer); err != nil {
			return err
		}
	}
	switch {
	case d.compensate:
		return t.beginCompensation()
	case d.next != "":
		return t.enter(d.next)
	}
	return nil
}

// enter goes into a state.
func (t *turn) enter(name string) error {
	s := t.m.states[name]
	t.leave()
	t.out.State = name
	switch {
	case s.Final:
		t.finish(s)
	case s.Timeout != nil:
		return t.set(domain.SagaTimer{Event: s.Timeout.Event, DueMs: t.now + s.Timeout.After.Time().Milliseconds(), State: name})
	}
	return nil
}

// leave clears the time-out of a state.
func (t *turn) leave() {
	t.out.Timers = slices.DeleteFunc(t.out.Timers, func(x domain.SagaTimer) bool { return x.State != "" })
}

// finish ends the instance.
func (t *turn) finish(s *state) {
	if n := len(t.out.Deferred); n > 0 {
		t.note(fmt.Sprintf("%d deferred events dropped", n))
	}
	t.out.Status, t.out.EndedMs = domain.SagaEnded, t.now
	if t.out.Outcome = s.Outcome; t.out.Outcome == "" {
		t.out.Outcome = domain.OutcomeSucceeded
	}
	t.out.Timers, t.out.Deferred = nil, nil
}

// note adds to the line of history of the event that is being handled.
func (t *turn) note(text string) {
	if text != "" {
		t.notes = append(t.notes, text)
	}
}

// entry writes the line of history of an event. The items of work from first
// on came of it.
func (t *turn) entry(ev *domain.Event, r domain.Reaction, from string, first int) {
	e := domain.SagaEntry{
		Version: t.out.Version, AtMs: t.now, EventID: ev.ID, Type: ev.Type, Stream: ev.Stream, Seq: ev.Seq,
		Reaction: r, From: from, To: t.out.State, Note: strings.Join(t.notes, "; "),
	}
	t.notes = nil
	for i := first; i < len(t.work); i++ {
		e.Work = append(e.Work, Describe(&t.work[i]))
	}
	t.entries = append(t.entries, e)
}
