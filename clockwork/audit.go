package clockwork

import (
	"context"
	"log/slog"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

const (
	// auditEvery is the pause between audits of a board with little on it.
	auditEvery = 5 * time.Second
	// auditRest is how many times as long as it worked the auditor rests after
	// each page: it may take one part in twenty of a processor, however much
	// there is to look at.
	auditRest = 20
)

// Audits is the service that audits the contexts: those with something unfinished in
// each round, and see visits.go for the others. told, if not nil, gets each context's
// result, for metrics.
//
// others, if not nil, audits what else there is in a context.
func Audits(b board.Board, e *work.Engine, others Auditor, log *slog.Logger, told func(domain.TenantID, domain.Audit)) Maintenance {
	a := audits{engine: e, others: others, log: log, told: told, known: map[domain.TenantID]map[domain.Finding]bool{}}
	v := newVisits(b)
	return Maintenance{Name: "auditor", Every: auditEvery, Round: func(ctx context.Context) error { return v.round(ctx, auditEvery, a.look) }}
}

// Auditor audits what is unfinished in a context, and rests after each thing,
// rest times as long as that took.
type Auditor interface {
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error)
}

// Auditors asks one after the other.
type Auditors []Auditor

// Audit adds up what they find.
func (list Auditors) Audit(ctx context.Context, tenant domain.TenantID, rest int) (all domain.Audit, err error) {
	for _, a := range list {
		found, err := a.Audit(ctx, tenant, rest)
		if all = all.With(found); err != nil {
			return all, err
		}
	}
	return all, nil
}

type audits struct {
	engine *work.Engine
	others Auditor
	log    *slog.Logger
	told   func(domain.TenantID, domain.Audit)
	known  map[domain.TenantID]map[domain.Finding]bool // what was stuck in the last round
}

func (a audits) look(ctx context.Context, t domain.TenantID) (found bool, err error) {
	all, err := a.engine.AuditSlowly(ctx, t, auditRest)
	if err != nil {
		return false, err
	}
	if a.others != nil {
		more, err := a.others.Audit(ctx, t, auditRest)
		if err != nil {
			return false, err
		}
		all = all.With(more)
	}
	for _, f := range all.Repaired {
		a.log.Warn("audit repaired", "context", uint32(t), "item", f.Key, "finding", f.Text)
	}
	a.tellStuck(t, all.Stuck)
	if a.told != nil {
		a.told(t, all)
	}
	return all.Unfinished || len(all.Repaired)+len(all.Stuck) > 0, nil
}

// tellStuck writes what is stuck to the log once, not each few seconds; the
// metric and `ramet audit` go on telling.
func (a audits) tellStuck(t domain.TenantID, stuck []domain.Finding) {
	known := a.known[t]
	delete(a.known, t)
	if len(stuck) == 0 {
		return
	}
	a.known[t] = make(map[domain.Finding]bool, len(stuck))
	for _, f := range stuck {
		a.known[t][f] = true
		if !known[f] {
			a.log.Error("audit found something stuck", "context", uint32(t), "item", f.Key, "finding", f.Text)
		}
	}
}
