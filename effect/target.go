package effect

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"golang.org/x/sync/semaphore"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
)

// target is what effects call: they share its breaker and its cap. It holds for
// this node only.
type target struct {
	targetLimits
	breaker  circuitbreaker.CircuitBreaker[any]
	slots    *semaphore.Weighted
	inFlight atomic.Int64
}

// targetLimits are what a target's effects say of it, the strictest of each.
type targetLimits struct {
	name   string
	most   int
	breaks int
	pause  time.Duration
}

func limitsOf(d Definition) targetLimits {
	return targetLimits{name: d.Target, most: d.MaxInFlight, breaks: d.Breaker, pause: d.BreakerPause}
}

func (l targetLimits) strictest(o targetLimits) targetLimits {
	return targetLimits{name: l.name, most: min(l.most, o.most), breaks: min(l.breaks, o.breaks), pause: max(l.pause, o.pause)}
}

func newTarget(l targetLimits, turned func(target string, to domain.BreakerState)) *target {
	t := &target{targetLimits: l, slots: semaphore.NewWeighted(int64(l.most))}
	t.breaker = circuitbreaker.NewBuilder[any]().
		WithFailureThreshold(uint(l.breaks)).WithSuccessThreshold(1).WithDelay(l.pause).
		OnStateChanged(func(e circuitbreaker.StateChangedEvent) { turned(l.name, domain.BreakerState(e.NewState.String())) }).
		Build()
	return t
}

// targetsOf makes the targets of a set's effects, and takes over those of
// before whose limits are the same: their breakers know something.
func targetsOf(s *Set, before map[string]*target, turned func(string, domain.BreakerState)) map[string]*target {
	limits := map[string]targetLimits{}
	for _, e := range s.effects {
		l := limitsOf(e.Definition)
		if other, there := limits[l.name]; there {
			l = l.strictest(other)
		}
		limits[l.name] = l
	}
	targets := map[string]*target{}
	for name, l := range limits {
		if t := before[name]; t != nil && t.targetLimits == l {
			targets[name] = t
		} else {
			targets[name] = newTarget(l, turned)
		}
	}
	return targets
}

// verdict is what an attempt says of its target.
type verdict int

const (
	works   verdict = iota // it answered, if only to refuse
	fails                  // it did not, or could not
	unknown                // the attempt was ended by us
)

// enter waits for a place among the calls in flight. leave gives it back.
func (t *target) enter(ctx context.Context) error {
	if err := t.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	t.inFlight.Add(1)
	return nil
}

func (t *target) leave() {
	t.inFlight.Add(-1)
	t.slots.Release(1)
}

// open is how long no call is let through: 0 if one is.
func (t *target) open() time.Duration { return t.breaker.RemainingDelay() }

// state is what the breaker does with the next call: one whose pause is over lets it through, and
// has not been asked yet.
func (t *target) state() domain.BreakerState {
	if is := domain.BreakerState(t.breaker.State().String()); is != domain.BreakerOpen || t.open() > 0 {
		return is
	}
	return domain.BreakerTrial
}

// wait is when to ask again after the breaker let nobody through.
func (t *target) wait() time.Duration {
	d := t.open()
	if d == 0 { // another is on trial
		d = t.pause / 10
	}
	return jitter(max(d, 100*time.Millisecond))
}

// judge tells the breaker how a call ended that it had let through.
func (t *target) judge(v verdict) {
	switch {
	case v == works:
		t.breaker.RecordSuccess()
	case v == fails, t.breaker.IsHalfOpen(): // the one on trial has not shown that it works
		t.breaker.RecordFailure()
	}
}

// backoff is the pause after the nth attempt.
func (d Definition) backoff(n int) time.Duration {
	return jitter(pause.Doubled(d.Backoff, d.MaxBackoff, n-1))
}

// jitter adds up to a fifth, so that what failed together does not come back
// together.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/5+1) }
