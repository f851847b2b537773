package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has what is not about jobs: contexts, actors, runners, the node.

// MeetPrerequisite marks a name as met: all jobs of the context that wait for
// it go on.
//
// Errors: [domain.ErrInvalid] for a name that Ramet looks at itself.
func (c *Client) MeetPrerequisite(ctx context.Context, tenant domain.TenantID, name string) error {
	return c.call(ctx, http.MethodPost, contextPath(tenant)+"/prerequisites/meet", nil, api.PrerequisiteMeet{Name: name}, nil)
}

// CreateContext makes a context; id 0 asks for the next free one.
//
// Errors: [domain.ErrInvalid], [domain.ErrConflict] when the id is taken.
func (c *Client) CreateContext(ctx context.Context, tenant domain.Tenant) (domain.Tenant, error) {
	var out domain.Tenant
	err := c.call(ctx, http.MethodPost, "/v1/contexts", nil, tenant, &out)
	return out, err
}

// Context is one context.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Context(ctx context.Context, tenant domain.TenantID) (domain.Tenant, error) {
	var out domain.Tenant
	err := c.call(ctx, http.MethodGet, contextPath(tenant), nil, nil, &out)
	return out, err
}

// Contexts lists all that the caller may read.
func (c *Client) Contexts(ctx context.Context) (api.ContextList, error) {
	all := api.ContextList{Contexts: []domain.Tenant{}}
	err := c.pages(ctx, "/v1/contexts", func(get func(page any) error) (next string, err error) {
		var page api.ContextList
		err = get(&page)
		all.Contexts = append(all.Contexts, page.Contexts...)
		return page.Next, err
	})
	return all, err
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

// CreateActor makes an actor known; id 0 asks for the next free one.
//
// Errors: [domain.ErrInvalid], [domain.ErrConflict] when the id is taken.
func (c *Client) CreateActor(ctx context.Context, actor domain.Actor) (domain.Actor, error) {
	var out domain.Actor
	err := c.call(ctx, http.MethodPost, "/v1/actors", nil, actor, &out)
	return out, err
}

// Actor is one actor.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Actor(ctx context.Context, actor domain.ActorID) (domain.Actor, error) {
	var out domain.Actor
	err := c.call(ctx, http.MethodGet, "/v1/actors/"+id(actor), nil, nil, &out)
	return out, err
}

// Actors lists all actors.
func (c *Client) Actors(ctx context.Context) (api.ActorList, error) {
	all := api.ActorList{Actors: []domain.Actor{}}
	err := c.pages(ctx, "/v1/actors", func(get func(page any) error) (next string, err error) {
		var page api.ActorList
		err = get(&page)
		all.Actors = append(all.Actors, page.Actors...)
		return page.Next, err
	})
	return all, err
}

// Runners lists the nodes' runners and those of a context's own; 0 leaves the
// latter out.
func (c *Client) Runners(ctx context.Context, tenant domain.TenantID) (api.RunnerList, error) {
	q := url.Values{}
	if tenant != 0 {
		q.Set("context", id(tenant))
	}
	var out api.RunnerList
	err := c.call(ctx, http.MethodGet, "/v1/runners", q, nil, &out)
	return out, err
}

// Audit looks whether every unfinished job of a context has a reason to be
// alive, and repairs what it can.
func (c *Client) Audit(ctx context.Context, tenant domain.TenantID) (api.AuditReport, error) {
	var out api.AuditReport
	err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/audit", nil, nil, &out)
	return out, err
}

// Info says what node this is; it needs no token.
func (c *Client) Info(ctx context.Context) (api.Info, error) {
	var out api.Info
	err := c.call(ctx, http.MethodGet, "/info", nil, nil, &out)
	return out, err
}
