package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// AuditFilter says which lines of an audit log are wanted.
type AuditFilter struct {
	// Outcome takes only lines that ended so; denied takes what was refused,
	// too. Default: all.
	Outcome domain.AuditOutcome
	// Actor takes only lines of that actor. Default: all.
	Actor domain.ActorID
	// Limit is how many lines, 1..1000. Default: 100.
	Limit int
	// Cursor is the Next of the page before. Default: the newest lines.
	Cursor string
}

// AuditLog reads a page of the audit log of a context, or where tenant is 0 of
// what concerns no context: newest first.
//
// Errors: [domain.ErrForbidden] for whoever is no admin, or not the operator.
func (c *Client) AuditLog(ctx context.Context, tenant domain.TenantID, f AuditFilter) (api.AuditLines, error) {
	path := "/v1/audit"
	if tenant != 0 {
		path = contextPath(tenant) + "/audit"
	}
	q := url.Values{"limit": {strconv.Itoa(cmp.Or(f.Limit, 100))}}
	if f.Outcome != "" {
		q.Set("outcome", string(f.Outcome))
	}
	if f.Actor != 0 {
		q.Set("actor", id(f.Actor))
	}
	if f.Cursor != "" {
		q.Set("cursor", f.Cursor)
	}
	var out api.AuditLines
	err := c.call(ctx, http.MethodGet, path, q, nil, &out)
	return out, err
}
