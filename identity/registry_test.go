package identity_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
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
	list, next, err := r.Actors(ctx, "")
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
	ids, err := r.Tenants(ctx, 0)
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
	if ids, err := r.Tenants(t.Context(), 0); err != nil || len(ids) != 1 {
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
	if err != nil || identity.RoleIn(tenant, domain.Operator) != identity.Admin {
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
