package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has what is asked of nodes.

// MeetPrerequisite marks a name as met: all jobs of the context that wait for
// it go on.
//
// Errors: [domain.ErrInvalid] for a name that Ramet looks at itself.
func (c *Client) MeetPrerequisite(ctx context.Context, tenant domain.TenantID, name string) error {
	_, err := Call(ctx, c, api.PrerequisiteMeet, api.MeetParams{Context: tenant, Prerequisite: api.Prerequisite{Name: name}})
	return err
}

// pages follows a list from page to page. take reads the one of a cursor, keeps what is on
// it and returns the cursor of the next; "" is the end.
func (c *Client) pages(take func(cursor string) (next string, err error)) error {
	cursor := ""
	for {
		next, err := take(cursor)
		if err != nil || next == "" {
			return err
		}
		if next == cursor {
			return fmt.Errorf("%s answers page %q for ever", c.where, next)
		}
		cursor = next
	}
}

// Runners lists the nodes' runners and those of a context's own; 0 leaves the
// latter out, and is the operator's to ask.
func (c *Client) Runners(ctx context.Context, tenant domain.TenantID) (api.RunnerPage, error) {
	var list api.RunnerPage
	err := c.pages(func(cursor string) (string, error) {
		page, err := Call(ctx, c, api.RunnerList, api.ListRunnersParams{Context: tenant, Cursor: cursor})
		list.Runners = append(list.Runners, page.Runners...)
		return page.Next, err
	})
	return list, err
}

// Runner is one runner, of a node; of a context's own where tenant is not 0.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Runner(ctx context.Context, runner domain.RunnerID, tenant domain.TenantID) (domain.Runner, error) {
	return Call(ctx, c, api.RunnerShow, api.RunnerParams{Runner: runner, Context: tenant})
}

// Nodes lists the nodes of the board, those too that are gone.
func (c *Client) Nodes(ctx context.Context) (api.NodePage, error) {
	return Call(ctx, c, api.NodeList, api.ListNodesParams{})
}

// Node is one node of the board.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Node(ctx context.Context, name string) (domain.Node, error) {
	return Call(ctx, c, api.NodeShow, api.NodeParams{Name: name})
}

// Audit looks whether every unfinished job of a context has a reason to be
// alive, and repairs what it can. Of very many it looks at the oldest, and the
// report says so.
func (c *Client) Audit(ctx context.Context, tenant domain.TenantID) (api.AuditReport, error) {
	return Call(ctx, c, api.AuditRun, api.AuditParams{Context: tenant})
}

// DrainNode begins the graceful end of the node.
//
// Errors: [domain.ErrForbidden] for who is not its operator.
func (c *Client) DrainNode(ctx context.Context) (api.NodeDraining, error) {
	return Call(ctx, c, api.NodeDrain, api.AdminParams{})
}

// DiscardValue removes a value from the board's store that cannot be read, by the
// name that Info has of it.
//
// Errors: [domain.ErrForbidden] for who is not the node's operator;
// [domain.ErrNotFound] for one that can be read, or is not there.
func (c *Client) DiscardValue(ctx context.Context, name string) (api.ValueDiscarded, error) {
	return Call(ctx, c, api.NodeDiscard, api.DiscardParams{Name: name})
}

// BackupNode writes a backup of the node as it comes. It is whole where its last block
// is there.
//
// Errors: [domain.ErrUnavailable] where it breaks off; those of the writer.
func (c *Client) BackupNode(ctx context.Context, to io.Writer) error {
	return Receive(ctx, c, api.NodeBackup, api.AdminParams{}, to)
}

// Receive does an operation whose answer is no JSON, and writes that as it comes.
//
// Errors: those of the operation; [domain.ErrUnavailable] where it breaks off; those of the
// writer.
func Receive[P any](ctx context.Context, c *Client, op api.Op[P, api.Bytes], params P, to io.Writer) error {
	path, query, body := op.Request(params)
	text, err := encode(body)
	if err != nil {
		return err
	}
	var resp *http.Response
	err = c.again(ctx, op.Repeatable(false), func() (err error) { // until it begins to come
		resp, err = c.send(ctx, false, op.Method, path, query, text, http.Header{"Accept": {op.Bytes}})
		return err
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	from := &broken{r: resp.Body}
	if _, err = io.Copy(to, from); from.err != nil {
		return c.unreachable(ctx, false, from.err)
	}
	return err
}

// broken tells an error of reading from one of writing.
type broken struct {
	r   io.Reader
	err error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// ReloadNode has the node read its config again, and says what it read.
//
// Errors: [domain.ErrForbidden] for who is not its operator; [domain.ErrInvalid]
// for a config that is wrong: the old one stays.
func (c *Client) ReloadNode(ctx context.Context) (api.NodeReloaded, error) {
	return Call(ctx, c, api.NodeReload, api.AdminParams{})
}

// Info says what node this is. It needs no token; with one it says more.
func (c *Client) Info(ctx context.Context) (out api.Info, err error) {
	_, err = c.call(ctx, reading, http.MethodGet, "/info", nil, nil, nil, &out)
	return out, err
}

// ConsoleLink makes a link by which a browser signs in to the node's console as who asks,
// once.
func (c *Client) ConsoleLink(ctx context.Context) (link api.ConsoleLink, err error) {
	_, err = c.call(ctx, way{}, http.MethodPost, api.ConsoleLinkPath, nil, nil, nil, &link)
	return link, err
}
