package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// ApplyListener makes a listener, or changes the one of that name.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden]; [domain.ErrUnavailable] where the node has
// no streams.
func (c *Client) ApplyListener(ctx context.Context, tenant domain.TenantID, l domain.Listener) (api.Listener, error) {
	return Call(ctx, c, api.ListenerApply, api.ListenerApplyParams{Context: tenant, Listener: l})
}

// Listeners lists those of a context.
func (c *Client) Listeners(ctx context.Context, tenant domain.TenantID) ([]api.Listener, error) {
	list, err := Call(ctx, c, api.ListenerList, api.ListenerListParams{Context: tenant})
	return list.Listeners, err
}
