package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file takes tokens back. What was revoked of an actor's tokens is one
// record, read together with the actor itself: to look at it costs no request
// anything, and acts within [CacheFor] on every node. It is gone by itself when
// the last token it is about has run out.

const (
	// maxRevoked bounds the single tokens of one actor that are revoked at a time.
	maxRevoked = 1000
	// maxNoted bounds the tokens of one actor that are made known.
	maxNoted = 100
	// outlives is how long after now no token of today is good any more.
	outlives = MaxTokenLife + 2*Leeway
)

// Revoked is what was revoked of an actor's tokens. The zero Revoked is nothing.
type Revoked struct {
	ids    map[string]domain.UnixTime
	before domain.UnixTime
}

// Has reports whether a token was revoked.
func (r Revoked) Has(p Proof) bool {
	if _, single := r.ids[p.Token]; single {
		return true
	}
	return r.before != 0 && p.IssuedAt.Unix() <= int64(r.before)
}

func decodeRevoked(rec board.Record) (r Revoked) {
	r.ids, r.before = layout.DecodeRevoked(rec)
	return r
}

// RevokeToken ends one token of an actor, at every node within [CacheFor].
//
// Errors: [domain.ErrInvalid] for what can be no id; [domain.ErrNotFound] for
// the actor; [domain.ErrLimit] where too many are revoked: revoke all.
func (r *Registry) RevokeToken(ctx context.Context, actor domain.ActorID, id string) error {
	if err := domain.ValidateTokenID(id); err != nil {
		return err
	}
	now := time.Now()
	return r.revoke(ctx, actor, "token "+id, func(b *board.Batch, rec board.Record) error {
		was := decodeRevoked(rec)
		var old []string
		for id, until := range was.ids {
			if int64(until) < now.Unix() {
				old = append(old, layout.RevokedID(id, 0).Name)
			}
		}
		if len(was.ids)-len(old) >= maxRevoked {
			return domain.Limitf("%d tokens of actor %d are revoked one by one; revoke all that were issued before now", maxRevoked, actor)
		}
		if len(old) > 0 {
			b.Unset(layout.Revoked(actor), old...)
		}
		b.Set(layout.Revoked(actor), layout.RevokedID(id, domain.At(now.Add(outlives))))
		return nil
	})
}

// RevokeTokens ends all tokens of an actor that were issued before now. By how
// far clocks may differ, [Leeway], those of the next minute are refused too.
//
// Errors: [domain.ErrNotFound] for the actor.
func (r *Registry) RevokeTokens(ctx context.Context, actor domain.ActorID) error {
	before := domain.At(time.Now().Add(Leeway))
	return r.revoke(ctx, actor, "all tokens", func(b *board.Batch, rec board.Record) error {
		was := decodeRevoked(rec)
		old := make([]string, 0, len(was.ids))
		for id := range was.ids { // before says it of them, too
			old = append(old, layout.RevokedID(id, 0).Name)
		}
		if len(old) > 0 {
			b.Unset(layout.Revoked(actor), old...)
		}
		b.Set(layout.Revoked(actor), board.Field{Name: layout.RevokedBefore, Value: fmt.Sprint(uint32(before))})
		return nil
	})
}

func (r *Registry) revoke(ctx context.Context, actor domain.ActorID, what string, change func(*board.Batch, board.Record) error) error {
	key := layout.Revoked(actor)
	recs, err := r.board.Get(ctx, 0, layout.Actor(actor), key)
	if err != nil {
		return err
	}
	if _, err := decodeActor(actor, recs[0]); err != nil {
		return err
	}
	var b noted
	if err := change(&b.Batch, recs[1]); err != nil {
		return err
	}
	b.Expire(key, outlives)
	r.note(&b, 0, domain.VerbRevoke, layout.Actor(actor), what)
	if err := r.commit(ctx, b); err != nil {
		return err
	}
	r.actors.forget(actor)
	return nil
}

// NoteToken makes a token known that its actor has signed, so that it can be
// listed before it was used, and by its name.
//
// Errors: [domain.ErrLimit] where its actor has made too many known.
func (r *Registry) NoteToken(ctx context.Context, p Proof) (domain.Token, error) {
	t := p.token()
	key := layout.Tokens(p.Actor)
	known, old, err := r.notedTokens(ctx, p.Actor)
	if err != nil {
		return t, err
	}
	same := func(k domain.Token) bool { return k.ID == t.ID }
	if len(known) >= maxNoted && !slices.ContainsFunc(known, same) {
		return t, domain.Limitf("actor %d has made %d tokens known; a token works without, too", p.Actor, maxNoted)
	}
	var b board.Batch
	if len(old) > 0 {
		b.Unset(key, old...)
	}
	b.Set(key, layout.EncodeToken(t)).Expire(key, outlives)
	return t, r.board.Commit(ctx, b)
}

// notedTokens are the tokens that an actor has made known, and the ids of those
// that have run out.
func (r *Registry) notedTokens(ctx context.Context, actor domain.ActorID) (known []domain.Token, old []string, err error) {
	recs, err := r.board.Get(ctx, 0, layout.Tokens(actor))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now().Add(-Leeway).Unix()
	for _, t := range layout.DecodeTokens(actor, recs[0]) {
		if int64(t.ExpiresAt) < now {
			old = append(old, t.ID)
		} else {
			known = append(known, t)
		}
	}
	return known, old, nil
}

// token is what is listed of a token.
func (p Proof) token() domain.Token {
	t := domain.Token{ID: p.Token, Actor: p.Actor, Name: p.Name, IssuedAt: domain.At(p.IssuedAt), ExpiresAt: domain.At(p.ExpiresAt)}
	if p.Scope != nil {
		t.Scope = *p.Scope
	}
	return t
}
