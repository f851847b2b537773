package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// CreateActor makes an actor known; id 0 asks for the next free one.
//
// Errors: [domain.ErrInvalid], [domain.ErrConflict] when the id or the key is
// taken.
func (c *Client) CreateActor(ctx context.Context, actor domain.Actor) (domain.Actor, error) {
	out, err := Call(ctx, c, api.ActorCreate, api.CreateActorParams{Actor: actor})
	return out.Actor, err
}

// UpdateActor gives an actor another key, or other addresses. What the old key
// signed is refused within a second.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound], [domain.ErrConflict] when
// another actor has the key.
func (c *Client) UpdateActor(ctx context.Context, actor domain.ActorID, change domain.ActorChange) (domain.Actor, error) {
	return Call(ctx, c, api.ActorUpdate, api.UpdateActorParams{Actor: actor, ActorChange: change})
}

// Actor is one actor: oneself, and for the operator any. Others name a context in
// which they may send messages; 0 is none.
//
// Errors: [domain.ErrNotFound], [domain.ErrForbidden].
func (c *Client) Actor(ctx context.Context, actor domain.ActorID, in domain.TenantID) (domain.Actor, error) {
	return Call(ctx, c, api.ActorShow, api.ActorParams{Actor: actor, Context: in})
}

// ActorPage is a page of about limit actors, up to 10,000; 0 is that. cursor is "" at
// first, then the Next of the page before.
func (c *Client) ActorPage(ctx context.Context, cursor string, limit int) (api.ActorPage, error) {
	return Call(ctx, c, api.ActorList, api.ListActorsParams{Cursor: cursor, Limit: limit})
}

// Actors lists all actors.
func (c *Client) Actors(ctx context.Context) (api.ActorPage, error) {
	all := api.ActorPage{Actors: []domain.Actor{}}
	err := c.pages(func(cursor string) (next string, err error) {
		page, err := c.ActorPage(ctx, cursor, 0)
		all.Actors = append(all.Actors, page.Actors...)
		return page.Next, err
	})
	return all, err
}
