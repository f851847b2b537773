package service

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// auditWithin is how long an audit by hand looks at jobs, at flows, and at sagas, that is
// not to look at all: who asks waits for the answer.
const auditWithin = time.Second

// RunAudit audits a context.
func (c Caller) RunAudit(ctx context.Context, p api.AuditParams) (api.AuditReport, error) {
	if _, err := c.may(ctx, domain.VerbAudit, p.Context, "context"); err != nil {
		return api.AuditReport{}, err
	}
	within := auditWithin
	if p.All {
		within = 0
	}
	jobs, err := c.api.parts.Jobs.AuditWithin(ctx, p.Context, within)
	if err != nil {
		return api.AuditReport{}, err
	}
	flows, err := c.api.parts.Flows.AuditWithin(ctx, p.Context, within)
	if err != nil {
		return api.AuditReport{}, err
	}
	circles, err := c.api.parts.Circles.Audit(ctx, p.Context, 0)
	found := jobs.With(flows).With(circles)
	if err == nil && c.api.parts.Sagas != nil {
		var sagas domain.Audit
		sagas, err = c.api.parts.Sagas.AuditWithin(ctx, p.Context, within)
		found = found.With(sagas)
		if err == nil {
			found.Lacking = append(found.Lacking, c.effectsLacking(ctx, p.Context)...)
		}
	}
	if err != nil || c.api.parts.Post == nil {
		return api.AuditReport{Context: p.Context, Audit: found}, err
	}
	messages, err := c.api.parts.Post.Audit(ctx, p.Context, 0)
	return api.AuditReport{Context: p.Context, Audit: found.With(messages)}, err
}

const (
	auditPage     = 100
	auditPageMost = 1000
)

// AuditLog reads a context's audit log, newest first.
func (c Caller) AuditLog(ctx context.Context, p api.AuditLogParams) (api.AuditLines, error) {
	if _, err := c.mayAlways(ctx, domain.VerbReview, p.Context, "audit log"); err != nil {
		return api.AuditLines{}, err
	}
	return c.auditLog(ctx, p.Context, p.AuditLogFilter)
}

// NodeAuditLog reads the audit log of what concerns no context.
func (c Caller) NodeAuditLog(ctx context.Context, p api.NodeAuditLogParams) (api.AuditLines, error) {
	if _, err := c.mayAlways(ctx, domain.VerbInspect, 0, "audit log"); err != nil {
		return api.AuditLines{}, err
	}
	return c.auditLog(ctx, 0, p.AuditLogFilter)
}

func (c Caller) auditLog(ctx context.Context, tenant domain.TenantID, f api.AuditLogFilter) (api.AuditLines, error) {
	filter := identity.AuditFilter{Outcome: f.Outcome, Actor: f.Actor, Most: cmp.Or(f.Limit, auditPage)}
	switch f.Outcome {
	case "", domain.AuditDone, domain.AuditDenied, domain.AuditRefused:
	default:
		return api.AuditLines{}, domain.Invalidf("outcome %q: want done, denied or refused", string(f.Outcome))
	}
	if filter.Most < 1 || filter.Most > auditPageMost {
		return api.AuditLines{}, domain.Invalidf("limit %d: want 1 to %d", f.Limit, auditPageMost)
	}
	if f.Cursor != "" {
		ms, err := strconv.ParseInt(f.Cursor, 10, 64)
		if err != nil || ms <= 0 {
			return api.AuditLines{}, domain.Invalidf("cursor %q: want the next of the page before", f.Cursor)
		}
		filter.BeforeMs = ms
	}
	entries, more, err := c.api.parts.Audit.Entries(ctx, tenant, filter)
	list := api.AuditLines{Entries: entries}
	if more {
		list.Next = strconv.FormatInt(entries[len(entries)-1].AtMs, 10)
	}
	return list, err
}

// noAuditLog keeps nothing.
type noAuditLog struct{ identity.Discard }

func (noAuditLog) Entries(context.Context, domain.TenantID, identity.AuditFilter) ([]domain.AuditEntry, bool, error) {
	return nil, false, nil
}
