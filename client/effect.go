package client

import (
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Effects lists the effects of the node that a context may use, by name.
func (c *Client) Effects(ctx context.Context, tenant domain.TenantID) (api.EffectPage, error) {
	return Call(ctx, c, api.EffectList, api.ListEffectsParams{Context: tenant})
}

// Effect is how one effect does on the node.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Effect(ctx context.Context, tenant domain.TenantID, name string) (domain.EffectStatus, error) {
	return Call(ctx, c, api.EffectShow, api.EffectParams{Context: tenant, Name: name})
}

// TestEffect looks whether an effect's target can be reached.
//
// Errors: [domain.ErrNotFound]. That it cannot is in what comes back.
func (c *Client) TestEffect(ctx context.Context, tenant domain.TenantID, name string) (domain.EffectTrial, error) {
	return Call(ctx, c, api.EffectTest, api.TestEffectParams{Context: tenant, Name: name})
}

// CallEffect does an effect once, for real, past its stream.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid]. How the call ended is in
// what comes back.
func (c *Client) CallEffect(ctx context.Context, tenant domain.TenantID, name string, payload json.RawMessage) (domain.EffectTrial, error) {
	return Call(ctx, c, api.EffectTest, api.TestEffectParams{Context: tenant, Name: name, Call: true, Payload: payload})
}

// PauseEffect lets a context's commands for an effect wait, or those for all
// effects on a target.
//
// Errors: [domain.ErrNotFound], [domain.ErrForbidden].
func (c *Client) PauseEffect(ctx context.Context, tenant domain.TenantID, name string) (api.EffectDone, error) {
	return Call(ctx, c, api.EffectPause, api.EffectParams{Context: tenant, Name: name})
}

// ResumeEffect lets them go on.
func (c *Client) ResumeEffect(ctx context.Context, tenant domain.TenantID, name string) (api.EffectDone, error) {
	return Call(ctx, c, api.EffectResume, api.EffectParams{Context: tenant, Name: name})
}
