package boardtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var reopenTests = []test{
	{"everything is there after opening again", testReopen},
	{"everything is there after a crash", testReopenCrash},
	{"queues, turns and caps go on after opening again", testReopenQueues},
	{"leases after opening again are fenced or kept", testReopenLeases},
	{"expiry and alarms go on after opening again", testReopenTime},
	{"many records and long queues survive", testReopenMany},
}

// reopen opens the data again, after closing it when clean.
func (r *rig) reopen(f Factory, clean bool) *rig {
	r.t.Helper()
	if clean {
		r.must(r.Close())
	}
	return newRig(r.t, f.Reopen(r.t, r.Board))
}

// durable skips where nothing is left after the process.
func durable(t *testing.T, f Factory) {
	t.Helper()
	if f.Reopen == nil {
		t.Skip("the board is in memory only")
	}
}

func testReopen(t *testing.T, f Factory)      { reopenEverything(t, f, true) }
func testReopenCrash(t *testing.T, f Factory) { reopenEverything(t, f, false) }

func reopenEverything(t *testing.T, f Factory, clean bool) {
	durable(t, f)
	r := open(t, f)
	furnish(r)
	_, err := r.Next(r.ctx, sp, "ramet:seq:job", 7)
	r.must(err)
	r.commit(in(sp).Add("last", "n", 1)) // numbers are durable before a later commit
	before := snapshot(r)
	for range 2 {
		r = r.reopen(f, clean)
		r.unchanged(before)
	}
	r.commit(everything())
	r.commit(in(sp).Delete("r")) // it expires about now
	before = snapshot(r)
	r = r.reopen(f, clean)
	r.unchanged(before)
	n, err := r.Next(r.ctx, sp, "ramet:seq:job", 1)
	r.must(err)
	if n < 8 {
		t.Fatalf("number %d was given twice", n)
	}
}

func testReopenQueues(t *testing.T, f Factory) {
	durable(t, f)
	r := open(t, f)
	r.commit(in(1).Set(board.LimitsKey, set("max", "2"), set("weight", "3")))
	for s := board.Space(1); s <= 2; s++ {
		r.commit(in(s).PushLeft("queue:v", "job:1", "job:2", "job:3").PushRight("queue:v", "first").PushLeft("queue:v:p9", "high"))
	}
	one := ask(1, "me", "queue:v")
	one.Queues[0].Lists = []string{"queue:v:p9", "queue:v"}
	running := 0
	for range 4 {
		if got := r.claim(one); len(got) == 1 && got[0].Space == 1 {
			running++
		}
	}
	r.commit(in(3).Set("marker", set("a", "1"))) // claims are durable before a later commit
	r = r.reopen(f, true)
	r.wantReady("queue:v", 1, 2)
	if running != 2 {
		t.Fatalf("%d of space 1 were running before, want its cap, 2", running)
	}
	got := r.claim(board.Ask{Queues: one.Queues, Max: 9, Owner: "me", Lease: time.Minute})
	for _, c := range got {
		if c.Space == 1 {
			t.Errorf("%s of space 1 was claimed over its cap", c.Item)
		}
	}
	if want := []string{"job:1", "job:2", "job:3"}; len(got) != 3 {
		t.Fatalf("got %v of space 2, want %v", items(got), want)
	}
	r.wantItems(got, "job:1", "job:2", "job:3")
}

func testReopenLeases(t *testing.T, f Factory) {
	durable(t, f)
	r := open(t, f)
	r.commit(in(sp).Set("job:1", set("a", "1")).PushLeft("queue:v", "job:1"))
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	_, err := r.Occupy(r.ctx, sp, "flow:1", "me", time.Minute)
	r.must(err)
	r.commit(in(sp).Set("marker", set("a", "1")))
	r = r.reopen(f, false)
	if l := r.lease(sp, "job:1"); l.Owner != "me" || l.Token != c.Token {
		t.Fatalf("got lease %v", l)
	}
	if !f.Features.LeasesVoidAtOpen {
		r.conflict(in(sp).Free("job:1"), 0)
		r.occupied(sp, "flow:1", "you")
		if got := r.extend("me", c); got[0] != board.Renewed {
			t.Fatalf("extend: got %v", got)
		}
		r.commit(held(c, "me").Delete("job:1"))
		return
	}
	ls, err := r.Expired(r.ctx, 10, 0)
	r.must(err)
	if len(ls) != 1 || ls[0].Item != "job:1" || ls[0].Token != c.Token || ls[0].Owner != "me" {
		t.Fatalf("expired: got %v, want job:1's lease", ls)
	}
	r.occupy("flow:1", "you", 2)
	r.commit(in(sp).Lapsed("job:1", c.Token).Release("job:1").PushRight("queue:v", "job:1"))
	r.conflict(held(c, "me"), 0)
	if c := r.claimOne(ask(1, "me", "queue:v"), "job:1"); c.Token != 2 {
		t.Fatalf("got token %d, want 2", c.Token)
	}
}

func testReopenTime(t *testing.T, f Factory) {
	durable(t, f)
	r := open(t, f)
	const ttl = 200 * time.Millisecond
	r.commit(in(sp).Set("r", set("a", "1")).Expire("r", ttl).Set("long", set("a", "1")).Expire("long", time.Hour).
		SetAlarm("soon", time.Now().Add(ttl)).SetAlarm("cleared", time.UnixMilli(1)).ClearAlarm("cleared"))
	gone := time.Now().Add(ttl) // the store counts from when the commit came to it
	r = r.reopen(f, true)
	as := r.due(10, patience)
	if len(as) != 1 || as[0].Name != "soon" {
		t.Fatalf("due: got %v, want [soon]", as)
	}
	r.commit(in(sp).AlarmAt("soon", as[0].At).ClearAlarm("soon"))
	r.outlive(time.Until(gone))
	r.wantKeys(sp, "", "long")
}

func testReopenMany(t *testing.T, f Factory) {
	durable(t, f)
	r := open(t, f)
	const n = 3000
	var batches []board.Batch
	for i := range n {
		key := fmt.Sprintf("job:%04d", i)
		batches = append(batches, *in(sp).Set(key, set("n", name("", i))).PushLeft("queue:v", key).Live(key, time.UnixMilli(int64(i))))
	}
	r.commitAll(batches)
	a := ask(500, "me", "queue:v")
	batches = batches[:0]
	for _, c := range r.claim(a) {
		batches = append(batches, *held(c, "me").Delete(c.Item))
	}
	r.commitAll(batches)
	r = r.reopen(f, false)
	got := r.claim(ask(board.MaxClaim, "me", "queue:v"))
	if len(got) != board.MaxClaim || got[0].Item != "job:0500" || got[board.MaxClaim-1].Item != fmt.Sprintf("job:%04d", 499+board.MaxClaim) {
		t.Fatalf("got %d items from %s, want %d from job:0500 on", len(got), got[0].Item, board.MaxClaim)
	}
	if keys := r.keys(sp, "job:", 1000); len(keys) != n-500 {
		t.Fatalf("%d records are left, want %d", len(keys), n-500)
	}
	live, err := r.Live(r.ctx, sp, board.LiveItem{}, n)
	r.must(err)
	if len(live) != n-500 || live[0].Item != "job:0500" {
		t.Fatalf("%d live items from %v on, want %d from job:0500", len(live), live[:1], n-500)
	}
}
