package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// SearchArchive is one page of what has ended in a context, newest end first,
// without bodies and logs. The filter's Cursor is "" or the Next of the page
// before.
//
// Errors: [domain.ErrNotFound] where the node has no archive,
// [domain.ErrUnavailable] while that cannot be reached.
func (c *Client) SearchArchive(ctx context.Context, tenant domain.TenantID, filter api.ArchiveFilter) (api.ArchivePage, error) {
	return Call(ctx, c, api.ArchiveSearch, api.ArchiveParams{Context: tenant, ArchiveFilter: filter})
}

// ExportArchive is one page of whole records.
//
// Errors: as for SearchArchive.
func (c *Client) ExportArchive(ctx context.Context, tenant domain.TenantID, filter api.ArchiveFilter) (api.ArchivePage, error) {
	return Call(ctx, c, api.ArchiveExport, api.ArchiveParams{Context: tenant, ArchiveFilter: filter})
}

// Archived is a record with its log. endMs chooses among the ends of a key; 0
// is the newest.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Archived(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (api.ArchiveRecord, error) {
	return Call(ctx, c, api.ArchiveShow, api.ArchiveShowParams{Context: tenant, Key: key, EndMs: endMs})
}
