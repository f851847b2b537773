package service

import (
	"context"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// CreateActor registers an actor.
func (c Caller) CreateActor(ctx context.Context, p api.CreateActorParams) (api.CreatedActor, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, "actor"); err != nil {
		return api.CreatedActor{}, err
	}
	return makes(ctx, c, thing{prefix: layout.ActorPrefix}, func(ctx context.Context) (api.CreatedActor, error) {
		a, existing, err := c.api.parts.Directory.As(c.who.Actor).CreateActor(ctx, p.Actor)
		return api.CreatedActor{Actor: a, Existing: existing}, err
	}, func(ctx context.Context, was made) (api.CreatedActor, error) {
		id, err := strconv.ParseUint(strings.TrimPrefix(was.key, layout.ActorPrefix), 10, 32)
		if err != nil {
			return api.CreatedActor{}, err
		}
		a, err := c.api.parts.Directory.Actor(ctx, domain.ActorID(id))
		return api.CreatedActor{Actor: a, Existing: true}, err
	})
}

// UpdateActor gives an actor another key, or other addresses.
func (c Caller) UpdateActor(ctx context.Context, p api.UpdateActorParams) (domain.Actor, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, domain.Actor{ID: p.Actor}.Key()); err != nil {
		return domain.Actor{}, err
	}
	return c.api.parts.Directory.As(c.who.Actor).UpdateActor(ctx, p.Actor, p.ActorChange)
}

// ShowActor reads an actor: everybody himself, the operator all.
func (c Caller) ShowActor(ctx context.Context, p api.ActorParams) (domain.Actor, error) {
	object := domain.Actor{ID: p.Actor}.Key()
	var err error
	if p.Actor == c.who.Actor {
		err = c.mayHere(ctx, domain.VerbKnow, object)
	} else {
		err = c.mayInspect(ctx, domain.VerbCreate, p.Context, object)
	}
	if err != nil {
		return domain.Actor{}, err
	}
	return c.api.parts.Directory.Actor(ctx, p.Actor)
}

// ListActors lists a page of actors.
func (c Caller) ListActors(ctx context.Context, p api.ListActorsParams) (api.ActorPage, error) {
	if err := c.mayHere(ctx, domain.VerbInspect, "actors"); err != nil {
		return api.ActorPage{}, err
	}
	limit, err := directoryLimit(p.Limit)
	if err != nil {
		return api.ActorPage{}, err
	}
	list := api.ActorPage{Actors: []domain.Actor{}, Next: p.Cursor}
	for len(list.Actors) < limit {
		actors, next, err := c.api.parts.Directory.Actors(ctx, list.Next, limit-len(list.Actors))
		if err != nil {
			return api.ActorPage{}, err
		}
		list.Actors = append(list.Actors, actors...)
		if list.Next = next; next == "" {
			break
		}
	}
	return list, nil
}
