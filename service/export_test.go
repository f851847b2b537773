package service

import (
	"context"

	"github.com/ramet-run/ramet/domain"
)

// For tests from outside.

// HoldConditions is a condition of a context that takes until done.
func (a *API) HoldConditions(ctx context.Context, tenant domain.TenantID) (done func(), err error) {
	return a.turns.Take(ctx, tenant)
}
