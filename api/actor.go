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
	a, existing, err := c.api.parts.Directory.As(c.actor).CreateActor(ctx, p.Actor)
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
	return c.api.parts.Directory.As(c.actor).UpdateActor(ctx, p.Actor, p.ActorChange)
}

// ActorParams name an actor.
type ActorParams struct {
	Actor domain.ActorID `json:"-" path:"actor"`
}

// ShowActor reads an actor.
func (c Caller) ShowActor(ctx context.Context, p ActorParams) (domain.Actor, error) {
	if err := c.mayHere(ctx, identity.Know, domain.Actor{ID: p.Actor}.Key()); err != nil {
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
	if err := c.mayHere(ctx, identity.Administrate, "actors"); err != nil {
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
