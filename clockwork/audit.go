package clockwork

import (
	"context"
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
	// auditShare bounds the auditor's share of the time: after a long round it
	// rests this many times as long.
	auditShare = 50
	// tenantPage is how many contexts are read at once.
	tenantPage = 500
)

// Audits is the routine that audits all contexts. told, if not nil, gets each
// context's result, for metrics.
func Audits(b board.Board, e *work.Engine, log *slog.Logger, told func(domain.TenantID, work.Audit)) Routine {
	a := audits{board: b, engine: e, log: log, told: told}
	return Routine{Name: "auditor", Every: auditEvery, Round: a.round}
}

type audits struct {
	board  board.Board
	engine *work.Engine
	log    *slog.Logger
	told   func(domain.TenantID, work.Audit)
}

func (a audits) round(ctx context.Context) error {
	begun := time.Now()
	err := EachTenant(ctx, a.board, func(t domain.TenantID) error {
		found, err := a.engine.Audit(ctx, t)
		if err != nil {
			return err
		}
		for _, f := range found.Repaired {
			a.log.Warn("audit repaired", "context", uint32(t), "item", f.Key, "finding", f.Text)
		}
		for _, f := range found.Stuck {
			a.log.Error("audit found something stuck", "context", uint32(t), "item", f.Key, "finding", f.Text)
		}
		if a.told != nil {
			a.told(t, found)
		}
		return nil
	})
	pause(ctx, time.Since(begun)*auditShare-auditEvery)
	return err
}

// EachTenant calls do with every context of the board.
func EachTenant(ctx context.Context, b board.Board, do func(domain.TenantID) error) error {
	after := ""
	for {
		page, err := b.Members(ctx, 0, layout.Contexts, after, tenantPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, m := range page {
			id, err := strconv.ParseUint(m, 10, 32)
			if err != nil {
				continue
			}
			if err := do(domain.TenantID(id)); err != nil {
				return err
			}
		}
		after = page[len(page)-1]
	}
}
