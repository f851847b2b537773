package identity

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file finds actors by their public keys. Each actor that Ramet makes has
// an entry on the board, written in the same commit, so that no two actors have
// one key. Programs that write actors themselves leave no entry: when a key is
// not found, all actors are looked through, and those without an entry get one.

const (
	// scanMost bounds how many actors one look through them reads.
	scanMost = 100_000
	// scanRest is how many times as long as a look took the next one waits, and
	// [CacheFor] at least: strangers can make a node ask for keys that nobody has.
	scanRest = 20
)

// keyScan is when all actors may be looked through again.
type keyScan struct {
	mu   sync.Mutex
	next time.Time
}

// ActorByKey finds the actor that has a public key (64 hex digits), from memory
// where it was looked for within the last second.
//
// Errors: [domain.ErrNotFound]; [domain.ErrInvalid] for what is no key.
func (r *Registry) ActorByKey(ctx context.Context, pubkey string) (domain.Actor, error) {
	pubkey = strings.ToLower(pubkey)
	if err := domain.ValidatePubkey(pubkey); err != nil {
		return domain.Actor{}, err
	}
	return r.byKey.get(ctx, pubkey)
}

// actorOf is ActorByKey from the board.
func (r *Registry) actorOf(ctx context.Context, pubkey string) (domain.Actor, error) {
	a, _, err := r.entryOf(ctx, pubkey)
	if !errors.Is(err, domain.ErrNotFound) {
		return a, err
	}
	if err := r.indexActors(ctx); err != nil {
		return domain.Actor{}, err
	}
	a, _, err = r.entryOf(ctx, pubkey)
	return a, err
}

// entryOf reads a key's entry and the actor it names. The entry's text comes
// back also when the actor has another key by now, for the guard of whoever
// replaces it.
//
// Errors: [domain.ErrNotFound].
func (r *Registry) entryOf(ctx context.Context, pubkey string) (_ domain.Actor, entry string, err error) {
	recs, err := r.board.Get(ctx, 0, layout.ActorOf(pubkey))
	if err != nil {
		return domain.Actor{}, "", err
	}
	entry = recs[0].Get(layout.ActorOfID)
	none := domain.NotFoundf("no actor has the public key %s", pubkey)
	id, err := strconv.ParseUint(entry, 10, 32)
	if err != nil {
		return domain.Actor{}, entry, none
	}
	a, err := r.Actor(ctx, domain.ActorID(id))
	switch {
	case errors.Is(err, domain.ErrNotFound), errors.Is(err, domain.ErrInvalid):
		return domain.Actor{}, entry, none // a foreign program took it away, or spoiled it
	case err != nil:
		return domain.Actor{}, entry, err
	case !strings.EqualFold(a.Pubkey, pubkey):
		return domain.Actor{}, entry, none
	}
	return a, entry, nil
}

// claimKey adds to a batch what makes a the owner of its key.
//
// Errors: [domain.ErrConflict] naming the actor that has it.
func (r *Registry) claimKey(ctx context.Context, b *board.Batch, a domain.Actor) error {
	if err := r.keyIsFree(ctx, a); err != nil {
		return err
	}
	// Once more, for the entry's text: somebody may have come between.
	holder, entry, err := r.entryOf(ctx, a.Pubkey)
	if err := r.freeFor(a, holder, err); err != nil {
		return err
	}
	key := layout.ActorOf(a.Pubkey)
	b.Equal(key, layout.ActorOfID, entry).Set(key, entryFor(a.ID))
	return nil
}

// keyIsFree refuses a key that another actor has, and one by which a node of this
// board logs in to NATS servers: it would sign for the actor what these choose.
//
// Errors: [domain.ErrConflict] naming who has it.
func (r *Registry) keyIsFree(ctx context.Context, a domain.Actor) error {
	links, err := r.Links(ctx)
	if err != nil {
		return err
	}
	for _, l := range links {
		if strings.EqualFold(l.Bus, a.Pubkey) || strings.EqualFold(l.Stream, a.Pubkey) {
			return domain.Conflictf("%s is the link key of node %s: want a key that signs for the actor alone; `ramet actor new --file FILE` makes one",
				a.Pubkey, l.Node)
		}
	}
	holder, err := r.actorOf(ctx, a.Pubkey)
	return r.freeFor(a, holder, err)
}

// freeFor is whether a may have the key that holder was looked up by.
func (r *Registry) freeFor(a, holder domain.Actor, err error) error {
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return nil
	case err != nil:
		return err
	case holder.ID != a.ID:
		r.byKey.forget(a.Pubkey) // who asks next, whose it is, gets this answer
		return domain.Conflictf("actor %d has that public key; each actor has a key of its own", holder.ID)
	}
	return nil
}

func entryFor(id domain.ActorID) board.Field {
	return board.Field{Name: layout.ActorOfID, Value: strconv.FormatUint(uint64(id), 10)}
}

// indexActors looks through all actors and makes the entries that are not
// there, unless that was done a moment ago. Callers who come meanwhile wait.
func (r *Registry) indexActors(ctx context.Context) error {
	r.scan.mu.Lock()
	defer r.scan.mu.Unlock()
	begin := time.Now()
	if begin.Before(r.scan.next) {
		return nil
	}
	cursor, seen := "", 0
	for seen < scanMost {
		actors, next, err := r.Actors(ctx, cursor, listPage)
		if err != nil {
			return err
		}
		if err := r.index(ctx, actors); err != nil {
			return err
		}
		seen += len(actors)
		if cursor = next; next == "" {
			break
		}
	}
	now := time.Now()
	r.scan.next = now.Add(max(CacheFor, scanRest*now.Sub(begin)))
	return nil
}

// index makes the entries of a page of actors. Of two with one key, which only
// foreign programs make, the one with the lower number has it.
func (r *Registry) index(ctx context.Context, actors []domain.Actor) error {
	owners := map[string]domain.ActorID{}
	var keys []string
	for _, a := range actors {
		pubkey := strings.ToLower(a.Pubkey)
		if a.ID == 0 || domain.ValidatePubkey(pubkey) != nil {
			continue
		}
		if owner, there := owners[pubkey]; !there {
			keys = append(keys, layout.ActorOf(pubkey))
		} else if owner < a.ID {
			continue
		}
		owners[pubkey] = a.ID
	}
	recs, bad, err := board.PerKey(r.board.Get(ctx, 0, keys...))
	if err != nil {
		return err
	}
	var b board.Batch
	for i, key := range keys {
		if bad[i] != nil {
			continue
		}
		pubkey := strings.TrimPrefix(key, layout.ActorOf(""))
		entry := recs[i].Get(layout.ActorOfID)
		if entry == entryFor(owners[pubkey]).Value {
			continue
		}
		if entry != "" { // an actor of another page has the key, or none has it by now
			if _, _, err := r.entryOf(ctx, pubkey); !errors.Is(err, domain.ErrNotFound) {
				continue
			}
		}
		b.Equal(key, layout.ActorOfID, entry).Set(key, entryFor(owners[pubkey]))
	}
	if len(b.Ops) == 0 {
		return nil
	}
	if err := r.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
		return err
	}
	return nil // another node makes them, too
}
