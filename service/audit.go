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

// auditWithin is how long an audit by hand looks at jobs, at flows, at sagas, and at what starts
// flows, that is not to look at all: who asks waits for the answer.
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
	if err == nil {
		var schedules domain.Audit
		schedules, err = c.api.parts.Schedules.Audit(ctx, p.Context, 0)
		found = found.With(schedules)
	}
	if err == nil && c.api.parts.Sagas != nil {
		var sagas domain.Audit
		sagas, err = c.api.parts.Sagas.AuditWithin(ctx, p.Context, within)
		found = found.With(sagas)
		if err == nil {
			found.Lacking = append(found.Lacking, c.effectsLacking(ctx, p.Context)...)
		}
	}
	if err == nil && c.api.parts.Sagas == nil {
		var lacking []domain.Finding
		lacking, err = c.sagasUnserved(ctx, p.Context)
		found.Lacking = append(found.Lacking, lacking...)
	}
	if err == nil {
		var starts domain.Audit
		starts, err = c.startsLacking(ctx, p.Context, within)
		found = found.With(starts)
	}
	if err == nil {
		var gone []domain.Finding
		gone, err = c.api.parts.Jobs.ArtifactsGone(ctx, p.Context, within)
		found.Stuck = append(found.Stuck, gone...)
	}
	if err != nil || c.api.parts.Post == nil {
		return api.AuditReport{Context: p.Context, Audit: found}, err
	}
	messages, err := c.api.parts.Post.Audit(ctx, p.Context, 0)
	return api.AuditReport{Context: p.Context, Audit: found.With(messages)}, err
}

// lookWithin is how long a look takes at jobs, at flows, at sagas, and at what starts flows: pages
// that people wait for are made of it.
const lookWithin = 50 * time.Millisecond

// LookForFindings finds what an audit of a context would, and repairs nothing.
func (c Caller) LookForFindings(ctx context.Context, p api.LookParams) (api.AuditReport, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, "context")
	if err != nil {
		return api.AuditReport{}, err
	}
	looks := []func(context.Context, domain.TenantID, time.Duration) (domain.Audit, error){c.api.parts.Jobs.LookWithin, c.api.parts.Flows.LookWithin}
	if c.api.parts.Sagas != nil {
		looks = append(looks, c.api.parts.Sagas.LookWithin)
	}
	r := api.AuditReport{Context: p.Context, Mends: c.who.Permits(t, domain.VerbAudit, false, c.group)}
	for _, look := range looks {
		found, err := look(ctx, p.Context, lookWithin)
		if err != nil {
			return api.AuditReport{}, err
		}
		r.Audit = r.With(found)
	}
	starts, err := c.startsLacking(ctx, p.Context, lookWithin)
	if err != nil {
		return api.AuditReport{}, err
	}
	r.Audit = r.With(starts)
	gone, err := c.api.parts.Jobs.ArtifactsGone(ctx, p.Context, lookWithin)
	if err != nil {
		return api.AuditReport{}, err
	}
	r.Stuck = append(r.Stuck, gone...)
	if c.api.parts.Sagas != nil {
		r.Lacking = append(r.Lacking, c.effectsLacking(ctx, p.Context)...)
		return r, nil
	}
	lacking, err := c.sagasUnserved(ctx, p.Context)
	r.Lacking = append(r.Lacking, lacking...)
	return r, err
}

// sagasUnserved finds the sagas that no node serves, on a node that has no streams and so
// serves none: its board may have come with sagas from elsewhere.
func (c Caller) sagasUnserved(ctx context.Context, tenant domain.TenantID) ([]domain.Finding, error) {
	if c.api.parts.SagasUnserved == nil {
		return nil, nil
	}
	found, err := c.api.parts.SagasUnserved(ctx, tenant)
	for i := range found {
		found[i].Text += "; this node has no streams: " + c.api.parts.NoStreams
	}
	return found, err
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

// AuditChain reads the lines of a context's audit log as they lie on the board.
func (c Caller) AuditChain(ctx context.Context, p api.AuditChainParams) (api.AuditLinks, error) {
	if _, err := c.mayAlways(ctx, domain.VerbReview, p.Context, "audit log"); err != nil {
		return api.AuditLinks{}, err
	}
	return c.auditChain(ctx, p.Context, p.AuditChainPart)
}

// NodeAuditChain reads those of what concerns no context.
func (c Caller) NodeAuditChain(ctx context.Context, p api.NodeAuditChainParams) (api.AuditLinks, error) {
	if _, err := c.mayAlways(ctx, domain.VerbInspect, 0, "audit log"); err != nil {
		return api.AuditLinks{}, err
	}
	return c.auditChain(ctx, 0, p.AuditChainPart)
}

func (c Caller) auditChain(ctx context.Context, tenant domain.TenantID, p api.AuditChainPart) (l api.AuditLinks, err error) {
	outcome, limit := cmp.Or(p.Outcome, domain.AuditDone), cmp.Or(p.Limit, auditPageMost)
	switch {
	case outcome != domain.AuditDone && outcome != domain.AuditDenied:
		return l, domain.Invalidf("outcome %q: want done or denied", string(p.Outcome))
	case limit < 1 || limit > auditPageMost:
		return l, domain.Invalidf("limit %d: want 1 to %d", p.Limit, auditPageMost)
	case p.From < 0:
		return l, domain.Invalidf("from %d: want the next of the page before", p.From)
	}
	l.Head, l.Lines, l.Next, err = c.api.parts.Audit.Chain(ctx, tenant, outcome, p.From, limit)
	return l, err
}

// noAuditLog keeps nothing.
type noAuditLog struct{ identity.Discard }

func (noAuditLog) Entries(context.Context, domain.TenantID, identity.AuditFilter) ([]domain.AuditEntry, bool, error) {
	return nil, false, nil
}

func (noAuditLog) Chain(context.Context, domain.TenantID, domain.AuditOutcome, int64, int) (domain.AuditHead, []string, int64, error) {
	return domain.AuditHead{}, nil, 0, nil
}
