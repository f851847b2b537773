package identity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// A token that was good before is looked at again in all that may have changed.
func TestAKnownTokenIsNotGoodForEver(t *testing.T) {
	refused := func(t *testing.T, tokens *identity.Tokens, token string) {
		t.Helper()
		if p, err := tokens.Verify(t.Context(), token); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("got %+v, %v", p, err)
		}
	}
	for name, change := range map[string]func(t *testing.T, here *identity.Registry){
		"it runs out": func(*testing.T, *identity.Registry) { time.Sleep(time.Hour + identity.Leeway + time.Second) },
		"its actor gets another key": func(t *testing.T, here *identity.Registry) {
			other, err := identity.NewKey()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := here.UpdateActor(t.Context(), 12, domain.ActorChange{Pubkey: other.Pubkey()}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(identity.CacheFor)
		},
		"all are revoked": func(t *testing.T, here *identity.Registry) {
			if err := here.RevokeTokens(t.Context(), 12); err != nil {
				t.Fatal(err)
			}
			time.Sleep(identity.CacheFor)
		},
	} {
		t.Run(name, func(t *testing.T) {
			twoNodes(t, func(t *testing.T, _ *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key) {
				token := mint(t, key)
				if first, again := verified(t, there, token), verified(t, there, token); first != again {
					t.Errorf("got %+v, and then %+v", first, again)
				}
				change(t, here)
				refused(t, there, token)
				refused(t, there, token)
			})
		})
	}
	t.Run("others are not taken for it", func(t *testing.T) {
		twoNodes(t, func(t *testing.T, _ *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key) {
			token := mint(t, key)
			verified(t, there, token)
			signed := token[:strings.LastIndexByte(token, '.')+1]
			refused(t, there, signed)
			refused(t, there, token+"x")
			other := mint(t, key)
			refused(t, there, signed+other[strings.LastIndexByte(other, '.')+1:])              // a signature, but another's
			refused(t, identity.NewTokens(here, identity.NewAccess(here, nil), "here"), token) // each node for itself
			verified(t, there, token)
		})
	})
}

// silentBoard gives no answer in time while it is silent.
type silentBoard struct {
	board.Board
	silent bool
	asked  int
}

func (b *silentBoard) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	if b.silent {
		b.asked++
		return nil, context.DeadlineExceeded
	}
	return b.Board.Get(ctx, space, keys...)
}

// A token that was known and one that was not are both no worse than before, when the
// board is silent, and it is asked once.
func TestASilentBoardIsNoBadToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memboard.Open()
		defer mem.Close()
		b := &silentBoard{Board: mem}
		r := identity.NewRegistry(b)
		key := holderOf(t, r, 12)
		tokens := identity.NewTokens(r, identity.NewAccess(r, nil), "there")
		known, other := mint(t, key), mint(t, key)
		verified(t, tokens, known)
		time.Sleep(identity.CacheFor) // virtual
		for name, token := range map[string]string{"known": known, "not known": other} {
			b.silent, b.asked = true, 0
			p, err := tokens.Verify(t.Context(), token)
			if !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrForbidden) || p.Actor != 0 || b.asked != 1 {
				t.Errorf("%s: got %+v, %v after %d questions", name, p, err, b.asked)
			}
		}
		b.silent = false
		verified(t, tokens, known)
		verified(t, tokens, other)
	})
}

func BenchmarkVerify(b *testing.B) {
	mem := memboard.Open()
	defer mem.Close()
	r := identity.NewRegistry(mem)
	key, err := identity.NewKey()
	if err != nil {
		b.Fatal(err)
	}
	key.Actor = 12
	if _, _, err := r.CreateActor(b.Context(), domain.Actor{ID: 12, Pubkey: key.Pubkey()}); err != nil {
		b.Fatal(err)
	}
	token, err := key.Token("there", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	tokens := identity.NewTokens(r, identity.NewAccess(r, nil), "there")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tokens.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
