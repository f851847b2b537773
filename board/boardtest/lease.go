package boardtest

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var leaseTests = []test{
	{"a lease runs out at its time and is reported", testLeaseRunsOut},
	{"a stale owner is fenced", testFencing},
	{"the same owner's stale token is fenced", testFencingSameOwner},
	{"extend keeps a lease alive", testExtendKeeps},
	{"extend answers for each in order", testExtendAnswers},
	{"of a take-over and an extend only one wins", testTakeOverRace},
	{"expired waits for the first, longest ago first", testExpiredWaits},
	{"expired pages and repeats until somebody acts", testExpiredLimit},
	{"void lets leases of a prefix run out", testVoid},
}

func testLeaseRunsOut(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	a := ask(1, "me", "queue:v")
	a.Lease = board.MinLease
	began := time.Now()
	c := r.claimOne(a, "job:1")
	got := r.lapsed("job:1")[0]
	// Instants are cut to milliseconds.
	if d := time.Since(began); d < board.MinLease-2*time.Millisecond {
		t.Fatalf("a lease of %v ran out after %v", board.MinLease, d)
	}
	if d := time.Since(began); d > board.MinLease+patience/3 {
		t.Fatalf("a lease of %v was reported only after %v", board.MinLease, d)
	}
	if got.Space != sp || got.Owner != "me" || got.Token != c.Token || got.Until.Sub(c.Until).Abs() > time.Second {
		t.Fatalf("got %v until %v, want the claim's lease until %v", got, got.Until, c.Until)
	}
	// It stays until somebody acts, also for who would claim the item.
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	r.wantNone(ask(1, "you", "queue:v"))
	r.wantRecord(sp, "job:1", "attempt=1 lease_owner=me lease_queue=queue:v")
	r.lease(sp, "job:1")
	r.commit(in(sp).Lapsed("job:1", c.Token).Release("job:1"))
	if ls, err := r.Expired(r.ctx, 10, 0); err != nil || len(ls) != 0 {
		t.Fatalf("expired after the release: got %v %v", ls, err)
	}
}

// lose claims job:1 for owner, lets the lease run out and gives the item back
// to the queue, as a sweeper does.
func (r *rig) lose(owner string) board.Claimed {
	r.t.Helper()
	c := r.claimOne(ask(1, owner, "queue:v"), "job:1")
	r.must(r.Void(r.ctx, owner))
	r.lapsed("job:1")
	r.commit(in(sp).Lapsed("job:1", c.Token).Release("job:1").PushRight("queue:v", "job:1"))
	return c
}

func testFencing(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("job:1", set("status", "started")).PushLeft("queue:v", "job:1"))
	stale := r.lose("old")
	finish := held(stale, "old").Set("job:1", set("status", "finished")).Release("job:1")
	r.conflict(finish, 0)
	c := r.claimOne(ask(1, "new", "queue:v"), "job:1")
	r.conflict(finish, 0)
	r.conflict(in(sp).Lapsed("job:1", stale.Token), 0)
	if got := r.extend("old", stale); got[0] != board.Lost {
		t.Fatalf("extend of the stale owner: got %v, want lost", got)
	}
	if l := r.lease(sp, "job:1"); l.Owner != "new" || l.Token != 2 {
		t.Fatalf("got lease %v, want the new owner's", l)
	}
	r.commit(held(c, "new").Set("job:1", set("status", "finished")).Release("job:1"))
	r.wantRecord(sp, "job:1", "attempt=2 status=finished")
}

func testFencingSameOwner(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	stale := r.lose("me")
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.conflict(held(stale, "me"), 0)
	if got := r.extend("me", stale, c); !slices.Equal(got, []board.Answer{board.Lost, board.Renewed}) {
		t.Fatalf("extend of stale and new token: got %v", got)
	}
	r.commit(held(c, "me"))
}

func testExtendKeeps(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("queue:v", "kept", "left"))
	a := ask(2, "me", "queue:v")
	a.Lease = board.MinLease
	cs := r.claim(a)
	r.wantItems(cs, "kept", "left")
	if got := r.extend("me", cs[0]); got[0] != board.Renewed {
		t.Fatalf("extend: got %v", got)
	}
	r.lapsed("left")
	ls, err := r.Expired(r.ctx, 10, 0)
	r.must(err)
	if len(ls) != 1 {
		t.Fatalf("expired: got %v, want only the one left", ls)
	}
	r.conflict(in(sp).Lapsed("kept", cs[0].Token), 0)
	if d := time.Until(r.lease(sp, "kept").Until); d < 30*time.Second {
		t.Fatalf("extended by a minute, the lease has %v left", d)
	}
	// One that has run out can be extended as long as nobody has taken it.
	if got := r.extend("me", cs[1]); got[0] != board.Renewed {
		t.Fatalf("extend of a lease that has run out: got %v", got)
	}
	r.conflict(in(sp).Lapsed("left", cs[1].Token), 0)
	r.commit(held(cs[1], "me"))
}

func testExtendAnswers(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(1).PushLeft("queue:v", "a", "b", "c", "d"))
	r.commit(in(2).PushLeft("queue:v", "a"))
	got := map[string]board.Claimed{}
	for _, c := range r.claim(ask(9, "me", "queue:v")) {
		got[strconv.Itoa(int(c.Space))+c.Item] = c
	}
	r.commit(in(1).Set("b", set(board.FieldCancel, "1")).Set("d", set(board.FieldCancel, "")).Release("c"))
	stale := got["1a"]
	stale.Token++
	elsewhere := got["1b"]
	elsewhere.Space = 7
	answers := r.extend("me", got["2a"], got["1c"], got["1b"], stale, elsewhere, got["1a"], got["1d"], board.Claimed{Space: 1, Item: "none", Token: 1})
	want := []board.Answer{board.Renewed, board.Lost, board.Cancelled, board.Lost, board.Lost, board.Renewed, board.Renewed, board.Lost}
	if !slices.Equal(answers, want) {
		t.Fatalf("got %v\nwant %v", answers, want)
	}
	if answers := r.extend("you", got["1a"], got["1b"]); !slices.Equal(answers, []board.Answer{board.Lost, board.Lost}) {
		t.Fatalf("extend by another: got %v", answers)
	}
	if answers := r.extend("me", got["1b"], got["1b"]); !slices.Equal(answers, []board.Answer{board.Cancelled, board.Cancelled}) {
		t.Fatalf("extend twice: got %v", answers)
	}
}

func testTakeOverRace(t *testing.T, f Factory) {
	r := open(t, f)
	for i := range 30 {
		item := name("job:", i)
		r.commit(in(sp).PushLeft("queue:v", item))
		c := r.claimOne(ask(1, "me", "queue:v"), item)
		r.must(r.Void(r.ctx, "me"))
		var taken error
		var answers []board.Answer
		each(2, func(who int) {
			if who == 0 {
				taken = r.Commit(r.ctx, *in(sp).Lapsed(item, c.Token).Release(item).Set(item, set("taken", "1")))
				return
			}
			var err error
			answers, err = r.Extend(r.ctx, "me", time.Minute, []board.Held{{Space: sp, Item: item, Token: c.Token}})
			if err != nil {
				t.Errorf("extend: %v", err)
			}
		})
		if len(answers) != 1 || (taken == nil) != (answers[0] == board.Lost) {
			t.Fatalf("take-over: %v, extend: %v; exactly one must win", taken, answers)
		}
		_, ok, err := r.LeaseOf(r.ctx, sp, item)
		r.must(err)
		if ok != (taken != nil) {
			t.Fatalf("lease is there: %v, though the take-over ended with %v", ok, taken)
		}
	}
}

func testExpiredWaits(t *testing.T, f Factory) {
	r := open(t, f)
	began := time.Now()
	if ls, err := r.Expired(r.ctx, 10, 30*time.Millisecond); err != nil || len(ls) != 0 {
		t.Fatalf("expired: got %v %v", ls, err)
	}
	if d := time.Since(began); d < 30*time.Millisecond {
		t.Fatalf("waited %v, want 30ms", d)
	}
	// A waiting call hears of a lease that is shorter than all it knew.
	r.commit(in(sp).PushLeft("queue:v", "long", "short"))
	r.claimOne(ask(1, "me", "queue:v"), "long")
	first := async(func() ([]board.Lease, error) { return r.Expired(r.ctx, 10, patience) })
	a := ask(1, "me", "queue:v")
	a.Lease = board.MinLease
	r.claimOne(a, "short")
	if ls := soon(t, first); len(ls) != 1 || ls[0].Item != "short" {
		t.Fatalf("expired: got %v, want [short]", ls)
	}
	r.outlive(0)
	r.must(r.Void(r.ctx, "")) // long runs out now, some milliseconds after short
	r.lapsed("long", "short")
	ls, err := r.Expired(r.ctx, 10, 0)
	r.must(err)
	if ls[0].Item != "short" || ls[1].Item != "long" {
		t.Fatalf("expired: got %v, want the longest ago first", ls)
	}
}

func testExpiredLimit(t *testing.T, f Factory) {
	r := open(t, f)
	for s := board.Space(1); s <= 3; s++ {
		r.commit(in(s).PushLeft("queue:v", "a", "b"))
	}
	r.claim(ask(9, "me", "queue:v"))
	_, err := r.Occupy(r.ctx, sp, "routine", "me", time.Minute) // is not reported
	r.must(err)
	r.must(r.Void(r.ctx, "me"))
	for left := 6; left > 0; left -= 2 {
		ls, err := r.Expired(r.ctx, 2, patience)
		r.must(err)
		again, err := r.Expired(r.ctx, 2, 0)
		r.must(err)
		if len(ls) != 2 || len(again) != 2 {
			t.Fatalf("expired with %d left, 2 at a time: got %v and %v", left, ls, again)
		}
		for _, l := range ls {
			r.commit(in(l.Space).Lapsed(l.Item, l.Token).Release(l.Item))
		}
	}
	if ls, err := r.Expired(r.ctx, 2, 0); err != nil || len(ls) != 0 {
		t.Fatalf("expired: got %v %v, want none", ls, err)
	}
}

func testVoid(t *testing.T, f Factory) {
	r := open(t, f)
	owners := []string{"node-a", "node-a:1", "node-a:2", "node-b:1", "other", "node-*", "node"}
	for i, o := range owners {
		r.commit(in(board.Space(i%3)).PushLeft("queue:v", o))
		r.claimOne(ask(1, o, "queue:v"), o)
	}
	_, err := r.Occupy(r.ctx, 5, "flow:1", "node-a:9", time.Hour)
	r.must(err)
	voided := func(want ...string) {
		t.Helper()
		ls := r.lapsed(want...)
		for _, l := range ls {
			if l.Owner != l.Item || l.Token != 1 {
				t.Errorf("got %v, want owner and token as they were", l)
			}
		}
		all, err := r.Expired(r.ctx, 100, 0)
		r.must(err)
		if len(all) != len(want) {
			t.Fatalf("expired: got %v, want %v", all, want)
		}
	}
	r.must(r.Void(r.ctx, "node-*"))
	voided("node-*")
	r.commit(in(board.Space(5%3)).Lapsed("node-*", 1).Release("node-*"))
	waiting := async(func() ([]board.Lease, error) { return r.Expired(r.ctx, 100, patience) })
	r.must(r.Void(r.ctx, "node-a:"))
	if ls := soon(t, waiting); len(ls) == 0 {
		t.Fatal("a waiting call did not hear of voided leases")
	}
	voided("node-a:1", "node-a:2")
	// An occupied item is free for the next.
	tok, err := r.Occupy(r.ctx, 5, "flow:1", "node-c", time.Hour)
	r.must(err)
	if tok != 2 {
		t.Fatalf("got token %d, want 2", tok)
	}
	r.must(r.Void(r.ctx, "nobody"))
	voided("node-a:1", "node-a:2")
}
