package machine

import (
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// resumeEvent is the type of the timer that a transition sets for itself when
// it leaves deferred events that could be handled.
const resumeEvent = "ramet.resume"

func resumes(ev *domain.Event) bool { return ev.Timer != 0 && ev.Type == resumeEvent }

// timer finds the timer that an event comes of; -1 where it is not set any more.
//
// A timer stays set until its event is handled or ignored, not only until it
// comes: that of a state which is left while its event waits is void.
func (t *turn) timer(ev *domain.Event) int {
	return slices.IndexFunc(t.out.Timers, func(x domain.SagaTimer) bool { return x.DueMs == ev.Timer && x.Event == ev.Type })
}

// dropTimer takes away the timer that an event came of.
func (t *turn) dropTimer(ev *domain.Event) (dropped bool) {
	if ev.Timer == 0 {
		return false
	}
	i := t.timer(ev)
	if i >= 0 {
		t.out.Timers = slices.Delete(t.out.Timers, i, i+1)
	}
	return i >= 0
}

// set sets a timer, a little later where another one has its instant.
func (t *turn) set(timer domain.SagaTimer) error {
	total := len(timer.Payload)
	for i := range t.out.Timers {
		total += len(t.out.Timers[i].Payload)
	}
	switch {
	case len(t.out.Timers) >= domain.MaxSagaTimers:
		return failf("the instance has %d timers set, the most there can be", len(t.out.Timers))
	case total > domain.MaxSagaTimerBytes:
		return failf("the instance's timers have %d bytes of payload, the limit is %d", total, domain.MaxSagaTimerBytes)
	}
	return t.place(timer)
}

// place gives a timer an instant of its own, which is after the present one.
// It is none that a timer had before the transition either: its event has its
// id of that, and comes once.
func (t *turn) place(timer domain.SagaTimer) error {
	taken := func(x domain.SagaTimer) bool { return x.DueMs == timer.DueMs }
	timer.DueMs = max(timer.DueMs, t.now+1)
	for slices.ContainsFunc(t.out.Timers, taken) || slices.ContainsFunc(t.in.Timers, taken) {
		timer.DueMs++
	}
	if timer.DueMs > domain.MaxNotBefore {
		return failf("the timer %q would come after the year 9999", timer.Event)
	}
	timer.ID = t.timerID()
	t.out.Timers = append(t.out.Timers, timer)
	return nil
}

// cancel takes away the timers that the program set for these events. A timer that a
// state has for its own time-out stays: it ends with the state.
func (t *turn) cancel(events []string) {
	if len(events) == 0 {
		return
	}
	t.out.Timers = slices.DeleteFunc(t.out.Timers, func(x domain.SagaTimer) bool {
		return x.State == "" && slices.Contains(events, x.Event)
	})
}

// changes are the timers that are new, and those that are gone.
func changes(before, after []domain.SagaTimer) (set, cleared []domain.SagaTimer) {
	without := func(list, others []domain.SagaTimer) []domain.SagaTimer {
		var out []domain.SagaTimer
		for _, x := range list {
			if !slices.ContainsFunc(others, func(y domain.SagaTimer) bool { return x.DueMs == y.DueMs }) {
				out = append(out, x)
			}
		}
		return out
	}
	return without(after, before), without(before, after)
}
