package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// AuditLog reads a page of the audit log of a context, or where tenant is 0 of
// what concerns no context: newest first.
//
// Errors: [domain.ErrForbidden] for whoever is no admin, or not the operator.
func (c *Client) AuditLog(ctx context.Context, tenant domain.TenantID, f api.AuditLogFilter) (api.AuditLines, error) {
	if tenant == 0 {
		return Call(ctx, c, api.AuditLogAll, api.NodeAuditLogParams{AuditLogFilter: f})
	}
	return Call(ctx, c, api.AuditLog, api.AuditLogParams{Context: tenant, AuditLogFilter: f})
}

// AuditChain reads lines of the audit log of a context, or where tenant is 0 of what
// concerns no context, as they lie on the board: oldest first.
//
// Errors: as of AuditLog; [domain.ErrConflict] where lines were cut since the page before.
func (c *Client) AuditChain(ctx context.Context, tenant domain.TenantID, p api.AuditChainPart) (api.AuditLinks, error) {
	if tenant == 0 {
		return Call(ctx, c, api.AuditChainAll, api.NodeAuditChainParams{AuditChainPart: p})
	}
	return Call(ctx, c, api.AuditChain, api.AuditChainParams{Context: tenant, AuditChainPart: p})
}
