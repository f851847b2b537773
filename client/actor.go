package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// CreateActor makes an actor known; id 0 asks for the next free one.
//
// Errors: [domain.ErrInvalid], [domain.ErrConflict] when the id or the key is
// taken.
func (c *Client) CreateActor(ctx context.Context, actor domain.Actor) (domain.Actor, error) {
	var out domain.Actor
	err := c.call(ctx, http.MethodPost, "/v1/actors", nil, actor, &out)
	return out, err
}

// UpdateActor gives an actor another key, or other addresses. What the old key
// signed is refused within a second.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound], [domain.ErrConflict] when
// another actor has the key.
func (c *Client) UpdateActor(ctx context.Context, actor domain.ActorID, change domain.ActorChange) (domain.Actor, error) {
	var out domain.Actor
	err := c.call(ctx, http.MethodPost, "/v1/actors/"+id(actor)+"/update", nil, change, &out)
	return out, err
}

// Actor is one actor: oneself, and for the operator any. Others name a context in
// which they may send messages; 0 is none.
//
// Errors: [domain.ErrNotFound], [domain.ErrForbidden].
func (c *Client) Actor(ctx context.Context, actor domain.ActorID, in domain.TenantID) (domain.Actor, error) {
	var out domain.Actor
	err := c.call(ctx, http.MethodGet, "/v1/actors/"+id(actor), inContext(in), nil, &out)
	return out, err
}

// inContext is a query for what is told also to who has a right in a context; 0
// is none.
func inContext(in domain.TenantID) url.Values {
	q := url.Values{}
	if in != 0 {
		q.Set("context", id(in))
	}
	return q
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
