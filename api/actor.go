package api

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// CreateActorParams are those of actor.create: the actor's fields. Id 0 is the
// next free one; its times are the board's.
type CreateActorParams struct {
	domain.Actor
}

// CreatedActor is the answer to actor.create.
type CreatedActor struct {
	domain.Actor
	// Existing is true when the same actor was there already.
	Existing bool `json:"existing"`
}

// CreateActor registers an actor.
func (c Caller) CreateActor(ctx context.Context, p CreateActorParams) (CreatedActor, error) {
	if err := c.mayHere(ctx, identity.Administrate, "actor"); err != nil {
		return CreatedActor{}, err
	}
	a, existing, err := c.api.parts.Directory.As(c.who.Actor).CreateActor(ctx, p.Actor)
	return CreatedActor{a, existing}, err
}

// UpdateActorParams are those of actor.update: what is to be changed.
type UpdateActorParams struct {
	Actor domain.ActorID `json:"-" path:"actor"`
	domain.ActorChange
}

// UpdateActor gives an actor another key, or other addresses.
func (c Caller) UpdateActor(ctx context.Context, p UpdateActorParams) (domain.Actor, error) {
	if err := c.mayHere(ctx, identity.Administrate, domain.Actor{ID: p.Actor}.Key()); err != nil {
		return domain.Actor{}, err
	}
	return c.api.parts.Directory.As(c.who.Actor).UpdateActor(ctx, p.Actor, p.ActorChange)
}

// ActorParams name an actor.
type ActorParams struct {
	Actor domain.ActorID `json:"-" path:"actor"`
	// Context, if given, is one in which the caller may send messages: their
	// letters are signed for a key.
	Context domain.TenantID `json:"-" query:"context"`
}

// ShowActor reads an actor: everybody himself, the operator all.
func (c Caller) ShowActor(ctx context.Context, p ActorParams) (domain.Actor, error) {
	object := domain.Actor{ID: p.Actor}.Key()
	var err error
	if p.Actor == c.who.Actor {
		err = c.mayHere(ctx, identity.Know, object)
	} else {
		err = c.mayInspect(ctx, identity.Create, p.Context, object)
	}
	if err != nil {
		return domain.Actor{}, err
	}
	return c.api.parts.Directory.Actor(ctx, p.Actor)
}

// ListActorsParams are those of actor.list.
type ListActorsParams struct {
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
}

// ListActors lists all actors.
func (c Caller) ListActors(ctx context.Context, p ListActorsParams) (ActorList, error) {
	if err := c.mayHere(ctx, identity.Inspect, "actors"); err != nil {
		return ActorList{}, err
	}
	list := ActorList{Actors: []domain.Actor{}, Next: p.Cursor}
	for len(list.Actors) < directoryMost {
		actors, next, err := c.api.parts.Directory.Actors(ctx, list.Next)
		if err != nil {
			return ActorList{}, err
		}
		list.Actors = append(list.Actors, actors...)
		if list.Next = next; next == "" {
			break
		}
	}
	return list, nil
}
