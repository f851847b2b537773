package api

import (
	"context"

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
	return AuditReport{p.Context, jobs.With(flows)}, err
}
