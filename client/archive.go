package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// SearchArchive is one page of what has ended in a context, newest end first,
// without bodies and logs. The filter's Cursor is "" or the Next of the page
// before.
//
// Errors: [domain.ErrNotFound] where the node has no archive,
// [domain.ErrUnavailable] while that cannot be reached.
func (c *Client) SearchArchive(ctx context.Context, tenant domain.TenantID, filter api.ArchiveFilter) (api.ArchiveList, error) {
	return c.archive(ctx, contextPath(tenant)+"/archive", filter)
}

// ExportArchive is one page of whole records.
//
// Errors: as for SearchArchive.
func (c *Client) ExportArchive(ctx context.Context, tenant domain.TenantID, filter api.ArchiveFilter) (api.ArchiveList, error) {
	return c.archive(ctx, contextPath(tenant)+"/archive/export", filter)
}

// Archived is a record with its log. endMs chooses among the ends of a key; 0
// is the newest.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Archived(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (api.ArchiveRecord, error) {
	q := url.Values{}
	if endMs != 0 {
		q.Set("end_ms", strconv.FormatInt(endMs, 10))
	}
	var out api.ArchiveRecord
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/archive/"+url.PathEscape(key), q, nil, &out)
	return out, err
}

func (c *Client) archive(ctx context.Context, path string, f api.ArchiveFilter) (out api.ArchiveList, err error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" && value != "0" {
			q.Set(name, value)
		}
	}
	set("kind", string(f.Kind))
	set("status", f.Status)
	set("reason", f.Reason)
	set("type", string(f.Type))
	set("blueprint", f.Blueprint)
	set("trigger", f.Trigger)
	set("caller", id(f.Caller))
	set("from_ms", strconv.FormatInt(f.FromMs, 10))
	set("to_ms", strconv.FormatInt(f.ToMs, 10))
	set("text", f.Text)
	set("where", f.Where)
	set("cursor", f.Cursor)
	set("limit", strconv.Itoa(f.Limit))
	err = c.call(ctx, http.MethodGet, path, q, nil, &out)
	return out, err
}
