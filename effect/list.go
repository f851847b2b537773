package effect

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ramet-run/ramet/domain"
)

// This file answers people: what effects there are, how they do, and whether
// one works.

// List says how all effects do, by name.
func (w *Worker) List(ctx context.Context) []domain.EffectStatus {
	w.mu.RLock()
	set, targets := w.set, w.targets
	consumers := make([]*consumer, 0, len(set.effects))
	for name, e := range set.effects {
		if l := w.consumers[name]; l != nil && l.e == e {
			consumers = append(consumers, l)
		} else {
			consumers = append(consumers, newConsumer(w, e, targets[e.Target], set.secrets)) // one that has not begun
		}
	}
	w.mu.RUnlock()
	list := make([]domain.EffectStatus, len(consumers))
	for i, l := range consumers {
		list[i] = l.status(ctx)
	}
	slices.SortFunc(list, func(a, b domain.EffectStatus) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (c *consumer) status(ctx context.Context) domain.EffectStatus {
	e, t := c.e, c.target
	s := domain.EffectStatus{Name: e.Name, Kind: e.Kind, Summary: e.Summary, Target: e.Target, Contexts: e.Contexts,
		Breaker: t.state(), OpenMs: t.open().Milliseconds(),
		InFlight: int(t.inFlight.Load()), MaxInFlight: t.most, TimeoutMs: e.Timeout.Milliseconds(), Attempts: e.Attempts}
	s.Paused, _, _ = c.paused()
	c.mu.Lock()
	s.Hand = c.inFlight
	q := c.queue
	c.mu.Unlock()
	c.w.callsOf(e.Name).into(&s)
	if q == nil {
		s.Trouble = "the node does not take its commands"
		return s
	}
	var err error
	if s.Pending, s.Taken, err = q.Pending(ctx); err != nil {
		s.Trouble = err.Error()
	}
	return s
}

// Test looks whether an effect's target can be reached for a context.
//
// Errors: [domain.ErrNotFound]. That it cannot is in what comes back.
func (w *Worker) Test(ctx context.Context, name string, tenant domain.TenantID) (domain.EffectTrial, error) {
	return w.trial(name, func(e *opened, secrets *Secrets) attempt {
		checker := *e
		checker.provider = checking{e.provider}
		return checker.try(ctx, Call{Tenant: tenant}, secrets)
	})
}

// checking is a provider whose effect is to check.
type checking struct{ Provider }

func (p checking) Do(ctx context.Context, call Call) (json.RawMessage, error) {
	return nil, p.Check(ctx, call.Tenant)
}

// TestCall does an effect once, for real, under a new command id. It goes past
// the stream, breaker, cap and bans, and leaves no mark.
//
// Errors: [domain.ErrNotFound]; [domain.ErrForbidden] for a context that may
// not use it; [domain.ErrInvalid] for a payload that is none. How the call ended
// is in what comes back.
func (w *Worker) TestCall(ctx context.Context, name string, tenant domain.TenantID, tenantName string, payload json.RawMessage) (domain.EffectTrial, error) {
	if len(payload) > domain.MaxWorkBytes || len(payload) > 0 && !json.Valid(payload) {
		return domain.EffectTrial{}, domain.Invalidf("payload of %d bytes: want JSON of up to %d bytes", len(payload), domain.MaxWorkBytes)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return domain.EffectTrial{}, err
	}
	var refused error
	trial, err := w.trial(name, func(e *opened, secrets *Secrets) (a attempt) {
		if !e.Allows(tenant) {
			refused = domain.Forbiddenf("effect %s is not for context %d", name, tenant)
			return a
		}
		a = e.try(ctx, Call{Tenant: tenant, TenantName: tenantName, CommandID: id.String(), Effect: name, Payload: payload, Attempt: 1}, secrets)
		w.callsOf(e.Name).tried(a)
		return a
	})
	if refused != nil {
		return domain.EffectTrial{}, refused
	}
	trial.CommandID = id.String()
	return trial, err
}

// trial tries something with an effect of the set that is in use.
func (w *Worker) trial(name string, try func(*opened, *Secrets) attempt) (domain.EffectTrial, error) {
	set, _, _ := w.inUse()
	defer w.letGo(set)
	e := set.effects[domain.PlainText(name, domain.MaxNameBytes)]
	if e == nil {
		hint := ""
		if near := domain.Nearest(name, set.Names()); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return domain.EffectTrial{}, domain.NotFoundf("effect %q: there is no such one on this node%s", domain.PlainText(name, domain.MaxNameBytes), hint)
	}
	a := try(e, set.secrets)
	return domain.EffectTrial{Effect: e.Name, Kind: e.Kind, Target: e.Target, Outcome: a.outcome, Answer: a.answer, Error: a.err,
		TookMs: float64(a.took) / float64(time.Millisecond)}, nil
}

// Lag is how many commands of each effect nobody has taken yet, for metrics.
// Effects whose stream cannot be asked are left out.
func (w *Worker) Lag(ctx context.Context) map[string]uint64 {
	lag := map[string]uint64{}
	for _, s := range w.List(ctx) {
		if s.Trouble == "" {
			lag[s.Name] = s.Pending
		}
	}
	return lag
}
