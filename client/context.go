package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// CreateContext makes a context; id 0 asks for the next free one.
//
// Errors: [domain.ErrInvalid], [domain.ErrConflict] when the id is taken.
func (c *Client) CreateContext(ctx context.Context, tenant domain.Tenant) (domain.Tenant, error) {
	var out domain.Tenant
	err := c.call(ctx, http.MethodPost, "/v1/contexts", nil, tenant, &out)
	return out, err
}

// Context is one context.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Context(ctx context.Context, tenant domain.TenantID) (domain.Tenant, error) {
	var out domain.Tenant
	err := c.call(ctx, http.MethodGet, contextPath(tenant), nil, nil, &out)
	return out, err
}

// ShowContext is one context with how its payloads lie on disk.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ShowContext(ctx context.Context, tenant domain.TenantID) (api.ShownContext, error) {
	var out api.ShownContext
	err := c.call(ctx, http.MethodGet, contextPath(tenant), nil, nil, &out)
	return out, err
}

// Encrypt encrypts what a context keeps, with the secret of that name, which the
// nodes have in their config files, as key-encryption key.
//
// Errors: [domain.ErrInvalid] for a secret that is no key, [domain.ErrUnavailable].
func (c *Client) Encrypt(ctx context.Context, tenant domain.TenantID, secret string) (domain.Encryption, error) {
	var out domain.Encryption
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/encrypt", nil, api.EncryptParams{Key: secret}, &out)
	return out, err
}

// Rekey gives an encrypted context a new key.
//
// Errors: [domain.ErrConflict] where it is not encrypted, [domain.ErrUnavailable].
func (c *Client) Rekey(ctx context.Context, tenant domain.TenantID) (domain.Encryption, error) {
	var out domain.Encryption
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/rekey", nil, struct{}{}, &out)
	return out, err
}

// Decrypt ends the encryption of a context.
//
// Errors: as of [Client.Rekey].
func (c *Client) Decrypt(ctx context.Context, tenant domain.TenantID) (domain.Encryption, error) {
	var out domain.Encryption
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/decrypt", nil, struct{}{}, &out)
	return out, err
}

// ContextNamed is the context that has an alias; its number will do as well.
//
// Errors: [domain.ErrNotFound]; [domain.ErrForbidden], also where there is none.
func (c *Client) ContextNamed(ctx context.Context, name string) (domain.Tenant, error) {
	var out domain.Tenant
	err := c.call(ctx, http.MethodGet, "/v1/contexts/"+url.PathEscape(name), nil, nil, &out)
	return out, err
}

// Contexts lists all that the caller may read.
func (c *Client) Contexts(ctx context.Context) (api.ContextList, error) {
	all := api.ContextList{Contexts: []domain.Tenant{}}
	err := c.pages(ctx, "/v1/contexts", func(get func(page any) error) (next string, err error) {
		var page api.ContextList
		err = get(&page)
		all.Contexts = append(all.Contexts, page.Contexts...)
		return page.Next, err
	})
	return all, err
}

// Grant gives an actor a role in a context: admin, executor or reader.
//
// Errors: [domain.ErrInvalid], also for an actor who is not registered.
func (c *Client) Grant(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, role string) (api.GrantedContext, error) {
	return c.grant(ctx, tenant, "/grant", actor, role)
}

// Revoke takes a role from an actor, or all it has where role is "". Every node
// acts by it within a second.
//
// Errors: [domain.ErrInvalid], [domain.ErrConflict] for the last admin.
func (c *Client) Revoke(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, role string) (api.GrantedContext, error) {
	return c.grant(ctx, tenant, "/revoke", actor, role)
}

func (c *Client) grant(ctx context.Context, tenant domain.TenantID, verb string, actor domain.ActorID, role string) (api.GrantedContext, error) {
	in := struct {
		Actor domain.ActorID `json:"actor"`
		Role  string         `json:"role,omitzero"`
	}{actor, role}
	var out api.GrantedContext
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+verb, nil, in, &out)
	return out, err
}

// UpdateContext changes how much of the nodes a context gets, and whether its
// executors may submit.
//
// Errors: [domain.ErrInvalid].
func (c *Client) UpdateContext(ctx context.Context, tenant domain.TenantID, change domain.TenantChange) (domain.Tenant, error) {
	var out domain.Tenant
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/update", nil, change, &out)
	return out, err
}
