package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
// another key, and for a key that another actor has.
func (r *Registry) CreateActor(ctx context.Context, a domain.Actor) (_ domain.Actor, existing bool, err error) {
	if a, err = a.With(domain.ActorChange{}); err != nil {
		return domain.Actor{}, false, err
	}
	if _, err := X25519Pubkey(a.Pubkey); err != nil {
		return domain.Actor{}, false, err
	}
	if a.ID != 0 {
		return r.createActor(ctx, a)
	}
	if err := r.keyIsFree(ctx, a); err != nil {
		return domain.Actor{}, false, err // before numbers are spent on it
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
			if err := r.keyIsFree(ctx, a); err != nil {
				return domain.Actor{}, false, err
			}
			continue // somebody chose that id by hand
		}
		return made, false, err
	}
	return domain.Actor{}, false, domain.Limitf("no free actor id was found; name one")
}

func (r *Registry) createActor(ctx context.Context, a domain.Actor) (_ domain.Actor, existing bool, err error) {
	a.CreatedAt = 0
	a = a.Touched(time.Now())
	var b noted
	b.Absent(a.Key()).Set(a.Key(), layout.EncodeActor(a)...)
	r.note(&b, 0, domain.VerbCreate, a.Key(), "key "+a.Pubkey)
	err = r.claimKey(ctx, &b.Batch, a)
	if err == nil {
		err = r.commit(ctx, b)
	}
	if err == nil {
		r.forgetActor(a)
		return a, false, nil
	}
	if !errors.Is(err, domain.ErrConflict) {
		return domain.Actor{}, false, err
	}
	old, errOld := r.Actor(ctx, a.ID)
	switch {
	case errors.Is(errOld, domain.ErrNotFound): // it was the key that is taken
		return domain.Actor{}, false, cmp.Or(r.keyIsFree(ctx, a), err)
	case errOld != nil:
		return domain.Actor{}, false, errOld
	}
	if old.Pubkey != a.Pubkey || !slices.Equal(old.Address, a.Address) {
		return domain.Actor{}, false, domain.Conflictf("actor %d exists with another key or address; choose another id, or 0 for the next free one", a.ID)
	}
	return old, true, nil
}

// UpdateActor changes an actor's key or addresses. Tokens and signatures of the
// old key end within [CacheFor].
//
// Errors: [domain.ErrInvalid]; [domain.ErrNotFound]; [domain.ErrConflict] for a
// key that another actor has.
func (r *Registry) UpdateActor(ctx context.Context, id domain.ActorID, change domain.ActorChange) (domain.Actor, error) {
	for range changeTries {
		a, err := r.tryUpdateActor(ctx, id, change)
		if guard := (*board.GuardError)(nil); !errors.As(err, &guard) {
			return a, err
		}
	}
	return domain.Actor{}, domain.Unavailablef("actor %d is changed by others all the time; try again", id)
}

func (r *Registry) tryUpdateActor(ctx context.Context, id domain.ActorID, change domain.ActorChange) (domain.Actor, error) {
	key := layout.Actor(id)
	recs, err := r.board.Get(ctx, 0, key)
	if err != nil {
		return domain.Actor{}, err
	}
	was, err := decodeActor(id, recs[0])
	if err != nil {
		return domain.Actor{}, err
	}
	a, err := was.With(change)
	if err != nil {
		return domain.Actor{}, err
	}
	rotated, moved := a.Pubkey != was.Pubkey, !slices.Equal(a.Address, was.Address)
	if !rotated && !moved {
		return was, nil
	}
	a = a.Touched(time.Now())
	var b noted
	layout.ChangeActor(&b.Batch, recs[0], a)
	if rotated {
		if _, err := X25519Pubkey(a.Pubkey); err != nil {
			return domain.Actor{}, err
		}
		if err := r.claimKey(ctx, &b.Batch, a); err != nil {
			return domain.Actor{}, err
		}
		r.note(&b, 0, domain.VerbUpdate, key, "key "+was.Pubkey+" to "+a.Pubkey)
	}
	if moved {
		r.note(&b, 0, domain.VerbUpdate, key, fmt.Sprintf("address %v to %v", was.Address, a.Address))
	}
	if err := r.commit(ctx, b); err != nil {
		return domain.Actor{}, err
	}
	r.forgetActor(was)
	r.forgetActor(a)
	return a, nil
}

// Actor reads one actor.
//
// Errors: [domain.ErrNotFound].
func (r *Registry) Actor(ctx context.Context, id domain.ActorID) (domain.Actor, error) {
	recs, err := r.board.Get(ctx, 0, layout.Actor(id))
	if err != nil {
		return domain.Actor{}, err
	}
	return decodeActor(id, recs[0])
}

func decodeActor(id domain.ActorID, rec board.Record) (domain.Actor, error) {
	if rec == nil {
		return domain.Actor{}, domain.NotFoundf("actor %d does not exist", id)
	}
	a, err := layout.DecodeActor(layout.Actor(id), rec)
	a.ID = id // the key is the identity, whatever a foreign program wrote
	return a, err
}

// forgetActor drops what is known of an actor, after a change of our own.
func (r *Registry) forgetActor(a domain.Actor) {
	r.actors.forget(a.ID)
	r.byKey.forget(a.Pubkey)
}

// KnownActor is [Registry.Actor] from memory where it was read within the last
// second.
func (r *Registry) KnownActor(ctx context.Context, id domain.ActorID) (domain.Actor, error) {
	h, err := r.actors.get(ctx, id)
	return h.Actor, err
}

// Holder is an actor with what of its tokens was revoked, from memory where it
// was read within the last second: what a [Verifier] asks.
//
// Errors: [domain.ErrNotFound].
func (r *Registry) Holder(ctx context.Context, id domain.ActorID) (Holder, error) {
	return r.actors.get(ctx, id)
}

// holder is Holder from the board. One read has both records.
func (r *Registry) holder(ctx context.Context, id domain.ActorID) (Holder, error) {
	recs, err := r.board.Get(ctx, 0, layout.Actor(id), layout.Revoked(id))
	if err != nil {
		return Holder{}, err
	}
	a, err := decodeActor(id, recs[0])
	return Holder{a, decodeRevoked(recs[1])}, err
}

// Actors pages through the actors, in the board's own order, about limit at once and
// up to 500. Pass "" as cursor first, then what came back, until that is "".
func (r *Registry) Actors(ctx context.Context, cursor string, limit int) (_ []domain.Actor, next string, err error) {
	keys, next, err := r.board.Keys(ctx, 0, layout.ActorPrefix, cursor, min(max(limit, 1), listPage))
	if err != nil {
		return nil, "", err
	}
	recs, err := board.Readable(r.board.Get(ctx, 0, keys...))
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
		if id, err := strconv.ParseUint(strings.TrimPrefix(keys[i], layout.ActorPrefix), 10, 32); err == nil {
			a.ID = domain.ActorID(id)
		}
		actors = append(actors, a)
	}
	return actors, next, nil
}
