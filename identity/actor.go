package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// listPage is how many records are read for one page of a list.
	listPage = 500
	// numberTries bounds the search for a free actor id. After the first
	// nearTries, which go one by one so that the operator's own number costs no
	// other, each skips twice as many as the one before: any block of taken ids
	// is passed.
	numberTries = nearTries + 24
	nearTries   = 4
)

// CreateActor registers an actor. Id 0 asks for the next free one. Creating
// the same actor again is a no-op that returns the existing one.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] for an id in use with
// another key.
func (r *Registry) CreateActor(ctx context.Context, a domain.Actor) (_ domain.Actor, existing bool, err error) {
	if err := a.Validate(); err != nil {
		return domain.Actor{}, false, err
	}
	if _, err := X25519Pubkey(a.Pubkey); err != nil {
		return domain.Actor{}, false, err
	}
	if a.ID != 0 {
		return r.createActor(ctx, a)
	}
	for try := range numberTries {
		step := 1 << max(0, try-nearTries)
		first, err := r.board.Next(ctx, 0, layout.Seq("actor", 0), step)
		if err != nil {
			return domain.Actor{}, false, err
		}
		last := first + int64(step) - 1
		if last >= 1<<32 {
			break
		}
		a.ID = domain.ActorID(last)
		made, existing, err := r.createActor(ctx, a)
		if existing || errors.Is(err, domain.ErrConflict) {
			continue // somebody chose that id by hand
		}
		return made, false, err
	}
	return domain.Actor{}, false, domain.Exhaustedf("no free actor id was found; name one")
}

func (r *Registry) createActor(ctx context.Context, a domain.Actor) (_ domain.Actor, existing bool, err error) {
	a.CreatedAt = 0
	a = a.Touched(time.Now())
	var b board.Batch
	b.Absent(a.Key()).Set(a.Key(), layout.EncodeActor(a)...)
	err = r.board.Commit(ctx, b)
	if err == nil {
		r.actors.forget(a.ID)
		return a, false, nil
	}
	if !errors.Is(err, domain.ErrConflict) {
		return domain.Actor{}, false, err
	}
	old, err := r.Actor(ctx, a.ID)
	if err != nil {
		return domain.Actor{}, false, err
	}
	if old.Pubkey != a.Pubkey || !slices.Equal(old.Address, a.Address) {
		return domain.Actor{}, false, domain.Conflictf("actor %d exists with another key or address; choose another id, or 0 for the next free one", a.ID)
	}
	return old, true, nil
}

// Actor reads one actor.
//
// Errors: [domain.ErrNotFound].
func (r *Registry) Actor(ctx context.Context, id domain.ActorID) (domain.Actor, error) {
	key := layout.Actor(id)
	recs, err := r.board.Get(ctx, 0, key)
	if err != nil {
		return domain.Actor{}, err
	}
	if recs[0] == nil {
		return domain.Actor{}, domain.NotFoundf("actor %d does not exist", id)
	}
	return layout.DecodeActor(key, recs[0])
}

// KnownActor is [Registry.Actor] from memory where it was read within the last
// second: what a [Verifier] asks.
func (r *Registry) KnownActor(ctx context.Context, id domain.ActorID) (domain.Actor, error) {
	return r.actors.get(ctx, id)
}

// Actors pages through the actors, in the board's own order. Pass "" as cursor
// first, then what came back, until that is "".
func (r *Registry) Actors(ctx context.Context, cursor string) (_ []domain.Actor, next string, err error) {
	keys, next, err := r.board.Keys(ctx, 0, layout.ActorPrefix, cursor, listPage)
	if err != nil {
		return nil, "", err
	}
	recs, err := r.board.Get(ctx, 0, keys...)
	if err != nil {
		return nil, "", err
	}
	actors := make([]domain.Actor, 0, len(keys))
	for i, rec := range recs {
		if rec == nil {
			continue
		}
		// A foreign record that cannot be read wholly is listed all the same.
		a, _ := layout.DecodeActor(keys[i], rec)
		actors = append(actors, a)
	}
	return actors, next, nil
}
