package client

import (
	"context"
	"net/http"

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
