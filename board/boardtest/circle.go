package boardtest

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

var circleTests = []test{
	{"a circle's queue holds ids, and the lease is on the task's record", testCircleClaim},
	{"a circle's task is held, extended, lost and given back by its record", testCircleLease},
	{"no id leads out of the tasks", testCircleIDs},
	{"circles and other queues are claimed from together", testCirclesAmongQueues},
	{"a long circle is first in, first out", testLongCircle},
}

// task is the key of a task's record.
func task(id string) string { return "rhai_task_details:" + id }

func testCircleClaim(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("t1", set("not", "this")).
		Set(task("t1"), set("script", "40+2"), set("status", "pending")).PushLeft("rhai_tasks:c", "t1", "t2"))
	a := ask(2, "me", "rhai_tasks:c")
	a.Mark = []board.Field{set("status", "processing")}
	got := r.claim(a)
	r.wantItems(got, task("t1"), task("t2"))
	const lease = "lease_owner=me lease_queue=rhai_tasks:c"
	if rec, want := fields(got[0].Record), "attempt=1 "+lease+" script=40+2 status=processing"; rec != want {
		t.Errorf("record of the claim: got %q, want %q", rec, want)
	}
	r.wantRecord(sp, task("t1"), "attempt=1 "+lease+" script=40+2 status=processing")
	r.wantRecord(sp, task("t2"), "attempt=1 "+lease+" status=processing") // not written yet
	r.wantRecord(sp, "t1", "not=this")
	r.wantFree(sp, "t1")
	r.wantList(sp, "rhai_tasks:c")
	r.wantReady("rhai_tasks:c")
	if l := r.lease(sp, task("t1")); l.Owner != "me" || l.Token != 1 {
		t.Errorf("got lease %v, want mine", l)
	}
	// A doubled id, and one to skip, are dropped like other items.
	r.commit(in(sp).Set(task("t3"), set("status", "done")).PushLeft("rhai_tasks:c", "t1", "t3", "t4"))
	a.Skip = board.Match{Field: "status", Values: []string{"done"}}
	r.wantItems(r.claim(a), task("t4"))
	r.wantList(sp, "rhai_tasks:c")
}

func testCircleLease(t *testing.T, f Factory) {
	r := open(t, f)
	const list = "rhai_tasks:c"
	r.commit(in(sp).PushLeft(list, "t1"))
	a := ask(1, "old", list)
	a.Lease = board.MinLease
	stale := r.claimOne(a, task("t1"))
	r.commit(held(stale, "old").Set(stale.Item, set(board.FieldCancel, "1")))
	r.conflict(in(sp).Free(task("t1")), 0)
	r.commit(in(sp).Free("t1"))
	if got := r.extend("old", stale); got[0] != board.Cancelled {
		t.Fatalf("extend: got %v, want cancelled", got)
	}
	r.must(r.Void(r.ctx, "old"))
	l := r.lapsed(task("t1"))[0]
	r.commit(in(sp).Lapsed(l.Item, l.Token).Release(l.Item).PushRight(list, queue.ItemFor(list, l.Item)))
	r.wantList(sp, list, "t1")
	r.conflict(held(stale, "old"), 0)
	if got := r.extend("old", stale); got[0] != board.Lost {
		t.Fatalf("extend of a lost lease: got %v, want lost", got)
	}
	c := r.claimOne(ask(1, "new", list), task("t1"))
	if c.Token != stale.Token+1 {
		t.Errorf("got token %d, want %d", c.Token, stale.Token+1)
	}
	r.commit(held(c, "new").Set(c.Item, set("status", "completed")).Release(c.Item))
	r.wantFree(sp, c.Item)
	r.wantRecord(sp, c.Item, "attempt=2 cancel=1 status=completed")
}

func testCircleIDs(t *testing.T, f Factory) {
	r := open(t, f)
	longest := strings.Repeat("i", board.MaxKey-len(task("")))
	r.commit(in(sp).Set("job:1:2", set("a", "1")).Set(board.LimitsKey, set("weight", "2")).PushLeft("l", "x"))
	// A foreign program may push anything.
	r.commit(in(sp).PushLeft("rhai_tasks:c",
		"job:1:2", longest+"i", strings.Repeat("i", board.MaxKey), strings.Repeat("i", 100_000), "", "a\x00b", "\x00job:1:2",
		board.LimitsKey, "l", longest, task("t1"), "rhai_tasks:c", "\xff*?[\r\n"))
	got := r.claim(ask(20, "me", "rhai_tasks:c"))
	want := []string{task("job:1:2"), task(board.LimitsKey), task("l"), task(longest), task(task("t1")), task("rhai_tasks:c"), task("\xff*?[\r\n")}
	r.wantItems(got, want...)
	r.wantList(sp, "rhai_tasks:c")
	r.wantReady("rhai_tasks:c")
	for _, c := range got {
		if l := r.lease(sp, c.Item); l.Token != c.Token {
			t.Errorf("lease of %q: got token %d, want %d", c.Item, l.Token, c.Token)
		}
		r.commit(held(c, "me").Delete(c.Item))
	}
	r.wantRecord(sp, "job:1:2", "a=1")
	r.wantFree(sp, "job:1:2")
	r.wantRecord(sp, board.LimitsKey, "weight=2")
	r.wantKeys(sp, "", "job:1:2", "l", board.LimitsKey)
	// A task's key that holds something else is no task.
	r.commit(in(sp).PushLeft(task("list"), "x").PushLeft("rhai_tasks:c", "list", "t2"))
	r.claimOne(ask(1, "me", "rhai_tasks:c"), task("t2"))
	r.wantList(sp, task("list"), "x")
}

func testCirclesAmongQueues(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("rhai_tasks:c", "1").PushLeft("rhai_tasks:d", "1", "2").PushLeft("queue:v", "1").PushLeft("msg_in", "2"))
	r.commit(in(2).PushLeft("rhai_tasks:c", "1"))
	got := r.claim(ask(9, "me", "queue:v", "rhai_tasks:d", "msg_in", "rhai_tasks:c"))
	// In the last, spaces take turns.
	r.wantItems(got, "1", task("1"), task("2"), "2", task("1"))
	if got[4].Space != 2 || got[4].Record.Get(board.FieldQueue) != "rhai_tasks:c" {
		t.Errorf("got %v, want task 1 of space 2", got[4])
	}
	// Its own, in space 1, was leased from the other circle: a doubled entry.
	r.wantList(sp, "rhai_tasks:c")
	// Who waits for one is woken with the right record.
	woken := r.waiting(ask(1, "me", "queue:v", "rhai_tasks:d"))
	r.commit(in(sp).PushLeft("rhai_tasks:d", "3"))
	r.wantItems(soon(t, woken), task("3"))
	// What begins like a circle, but is none, names keys.
	if key := board.Named("queue:rhai_tasks:c", "1"); key != "1" {
		t.Errorf("item 1 of another queue names %q", key)
	}
}

// testLongCircle claims more than any driver keeps in memory of a queue, while
// the records are there already.
func testLongCircle(t *testing.T, f Factory) {
	r := open(t, f)
	const n = 3000
	var batches []board.Batch
	for i := 0; i < n; i += 100 {
		b := in(sp)
		for k := i; k < i+100; k++ {
			b.Set(task(name("t", k)), set("n", name("", k))).PushLeft("rhai_tasks:c", name("t", k))
		}
		batches = append(batches, *b)
	}
	r.commitAll(batches)
	a := ask(250, "me", "rhai_tasks:c")
	a.Wait = time.Second
	for next := 0; next < n; {
		got := r.claim(a)
		if len(got) == 0 {
			t.Fatalf("%d of %d tasks were claimed", next, n)
		}
		var done []board.Batch
		for _, c := range got {
			if want := task(name("t", next)); c.Item != want || c.Record.Get("n") != name("", next) {
				t.Fatalf("got %s with n = %s, want %s", c.Item, c.Record.Get("n"), want)
			}
			next++
			done = append(done, *held(c, "me").Delete(c.Item))
		}
		r.commitAll(done)
	}
	r.wantKeys(sp, "")
}
