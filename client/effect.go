package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// Effects lists the effects of the node that a context may use, by name.
func (c *Client) Effects(ctx context.Context, tenant domain.TenantID) (api.EffectList, error) {
	var out api.EffectList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/effects", nil, nil, &out)
	return out, err
}

// Effect is how one effect does on the node.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Effect(ctx context.Context, tenant domain.TenantID, name string) (effect.Status, error) {
	var out effect.Status
	err := c.call(ctx, http.MethodGet, effectPath(tenant, name), nil, nil, &out)
	return out, err
}

// TestEffect looks whether an effect's target can be reached.
//
// Errors: [domain.ErrNotFound]. That it cannot is in what comes back.
func (c *Client) TestEffect(ctx context.Context, tenant domain.TenantID, name string) (effect.Trial, error) {
	return c.testEffect(ctx, tenant, name, api.TestEffectParams{})
}

// CallEffect does an effect once, for real, past its stream.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid]. How the call ended is in
// what comes back.
func (c *Client) CallEffect(ctx context.Context, tenant domain.TenantID, name string, payload json.RawMessage) (effect.Trial, error) {
	return c.testEffect(ctx, tenant, name, api.TestEffectParams{Call: true, Payload: payload})
}

func (c *Client) testEffect(ctx context.Context, tenant domain.TenantID, name string, p api.TestEffectParams) (effect.Trial, error) {
	var out effect.Trial
	err := c.call(ctx, http.MethodPost, effectPath(tenant, name)+"/test", nil, p, &out)
	return out, err
}

// PauseEffect lets a context's commands for an effect wait, or those for all
// effects on a target.
//
// Errors: [domain.ErrNotFound], [domain.ErrForbidden].
func (c *Client) PauseEffect(ctx context.Context, tenant domain.TenantID, name string) (api.EffectDone, error) {
	return c.onEffect(ctx, tenant, name, "pause")
}

// ResumeEffect lets them go on.
func (c *Client) ResumeEffect(ctx context.Context, tenant domain.TenantID, name string) (api.EffectDone, error) {
	return c.onEffect(ctx, tenant, name, "resume")
}

func (c *Client) onEffect(ctx context.Context, tenant domain.TenantID, name, verb string) (api.EffectDone, error) {
	var out api.EffectDone
	err := c.call(ctx, http.MethodPost, effectPath(tenant, name)+"/"+verb, nil, nil, &out)
	return out, err
}

func effectPath(tenant domain.TenantID, name string) string {
	return contextPath(tenant) + "/effects/" + segment(name)
}
