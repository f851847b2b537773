package client

import (
	"context"
	"fmt"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// PublishEvent stores an event in its stream and returns its id. It is durable
// when it returns.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden]; [domain.ErrUnavailable]:
// it may be stored, and can be published again under the same id.
func (c *Client) PublishEvent(ctx context.Context, tenant domain.TenantID, ev api.EventInput) (id string, err error) {
	out, err := Call(ctx, c, api.EventPublish, api.PublishParams{Context: tenant, EventInput: ev})
	if err != nil {
		return "", err
	}
	if len(out.IDs) != 1 {
		return "", fmt.Errorf("publish an event: %s answered for %d", c.where, len(out.IDs))
	}
	return out.IDs[0], nil
}

// PublishEvents stores up to [api.MaxEvents] events, in order. Nothing is stored
// before all are right.
//
// Errors: those of PublishEvent.
func (c *Client) PublishEvents(ctx context.Context, tenant domain.TenantID, events []api.EventInput) (api.EventsPublished, error) {
	out, err := Call(ctx, c, api.EventPublish, api.PublishParams{Context: tenant, Events: events})
	if err == nil && len(out.IDs) != len(events) {
		err = fmt.Errorf("publish %d events: %s answered for %d", len(events), c.where, len(out.IDs))
	}
	return out, err
}
