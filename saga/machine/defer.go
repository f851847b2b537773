package machine

import (
	"errors"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// maxDrained is how many deferred events one transition handles: each may run
// the program. What is left is handled in another one, for which a timer is set.
const maxDrained = 32

// keep defers an event.
func (t *turn) keep(ev *domain.Event, note string) error {
	total := sizeOf(ev)
	for i := range t.out.Deferred {
		total += sizeOf(&t.out.Deferred[i])
	}
	if len(t.out.Deferred) >= domain.MaxDeferredEvents || total > domain.MaxDeferredBytes {
		return failf("no more events can be deferred: there are %d, the limits are %d and %d bytes",
			len(t.out.Deferred), domain.MaxDeferredEvents, domain.MaxDeferredBytes)
	}
	kept := *ev
	var err error
	if kept.Payload, err = storable(ev.Payload); err != nil {
		return err
	}
	t.changed = true
	t.out.Deferred = append(t.out.Deferred, kept)
	t.note(note)
	t.entry(ev, domain.Defer, t.out.State, len(t.work))
	return nil
}

// sizeOf estimates the bytes of an event as JSON.
func sizeOf(ev *domain.Event) int {
	n := 400 + len(ev.Payload)
	for name, text := range ev.Metadata {
		n += len(name) + len(text) + 6
	}
	return n
}

// Waits reports whether the event of a timer is among those that an instance
// has deferred.
func Waits(in *domain.SagaInstance, event string, dueMs int64) bool {
	return slices.ContainsFunc(in.Deferred, func(x domain.Event) bool { return x.Timer == dueMs && x.Type == event })
}

// drain handles the deferred events that can be now, in order, from the first
// on after each.
func (t *turn) drain() {
	for {
		i := t.ready()
		if i < 0 {
			return
		}
		if t.drained == maxDrained {
			t.resumeLater()
			return
		}
		ev, before := t.out.Deferred[i], t.save()
		t.out.Deferred = slices.Delete(t.out.Deferred, i, i+1)
		t.changed = true
		t.drained++
		err := t.take(&ev)
		if err == nil {
			continue
		}
		t.restore(before)
		if errors.Is(err, errTooMuch) && len(t.work) > 0 {
			t.resumeLater()
			return
		}
		t.out.Deferred = slices.Delete(t.out.Deferred, i, i+1)
		t.poisoned(&ev, programError(err))
	}
}

// ready finds the first deferred event that need not wait; -1 for none.
func (t *turn) ready() int {
	if t.out.Status == domain.SagaEnded {
		return -1
	}
	return slices.IndexFunc(t.out.Deferred, func(ev domain.Event) bool {
		r, _ := t.reaction(&ev)
		return r != domain.Defer
	})
}

// resumeLater sets the timer for what is left. It is beyond the limit of what
// programs may set, so that there is always room.
func (t *turn) resumeLater() {
	if slices.ContainsFunc(t.out.Timers, func(x domain.SagaTimer) bool { return x.Event == resumeEvent }) {
		return
	}
	if err := t.place(domain.SagaTimer{Event: resumeEvent, DueMs: t.now}); err != nil {
		t.note(err.Error()) // the next event resumes
	}
}

// poisoned is a deferred event on which the program failed.
func (t *turn) poisoned(ev *domain.Event, err *ProgramError) {
	t.poison = append(t.poison, Poison{*ev, err})
	t.failed(ev, err)
}

// saved is a turn before an event.
type saved struct {
	out           domain.SagaInstance
	work, entries int
}

func (t *turn) save() saved {
	s := saved{*t.out, len(t.work), len(t.entries)}
	s.out.Steps, s.out.Timers, s.out.Deferred = slices.Clone(s.out.Steps), slices.Clone(s.out.Timers), slices.Clone(s.out.Deferred)
	s.out.Asked = slices.Clone(s.out.Asked)
	return s
}

func (t *turn) restore(s saved) {
	*t.out = s.out
	t.work, t.entries, t.notes, t.data = t.work[:s.work], t.entries[:s.entries], nil, value.Value{}
}
