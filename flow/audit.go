package flow

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// auditAge is how long a flow must stand as it does before it is doubted.
const auditAge = 10 * time.Second

// Audit looks whether every unfinished flow of a context has a reason to be
// alive, and brings those that have none back to a keeper. It rests after each
// flow, rest times as long as that took.
func (e *Engine) Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error) {
	return e.audit(ctx, tenant, rest, 0, false)
}

// AuditWithin is Audit that looks at no more than there is time for, oldest first. Zero:
// all.
func (e *Engine) AuditWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error) {
	return e.audit(ctx, tenant, 0, within, false)
}

// LookWithin is AuditWithin that repairs nothing, so that those may ask who only read.
func (e *Engine) LookWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error) {
	return e.audit(ctx, tenant, 0, within, true)
}

func (e *Engine) audit(ctx context.Context, tenant domain.TenantID, rest int, within time.Duration, looks bool) (domain.Audit, error) {
	a := auditor{looker: looker{Engine: e, space: layout.SpaceOf(tenant), now: e.board.Now()}, looks: looks, lacking: map[string]int{}}
	var after board.LiveItem
	for {
		page, err := e.board.Live(ctx, a.space, after, listPage)
		if err != nil || len(page) == 0 {
			return a.report, err
		}
		for _, it := range page {
			id, err := domain.ParseFlowKey(it.Item)
			if err != nil || it.Item != domain.FlowKey(id) {
				continue
			}
			if within > 0 && time.Since(a.now) > within {
				a.report.Partial = true
				return a.report, nil
			}
			if there, err := a.kept(ctx); err != nil {
				return a.report, err
			} else if there && a.now.Sub(it.At) < auditAge {
				continue // many are as young, and there is nothing to be said of them
			}
			begun := time.Now()
			if err := a.report.Strange(domain.FlowKey(id), a.look(ctx, ref{a.space, id}, it)); err != nil {
				return a.report, err
			}
			if rest > 0 {
				pause.For(ctx, time.Since(begun)*time.Duration(rest))
			}
		}
		after = page[len(page)-1]
	}
}

type auditor struct {
	looker
	looks   bool // it repairs nothing
	report  domain.Audit
	lacking map[string]int // places of findings in the report, by what is lacking
}

func (a *auditor) look(ctx context.Context, p ref, it board.LiveItem) error {
	a.report.Looked++
	key := domain.FlowKey(p.id)
	recs, bad, err := board.PerKey(a.board.Get(ctx, p.space, key, layout.FlowState(p.id), layout.FlowWaits(p.id)))
	if err != nil {
		return err
	}
	young := a.now.Sub(it.At) < auditAge
	if recs[0] == nil && len(bad) == 0 {
		if young || a.looks {
			return nil
		}
		return work.SettleLost(ctx, a.board, a.space, it, &a.report)
	}
	r := records{state: recs[1], waits: recs[2], bad: bad.Err()}
	r.flow, _ = layout.DecodeFlow(key, recs[0])
	r.flow.ID = p.id
	if r.flow.Final() && !young {
		b := board.Batch{Space: p.space}
		b.Equal(key, layout.FlowStatus, string(r.flow.Status)).Settle(key)
		return a.repair(ctx, b, p, "")
	}
	if young = young || a.now.Before(doubtedFrom(&r.flow)); young { // nothing of it is doubted yet, but who moves it can be told
		if there, err := a.kept(ctx); err != nil || there {
			return err
		}
	}
	x, err := a.standing(ctx, p, r)
	switch {
	case err != nil:
		return err
	case x.Lack != "":
		a.lacks(key, x.Lack)
	case x.Standing != domain.StandingStuck || young:
	case x.Mend == nil:
		a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: key, Text: x.Text})
	default:
		b := board.Batch{Space: p.space}
		r.guard(&b, p)
		x.Mend.Add(&b)
		return a.repair(ctx, b, p, x.Text+"; "+x.Mend.Did)
	}
	return nil
}

// kept reports whether there is somebody for all that flows may lack.
func (a *auditor) kept(ctx context.Context) (bool, error) {
	for _, role := range []domain.Role{domain.RoleKeeper, domain.RoleClockwork} {
		if lack, err := a.absent(ctx, role); err != nil || lack != "" {
			return false, err
		}
	}
	return true, nil
}

// lacks reports a flow that waits for somebody who is not there, in one finding with all
// that wait for the same.
func (a *auditor) lacks(key, lack string) {
	if i, known := a.lacking[lack]; known {
		a.report.Lacking[i].More++
		return
	}
	a.lacking[lack] = len(a.report.Lacking)
	a.report.Lacking = append(a.report.Lacking, domain.Finding{Key: key, Text: lack})
}

// repair commits b and reports what was found, if it is worth a word; a
// conflict means that it repaired itself. Who only looks leaves it to the next audit.
func (a *auditor) repair(ctx context.Context, b board.Batch, p ref, why string) error {
	if a.looks {
		return nil
	}
	err := a.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	if err == nil && why != "" {
		a.report.Repaired = append(a.report.Repaired, domain.Finding{Key: domain.FlowKey(p.id), Text: why})
	}
	return err
}
