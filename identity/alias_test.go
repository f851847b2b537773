package identity_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// named is a context of the operator's with an alias.
func named(id domain.TenantID, alias string) domain.Tenant {
	return domain.Tenant{ID: id, Alias: alias, Admins: []domain.ActorID{1}}
}

func TestAContextIsCalledByItsAliasOrItsNumber(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	newActor(t, r, 1)
	for _, c := range []domain.Tenant{named(1, ""), named(7, "acme"), named(8, "")} {
		if _, _, err := r.CreateTenant(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]domain.TenantID{"": 1, "1": 1, "7": 7, "acme": 7, "8": 8} {
		if got, err := r.TenantByName(t.Context(), name); err != nil || got != want {
			t.Errorf("%q: got context %d, %v, want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"9", "acme-2", "a"} {
		if got, err := r.TenantByName(t.Context(), name); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%q: got context %d, %v, want not found", name, got, err)
		}
	}
	for _, name := range []string{"0", "07", "Acme", "a.b", "*", ">", "-a", "7 ", "4294967296", strings.Repeat("a", 65)} {
		if got, err := r.TenantByName(t.Context(), name); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got context %d, %v, want invalid", name, got, err)
		}
	}
	for id, want := range map[domain.TenantID]string{1: "", 7: "acme", 8: "8"} {
		if got, err := r.TenantName(t.Context(), id); err != nil || got != want {
			t.Errorf("context %d: got name %q, %v, want %q", id, got, err, want)
		}
	}
	if _, err := r.TenantName(t.Context(), 9); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a context that is not there: got %v", err)
	}
}

func TestAnAliasIsForOneContextAndForEver(t *testing.T) {
	r := identity.NewRegistry(newBoard(t))
	newActor(t, r, 1)
	newActor(t, r, 2)
	first, existing, err := r.CreateTenant(t.Context(), named(0, "acme"))
	if err != nil || existing || first.ID == 0 {
		t.Fatalf("got %+v, %v, %v", first, existing, err)
	}
	if again, existing, err := r.CreateTenant(t.Context(), named(0, "acme")); err != nil || !existing || again.ID != first.ID {
		t.Errorf("the same without a number: got %+v, %v, %v, want the first again", again, existing, err)
	}
	if _, _, err := r.CreateTenant(t.Context(), named(first.ID+5, "")); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]domain.Tenant{
		"another number":             named(first.ID+1, "acme"),
		"other content":              {Alias: "acme", Admins: []domain.ActorID{1, 2}},
		"the context without":        named(first.ID, ""),
		"the context with another":   named(first.ID, "acme-2"),
		"an alias for what has none": named(first.ID+5, "acme-3"),
	} {
		if got, _, err := r.CreateTenant(t.Context(), c); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%s: got %+v, %v, want a conflict", what, got, err)
		}
	}
	// Who was refused has taken no alias.
	for _, alias := range []string{"acme-2", "acme-3"} {
		if made, _, err := r.CreateTenant(t.Context(), named(0, alias)); err != nil || made.ID == first.ID {
			t.Errorf("%s: got %+v, %v", alias, made, err)
		}
	}
	weight := 3
	if _, err := r.UpdateTenant(t.Context(), first.ID, domain.TenantChange{Weight: &weight}); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Tenant(t.Context(), first.ID); err != nil || got.Alias != "acme" || got.Weight != 3 {
		t.Errorf("after a change: got %+v, %v", got, err)
	}
}

func TestManyWantOneAlias(t *testing.T) {
	b := newBoard(t)
	r := identity.NewRegistry(b)
	newActor(t, r, 1)
	var wg sync.WaitGroup
	ids := make([]domain.TenantID, 8)
	for i := range ids {
		wg.Go(func() {
			made, _, err := identity.NewRegistry(b).CreateTenant(t.Context(), named(0, "acme"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = made.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("got contexts %v, want one", ids)
		}
	}
}

// cutBoard refuses commits in the spaces of contexts while it is cut.
type cutBoard struct {
	board.Board
	cut bool
}

func (b *cutBoard) Commit(ctx context.Context, batch board.Batch) error {
	if b.cut && batch.Space != 0 {
		return domain.Unavailablef("cut")
	}
	return b.Board.Commit(ctx, batch)
}

func TestACreationThatWasCutOffIsFinished(t *testing.T) {
	for name, c := range map[string]struct {
		again  domain.Tenant
		before func(t *testing.T, r *identity.Registry, kept domain.TenantID)
		same   bool // number as the alias was kept for
	}{
		"by the same call": {again: named(0, "acme"), same: true},
		"after the number was taken by another": {again: named(0, "acme"), before: func(t *testing.T, r *identity.Registry, kept domain.TenantID) {
			if _, _, err := r.CreateTenant(t.Context(), named(kept, "")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &cutBoard{Board: newBoard(t)}
			r := identity.NewRegistry(b)
			newActor(t, r, 1)
			b.cut = true
			if _, _, err := r.CreateTenant(t.Context(), named(0, "acme")); !errors.Is(err, domain.ErrUnavailable) {
				t.Fatalf("got %v", err)
			}
			b.cut = false
			recs, err := b.Get(t.Context(), 0, layout.Alias("acme"))
			if err != nil {
				t.Fatal(err)
			}
			kept, err := domain.ParseTenantID(recs[0].Get(layout.AliasOf))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.TenantByName(t.Context(), "acme"); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("a context that is not there yet: got %v", err)
			}
			if c.before != nil {
				c.before(t, r, kept)
			}
			made, _, err := r.CreateTenant(t.Context(), c.again)
			if err != nil || (made.ID == kept) != c.same {
				t.Fatalf("got %+v, %v; the alias was kept for %d", made, err, kept)
			}
			if got, err := identity.NewRegistry(b).TenantByName(t.Context(), "acme"); err != nil || got != made.ID {
				t.Errorf("got context %d, %v, want %d", got, err, made.ID)
			}
		})
	}
}

func TestAnAliasRevealsNothing(t *testing.T) {
	b := newBoard(t)
	r := identity.NewRegistry(b)
	for _, id := range []domain.ActorID{1, 2, 3} {
		newActor(t, r, id)
	}
	if _, _, err := r.CreateTenant(t.Context(), domain.Tenant{ID: 7, Alias: "acme", Admins: []domain.ActorID{2}}); err != nil {
		t.Fatal(err)
	}
	access := identity.NewAccess(r, nil)
	for _, actor := range []domain.ActorID{1, 2} { // the operator, who lists all, and a member
		if got, err := access.Named(t.Context(), identity.Proof{Actor: actor}, "acme"); err != nil || got != 7 {
			t.Errorf("actor %d: got %d, %v", actor, got, err)
		}
	}
	if _, err := access.Named(t.Context(), identity.Proof{Actor: 1}, "nobody"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the operator: got %v, want not found", err)
	}
	var texts []string
	for _, alias := range []string{"acme", "nobody"} {
		got, err := access.Named(t.Context(), identity.Proof{Actor: 3}, alias)
		if !errors.Is(err, domain.ErrForbidden) || got != 0 {
			t.Fatalf("%s: got %d, %v, want forbidden", alias, got, err)
		}
		texts = append(texts, strings.ReplaceAll(err.Error(), alias, "X"))
	}
	if texts[0] != texts[1] || access.Denials() != 2 {
		t.Errorf("got %q and %d denials", texts, access.Denials())
	}
	// By a number the question that comes next decides.
	if got, err := access.Named(t.Context(), identity.Proof{Actor: 3}, "99"); err != nil || got != 99 {
		t.Errorf("got %d, %v", got, err)
	}
}
