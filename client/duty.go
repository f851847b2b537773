package client

import (
	"context"
	"net/http"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Duty is the rules by which nodes lose roles, and what this one has lost.
func (c *Client) Duty(ctx context.Context) (api.Duty, error) {
	return c.duty(ctx, http.MethodGet, nil)
}

// SetDuty puts rules in place of those before.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) SetDuty(ctx context.Context, rules domain.Duties) (api.Duty, error) {
	return c.duty(ctx, http.MethodPut, rules)
}

// ClearDuty takes all rules away.
func (c *Client) ClearDuty(ctx context.Context) (api.Duty, error) {
	return c.duty(ctx, http.MethodDelete, nil)
}

func (c *Client) duty(ctx context.Context, method string, in any) (api.Duty, error) {
	var out api.Duty
	err := c.call(ctx, method, "/v1/duty", nil, in, &out)
	return out, err
}
