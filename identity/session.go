package identity

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file ends what is open: a call that waits, a stream, a connection whose
// token has run out or was revoked, whose actor has another key, or who lost the
// right by which it waits.

const (
	// lookEvery is the pause between looks at what is open: with the look itself
	// it is over within a second.
	lookEvery = 500 * time.Millisecond
	// maxAsks bounds the rights that one session hangs on.
	maxAsks = 8
	// lookPage is how many actors are read at once.
	lookPage = 250
)

// sessions is what is open. While there is anything, a timer looks after all of it:
// the board is asked once for each actor and context, however many connections
// they have, and not at all while nothing is open.
type sessions struct {
	mu      sync.Mutex
	open    map[*Session]struct{}
	looking bool
}

// Session is one call or connection. A nil Session is one that nothing ends.
type Session struct {
	tokens *Tokens
	proof  Proof
	cancel context.CancelCauseFunc

	mu   sync.Mutex
	asks []Ask
	err  error
}

// Open begins a session under ctx. The context it returns ends with the session,
// by [Session.Close] or when its caller may not go on; then [Session.Err] says
// why.
func (t *Tokens) Open(ctx context.Context, p Proof) (context.Context, *Session) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Session{tokens: t, proof: p, cancel: cancel}
	t.sessions.mu.Lock()
	defer t.sessions.mu.Unlock()
	if t.sessions.open == nil {
		t.sessions.open = map[*Session]struct{}{}
	}
	t.sessions.open[s] = struct{}{}
	if !t.sessions.looking {
		t.sessions.looking = true
		time.AfterFunc(lookEvery, t.look)
	}
	return ctx, s
}

// Hang lets a session end when a right is lost that it was given.
func (s *Session) Hang(on Ask) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asks) < maxAsks && !slices.Contains(s.asks, on) {
		s.asks = append(s.asks, on)
	}
}

// Err says why a session ended before it was closed; nil while it goes on.
//
// Errors: [domain.ErrUnauthenticated]; [domain.ErrForbidden] for a right that was lost.
func (s *Session) Err() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends a session.
func (s *Session) Close() {
	if s == nil {
		return
	}
	t := &s.tokens.sessions
	t.mu.Lock()
	delete(t.open, s)
	t.mu.Unlock()
	s.cancel(nil)
}

// end ends a session for a reason.
func (s *Session) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.cancel(err)
}

// look looks after what is open, and comes again while anything is.
func (t *Tokens) look() {
	t.sessions.mu.Lock()
	open := slices.Collect(maps.Keys(t.sessions.open))
	t.sessions.looking = len(open) > 0
	t.sessions.mu.Unlock()
	if len(open) > 0 {
		t.lookAt(context.Background(), open)
		time.AfterFunc(lookEvery, t.look)
	}
}

// lookAt ends those of some sessions that may not go on. What the board does not
// answer ends nothing: a node that cannot read it has nothing to tell either.
func (t *Tokens) lookAt(ctx context.Context, open []*Session) {
	ctx, cancel := context.WithTimeout(ctx, 10*lookEvery)
	defer cancel()
	holders := t.holders(ctx, open)
	tenants := map[domain.TenantID]bool{}
	for _, s := range open {
		h, known := holders[s.proof.Actor]
		if !known {
			h = Holder{Actor: domain.Actor{Pubkey: s.proof.Pubkey}} // that it has run out is known all the same
		}
		if err := s.proof.Stands(h); err != nil {
			s.end(err)
			continue
		}
		s.mu.Lock()
		asks := slices.Clone(s.asks)
		s.mu.Unlock()
		for _, ask := range asks {
			fresh, looked := tenants[ask.Tenant]
			if !looked {
				fresh = t.registry.renewTenant(ctx, ask.Tenant)
				tenants[ask.Tenant] = fresh
			}
			if !fresh {
				continue
			}
			if err := t.access.Check(ctx, ask); errors.Is(err, domain.ErrForbidden) {
				s.end(err)
				break
			}
		}
	}
}

// holders reads the actors of sessions anew. Those that are not there have no key
// by which anything could be signed.
func (t *Tokens) holders(ctx context.Context, open []*Session) map[domain.ActorID]Holder {
	var ids []domain.ActorID
	for _, s := range open {
		if s.proof.Token != "" {
			ids = append(ids, s.proof.Actor)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	found := make(map[domain.ActorID]Holder, len(ids))
	for page := range slices.Chunk(ids, lookPage) {
		if err := t.registry.renewHolders(ctx, page, found); err != nil {
			return found
		}
	}
	return found
}

// renewHolders reads actors from the board, whatever is in memory.
func (r *Registry) renewHolders(ctx context.Context, ids []domain.ActorID, into map[domain.ActorID]Holder) error {
	asked := time.Now()
	keys := make([]string, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, layout.Actor(id), layout.Revoked(id))
	}
	recs, bad, err := board.PerKey(r.board.Get(ctx, 0, keys...))
	if err != nil {
		return err
	}
	for i, id := range ids {
		a, err := decodeActor(id, recs[2*i])
		err = cmp.Or(bad[2*i], bad[2*i+1], err) // nobody knows what is revoked: nothing of it counts
		h := Holder{a, decodeRevoked(recs[2*i+1])}
		if err == nil || errors.Is(err, domain.ErrNotFound) {
			r.actors.put(id, h, err, asked)
		}
		if err != nil {
			h = Holder{} // a spoiled record proves nothing
		}
		into[id] = h
	}
	return nil
}

// renewTenant reads a context from the board, whatever is in memory; false where
// that could not be done.
func (r *Registry) renewTenant(ctx context.Context, id domain.TenantID) bool {
	if id == 0 {
		return true
	}
	asked := time.Now()
	t, err := r.Tenant(ctx, id)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return errors.Is(err, domain.ErrInvalid)
	}
	r.tenants.put(id, t, err, asked)
	return true
}
