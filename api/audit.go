package api

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/work"
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
	a, err := c.api.parts.Jobs.Audit(ctx, p.Context)
	if a.Repaired == nil {
		a.Repaired = []work.Finding{}
	}
	if a.Stuck == nil {
		a.Stuck = []work.Finding{}
	}
	return AuditReport{p.Context, a}, err
}
