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
	a, err := c.api.parts.Jobs.Audit(ctx, p.Context)
	return AuditReport{p.Context, a}, err
}
