package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Ban holds something of a context up, or the context.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) Ban(ctx context.Context, tenant domain.TenantID, ban api.BanInput) (domain.Ban, error) {
	return Call(ctx, c, api.BanSet, api.BanParams{In: tenant, BanInput: ban})
}

// Resume ends a ban of a context and returns what it was.
//
// Errors: [domain.ErrNotFound] where there is none.
func (c *Client) Resume(ctx context.Context, tenant domain.TenantID, scope domain.BanScope) (domain.Ban, error) {
	return Call(ctx, c, api.BanLift, api.LiftParams{In: tenant, BanScope: scope})
}

// Bans are those that hold in a context.
func (c *Client) Bans(ctx context.Context, tenant domain.TenantID) (api.BanPage, error) {
	return Call(ctx, c, api.BanList, api.ListBansParams{Context: tenant})
}

// BanAnywhere is [Client.Ban] as the node's operator: everywhere, or in any
// context.
func (c *Client) BanAnywhere(ctx context.Context, ban api.BanInput) (domain.Ban, error) {
	return Call(ctx, c, api.BanSetAll, ban)
}

// ResumeAnywhere is [Client.Resume] as the operator.
func (c *Client) ResumeAnywhere(ctx context.Context, scope domain.BanScope) (domain.Ban, error) {
	return Call(ctx, c, api.BanLiftAll, scope)
}

// AllBans are those of all contexts, for the operator.
func (c *Client) AllBans(ctx context.Context) (api.BanPage, error) {
	return Call(ctx, c, api.BanListAll, api.ListAllBansParams{})
}
