package boardtest

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

var queueTests = []test{
	{"a queue is first in, first out", testFIFO},
	{"what is pushed on the right goes first", testPushRightFirst},
	{"lists and queues go in the order asked for", testPreference},
	{"a claim writes the lease on the record", testClaimWrites},
	{"a record that is not there is made", testClaimNoRecord},
	{"items to skip are dropped", testSkip},
	{"leased items are dropped", testDoubledEntry},
	{"what cannot be a record is dropped", testTrash},
	{"a claim takes up to what it asked for", testClaimMax},
	{"the token counts up over all claims", testTokens},
	{"every prefix of queues works", testQueueKinds},
}

func testFIFO(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("queue:v", "job:1", "job:2").PushLeft("queue:v", "job:3"))
	r.commit(in(sp).PushLeft("queue:v", "job:4"))
	r.wantItems(r.claim(ask(3, "me", "queue:v")), "job:1", "job:2", "job:3")
	r.commit(in(sp).PushLeft("queue:v", "job:5"))
	r.wantItems(r.claim(ask(3, "me", "queue:v")), "job:4", "job:5")
	r.wantList(sp, "queue:v")
}

func testPushRightFirst(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("queue:v", "job:1", "job:2"))
	r.commit(in(sp).PushRight("queue:v", "retry:1").PushRight("queue:v", "retry:2"))
	r.wantItems(r.claim(ask(9, "me", "queue:v")), "retry:2", "retry:1", "job:1", "job:2")
}

func testPreference(t *testing.T, f Factory) {
	r := open(t, f)
	for _, l := range []string{"queue:v", "queue:v:p1", "queue:v:p9", "queue:v:runner7", "queue:v:runner8", "queue:w"} {
		r.commit(in(sp).PushLeft(l, "a:"+l, "b:"+l))
	}
	a := board.Ask{Max: 5, Owner: "me", Lease: time.Minute, Queues: []board.Queue{
		{Lists: []string{"queue:v:runner7"}},
		{Lists: []string{"queue:v:p9", "queue:v:p5", "queue:v"}},
		{Lists: []string{"queue:w"}},
	}}
	r.wantItems(r.claim(a), "a:queue:v:runner7", "b:queue:v:runner7", "a:queue:v:p9", "b:queue:v:p9", "a:queue:v")
	// A list that was not asked for keeps the space ready, and is not touched.
	r.wantItems(r.claim(a), "b:queue:v", "a:queue:w", "b:queue:w")
	r.wantNone(a)
	r.wantReady("queue:v", sp)
	r.wantList(sp, "queue:v:p1", "b:queue:v:p1", "a:queue:v:p1")
	r.wantList(sp, "queue:v:runner8", "b:queue:v:runner8", "a:queue:v:runner8")
}

func testClaimWrites(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("job:1", set("script", "x"), set("status", "dispatched")).PushLeft("queue:v:p3", "job:1"))
	a := ask(1, "node-a:7", "queue:v:p3")
	a.Mark = []board.Field{set("status", "started"), set("mark", "")}
	before := time.Now()
	c := r.claimOne(a, "job:1")
	want := "attempt=1 lease_owner=node-a:7 lease_queue=queue:v mark= script=x status=started"
	if got := fields(c.Record); got != want {
		t.Fatalf("claimed record: got %q, want %q", got, want)
	}
	r.wantRecord(sp, "job:1", want)
	if c.Space != sp || c.Token != 1 {
		t.Fatalf("got space %d token %d, want %d and 1", c.Space, c.Token, sp)
	}
	if d := c.Until.Sub(before); d < time.Minute-time.Second || d > time.Minute+patience {
		t.Fatalf("lease of a minute lasts %v", d)
	}
	l := r.lease(sp, "job:1")
	if l.Owner != "node-a:7" || l.Token != 1 || l.Until.Sub(c.Until).Abs() > time.Second {
		t.Fatalf("got lease %v until %v, want that of the claim %v", l, l.Until, c.Until)
	}
	r.commit(held(c, "node-a:7").Release("job:1"))
	r.wantRecord(sp, "job:1", "attempt=1 mark= script=x status=started")
	r.wantFree(sp, "job:1")
}

func testClaimNoRecord(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	want := "attempt=1 lease_owner=me lease_queue=queue:v"
	if got := fields(c.Record); got != want {
		t.Fatalf("claimed record: got %q, want %q", got, want)
	}
	r.commit(in(sp).Set("job:1", set("late", "1")))
	r.commit(held(c, "me").Release("job:1"))
	r.wantRecord(sp, "job:1", "attempt=1 late=1")
}

func testSkip(t *testing.T, f Factory) {
	r := open(t, f)
	b := in(sp)
	for i, status := range []string{"finished", "ok", "error", "ok", "error", "finished "} {
		b.Set(name("job:", i), set("status", status)).PushLeft("queue:v", name("job:", i))
	}
	r.commit(b.PushLeft("queue:v", "job:new"))
	a := ask(9, "me", "queue:v")
	a.Skip = board.Match{Field: "status", Values: []string{"finished", "error"}}
	r.wantItems(r.claim(a), "job:1", "job:3", "job:5", "job:new")
	r.wantList(sp, "queue:v")
	r.wantRecord(sp, "job:2", "status=error")
	r.wantFree(sp, "job:2")
	// When all that is left is dropped, the space is not ready any more.
	r.commit(in(sp).PushLeft("queue:v", "job:0", "job:2"))
	r.wantNone(a)
	r.wantReady("queue:v")
}

func testDoubledEntry(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("job:1", set("a", "1")).PushLeft("queue:v", "job:1", "job:1", "job:2", "job:1"))
	got := r.claim(ask(9, "me", "queue:v"))
	r.wantItems(got, "job:1", "job:2")
	r.wantList(sp, "queue:v")
	r.commit(in(sp).PushLeft("queue:v", "job:1").PushLeft("queue:w", "job:1"))
	r.wantNone(ask(9, "you", "queue:v", "queue:w"))
	r.wantList(sp, "queue:w")
	if l := r.lease(sp, "job:1"); l.Owner != "me" || l.Token != 1 {
		t.Fatalf("got lease %v, want the first one untouched", l)
	}
	// Released, it can be claimed again, and only once.
	r.commit(held(got[0], "me").Release("job:1").PushLeft("queue:v", "job:1", "job:1"))
	r.wantItems(r.claim(ask(9, "you", "queue:v")), "job:1")
}

func testTrash(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("alist", "x").Include("aset", "x").
		PushLeft("queue:v", "", strings.Repeat("k", board.MaxKey+1), "a\x00b", "alist", "aset", "queue:v", "job:1"))
	r.wantItems(r.claim(ask(9, "me", "queue:v")), "job:1")
	r.wantList(sp, "queue:v")
	r.wantList(sp, "alist", "x")
	r.wantMembers(sp, "aset", "x")
	r.wantKeys(sp, "", "alist", "aset", "job:1")
}

func testClaimMax(t *testing.T, f Factory) {
	r := open(t, f)
	const n = board.MaxClaim + 76
	b := in(sp)
	for i := range n {
		b.PushLeft("queue:v", name("job:", i))
		if len(b.Ops) == 100 || i == n-1 {
			r.commit(b)
			b = in(sp)
		}
	}
	first, rest := r.claim(ask(board.MaxClaim, "me", "queue:v")), r.claim(ask(board.MaxClaim, "me", "queue:v"))
	if len(first) != board.MaxClaim || len(rest) != 76 {
		t.Fatalf("got %d and %d items, want %d and 76", len(first), len(rest), board.MaxClaim)
	}
	for i, c := range append(first, rest...) {
		if c.Item != name("job:", i) {
			t.Fatalf("item %d is %s, out of order", i, c.Item)
		}
	}
}

func testTokens(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	for want := int64(1); want <= 5; want++ {
		c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
		if c.Token != want || c.Record.Get(board.FieldAttempt) != name("", int(want)) {
			t.Fatalf("got token %d and attempt %s, want %d", c.Token, c.Record.Get(board.FieldAttempt), want)
		}
		r.conflict(in(sp).Held("job:1", "me", want-1), 0)
		r.commit(held(c, "me").Release("job:1").PushRight("queue:v", "job:1"))
	}
	// A record that comes with an attempt goes on from there.
	r.commit(in(sp).Set("job:2", set(board.FieldAttempt, "41")).PushRight("queue:v", "job:2"))
	if c := r.claimOne(ask(1, "me", "queue:v"), "job:2"); c.Token != 42 {
		t.Fatalf("got token %d, want 42", c.Token)
	}
}

func testQueueKinds(t *testing.T, f Factory) {
	r := open(t, f)
	// Priorities behind any queue share its group; who asks for some of the
	// lists leaves the others ready.
	for _, l := range []string{"queue:v:at:zone=eu", "queue:v:at:zone=eu:p2", "queue:v:at:zone=eu:p9"} {
		r.commit(in(sp).PushLeft(l, "of "+l))
	}
	some := board.Ask{Max: 2, Owner: "me", Lease: time.Minute, Queues: []board.Queue{{Lists: []string{"queue:v:at:zone=eu:p9", "queue:v:at:zone=eu:p2"}}}}
	for i, c := range r.claim(some) {
		if want := []string{"of queue:v:at:zone=eu:p9", "of queue:v:at:zone=eu:p2"}[i]; c.Item != want {
			t.Errorf("got %s, want %s", c.Item, want)
		}
	}
	if got := r.claim(some); len(got) != 0 {
		t.Errorf("got %v of empty lists", got)
	}
	r.claimOne(ask(1, "me", "queue:v:at:zone=eu"), "of queue:v:at:zone=eu")
	for i, l := range []string{"queue:python", "rhai_tasks:c1", "msg_out", "msg_out_coordinator", "msg_in", "msg_in:7", "queue:", "queue:a:b:c", "queue:a:b:p7"} {
		item := name("item:", i)
		r.commit(in(sp).PushLeft(l, item))
		r.wantReady(queue.Group(l), sp)
		c := r.claimOne(ask(1, "me", l), board.Named(l, item))
		if got := c.Record.Get(board.FieldQueue); got != queue.CapGroup(l) {
			t.Errorf("%s: lease_queue is %q, want %q", l, got, queue.CapGroup(l))
		}
	}
}
