package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

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
