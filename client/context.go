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
	out, err := Call(ctx, c, api.ContextCreate, api.CreateContextParams{Tenant: tenant})
	return out.Tenant, err
}

// Context is one context.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Context(ctx context.Context, tenant domain.TenantID) (domain.Tenant, error) {
	out, err := c.ShowContext(ctx, tenant)
	return out.Tenant, err
}

// ShowContext is one context with how its payloads lie on disk.
//
// Errors: [domain.ErrNotFound].
func (c *Client) ShowContext(ctx context.Context, tenant domain.TenantID) (api.ShownContext, error) {
	return Call(ctx, c, api.ContextShow, api.ContextParams{Context: tenant})
}

// Encrypt encrypts what a context keeps, with the secret of that name, which the
// nodes have in their config files, as key-encryption key.
//
// Errors: [domain.ErrInvalid] for a secret that is no key, [domain.ErrUnavailable].
func (c *Client) Encrypt(ctx context.Context, tenant domain.TenantID, secret string) (domain.Encryption, error) {
	return Call(ctx, c, api.ContextEncrypt, api.EncryptParams{Context: tenant, Key: secret})
}

// Rekey gives an encrypted context a new key.
//
// Errors: [domain.ErrConflict] where it is not encrypted, [domain.ErrUnavailable].
func (c *Client) Rekey(ctx context.Context, tenant domain.TenantID) (domain.Encryption, error) {
	return Call(ctx, c, api.ContextRekey, api.ContextParams{Context: tenant})
}

// Decrypt ends the encryption of a context.
//
// Errors: as of [Client.Rekey].
func (c *Client) Decrypt(ctx context.Context, tenant domain.TenantID) (domain.Encryption, error) {
	return Call(ctx, c, api.ContextDecrypt, api.ContextParams{Context: tenant})
}

// ContextNamed is the context that has an alias; its number will do as well.
//
// Errors: [domain.ErrNotFound]; [domain.ErrForbidden], also where there is none.
func (c *Client) ContextNamed(ctx context.Context, name string) (out domain.Tenant, err error) {
	_, err = c.call(ctx, reading, http.MethodGet, "/v1/contexts/"+url.PathEscape(name), nil, nil, nil, &out)
	return out, err
}

// ContextPage is a page of the contexts that the caller may read, of about limit that
// are looked at, up to 10,000; 0 is that. cursor is "" at first, then the Next of the
// page before: a page may be empty while more is to come.
func (c *Client) ContextPage(ctx context.Context, cursor string, limit int) (api.ContextPage, error) {
	return Call(ctx, c, api.ContextList, api.ListContextsParams{Cursor: cursor, Limit: limit})
}

// Contexts lists all that the caller may read.
func (c *Client) Contexts(ctx context.Context) (api.ContextPage, error) {
	all := api.ContextPage{Contexts: []domain.Tenant{}}
	err := c.pages(func(cursor string) (next string, err error) {
		page, err := c.ContextPage(ctx, cursor, 0)
		all.Contexts = append(all.Contexts, page.Contexts...)
		return page.Next, err
	})
	return all, err
}

// Grant gives an actor a role in a context: admin, executor or reader.
//
// Errors: [domain.ErrInvalid], also for an actor who is not registered.
func (c *Client) Grant(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, role string) (api.GrantedContext, error) {
	return Call(ctx, c, api.ContextGrant, api.GrantParams{Context: tenant, Actor: actor, Role: domain.ContextRole(role)})
}

// Revoke takes a role from an actor, or all it has where role is "". Every node
// acts by it within a second.
//
// Errors: [domain.ErrInvalid], [domain.ErrConflict] for the last admin.
func (c *Client) Revoke(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, role string) (api.GrantedContext, error) {
	return Call(ctx, c, api.ContextRevoke, api.GrantParams{Context: tenant, Actor: actor, Role: domain.ContextRole(role)})
}

// UpdateContext changes how much of the nodes a context gets, and whether its
// executors may submit.
//
// Errors: [domain.ErrInvalid].
func (c *Client) UpdateContext(ctx context.Context, tenant domain.TenantID, change domain.TenantChange) (domain.Tenant, error) {
	return Call(ctx, c, api.ContextUpdate, api.UpdateContextParams{Context: tenant, TenantChange: change})
}
