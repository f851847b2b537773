package effect

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file serves those who keep count of their attempts themselves, as jobs
// do: no command, no mark, no result event.

// Call makes one attempt of an effect, within the definition's time. While the
// effect or its target is banned, or the target's breaker is open, it waits, and
// tells waits why, if that is given.
//
// Errors: [domain.ErrNotFound] where this node has no such effect; a *[Refused]
// for an answer that stays, also for a context that may not use the effect; a
// *[RetryAfter] where the target says when; context.DeadlineExceeded where there
// was no answer in time; the context's.
func (w *Worker) Call(ctx context.Context, call Call, waits func(why string)) (json.RawMessage, error) {
	if len(call.Payload) > domain.MaxWorkBytes {
		return nil, Refusedf("the payload has %d bytes, the limit is %d", len(call.Payload), domain.MaxWorkBytes)
	}
	for told := ""; ; {
		answer, held, err := w.call(ctx, call)
		if held == nil {
			return answer, err
		}
		if waits != nil && held.why != told {
			told = held.why
			waits(told)
		}
		if waitFor(ctx, held.again, held.changed); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// hold says why a call is not made now, and when to look again.
type hold struct {
	why     string
	again   time.Duration
	changed <-chan struct{}
}

// call makes the attempt, unless it is held up. While it waits it holds no set
// open: the next look is at the set of then.
func (w *Worker) call(ctx context.Context, call Call) (json.RawMessage, *hold, error) {
	set, targets, _ := w.inUse()
	defer w.letGo(set)
	e := set.effects[call.Effect]
	switch {
	case e == nil:
		return nil, nil, domain.NotFoundf("this node has no effect %q", domain.PlainText(call.Effect, domain.MaxNameBytes))
	case !e.Allows(call.Tenant):
		return nil, nil, Refusedf("effect %s is not for context %d", e.Name, call.Tenant)
	}
	changed := w.cfg.Bans.Changed() // first: no change after this is missed
	if b, yes := w.cfg.Bans.Effect(call.Tenant, e.Name, e.Target); yes {
		return nil, &hold{"it is " + b.Text(), banPause, changed}, nil
	}
	t := targets[e.Target]
	if err := t.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer t.leave()
	if !t.breaker.TryAcquirePermit() {
		return nil, &hold{"the breaker of " + e.Target + " is open", t.wait(), changed}, nil
	}
	of := w.callsOf(e.Name)
	of.begin()
	defer of.end()
	w.cfg.Observer.EffectBegun(e.Name, e.Target)
	for _, value := range call.Secrets {
		set.secrets.Hide(value)
	}
	a := e.try(ctx, call, set.secrets)
	w.cfg.Observer.EffectTried(e.Name, e.Target, string(a.outcome), a.took)
	w.traced(e, call, a)
	t.judge(a.verdict())
	if a.stack != "" {
		w.text.Error("provider of an effect panics", "effect", e.Name, "command", call.CommandID, "err", a.err, "stack", a.stack)
	}
	of.tried(a)
	if err := a.error(ctx); err != nil {
		return nil, nil, err
	}
	return a.answer, nil, nil
}

// error is how the attempt ended, for those who have no outcomes. It has no
// more of the provider's error than its clean text.
func (a attempt) error(ctx context.Context) error {
	var err error
	switch a.outcome {
	case domain.EffectDone:
		return nil
	case domain.EffectDenied:
		return &Refused{Cause: a.err, Answer: a.answer}
	case domain.EffectAbandoned:
		return ctx.Err()
	case domain.EffectTimedOut:
		err = timedOut(a.err)
	default:
		err = errors.New(a.err)
	}
	if a.after > 0 {
		err = &RetryAfter{Err: err, After: a.after}
	}
	return err
}

// timedOut is the error of an attempt without an answer in time.
type timedOut string

func (e timedOut) Error() string { return string(e) }

// Unwrap makes it of its kind.
func (e timedOut) Unwrap() error { return context.DeadlineExceeded }

// Changed is closed when another set is used after this call.
func (w *Worker) Changed() <-chan struct{} {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.changed
}

// Reserved are the effects of this node that only some contexts may use, by name.
func (w *Worker) Reserved() map[string][]domain.TenantID {
	w.mu.RLock()
	defer w.mu.RUnlock()
	reserved := map[string][]domain.TenantID{}
	for name, e := range w.set.effects {
		if len(e.Contexts) > 0 {
			reserved[name] = e.Contexts
		}
	}
	return reserved
}

// Kinds are the effects of this node, by name.
func (w *Worker) Kinds() map[string]domain.EffectKind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	kinds := make(map[string]domain.EffectKind, len(w.set.effects))
	for name, e := range w.set.effects {
		kinds[name] = e.Kind
	}
	return kinds
}

// calls count what is called of an effect here by those who keep count of their attempts themselves, and
// know how the last attempt of all went, for people.
type calls struct {
	mu      sync.Mutex
	now     int
	ended   uint64
	lastErr string // of the last that failed
	lastAt  time.Time
	well    bool // one after it did not fail
}

// callsOf are those of an effect of the set.
func (w *Worker) callsOf(name string) *calls {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[name]
	if c == nil {
		c = &calls{}
		w.calls[name] = c
	}
	return c
}

func (c *calls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	c.ended++
}

// tried keeps how an attempt went. One that was given up from here is none of the target's.
func (c *calls) tried(a attempt) {
	if a.outcome == domain.EffectAbandoned {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.well = a.outcome == domain.EffectDone; !c.well {
		c.lastErr, c.lastAt = a.err, time.Now()
	}
}

// into adds them to how the effect does.
func (c *calls) into(s *domain.EffectStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Calls, s.Called = c.now, c.ended
	if !c.lastAt.IsZero() {
		s.Error, s.ErrorMs, s.Well = c.lastErr, c.lastAt.UnixMilli(), c.well
	}
}
