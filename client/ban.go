package client

import (
	"context"
	"net/http"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Ban holds something of a context up, or the context.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) Ban(ctx context.Context, tenant domain.TenantID, ban api.BanSet) (domain.Ban, error) {
	return c.ban(ctx, contextPath(tenant)+"/bans", ban)
}

// Resume ends a ban of a context and returns what it was.
//
// Errors: [domain.ErrNotFound] where there is none.
func (c *Client) Resume(ctx context.Context, tenant domain.TenantID, scope domain.BanScope) (domain.Ban, error) {
	return c.ban(ctx, contextPath(tenant)+"/bans/lift", scope)
}

// Bans are those that hold in a context.
func (c *Client) Bans(ctx context.Context, tenant domain.TenantID) (api.BanList, error) {
	var out api.BanList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/bans", nil, nil, &out)
	return out, err
}

// BanAnywhere is [Client.Ban] as the node's operator: everywhere, or in any
// context.
func (c *Client) BanAnywhere(ctx context.Context, ban api.BanSet) (domain.Ban, error) {
	return c.ban(ctx, "/v1/bans", ban)
}

// ResumeAnywhere is [Client.Resume] as the operator.
func (c *Client) ResumeAnywhere(ctx context.Context, scope domain.BanScope) (domain.Ban, error) {
	return c.ban(ctx, "/v1/bans/lift", scope)
}

// AllBans are those of all contexts, for the operator.
func (c *Client) AllBans(ctx context.Context) (api.BanList, error) {
	var out api.BanList
	err := c.call(ctx, http.MethodGet, "/v1/bans", nil, nil, &out)
	return out, err
}

func (c *Client) ban(ctx context.Context, path string, in any) (domain.Ban, error) {
	var out domain.Ban
	err := c.call(ctx, http.MethodPost, path, nil, in, &out)
	return out, err
}
