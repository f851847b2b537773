package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Duty is the rules by which nodes lose roles, and what this one has lost.
func (c *Client) Duty(ctx context.Context) (api.Duty, error) {
	return Call(ctx, c, api.DutyShow, api.DutyParams{})
}

// SetDuty puts rules in place of those before.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden].
func (c *Client) SetDuty(ctx context.Context, rules domain.Duties) (api.Duty, error) {
	return Call(ctx, c, api.DutySet, rules)
}

// ClearDuty takes all rules away.
func (c *Client) ClearDuty(ctx context.Context) (api.Duty, error) {
	return Call(ctx, c, api.DutyClear, api.DutyParams{})
}
