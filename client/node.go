package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has what is asked of nodes.

// MeetPrerequisite marks a name as met: all jobs of the context that wait for
// it go on.
//
// Errors: [domain.ErrInvalid] for a name that Ramet looks at itself.
func (c *Client) MeetPrerequisite(ctx context.Context, tenant domain.TenantID, name string) error {
	return c.call(ctx, http.MethodPost, contextPath(tenant)+"/prerequisites/meet", nil, api.PrerequisiteMeet{Name: name}, nil)
}

// pages follows a list from page to page. take reads one with get, keeps what
// is on it and returns the cursor of the next; "" is the end.
func (c *Client) pages(ctx context.Context, path string, take func(get func(page any) error) (next string, err error)) error {
	q := url.Values{}
	for {
		next, err := take(func(page any) error { return c.call(ctx, http.MethodGet, path, q, nil, page) })
		if err != nil || next == "" {
			return err
		}
		if next == q.Get("cursor") {
			return fmt.Errorf("%s: %s answers page %q for ever", path, c.where, next)
		}
		q.Set("cursor", next)
	}
}

// Runners lists the nodes' runners and those of a context's own; 0 leaves the
// latter out, and is the operator's to ask.
func (c *Client) Runners(ctx context.Context, tenant domain.TenantID) (api.RunnerList, error) {
	var out api.RunnerList
	err := c.call(ctx, http.MethodGet, "/v1/runners", inContext(tenant), nil, &out)
	return out, err
}

// Runner is one runner, of a node; of a context's own where tenant is not 0.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Runner(ctx context.Context, runner domain.RunnerID, tenant domain.TenantID) (domain.Runner, error) {
	var out domain.Runner
	err := c.call(ctx, http.MethodGet, "/v1/runners/"+id(runner), inContext(tenant), nil, &out)
	return out, err
}

// Nodes lists the nodes of the board, those too that are gone.
func (c *Client) Nodes(ctx context.Context) (api.NodeList, error) {
	var out api.NodeList
	err := c.call(ctx, http.MethodGet, "/v1/nodes", nil, nil, &out)
	return out, err
}

// Node is one node of the board.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Node(ctx context.Context, name string) (domain.Node, error) {
	var out domain.Node
	err := c.call(ctx, http.MethodGet, "/v1/nodes/"+url.PathEscape(name), nil, nil, &out)
	return out, err
}

// Audit looks whether every unfinished job of a context has a reason to be
// alive, and repairs what it can.
func (c *Client) Audit(ctx context.Context, tenant domain.TenantID) (api.AuditReport, error) {
	var out api.AuditReport
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/audit", nil, nil, &out)
	return out, err
}

// DrainNode begins the graceful end of the node.
//
// Errors: [domain.ErrForbidden] for who is not its operator.
func (c *Client) DrainNode(ctx context.Context) (api.NodeDraining, error) {
	var out api.NodeDraining
	err := c.call(ctx, http.MethodPost, "/admin/drain", nil, nil, &out)
	return out, err
}

// DiscardValue removes a value from the board's store that cannot be read, by the
// name that Info has of it.
//
// Errors: [domain.ErrForbidden] for who is not the node's operator;
// [domain.ErrNotFound] for one that can be read, or is not there.
func (c *Client) DiscardValue(ctx context.Context, name string) (api.ValueDiscarded, error) {
	var out api.ValueDiscarded
	err := c.call(ctx, http.MethodPost, "/admin/discard", nil, api.DiscardParams{Name: name}, &out)
	return out, err
}

// ReloadNode has the node read its config again, and says what it read.
//
// Errors: [domain.ErrForbidden] for who is not its operator; [domain.ErrInvalid]
// for a config that is wrong: the old one stays.
func (c *Client) ReloadNode(ctx context.Context) (api.NodeReloaded, error) {
	var out api.NodeReloaded
	err := c.call(ctx, http.MethodPost, "/admin/reload", nil, nil, &out)
	return out, err
}

// Info says what node this is. It needs no token; with one it says more.
func (c *Client) Info(ctx context.Context) (api.Info, error) {
	var out api.Info
	err := c.call(ctx, http.MethodGet, "/info", nil, nil, &out)
	return out, err
}
