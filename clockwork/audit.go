package clockwork

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

const (
	// auditEvery is the pause between audits of a board with little on it.
	auditEvery = 5 * time.Second
	// auditRest is how many times as long as it worked the auditor rests after
	// each page: it may take one part in twenty of a processor, however much
	// there is to look at.
	auditRest = 20
	// tenantPage is how many contexts are read at once.
	tenantPage = 500
)

// Audits is the routine that audits all contexts. told, if not nil, gets each
// context's result, for metrics.
//
// others, if not nil, audits what else there is in a context.
func Audits(b board.Board, e *work.Engine, others Auditor, log *slog.Logger, told func(domain.TenantID, work.Audit)) Routine {
	a := audits{board: b, engine: e, others: others, log: log, told: told, known: map[domain.TenantID]map[work.Finding]bool{}}
	return Routine{Name: "auditor", Every: auditEvery, Round: a.round}
}

// Auditor audits what is unfinished in a context, and rests after each thing,
// rest times as long as that took.
type Auditor interface {
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (work.Audit, error)
}

// Auditors asks one after the other.
type Auditors []Auditor

// Audit adds up what they find.
func (list Auditors) Audit(ctx context.Context, tenant domain.TenantID, rest int) (all work.Audit, err error) {
	for _, a := range list {
		found, err := a.Audit(ctx, tenant, rest)
		if all = all.With(found); err != nil {
			return all, err
		}
	}
	return all, nil
}

type audits struct {
	board  board.Board
	engine *work.Engine
	others Auditor
	log    *slog.Logger
	told   func(domain.TenantID, work.Audit)
	known  map[domain.TenantID]map[work.Finding]bool // what was stuck in the last round
}

func (a audits) round(ctx context.Context) error {
	return EachTenant(ctx, a.board, func(t domain.TenantID) error {
		found, err := a.engine.AuditSlowly(ctx, t, auditRest)
		if err != nil {
			return err
		}
		if a.others != nil {
			more, err := a.others.Audit(ctx, t, auditRest)
			if err != nil {
				return err
			}
			found = found.With(more)
		}
		for _, f := range found.Repaired {
			a.log.Warn("audit repaired", "context", uint32(t), "item", f.Key, "finding", f.Text)
		}
		a.tellStuck(t, found.Stuck)
		if a.told != nil {
			a.told(t, found)
		}
		return nil
	})
}

// tellStuck writes what is stuck to the log once, not each few seconds; the
// metric and `ramet audit` go on telling.
func (a audits) tellStuck(t domain.TenantID, stuck []work.Finding) {
	known := a.known[t]
	delete(a.known, t)
	if len(stuck) == 0 {
		return
	}
	a.known[t] = make(map[work.Finding]bool, len(stuck))
	for _, f := range stuck {
		a.known[t][f] = true
		if !known[f] {
			a.log.Error("audit found something stuck", "context", uint32(t), "item", f.Key, "finding", f.Text)
		}
	}
}

// EachTenant calls do with every context of the board. What goes wrong in one
// keeps none of the others from its turn, unless the board is away.
func EachTenant(ctx context.Context, b board.Board, do func(domain.TenantID) error) error {
	after := ""
	var errs []error
	for {
		page, err := b.Members(ctx, 0, layout.Contexts, after, tenantPage)
		if err != nil || len(page) == 0 {
			return errors.Join(append(errs, err)...)
		}
		for _, m := range page {
			id, err := strconv.ParseUint(m, 10, 32)
			if err != nil {
				continue
			}
			err = do(domain.TenantID(id))
			switch {
			case err == nil:
			case ctx.Err() != nil || errors.Is(err, domain.ErrUnavailable):
				return errors.Join(append(errs, err)...)
			default:
				errs = append(errs, fmt.Errorf("context %d: %w", id, err))
			}
		}
		after = page[len(page)-1]
	}
}
