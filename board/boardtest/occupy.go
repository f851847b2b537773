package boardtest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

var occupyTests = []test{
	{"occupy makes and leases a record", testOccupy},
	{"an occupied item is taken over once its time has run out", testOccupyTakeOver},
	{"of many occupiers one wins", testOccupyRace},
	{"occupied and claimed items respect each other", testOccupyClaimed},
}

// occupied tries to occupy an item that another holds.
func (r *rig) occupied(space board.Space, item, owner string) {
	r.t.Helper()
	if _, err := r.Occupy(r.ctx, space, item, owner, time.Minute); !errors.Is(err, domain.ErrConflict) {
		r.t.Fatalf("occupy %q by %s: got %v, want a conflict", item, owner, err)
	}
}

func (r *rig) occupy(item, owner string, want int64) {
	r.t.Helper()
	tok, err := r.Occupy(r.ctx, sp, item, owner, time.Minute)
	r.must(err)
	if tok != want {
		r.t.Fatalf("occupy %q by %s: got token %d, want %d", item, owner, tok, want)
	}
}

func testOccupy(t *testing.T, f Factory) {
	r := open(t, f)
	r.occupy("routine", "me", 1)
	r.wantRecord(sp, "routine", "attempt=1 lease_owner=me")
	r.occupied(sp, "routine", "you")
	r.occupied(sp, "routine", "me2")
	r.occupy("routine", "me", 1)
	if d := time.Until(r.lease(sp, "routine").Until); d < 30*time.Second {
		t.Fatalf("occupied for a minute, the lease has %v left", d)
	}
	r.commit(in(sp).Held("routine", "me", 1).Set("routine", set("checkpoint", "7")))
	r.conflict(in(sp).Free("routine"), 0)
	got, err := r.Extend(r.ctx, "me", time.Minute, []board.Held{{Space: sp, Item: "routine", Token: 1}})
	r.must(err)
	if got[0] != board.Renewed {
		t.Fatalf("extend: got %v", got)
	}
	tok, err := r.Occupy(r.ctx, sp+1, "routine", "you", time.Minute)
	if err != nil || tok != 1 {
		t.Fatalf("the same name in another space: got %d %v", tok, err)
	}
	r.commit(in(sp).Held("routine", "me", 1).Release("routine"))
	r.wantRecord(sp, "routine", "attempt=1 checkpoint=7")
	r.occupy("routine", "you", 2)
	r.commit(in(sp).Delete("routine"))
	r.wantFree(sp, "routine")
	r.commit(in(sp).Set("flow:1", set("a", "1"), set(board.FieldAttempt, "9")))
	r.occupy("flow:1", "me", 10)
	r.wantRecord(sp, "flow:1", "a=1 attempt=10 lease_owner=me")
}

func testOccupyTakeOver(t *testing.T, f Factory) {
	r := open(t, f)
	if _, err := r.Occupy(r.ctx, sp, "routine", "me", board.MinLease); err != nil {
		t.Fatal(err)
	}
	// A claimed lease made later tells when the time has come.
	a := ask(1, "clock", "queue:v")
	a.Lease = board.MinLease
	r.commit(in(sp).PushLeft("queue:v", "clock"))
	r.claimOne(a, "clock")
	r.occupied(sp, "routine", "you")
	r.lapsed("clock")
	r.commit(in(sp).Held("routine", "me", 1).Lapsed("routine", 1).Free("routine"))
	r.occupy("routine", "you", 2)
	r.conflict(in(sp).Held("routine", "me", 1), 0)
	r.occupied(sp, "routine", "me")
	// One's own that has run out is renewed without a new token.
	r.must(r.Void(r.ctx, "you"))
	r.occupy("routine", "you", 2)
	r.conflict(in(sp).Free("routine"), 0)
	r.wantRecord(sp, "routine", "attempt=2 lease_owner=you")
}

func testOccupyRace(t *testing.T, f Factory) {
	r := open(t, f)
	for round := range int64(5) {
		var wins, tok atomic.Int64
		each(16, func(i int) {
			n, err := r.Occupy(r.ctx, sp, "routine", name(name("me", int(round))+":", i), time.Minute)
			switch {
			case err == nil:
				wins.Add(1)
				tok.Store(n)
			case !errors.Is(err, domain.ErrConflict):
				t.Errorf("occupy: %v", err)
			}
		})
		if wins.Load() != 1 || tok.Load() != round+1 {
			t.Fatalf("round %d: %d occupiers won, with token %d", round, wins.Load(), tok.Load())
		}
		r.must(r.Void(r.ctx, "me"))
	}
}

func testOccupyClaimed(t *testing.T, f Factory) {
	r := open(t, f)
	r.occupy("held", "you", 1)
	r.commit(in(sp).PushLeft("queue:v", "held", "job:1"))
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1") // held was dropped
	r.occupied(sp, "job:1", "you")
	r.must(r.Void(r.ctx, "me"))
	r.occupy("job:1", "you", 2)
	r.wantRecord(sp, "job:1", "attempt=2 lease_owner=you")
	r.conflict(held(c, "me"), 0)
	if ls, err := r.Expired(r.ctx, 10, 0); err != nil || len(ls) != 0 {
		t.Fatalf("expired after the take-over: got %v %v", ls, err)
	}
}
