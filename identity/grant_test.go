package identity_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// newHouse is a registry with actors 1 to 4 and context 7, of which 1 is admin.
func newHouse(t *testing.T, b board.Board) *identity.Registry {
	t.Helper()
	r := identity.NewRegistry(b)
	for id := range domain.ActorID(4) {
		newActor(t, r, id+1)
	}
	if _, _, err := r.CreateTenant(t.Context(), domain.Tenant{ID: 7, Admins: []domain.ActorID{1}}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGrantAndRevoke(t *testing.T) {
	for _, c := range []struct {
		name    string
		revoke  bool
		actor   domain.ActorID
		role    domain.ContextRole
		want    error // nil: it comes to something
		text    string
		changed bool
		lists   [3]domain.List[domain.ActorID] // admins, executors, readers
	}{
		{name: "a reader", actor: 3, role: domain.Reader, changed: true, lists: [3]domain.List[domain.ActorID]{{1}, {2}, {2, 3}}},
		{name: "an executor", actor: 3, role: domain.Executor, changed: true, lists: [3]domain.List[domain.ActorID]{{1}, {2, 3}, {2}}},
		{name: "an admin", actor: 3, role: domain.Admin, changed: true, lists: [3]domain.List[domain.ActorID]{{1, 3}, {2}, {2}}},
		{name: "a role that is there already", actor: 2, role: domain.Executor, lists: [3]domain.List[domain.ActorID]{{1}, {2}, {2}}},
		{name: "an actor who is not registered", actor: 99, role: domain.Reader, want: domain.ErrInvalid, text: "actor 99 does not exist"},
		{name: "nobody", actor: 0, role: domain.Reader, want: domain.ErrInvalid, text: "actor 0 does not exist"},
		{name: "an unknown role", actor: 3, role: "owner", want: domain.ErrInvalid, text: `role "owner": want admin, executor or reader`},
		{name: "no role", actor: 3, role: "", want: domain.ErrInvalid, text: "want admin, executor or reader"},
		{name: "stranger is no role to give", actor: 3, role: domain.Stranger, want: domain.ErrInvalid, text: "want admin"},
		{name: "revoke one of two roles", revoke: true, actor: 2, role: domain.Executor, changed: true, lists: [3]domain.List[domain.ActorID]{{1}, nil, {2}}},
		{name: "revoke all", revoke: true, actor: 2, changed: true, lists: [3]domain.List[domain.ActorID]{{1}, nil, nil}},
		{name: "revoke what is not there", revoke: true, actor: 3, lists: [3]domain.List[domain.ActorID]{{1}, {2}, {2}}},
		{name: "revoke of somebody whose record is gone", revoke: true, actor: 99, lists: [3]domain.List[domain.ActorID]{{1}, {2}, {2}}},
		{name: "revoke an unknown role", revoke: true, actor: 2, role: "owner", want: domain.ErrInvalid, text: "want admin"},
		{name: "revoke the last admin", revoke: true, actor: 1, want: domain.ErrConflict, text: "actor 1 is the last admin of context 7"},
		{name: "revoke the last admin by role", revoke: true, actor: 1, role: domain.Admin, want: domain.ErrConflict, text: "last admin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBoard(t)
			r := newHouse(t, b)
			for _, role := range []domain.ContextRole{domain.Executor, domain.Reader} {
				if _, _, err := r.Grant(t.Context(), 7, 2, role); err != nil {
					t.Fatal(err)
				}
			}
			do := r.Grant
			if c.revoke {
				do = r.Revoke
			}
			got, changed, err := do(t.Context(), 7, c.actor, c.role)
			if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want %v: %s", err, c.want, c.text)
			}
			if c.want != nil {
				c.lists = [3]domain.List[domain.ActorID]{{1}, {2}, {2}}
			} else if changed != c.changed || len(got.Admins) != len(c.lists[0]) {
				t.Errorf("got %+v, changed %v, want %v", got, changed, c.changed)
			}
			stored, err := identity.NewRegistry(b).Tenant(t.Context(), 7)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.lists, [3]domain.List[domain.ActorID]{stored.Admins, stored.Executors, stored.Readers}); diff != "" {
				t.Errorf("on the board (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrantsInAContextThatIsNotThere(t *testing.T) {
	r := newHouse(t, newBoard(t))
	for _, id := range []domain.TenantID{0, 9} {
		if _, _, err := r.Grant(t.Context(), id, 2, domain.Reader); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("context %d: got %v", id, err)
		}
	}
}

// TestGrantsAtOnceAreAllKept grants from many nodes at the same time: a list
// that is read, changed and written would lose some.
func TestGrantsAtOnceAreAllKept(t *testing.T) {
	b := newBoard(t)
	first := newHouse(t, b)
	const many = 12
	for id := range domain.ActorID(many) {
		newActor(t, first, 100+id)
	}
	var wg sync.WaitGroup
	for id := range domain.ActorID(many) {
		r := identity.NewRegistry(b)
		wg.Go(func() {
			if _, _, err := r.Grant(t.Context(), 7, 100+id, domain.Reader); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := first.Tenant(t.Context(), 7); err != nil || len(got.Readers) != many {
		t.Errorf("got %d readers, %v, want %d", len(got.Readers), err, many)
	}
}

// TestTwoAdminsCannotRevokeEachOtherAtOnce: each change alone would leave one.
func TestTwoAdminsCannotRevokeEachOtherAtOnce(t *testing.T) {
	for range 20 {
		b := newBoard(t)
		r := newHouse(t, b)
		if _, _, err := r.Grant(t.Context(), 7, 2, domain.Admin); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, id := range []domain.ActorID{1, 2} {
			r := identity.NewRegistry(b)
			wg.Go(func() { _, _, _ = r.Revoke(t.Context(), 7, id, "") })
		}
		wg.Wait()
		if got, err := r.Tenant(t.Context(), 7); err != nil || len(got.Admins) != 1 {
			t.Fatalf("got admins %v, %v, want one", got.Admins, err)
		}
	}
}

func TestARevokedRightEndsOnEveryNodeWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		here := newHouse(t, b)
		if _, _, err := here.Grant(t.Context(), 7, 2, domain.Executor); err != nil {
			t.Fatal(err)
		}
		near, far := identity.NewAccess(here, nil), identity.NewAccess(identity.NewRegistry(b), nil)
		ask := identity.Ask{Actor: 2, Verb: domain.VerbClaim, Tenant: 7}
		for _, access := range []*identity.Access{near, far} {
			if err := access.Check(t.Context(), ask); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := here.Revoke(t.Context(), 7, 2, ""); err != nil {
			t.Fatal(err)
		}
		if err := near.Check(t.Context(), ask); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("here, at once: got %v", err)
		}
		time.Sleep(identity.CacheFor) // virtual
		if err := far.Check(t.Context(), ask); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("elsewhere, after a second: got %v", err)
		}
	})
}

func TestForeignFieldsOfAContextStay(t *testing.T) {
	b := newBoard(t)
	r := newHouse(t, b)
	batch := board.Batch{Space: 7}
	if err := b.Commit(t.Context(), *batch.Set("context:7", board.Field{Name: "colour", Value: "red"})); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Grant(t.Context(), 7, 2, domain.Reader); err != nil {
		t.Fatal(err)
	}
	if recs, err := b.Get(t.Context(), 7, "context:7"); err != nil || recs[0].Get("colour") != "red" || recs[0].Get("readers") != "[2]" {
		t.Errorf("got %v, %v", recs, err)
	}
}

func limitsOf(t *testing.T, b board.Board) map[string]string {
	t.Helper()
	recs, err := b.Get(t.Context(), 7, layout.Limits)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]string{}
	for _, f := range recs[0] {
		if f.Name != layout.BannedTurn {
			limits[f.Name] = f.Value
		}
	}
	return limits
}

func ptr[T any](v T) *T { return &v }

func TestAContextsIsolationOnlyTightens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := newHouse(t, b)
		if _, _, err := r.CreateTenant(t.Context(), domain.Tenant{ID: 8, Admins: []domain.ActorID{1}, Isolation: domain.Open}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("open: got %v, want it refused", err)
		}
		if _, _, err := r.CreateTenant(t.Context(), domain.Tenant{ID: 8, Admins: []domain.ActorID{1}, Isolation: domain.Sealed}); err != nil {
			t.Fatal(err)
		}
		for _, level := range []domain.Isolation{domain.Walled, "", domain.Sealed} {
			if _, err := r.UpdateTenant(t.Context(), 8, domain.TenantChange{Isolation: &level}); err != nil {
				t.Fatal(err)
			}
			if got, err := r.KnownTenant(t.Context(), 8); err != nil || got.Isolation != level {
				t.Errorf("got %q, %v, want %q", got.Isolation, err, level)
			}
		}
		for _, level := range []domain.Isolation{domain.Open, "vm"} {
			if _, err := r.UpdateTenant(t.Context(), 8, domain.TenantChange{Isolation: &level}); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%s: got %v, want it refused", level, err)
			}
		}
	})
}

func TestTheBoardFollowsWhatAContextGets(t *testing.T) {
	b := newBoard(t)
	r := newHouse(t, b)
	for _, c := range []struct {
		name   string
		change domain.TenantChange
		limits map[string]string
		err    string
	}{
		{name: "all of it", change: domain.TenantChange{Weight: ptr(5), MaxRunning: ptr(10), MaxRunningByType: map[domain.ScriptType]int{"v": 2, "shell": 3}},
			limits: map[string]string{"weight": "5", "max": "10", "max:queue:v": "2", "max:queue:shell": "3"}},
		{name: "a part: the others stay", change: domain.TenantChange{MaxRunningByType: map[domain.ScriptType]int{"v": 0, "python": 1}},
			limits: map[string]string{"weight": "5", "max": "10", "max:queue:shell": "3", "max:queue:python": "1"}},
		{name: "back to the defaults", change: domain.TenantChange{Weight: ptr(0), MaxRunning: ptr(0)},
			limits: map[string]string{"max:queue:shell": "3", "max:queue:python": "1"}},
		{name: "too heavy", change: domain.TenantChange{Weight: ptr(1001)}, err: "weight 1001"},
		{name: "a negative bound", change: domain.TenantChange{MaxRunning: ptr(-1)}, err: "max_running -1"},
		{name: "a negative bound of a type", change: domain.TenantChange{MaxRunningByType: map[domain.ScriptType]int{"v": -1}}, err: "v is -1"},
		{name: "executors may submit", change: domain.TenantChange{ExecutorsMaySubmit: ptr(true)},
			limits: map[string]string{"max:queue:shell": "3", "max:queue:python": "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.UpdateTenant(t.Context(), 7, c.change)
			if c.err != "" {
				if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.limits, limitsOf(t, b)); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			stored, err := r.Tenant(t.Context(), 7)
			got.UpdatedAt = stored.UpdatedAt
			if len(got.MaxRunningByType) == 0 {
				got.MaxRunningByType = nil
			}
			if diff := cmp.Diff(got, stored); err != nil || diff != "" {
				t.Errorf("%v (-answered +stored):\n%s", err, diff)
			}
		})
	}
	if got, err := r.Tenant(t.Context(), 7); err != nil || !got.ExecutorsMaySubmit {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestALoweredCapHolds claims from the board itself.
func TestALoweredCapHolds(t *testing.T) {
	b := newBoard(t)
	r := newHouse(t, b)
	queue := board.Batch{Space: 7}
	queue.PushLeft("queue:v", "job:1:1", "job:1:2", "job:1:3")
	if err := b.Commit(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{1, 2} {
		if _, err := r.UpdateTenant(t.Context(), 7, domain.TenantChange{MaxRunning: &most}); err != nil {
			t.Fatal(err)
		}
		got, err := b.Claim(t.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: 3, Owner: "o", Lease: time.Minute})
		if err != nil || len(got) != 1 {
			t.Errorf("cap %d: got %d more, %v, want 1", most, len(got), err)
		}
	}
}

// TestAChangeDuringABanHoldsAfterIt: a ban keeps a cap at nothing and knows
// what it was; what it was is what is changed.
func TestAChangeDuringABanHoldsAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := newHouse(t, b)
		bans := ban.New(b)
		scopes := []domain.BanScope{{Kind: domain.BanContext, Context: 7}, {Kind: domain.BanType, Context: 7, Name: "v"}}
		settle := func() {
			t.Helper()
			for _, s := range scopes {
				at, set, err := b.AlarmOf(t.Context(), 0, layout.BanAlarm(s))
				if err != nil || !set {
					t.Fatal(set, err)
				}
				if _, err := bans.HandleAlarm(t.Context(), board.Alarm{Name: layout.BanAlarm(s), At: at}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range scopes {
			if _, err := bans.Set(t.Context(), domain.Ban{BanScope: s, Level: domain.BanPick, By: 1, Reason: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		settle()
		change := domain.TenantChange{MaxRunning: ptr(4), MaxRunningByType: map[domain.ScriptType]int{"v": 2}}
		if _, err := r.UpdateTenant(t.Context(), 7, change); err != nil {
			t.Fatal(err)
		}
		if got := limitsOf(t, b); got["max"] != "0" || got["max:queue:v"] != "0" {
			t.Errorf("the change ended the bans: %v", got)
		}
		for _, s := range scopes {
			if _, err := bans.Lift(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		settle()
		if diff := cmp.Diff(map[string]string{"max": "4", "max:queue:v": "2"}, limitsOf(t, b)); diff != "" {
			t.Errorf("after the bans (-want +got):\n%s", diff)
		}
	})
}

// racingBoard lets somebody else change the context after each of a number of
// reads of it.
type racingBoard struct {
	identity.Board
	left  int
	other func()
}

func (r *racingBoard) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	recs, err := r.Board.Get(ctx, space, keys...)
	if space == 7 && r.left > 0 {
		r.left--
		r.other()
	}
	return recs, err
}

func TestAChangeIsMadeAnewWhenOthersComeBetween(t *testing.T) {
	for _, c := range []struct {
		name  string
		other board.Field
		key   string
	}{
		{name: "the lists", key: "context:7", other: board.Field{Name: "readers", Value: "[3]"}},
		{name: "the shares", key: "context:7", other: board.Field{Name: "weight", Value: "9"}},
		{name: "a ban", key: layout.Limits, other: board.Field{Name: layout.BannedTurn, Value: "77"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBoard(t)
			newHouse(t, b)
			racing := &racingBoard{Board: b, left: 1}
			racing.other = func() {
				batch := board.Batch{Space: 7}
				if err := b.Commit(t.Context(), *batch.Set(c.key, c.other)); err != nil {
					t.Fatal(err)
				}
			}
			got, changed, err := identity.NewRegistry(racing).Grant(t.Context(), 7, 2, domain.Executor)
			if err != nil || !changed || len(got.Executors) != 1 {
				t.Fatalf("got %+v, %v, %v", got, changed, err)
			}
			if c.key == "context:7" {
				recs, err := b.Get(t.Context(), 7, c.key)
				if err != nil || recs[0].Get(c.other.Name) != c.other.Value {
					t.Errorf("the other change is lost: %v, %v", recs, err)
				}
			}
		})
	}
}
