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

// Status is how an effect does on this node.
type Status struct {
	Name     string            `json:"name"`
	Kind     Kind              `json:"kind"`
	Summary  string            `json:"summary,omitzero"`
	Target   string            `json:"target"`
	Contexts []domain.TenantID `json:"contexts,omitzero"` // none: all
	Breaker  BreakerState      `json:"breaker"`
	// OpenMs is how long the breaker lets nobody through yet.
	OpenMs int64 `json:"open_ms,omitzero"`
	// InFlight are the calls to the target that this node makes now, of all its
	// effects, and MaxInFlight how many there may be.
	InFlight    int `json:"in_flight"`
	MaxInFlight int `json:"max_in_flight"`
	// Hand is how many commands this node has taken, Taken how many all nodes
	// have, and Pending how many nobody has yet.
	Hand    int    `json:"hand"`
	Taken   uint64 `json:"taken"`
	Pending uint64 `json:"pending"`
	// Paused says why no commands are taken, where none are.
	Paused string `json:"paused,omitzero"`
	// Error is that of the last attempt that failed.
	Error   string `json:"error,omitzero"`
	ErrorMs int64  `json:"error_ms,omitzero"`
	// Trouble says why the stream cannot be asked, where it cannot.
	Trouble string `json:"trouble,omitzero"`

	TimeoutMs int64 `json:"timeout_ms"`
	Attempts  int   `json:"attempts"`
}

// List says how all effects do, by name.
func (w *Worker) List(ctx context.Context) []Status {
	w.mu.RLock()
	set, targets := w.set, w.targets
	lanes := make([]*lane, 0, len(set.effects))
	for name, e := range set.effects {
		if l := w.lanes[name]; l != nil && l.e == e {
			lanes = append(lanes, l)
		} else {
			lanes = append(lanes, newLane(w, e, targets[e.Target], set.secrets)) // one that has not begun
		}
	}
	w.mu.RUnlock()
	list := make([]Status, len(lanes))
	for i, l := range lanes {
		list[i] = l.status(ctx)
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (l *lane) status(ctx context.Context) Status {
	e, t := l.e, l.target
	s := Status{Name: e.Name, Kind: e.Kind, Summary: e.Summary, Target: e.Target, Contexts: e.Contexts,
		Breaker: BreakerState(t.breaker.State().String()), OpenMs: t.open().Milliseconds(),
		InFlight: int(t.inFlight.Load()), MaxInFlight: t.most, TimeoutMs: e.Timeout.Milliseconds(), Attempts: e.Attempts}
	s.Paused, _, _ = l.held()
	l.mu.Lock()
	s.Hand, s.Error = l.hand, l.lastErr
	if !l.lastAt.IsZero() {
		s.ErrorMs = l.lastAt.UnixMilli()
	}
	q := l.queue
	l.mu.Unlock()
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

// Trial is what Test found.
type Trial struct {
	Effect string `json:"effect"`
	Kind   Kind   `json:"kind"`
	Target string `json:"target"`
	// CommandID is that of a call that was made.
	CommandID string          `json:"command_id,omitzero"`
	Outcome   Outcome         `json:"outcome"`
	Answer    json.RawMessage `json:"answer,omitzero"`
	Error     string          `json:"error,omitzero"`
	TookMs    float64         `json:"took_ms"`
}

// Test looks whether an effect's target can be reached.
//
// Errors: [domain.ErrNotFound]. That it cannot is in what comes back.
func (w *Worker) Test(ctx context.Context, name string) (Trial, error) {
	return w.trial(name, func(e *opened, secrets *Secrets) attempt {
		checker := *e
		checker.provider = checking{e.provider}
		return checker.try(ctx, Call{}, secrets)
	})
}

// checking is a provider whose effect is to check.
type checking struct{ Provider }

func (p checking) Do(ctx context.Context, _ Call) (json.RawMessage, error) { return nil, p.Check(ctx) }

// TestCall does an effect once, for real, under a new command id. It goes past
// the stream, breaker, cap and bans, and leaves no mark.
//
// Errors: [domain.ErrNotFound]; [domain.ErrForbidden] for a context that may
// not use it; [domain.ErrInvalid] for a payload that is none. How the call ended
// is in what comes back.
func (w *Worker) TestCall(ctx context.Context, name string, tenant domain.TenantID, tenantName string, payload json.RawMessage) (Trial, error) {
	if len(payload) > domain.MaxWorkBytes || len(payload) > 0 && !json.Valid(payload) {
		return Trial{}, domain.Invalidf("payload of %d bytes: want JSON of up to %d bytes", len(payload), domain.MaxWorkBytes)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Trial{}, err
	}
	var refused error
	trial, err := w.trial(name, func(e *opened, secrets *Secrets) (a attempt) {
		if !e.Allows(tenant) {
			refused = domain.Forbiddenf("effect %s is not for context %d", name, tenant)
			return a
		}
		return e.try(ctx, Call{Tenant: tenant, TenantName: tenantName, CommandID: id.String(), Effect: name, Payload: payload, Attempt: 1}, secrets)
	})
	if refused != nil {
		return Trial{}, refused
	}
	trial.CommandID = id.String()
	return trial, err
}

// trial tries something with an effect of the set that is in use.
func (w *Worker) trial(name string, try func(*opened, *Secrets) attempt) (Trial, error) {
	set, _, _ := w.inUse()
	defer w.letGo(set)
	e := set.effects[domain.PlainText(name, domain.MaxNameBytes)]
	if e == nil {
		hint := ""
		if near := domain.Nearest(name, set.Names()); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return Trial{}, domain.NotFoundf("effect %q: there is no such one on this node%s", domain.PlainText(name, domain.MaxNameBytes), hint)
	}
	a := try(e, set.secrets)
	return Trial{Effect: e.Name, Kind: e.Kind, Target: e.Target, Outcome: a.outcome, Answer: a.answer, Error: a.err,
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
