package identity_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// foreignActor writes an actor as a program of somebody else does: no entry.
func foreignActor(t *testing.T, b board.Board, id domain.ActorID, key string) {
	t.Helper()
	var batch board.Batch
	batch.Set(layout.Actor(id), layout.EncodeActor(domain.Actor{ID: id, Pubkey: key})...)
	if err := b.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func TestAnActorIsFoundByItsKey(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	a := newActor(t, r, 7)
	for _, key := range []string{a.Pubkey, strings.ToUpper(a.Pubkey)} {
		if got, err := r.ActorByKey(t.Context(), key); err != nil || got.ID != 7 {
			t.Errorf("key %s: got %+v, %v", key, got, err)
		}
	}
	if _, err := r.ActorByKey(t.Context(), pubkey(t)); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a key that nobody has: got %v", err)
	}
	if _, err := r.ActorByKey(t.Context(), "../7"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("no key: got %v", err)
	}
}

func TestTwoActorsCannotHaveOneKey(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	a := newActor(t, r, 7)
	for _, id := range []domain.ActorID{0, 8} {
		_, _, err := r.CreateActor(t.Context(), domain.Actor{ID: id, Pubkey: a.Pubkey})
		if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "actor 7") {
			t.Errorf("id %d: got %v, want a conflict that names actor 7", id, err)
		}
	}
	if next := newActor(t, r, 0); next.ID != 1 {
		t.Errorf("the refusals cost numbers: got id %d", next.ID)
	}
}

// A link key signs what NATS servers choose: it is no actor's.
func TestALinkKeyIsNoActorsKey(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	a := newActor(t, r, 7)
	keys, err := identity.OpenKeyring(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AnnounceLinks(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"parcels": keys.Bus.Pubkey(), "streams": keys.Stream.Pubkey()} {
		_, _, made := r.CreateActor(t.Context(), domain.Actor{Pubkey: key})
		_, _, numbered := r.CreateActor(t.Context(), domain.Actor{ID: 9, Pubkey: key})
		_, updated := r.UpdateActor(t.Context(), 7, domain.ActorChange{Pubkey: key})
		for how, err := range map[string]error{"made": made, "made with a number": numbered, "updated": updated} {
			if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "is the link key of node "+keys.Node.Pubkey()) {
				t.Errorf("%s, %s: got %v", name, how, err)
			}
		}
	}
	if got, err := r.Actor(t.Context(), 7); err != nil || got.Pubkey != a.Pubkey {
		t.Errorf("got %+v, %v, want the key that it had", got, err)
	}
	if _, err := r.Actor(t.Context(), 9); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("actor 9: got %v, want none", err)
	}
}

// TestWhoHearsThatAKeyIsTakenFindsWhoHasIt: also when it was asked for a moment
// before, and another node was quicker.
func TestWhoHearsThatAKeyIsTakenFindsWhoHasIt(t *testing.T) {
	b := newBoard(t)
	here, elsewhere := identity.NewRegistry(b), identity.NewRegistry(b)
	key := pubkey(t)
	if _, err := here.ActorByKey(t.Context(), key); !errors.Is(err, domain.ErrNotFound) {
		t.Fatal(err)
	}
	made, _, err := elsewhere.CreateActor(t.Context(), domain.Actor{Pubkey: key})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := here.CreateActor(t.Context(), domain.Actor{Pubkey: key}); !errors.Is(err, domain.ErrConflict) {
		t.Fatalf("got %v", err)
	}
	if a, err := here.ActorByKey(t.Context(), key); err != nil || a.ID != made.ID {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestOneOfManyGetsAKeyThatAllWantAtOnce(t *testing.T) {
	b := newBoard(t)
	key := pubkey(t)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			_, _, errs[i] = identity.NewRegistry(b).CreateActor(t.Context(), domain.Actor{ID: domain.ActorID(i + 1), Pubkey: key})
		})
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, domain.ErrConflict) {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d actors have the key, want 1", made)
	}
}

func TestActorsOfForeignProgramsAreFoundByKeyToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := identity.NewRegistry(b)
		first, second := pubkey(t), pubkey(t)
		foreignActor(t, b, 5, first)
		if a, err := r.ActorByKey(t.Context(), first); err != nil || a.ID != 5 {
			t.Fatalf("got %+v, %v", a, err)
		}
		recs, err := b.Get(t.Context(), 0, layout.ActorOf(first))
		if err != nil || recs[0].Get(layout.ActorOfID) != "5" {
			t.Errorf("the entry: got %v, %v", recs, err)
		}

		// It gives itself another key, and another takes the first.
		foreignActor(t, b, 5, second)
		foreignActor(t, b, 6, first)
		time.Sleep(identity.CacheFor)
		for key, want := range map[string]domain.ActorID{first: 6, second: 5} {
			if a, err := r.ActorByKey(t.Context(), key); err != nil || a.ID != want {
				t.Errorf("after the change: got %+v, %v, want actor %d", a, err, want)
			}
		}
		if _, _, err := r.CreateActor(t.Context(), domain.Actor{ID: 9, Pubkey: second}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("its key for another: got %v", err)
		}
	})
}

// countingBoard counts the listings of keys.
type countingBoard struct {
	identity.Board
	listings int
}

func TestKeysThatNobodyHasAreNotLookedForAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		counting := &countingBoard{Board: b}
		r := identity.NewRegistry(counting)
		for range 100 {
			_, _ = r.ActorByKey(t.Context(), pubkey(t))
		}
		if counting.listings != 1 {
			t.Errorf("actors were looked through %d times in a moment, want once", counting.listings)
		}
		time.Sleep(identity.CacheFor)
		_, _ = r.ActorByKey(t.Context(), pubkey(t))
		if counting.listings != 2 {
			t.Errorf("got %d looks after a second, want 2", counting.listings)
		}
	})
}

func (c *countingBoard) Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) ([]string, string, error) {
	c.listings++
	return c.Board.Keys(ctx, space, prefix, cursor, limit)
}
