package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// CreateWebhook makes a webhook; secret "": one is made. The answer tells the secret, once.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden]; [domain.ErrConflict] where there is one of
// that name, or the node has no key to seal its secret with.
func (c *Client) CreateWebhook(ctx context.Context, tenant domain.TenantID, w domain.Webhook, secret string) (api.WebhookMade, error) {
	return Call(ctx, c, api.WebhookCreate, api.WebhookCreateParams{Context: tenant, Webhook: w, Secret: secret})
}

// UpdateWebhook changes all of a webhook but its name, scheme and secret.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid].
func (c *Client) UpdateWebhook(ctx context.Context, tenant domain.TenantID, w domain.Webhook) (api.Webhook, error) {
	return Call(ctx, c, api.WebhookUpdate, api.WebhookUpdateParams{WebhookParams: api.WebhookParams{Context: tenant, Name: w.Name},
		WebhookChange: api.WebhookChange{Summary: w.Summary, Blueprint: w.Blueprint, Version: w.Version, When: w.When, Params: w.Params,
			PerMinute: w.PerMinute, Paused: w.Paused}})
}

// Webhooks lists those of a context.
func (c *Client) Webhooks(ctx context.Context, tenant domain.TenantID) ([]api.Webhook, error) {
	list, err := Call(ctx, c, api.WebhookList, api.WebhookListParams{Context: tenant})
	return list.Webhooks, err
}

// Webhook is one of them.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Webhook(ctx context.Context, tenant domain.TenantID, name string) (api.Webhook, error) {
	return Call(ctx, c, api.WebhookShow, api.WebhookParams{Context: tenant, Name: name})
}

// DeleteWebhook removes one; its flows stay.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteWebhook(ctx context.Context, tenant domain.TenantID, name string) (api.Webhook, error) {
	return Call(ctx, c, api.WebhookDelete, api.WebhookParams{Context: tenant, Name: name})
}

// RotateWebhook gives one another secret; "": one is made. The one before is taken for as long
// as keep, too. The answer tells the new one, once.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid].
func (c *Client) RotateWebhook(ctx context.Context, tenant domain.TenantID, name, secret string, keep domain.Span) (api.WebhookMade, error) {
	return Call(ctx, c, api.WebhookRotate, api.WebhookRotateParams{WebhookParams: api.WebhookParams{Context: tenant, Name: name}, Secret: secret, Keep: &keep})
}
