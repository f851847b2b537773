package service

import (
	"context"

	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/domain"
)

// For tests from outside.

// HoldConditions is a condition of a context that takes until done.
func (s *Service) HoldConditions(ctx context.Context, tenant domain.TenantID) (done func(), err error) {
	return s.turns.Take(ctx, tenant)
}

// DoerOf does what bulk operations ask for.
func DoerOf(a *Service) bulk.Doer { return doer{a} }

// PageOf is what an answer has of a flow.
var PageOf = pageOf
