package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// All does to everything that a filter fits what an operation such as [api.JobCancelAll]
// says, and returns how it went once it has ended; with DryRun in its parameters it returns
// how many there are, and nothing is done. each, which may be nil, is called now and then
// with how far it has come. It goes on at the nodes when ctx ends; its ID is known from the
// first call of each on.
//
// Errors: [domain.ErrLimit] where too many go on, those of [Client.WaitBulk].
func All[P any](ctx context.Context, c *Client, op api.Op[P, *domain.Bulk], params P, each func(*domain.Bulk)) (*domain.Bulk, error) {
	b, err := Call(ctx, c, op, params)
	if err != nil || b.Final() || b.Status == domain.BulkCounted {
		return b, err
	}
	if each != nil {
		each(b)
	}
	return c.WaitBulk(ctx, b.ContextID, b.ID, each)
}

// WaitBulk returns a bulk operation once it has ended, and calls each, which may be nil,
// with the operation as it stands, now and then. It goes on waiting when the connection
// breaks and the node is there again soon.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) WaitBulk(ctx context.Context, tenant domain.TenantID, id domain.BulkID, each func(*domain.Bulk)) (*domain.Bulk, error) {
	p := api.WaitBulkParams{BulkParams: api.BulkParams{Context: tenant, ID: id}}
	p.TimeoutMs = bulkLook
	told := func(b *domain.Bulk, err error) (*domain.Bulk, error) {
		if err == nil && each != nil {
			each(b)
		}
		return b, err
	}
	return await(ctx, func() (*domain.Bulk, error) { return told(Call(ctx, c, api.BulkShow, p.BulkParams)) },
		func() (*domain.Bulk, error) { return told(Call(ctx, c, api.BulkWait, p)) }, (*domain.Bulk).Final)
}

// bulkLook is how often a bulk operation is looked at that is waited for, in milliseconds.
const bulkLook = 1000
