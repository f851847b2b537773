package api

import (
	"cmp"
	"context"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// AuditParams are those of audit.run.
type AuditParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// RunAudit audits a context.
func (c Caller) RunAudit(ctx context.Context, p AuditParams) (AuditReport, error) {
	if _, err := c.may(ctx, identity.Audit, p.Context, "context"); err != nil {
		return AuditReport{}, err
	}
	jobs, err := c.api.parts.Jobs.Audit(ctx, p.Context)
	if err != nil {
		return AuditReport{}, err
	}
	flows, err := c.api.parts.Flows.Audit(ctx, p.Context, 0)
	if err != nil {
		return AuditReport{}, err
	}
	circles, err := c.api.parts.Circles.Audit(ctx, p.Context, 0)
	found := jobs.With(flows).With(circles)
	if err != nil || c.api.parts.Post == nil {
		return AuditReport{p.Context, found}, err
	}
	messages, err := c.api.parts.Post.Audit(ctx, p.Context, 0)
	return AuditReport{p.Context, found.With(messages)}, err
}

// AuditLogParams are those of audit.log.
type AuditLogParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	AuditLogFilter
}

// NodeAuditLogParams are those of audit.log_all.
type NodeAuditLogParams struct {
	AuditLogFilter
}

// AuditLogFilter says which lines of an audit log are wanted.
type AuditLogFilter struct {
	// Outcome is done, refused, or denied, which takes what was refused too.
	// Default: all.
	Outcome domain.AuditOutcome `json:"-" query:"outcome"`
	// Actor takes only lines of that actor.
	Actor domain.ActorID `json:"-" query:"actor"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many lines, up to 1000. Default: 100.
	Limit int `json:"-" query:"limit"`
}

const (
	auditPage     = 100
	auditPageMost = 1000
)

// AuditLog reads a context's audit log, newest first.
func (c Caller) AuditLog(ctx context.Context, p AuditLogParams) (AuditLines, error) {
	if _, err := c.mayAlways(ctx, identity.Review, p.Context, "audit log"); err != nil {
		return AuditLines{}, err
	}
	return c.auditLog(ctx, p.Context, p.AuditLogFilter)
}

// NodeAuditLog reads the audit log of what concerns no context.
func (c Caller) NodeAuditLog(ctx context.Context, p NodeAuditLogParams) (AuditLines, error) {
	if _, err := c.mayAlways(ctx, identity.Inspect, 0, "audit log"); err != nil {
		return AuditLines{}, err
	}
	return c.auditLog(ctx, 0, p.AuditLogFilter)
}

func (c Caller) auditLog(ctx context.Context, tenant domain.TenantID, f AuditLogFilter) (AuditLines, error) {
	filter := identity.AuditFilter{Outcome: f.Outcome, Actor: f.Actor, Most: cmp.Or(f.Limit, auditPage)}
	switch f.Outcome {
	case "", domain.AuditDone, domain.AuditDenied, domain.AuditRefused:
	default:
		return AuditLines{}, domain.Invalidf("outcome %q: want done, denied or refused", string(f.Outcome))
	}
	if filter.Most < 1 || filter.Most > auditPageMost {
		return AuditLines{}, domain.Invalidf("limit %d: want 1 to %d", f.Limit, auditPageMost)
	}
	if f.Cursor != "" {
		ms, err := strconv.ParseInt(f.Cursor, 10, 64)
		if err != nil || ms <= 0 {
			return AuditLines{}, domain.Invalidf("cursor %q: want the next of the page before", f.Cursor)
		}
		filter.BeforeMs = ms
	}
	entries, more, err := c.api.parts.Audit.Entries(ctx, tenant, filter)
	list := AuditLines{Entries: entries}
	if more {
		list.Next = strconv.FormatInt(entries[len(entries)-1].AtMs, 10)
	}
	return list, err
}

// noAudit keeps nothing.
type noAudit struct{ identity.Discard }

func (noAudit) Entries(context.Context, domain.TenantID, identity.AuditFilter) ([]domain.AuditEntry, bool, error) {
	return nil, false, nil
}
