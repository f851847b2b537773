package machine

import "github.com/ramet-run/ramet/domain"

// Transition is what an event does to an instance: everything of it is
// committed at once, or nothing.
type Transition struct {
	// Instance is as it becomes.
	Instance *domain.SagaInstance
	// Work is what is to be sent, in order.
	Work []domain.WorkItem
	// Entries are lines of the history: one for each event, those included that
	// were deferred earlier.
	Entries []domain.SagaEntry
	// Set and Clear are the timers that are new, and those that are gone. They
	// are known by their instants, of which none is in both.
	Set, Clear []domain.SagaTimer
	// Ignored says that nothing happened: there is nothing to store.
	Ignored bool
	// Poison are deferred events on which the program failed. Each becomes a
	// dead letter; with the policy hold, the instance is held already, by the
	// one that there is.
	Poison []Poison
}

// Poison is a deferred event that failed.
type Poison struct {
	Event domain.Event
	Err   *ProgramError
}

// Advance is what an event does to an instance. in is not changed.
//
// Errors: *[ProgramError]: the instance stays as it is, and comes to the same
// error whenever this is tried; see [Machine.Fail]. *[ResultError] for a result
// for which it does not wait.
func (m *Machine) Advance(in *domain.SagaInstance, ev *domain.Event) (Transition, error) {
	t, err := m.turn(in, ev.At())
	if err != nil {
		return Transition{}, err
	}
	// What comes late for an instance that is gone does not make it again.
	if in.Version == 0 && (!m.Takes(ev) || m.ours(ev) || ev.Life != "") {
		return t.end(), nil
	}
	if err := m.Refuses(in, ev); err != nil {
		return Transition{}, err
	}
	if !resumes(ev) {
		t.drain() // there is something only where a transition left it
	}
	if t.changed {
		err = t.keep(ev, "after those that were deferred")
	} else {
		err = t.take(ev)
	}
	if err != nil {
		return Transition{}, err
	}
	t.drain()
	return t.end(), nil
}
