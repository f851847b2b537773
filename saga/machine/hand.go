package machine

import "github.com/ramet-run/ramet/domain"

// This file holds the transitions that no event of a stream makes.

// Fail is what becomes of an instance on whose event the program failed, by the
// definition's policy: it is held by the event's dead letter, or goes on as if
// the event had said nothing but how a step ended.
func (m *Machine) Fail(in *domain.SagaInstance, ev *domain.Event, cause error) Transition {
	t := m.open(in, within(ev.At()))
	if in.Status == domain.SagaEnded || in.Version == 0 && t.skips {
		return t.end()
	}
	if in.Version == 0 {
		if err := t.enter(in.State); err != nil {
			t.note(err.Error())
		}
	}
	t.begins(ev)
	t.failed(ev, cause)
	t.drain()
	return t.end()
}

// failed does by the policy what is done when the program fails on an event.
func (t *turn) failed(ev *domain.Event, cause error) {
	t.changed = true
	t.note(domain.PlainText(cause.Error(), maxErrorText))
	switch {
	case t.skips:
		t.skip(ev)
		return
	case t.out.Held == "":
		t.out.Held = ev.ID
		t.note("held")
	}
	t.entry(ev, domain.Fail, t.out.State, len(t.work))
}

// skip goes on without an event.
func (t *turn) skip(ev *domain.Event) {
	from, first := t.out.State, len(t.work)
	t.skips = true
	t.origin = t.originOf(ev, first)
	t.pass(ev)
	if t.out.Status == domain.SagaCompensating {
		if err := t.compensate(); err != nil {
			t.note(err.Error())
		}
	}
	t.label(ev, first)
	t.entry(ev, domain.Fail, from, first)
}

// within is an instant that there can be.
func within(ms int64) int64 { return min(max(ms, 0), domain.MaxNotBefore) }

// Replay lets an instance try again what it failed on. Where it was held by
// that, it is not any more, and goes on with what was deferred since.
//
// Errors: as Advance.
func (m *Machine) Replay(in *domain.SagaInstance, ev *domain.Event, nowMs int64) (Transition, error) {
	t, err := m.turn(in, nowMs)
	if err != nil {
		return Transition{}, err
	}
	t.release(ev.ID)
	t.replays = true
	err = t.take(ev)
	t.replays = false
	if err != nil {
		return Transition{}, err
	}
	t.drain()
	return t.end(), nil
}

// Drop lets an instance go on without what it failed on. How a step ended is
// kept all the same.
func (m *Machine) Drop(in *domain.SagaInstance, ev *domain.Event, nowMs int64) Transition {
	t := m.open(in, within(nowMs))
	if in.Version == 0 || in.Status == domain.SagaEnded {
		return t.end()
	}
	t.release(ev.ID)
	t.note("dropped")
	t.skip(ev)
	t.skips = m.def.OnPoison == domain.PoisonSkip
	t.changed = true
	t.drain()
	return t.end()
}

func (t *turn) release(id string) {
	if t.out.Held == id {
		t.out.Held, t.changed = "", true
	}
}

// Pause makes an instance defer everything; Resume ends that, and what was
// deferred is handled. An instance that has ended does neither.
func (m *Machine) Pause(in *domain.SagaInstance, nowMs int64) Transition {
	return m.pause(in, nowMs, true, "paused")
}

// Resume: see Pause.
func (m *Machine) Resume(in *domain.SagaInstance, nowMs int64) Transition {
	return m.pause(in, nowMs, false, "resumed")
}

func (m *Machine) pause(in *domain.SagaInstance, nowMs int64, paused bool, note string) Transition {
	t := m.open(in, within(nowMs))
	if in.Version == 0 || in.Status == domain.SagaEnded || in.Paused == paused {
		return t.end()
	}
	t.changed, t.out.Paused = true, paused
	t.note(note)
	t.entry(&domain.Event{}, "", t.out.State, 0)
	t.drain()
	return t.end()
}

// Compensate makes an instance undo what it did, because of an event that the
// program is not given: one of a schema version that is not taken, or a
// person's wish. Where it does so already or has ended, nothing happens.
//
// Errors: *[ProgramError] where the definition has no compensation, or the
// program fails.
func (m *Machine) Compensate(in *domain.SagaInstance, ev *domain.Event) (Transition, error) {
	t, err := m.turn(in, ev.At())
	switch {
	case err != nil:
		return Transition{}, err
	case in.Version == 0 || in.Status != domain.SagaRunning:
		return t.end(), nil
	case m.def.Compensation == nil:
		return Transition{}, failf("the definition has no compensation")
	}
	t.changed = true
	from := in.State
	t.origin = t.originOf(ev, 0)
	t.pass(ev)
	if err := t.beginCompensation(); err != nil {
		return Transition{}, err
	}
	t.label(ev, 0)
	t.entry(ev, domain.Handle, from, 0)
	t.drain()
	return t.end(), nil
}
