package identity_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

func pubkey(t *testing.T) string {
	t.Helper()
	k, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k.Pubkey()
}

func newActor(t *testing.T, r *identity.Registry, id domain.ActorID) domain.Actor {
	t.Helper()
	a, _, err := r.CreateActor(t.Context(), domain.Actor{ID: id, Pubkey: pubkey(t)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestActors(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	ctx := t.Context()
	if _, err := r.KnownActor(ctx, 1); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("nobody there: got %v", err)
	}
	for _, taken := range []domain.ActorID{1, 2, 3, 4} {
		newActor(t, r, taken)
	}
	a := newActor(t, r, 0) // passes the block that was taken by hand
	if a.ID < 5 || a.CreatedAt == 0 {
		t.Errorf("got %+v, want a free id", a)
	}
	if got, err := r.KnownActor(ctx, a.ID); err != nil || got.Pubkey != a.Pubkey {
		t.Errorf("got %+v, %v", got, err)
	}
	again, existing, err := r.CreateActor(ctx, domain.Actor{ID: a.ID, Pubkey: a.Pubkey})
	if err != nil || !existing || again.ID != a.ID {
		t.Errorf("again: got %+v, %v, %v", again, existing, err)
	}
	if _, _, err := r.CreateActor(ctx, domain.Actor{ID: a.ID, Pubkey: pubkey(t)}); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("another key: got %v", err)
	}
	if _, _, err := r.CreateActor(ctx, domain.Actor{Pubkey: "abc"}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("bad key: got %v", err)
	}
	list, next, err := r.Actors(ctx, "", 500)
	if err != nil || len(list) != 5 || next != "" {
		t.Errorf("got %d actors, next %q, %v", len(list), next, err)
	}
}

func TestTheFirstActorsAfterTheOperatorAreNumberedOneByOne(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	if _, err := r.EnsureOperator(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []domain.ActorID{2, 3, 4} {
		if got := newActor(t, r, 0).ID; got != want {
			t.Errorf("got actor %d, want %d", got, want)
		}
	}
}

func TestContexts(t *testing.T) {
	b := newBoard(t)
	r := identity.NewRegistry(b)
	ctx := t.Context()
	newActor(t, r, 1)
	want := domain.Tenant{ID: 1, Admins: []domain.ActorID{1}, Weight: 3, MaxRunning: 10, MaxRunningByType: map[domain.ScriptType]int{"v": 2}}
	made, existing, err := r.CreateTenant(ctx, want)
	if err != nil || existing || made.CreatedAt == 0 {
		t.Fatalf("got %+v, %v, %v", made, existing, err)
	}
	got, err := r.Tenant(ctx, 1)
	if diff := cmp.Diff(made, got); err != nil || diff != "" {
		t.Errorf("%v (-made +read):\n%s", err, diff)
	}
	limits, err := b.Get(ctx, 1, layout.Limits)
	if err != nil || limits[0].Get("weight") != "3" || limits[0].Get("max") != "10" || limits[0].Get("max:queue:v") != "2" {
		t.Errorf("limits: got %v, %v", limits, err)
	}
	if _, existing, err := r.CreateTenant(ctx, want); err != nil || !existing {
		t.Errorf("again: got %v, %v", existing, err)
	}
	want.Weight = 4
	if _, _, err := r.CreateTenant(ctx, want); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("other content: got %v", err)
	}
	next, _, err := r.CreateTenant(ctx, domain.Tenant{Admins: []domain.ActorID{1}})
	if err != nil || next.ID != 2 {
		t.Errorf("the next free id: got %d, %v", next.ID, err)
	}
	for _, bad := range []domain.Tenant{{ID: 3}, {ID: 3, Admins: []domain.ActorID{99}}, {ID: 3, Admins: []domain.ActorID{1}, Readers: []domain.ActorID{99}}} {
		if _, _, err := r.CreateTenant(ctx, bad); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
	ids, err := r.Tenants(ctx, 0, 500)
	if diff := cmp.Diff([]domain.TenantID{1, 2}, ids); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestACreationCutOffInTheMiddleIsFinished(t *testing.T) {
	b := newBoard(t)
	r := identity.NewRegistry(b)
	newActor(t, r, 1)
	tenant := domain.Tenant{ID: 5, Admins: []domain.ActorID{1}}
	half := board.Batch{Space: 5} // the first of the two commits
	if err := b.Commit(t.Context(), *half.Set(tenant.Key(), layout.EncodeTenant(tenant)...)); err != nil {
		t.Fatal(err)
	}
	if _, existing, err := r.CreateTenant(t.Context(), tenant); err != nil || !existing {
		t.Fatalf("got %v, %v", existing, err)
	}
	if ids, err := r.Tenants(t.Context(), 0, 500); err != nil || len(ids) != 1 {
		t.Errorf("got %v, %v", ids, err)
	}
}

func TestOperator(t *testing.T) {
	b := newBoard(t)
	dir := t.TempDir()
	op, err := identity.NewRegistry(b).EnsureOperator(t.Context(), dir)
	if err != nil || !op.Made || op.Key.Actor != domain.Operator {
		t.Fatalf("first start: got %+v, %v", op, err)
	}
	again, err := identity.NewRegistry(b).EnsureOperator(t.Context(), dir)
	if err != nil || again.Made || again.Key.Pubkey() != op.Key.Pubkey() {
		t.Errorf("second start: got %+v, %v", again, err)
	}
	tenant, err := identity.NewRegistry(b).Tenant(t.Context(), 1)
	if err != nil || identity.RoleIn(tenant, domain.Operator) != domain.Admin {
		t.Errorf("first context: got %+v, %v", tenant, err)
	}
	// Another node of the same board has no key, and makes no file.
	elsewhere := t.TempDir()
	other, err := identity.NewRegistry(b).EnsureOperator(t.Context(), elsewhere)
	if err != nil || other.Made || other.Key.Actor != 0 {
		t.Errorf("another node: got %+v, %v", other, err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, identity.OperatorKeyFile)); err == nil {
		t.Error("another node wrote a key that belongs to nobody")
	}
	// A fresh board with an old folder takes the old key.
	fresh, err := identity.NewRegistry(newBoard(t)).EnsureOperator(t.Context(), dir)
	if err != nil || !fresh.Made || fresh.Key.Pubkey() != op.Key.Pubkey() {
		t.Errorf("a fresh board: got %+v, %v", fresh, err)
	}
}

func TestManyNodesStartAtOnce(t *testing.T) {
	b := newBoard(t)
	var wg sync.WaitGroup
	made := make([]identity.Operator, 8)
	for i := range made {
		dir := t.TempDir()
		wg.Go(func() {
			op, err := identity.NewRegistry(b).EnsureOperator(t.Context(), dir)
			if err != nil {
				t.Error(err)
			}
			made[i] = op
		})
	}
	wg.Wait()
	makers := 0
	for _, op := range made {
		if op.Made {
			makers++
		}
	}
	if makers != 1 {
		t.Errorf("%d nodes made the operator, want 1", makers)
	}
}

func TestAnActorIsChanged(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	a, other := newActor(t, r, 7), newActor(t, r, 8)
	fresh := pubkey(t)
	node := domain.NodeAddress(fresh)
	for _, c := range []struct {
		name   string
		id     domain.ActorID
		change domain.ActorChange
		want   error
	}{
		{name: "nothing", id: 7},
		{name: "another's key", id: 7, change: domain.ActorChange{Pubkey: other.Pubkey}, want: domain.ErrConflict},
		{name: "a key that is none", id: 7, change: domain.ActorChange{Pubkey: "abc"}, want: domain.ErrInvalid},
		{name: "a key under which anybody can sign", id: 7, change: domain.ActorChange{Pubkey: "01" + strings.Repeat("0", 62)}, want: domain.ErrInvalid},
		{name: "an address that names no node", id: 7, change: domain.ActorChange{Address: &domain.List[domain.Address]{"node:abc"}}, want: domain.ErrInvalid},
		{name: "an empty address", id: 7, change: domain.ActorChange{Address: &domain.List[domain.Address]{""}}, want: domain.ErrInvalid},
		{name: "a very long address", id: 7,
			change: domain.ActorChange{Address: &domain.List[domain.Address]{domain.Address(strings.Repeat("x", 256))}}, want: domain.ErrInvalid},
		{name: "somebody who is not there", id: 9, change: domain.ActorChange{Pubkey: fresh}, want: domain.ErrNotFound},
	} {
		if _, err := r.UpdateActor(t.Context(), c.id, c.change); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if got, err := r.Actor(t.Context(), 7); err != nil || got.Pubkey != a.Pubkey || len(got.Address) != 0 {
			t.Fatalf("%s changed the actor: %+v, %v", c.name, got, err)
		}
	}
	got, err := r.UpdateActor(t.Context(), 7, domain.ActorChange{Pubkey: fresh, Address: &domain.List[domain.Address]{node, "a place"}})
	if err != nil || got.Pubkey != fresh || !got.At(fresh) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if known, err := r.KnownActor(t.Context(), 7); err != nil || known.Pubkey != fresh {
		t.Errorf("from memory: got %+v, %v", known, err)
	}
	if by, err := r.ActorByKey(t.Context(), fresh); err != nil || by.ID != 7 {
		t.Errorf("by the new key: got %+v, %v", by, err)
	}
	if by, err := r.ActorByKey(t.Context(), a.Pubkey); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("by the old key: got %+v, %v", by, err)
	}
	if got, err = r.UpdateActor(t.Context(), 7, domain.ActorChange{Address: &domain.List[domain.Address]{}}); err != nil || len(got.Address) != 0 ||
		got.Pubkey != fresh {
		t.Errorf("no addresses: got %+v, %v", got, err)
	}
	// The old key is free.
	if _, _, err := r.CreateActor(t.Context(), domain.Actor{ID: 9, Pubkey: a.Pubkey}); err != nil {
		t.Error(err)
	}
}

// TestTokensOfAReplacedKeyEnd is what rotation is for.
func TestTokensOfAReplacedKeyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		here, elsewhere := identity.NewRegistry(b), identity.NewRegistry(b)
		old, err := identity.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		old.Actor = 7
		if _, _, err := here.CreateActor(t.Context(), domain.Actor{ID: 7, Pubkey: old.Pubkey()}); err != nil {
			t.Fatal(err)
		}
		token, err := old.Token("n1", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		v := identity.Verifier{Node: "n1", Holder: elsewhere.Holder}
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if _, err := here.UpdateActor(t.Context(), 7, domain.ActorChange{Pubkey: pubkey(t)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(identity.CacheFor) // virtual
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
	})
}

// Lists where an actor, a node's keys and the entry of an actor's key would be keep
// nobody else from being found.
func TestAKeyOfTheWrongKindHidesNobodyElse(t *testing.T) {
	b := newBoard(t)
	r := identity.NewRegistry(b)
	a, other := newActor(t, r, 5), newActor(t, r, 6)
	strange := new(board.Batch).PushLeft(layout.Actor(9), "x").PushLeft(layout.Link(pubkey(t)), "x").
		Delete(layout.ActorOf(a.Pubkey)).PushLeft(layout.ActorOf(a.Pubkey), "x").Delete(layout.ActorOf(other.Pubkey))
	if err := b.Commit(t.Context(), *strange); err != nil {
		t.Fatal(err)
	}
	if actors, _, err := r.Actors(t.Context(), "", 500); err != nil || len(actors) != 2 {
		t.Errorf("actors: got %+v, %v", actors, err)
	}
	if links, err := r.Links(t.Context()); err != nil || len(links) != 0 {
		t.Errorf("links: got %+v, %v", links, err)
	}
	if a, err := identity.NewRegistry(b).ActorByKey(t.Context(), other.Pubkey); err != nil || a.ID != other.ID {
		t.Errorf("by its key: got %+v, %v", a, err)
	}
}
