package identity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// TestWhatIsOpenEndsWithinASecond opens a session at one node and takes away at
// another what it hangs on.
func TestWhatIsOpenEndsWithinASecond(t *testing.T) {
	commit := func(t *testing.T, b *memboard.Board, batch *board.Batch) error { return b.Commit(t.Context(), *batch) }
	for _, c := range []struct {
		name string
		want error
		do   func(t *testing.T, b *memboard.Board, here *identity.Registry, p identity.Proof) error
	}{
		{"the token is revoked", domain.ErrUnauthenticated, func(t *testing.T, _ *memboard.Board, here *identity.Registry, p identity.Proof) error {
			return here.RevokeToken(t.Context(), 12, p.Token)
		}},
		{"all tokens are", domain.ErrUnauthenticated, func(t *testing.T, _ *memboard.Board, here *identity.Registry, _ identity.Proof) error {
			return here.RevokeTokens(t.Context(), 12)
		}},
		{"the actor has another key", domain.ErrUnauthenticated, func(t *testing.T, _ *memboard.Board, here *identity.Registry, _ identity.Proof) error {
			_, err := here.UpdateActor(t.Context(), 12, domain.ActorChange{Pubkey: pubkey(t)})
			return err
		}},
		{"the actor is gone", domain.ErrUnauthenticated, func(t *testing.T, b *memboard.Board, _ *identity.Registry, _ identity.Proof) error {
			return commit(t, b, new(board.Batch).Delete(layout.Actor(12)))
		}},
		{"the actor's record is spoiled", domain.ErrUnauthenticated, func(t *testing.T, b *memboard.Board, _ *identity.Registry, _ identity.Proof) error {
			return commit(t, b, new(board.Batch).Set(layout.Actor(12), board.Field{Name: "pubkey", Value: "x"}))
		}},
		{"a list lies where its revocations are", domain.ErrUnauthenticated, func(t *testing.T, b *memboard.Board, _ *identity.Registry, _ identity.Proof) error {
			return commit(t, b, new(board.Batch).PushLeft(layout.Revoked(12), "x"))
		}},
		{"the role is taken away", domain.ErrForbidden, func(t *testing.T, _ *memboard.Board, here *identity.Registry, _ identity.Proof) error {
			_, _, err := here.Revoke(t.Context(), 7, 12, "")
			return err
		}},
		{"the context is gone", domain.ErrForbidden, func(t *testing.T, b *memboard.Board, _ *identity.Registry, _ identity.Proof) error {
			batch := board.Batch{Space: 7}
			return commit(t, b, batch.Delete(layout.Tenant(7)))
		}},
		{"nothing", nil, func(*testing.T, *memboard.Board, *identity.Registry, identity.Proof) error { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			twoNodes(t, func(t *testing.T, b *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key) {
				p := verified(t, there, mint(t, key))
				ctx, s := there.Open(t.Context(), p)
				defer s.Close()
				s.Hang(identity.Ask{Actor: 12, Verb: domain.VerbRead, Tenant: 7})
				time.Sleep(10*time.Second + 123*time.Millisecond) // it is looked at, and goes on
				if ctx.Err() != nil || s.Err() != nil {
					t.Fatalf("it ended by itself: %v", s.Err())
				}
				if err := c.do(t, b, here, p); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				wait, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				<-wait.Done()
				if c.want == nil {
					if s.Err() != nil {
						t.Errorf("got %v", s.Err())
					}
					return
				}
				if d := time.Since(begun); d > time.Second || !errors.Is(s.Err(), c.want) || !errors.Is(context.Cause(ctx), c.want) {
					t.Errorf("after %v: got %v", d, s.Err())
				}
			})
		})
	}
}

func TestASessionEndsWithItsToken(t *testing.T) {
	twoNodes(t, func(t *testing.T, _ *memboard.Board, _ *identity.Registry, there *identity.Tokens, key identity.Key) {
		begun := time.Now()
		ctx, s := there.Open(t.Context(), verified(t, there, mint(t, key)))
		defer s.Close()
		<-ctx.Done()
		if d := time.Since(begun); d < time.Hour || d > time.Hour+identity.Leeway+2*time.Second || !errors.Is(s.Err(), domain.ErrUnauthenticated) {
			t.Errorf("after %v: got %v", d, s.Err())
		}
	})
}

// TestALocalSessionHangsOnRightsAlone: there is no token that could be revoked.
func TestALocalSessionHangsOnRightsAlone(t *testing.T) {
	twoNodes(t, func(t *testing.T, b *memboard.Board, here *identity.Registry, there *identity.Tokens, _ identity.Key) {
		_, s := there.Open(t.Context(), identity.Proof{Actor: 12})
		defer s.Close()
		if err := here.RevokeTokens(t.Context(), 12); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s.Err() != nil {
			t.Errorf("got %v", s.Err())
		}
		b.Close() // a board that does not answer ends nothing
		time.Sleep(time.Minute)
		if s.Err() != nil {
			t.Errorf("got %v", s.Err())
		}
	})
}
