package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

const (
	// seenOfOne bounds the tokens of one actor that a node remembers, seenMost
	// those of all. A new one takes the place of the one of its actor that was
	// used longest ago, never of another's.
	seenOfOne = 32
	seenMost  = 20_000
)

// Tokens is where the doors of a node ask who calls. It remembers which tokens
// were used here, and ends what is open of those that are good no more.
type Tokens struct {
	registry *Registry
	access   *Access
	verifier Verifier
	// proofs are what tokens proved that were good when they were first shown.
	proofs memory[Proof]

	mu    sync.Mutex
	seen  map[domain.ActorID][]domain.Token
	count int

	sessions sessions
}

// NewTokens returns those of the node called node.
func NewTokens(r *Registry, access *Access, node string) *Tokens {
	return &Tokens{registry: r, access: access, verifier: Verifier{Node: node, Holder: r.Holder}, seen: map[domain.ActorID][]domain.Token{}}
}

// Verify returns what a token proves: [Verifier.Verify]. Who signed a text never changes, and
// what was not too early once is not later; so of a token that was good before it looks only
// at what may have changed: whether it has run out, was revoked, or its actor has another key.
func (t *Tokens) Verify(ctx context.Context, token string) (Proof, error) {
	p, err := t.verify(ctx, token)
	if err == nil {
		t.saw(p, time.Now())
	}
	return p, err
}

func (t *Tokens) verify(ctx context.Context, token string) (Proof, error) {
	if len(token) > maxToken {
		return Proof{}, errTokenForm
	}
	name := sha256.Sum256([]byte(token)) // not the token: what lies in memory is no secret
	if p, known := t.proofs.get(name); known {
		holder, err := t.verifier.Holder(ctx, p.Actor)
		if away := unanswered(ctx, err); away != nil {
			return Proof{}, away // to ask once more would only take as long again
		}
		if err == nil && p.Stands(holder) == nil {
			return p, nil
		}
	}
	p, err := t.verifier.Verify(ctx, token)
	if err == nil {
		t.proofs.note(name, p)
	}
	return p, err
}

// saw remembers that a token was used.
func (t *Tokens) saw(p Proof, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.seen[p.Actor]
	at := now.UnixMilli()
	oldest := 0
	for i := range list {
		if list[i].ID == p.Token {
			list[i].SeenMs = at
			return
		}
		if list[i].SeenMs < list[oldest].SeenMs {
			oldest = i
		}
	}
	seen := p.token()
	seen.SeenMs = at
	switch {
	case len(list) >= seenOfOne:
		list[oldest] = seen
	case t.count < seenMost || t.forgetOld(now):
		t.seen[p.Actor] = append(list, seen)
		t.count++
	}
}

// forgetOld makes room by what has run out; t.mu is held.
func (t *Tokens) forgetOld(now time.Time) bool {
	t.count = 0
	for actor, list := range t.seen {
		list = slices.DeleteFunc(list, func(k domain.Token) bool { return ranOut(k, now) })
		if t.seen[actor] = list; len(list) == 0 {
			delete(t.seen, actor)
		}
		t.count += len(list)
	}
	return t.count < seenMost
}

func ranOut(t domain.Token, now time.Time) bool { return int64(t.ExpiresAt) < now.Add(-Leeway).Unix() }

// List are the tokens of an actor that are known and have not run out: those
// that were made known, those used at this node, and those revoked. The last
// used come first.
func (t *Tokens) List(ctx context.Context, actor domain.ActorID) ([]domain.Token, error) {
	list, _, err := t.registry.notedTokens(ctx, actor)
	if err != nil {
		return nil, err
	}
	holder, err := t.registry.holder(ctx, actor)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	t.mu.Lock()
	for _, seen := range t.seen[actor] {
		if i := slices.IndexFunc(list, func(k domain.Token) bool { return k.ID == seen.ID }); i >= 0 {
			list[i].SeenMs = seen.SeenMs
		} else if !ranOut(seen, now) {
			list = append(list, seen)
		}
	}
	t.mu.Unlock()
	for id, until := range holder.Revoked.ids {
		if int64(until) >= now.Unix() && !slices.ContainsFunc(list, func(k domain.Token) bool { return k.ID == id }) {
			list = append(list, domain.Token{ID: id, Actor: actor})
		}
	}
	for i, k := range list {
		_, single := holder.Revoked.ids[k.ID]
		list[i].Revoked = single || holder.Revoked.Has(Proof{Token: k.ID, IssuedAt: time.Unix(int64(k.IssuedAt), 0)})
	}
	slices.SortFunc(list, func(a, b domain.Token) int {
		return cmp.Or(cmp.Compare(b.SeenMs, a.SeenMs), cmp.Compare(b.IssuedAt, a.IssuedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Note makes a token known that somebody has signed for himself: [Registry.NoteToken].
//
// Errors: those of [Tokens.Verify]; [domain.ErrForbidden] for another's.
func (t *Tokens) Note(ctx context.Context, by domain.ActorID, token string) (domain.Token, error) {
	p, err := t.verifier.Verify(ctx, token)
	switch {
	case err != nil:
		return domain.Token{}, domain.Invalidf("that is no good token: %v", err)
	case p.Actor != by:
		return domain.Token{}, domain.Forbiddenf("that is a token of actor %d; each makes known its own", p.Actor)
	}
	return t.registry.NoteToken(ctx, p)
}
