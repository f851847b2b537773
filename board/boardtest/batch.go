package boardtest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

var batchTests = []test{
	{"operations act in order", testOpsInOrder},
	{"a failed guard leaves everything as it was", testAllOrNothingGuard},
	{"a refused operation leaves everything as it was", testAllOrNothingOp},
	{"another kind of thing is refused", testWrongKinds},
	{"batches of one call act in order, each for itself", testCommitEach},
	{"a later batch of one call sees the earlier ones", testCommitEachReads},
	{"a key may change its kind between batches of one call", testCommitEachKinds},
	{"of many equal guards exactly one wins", testOneWins},
	{"concurrent additions all count", testConcurrentAdd},
	{"a batch is seen wholly or not at all", testAtomicReads},
	{"an ended context ends the call", testContextEnded},
	{"what is returned is the caller's own", testNoAliases},
}

func testOpsInOrder(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).
		Set("r", set("n", "10")).Add("r", "n", 5).Set("r", set("was", "here")).Unset("r", "was").Add("r", "n", -1).
		PushLeft("l", "a").Drop("l", "a").PushLeft("l", "b").Append("l", 2, "c", "d").
		Include("s", "m").Exclude("s", "m").Include("s", "o").
		Set("gone", set("x", "1")).Delete("gone"))
	r.wantRecord(sp, "r", "n=14")
	r.wantList(sp, "l", "c", "d")
	r.wantMembers(sp, "s", "o")
	r.wantKeys(sp, "", "l", "r", "s")
	at := time.UnixMilli(time.Now().Add(time.Hour).UnixMilli())
	r.commit(in(sp).SetAlarm("x", at).ClearAlarm("x").SetAlarm("y", at.Add(time.Hour)).SetAlarm("y", at))
	r.commit(in(sp).AlarmAt("y", at))
	if _, ok, err := r.AlarmOf(r.ctx, sp, "x"); ok || err != nil {
		t.Fatalf("alarm x: got %v %v, want none", ok, err)
	}
}

// everything is a batch with one of every operation, for a board that
// furnish has prepared.
func everything() *board.Batch {
	return in(sp).
		Set("r", set("a", "changed"), set("new", "1")).Set("fresh", set("a", "1")).
		Unset("r", "b").Unset("lone", "a").Delete("doomed").Delete("job:9").Add("r", "n", 5).
		PushLeft("queue:v", "job:3").PushRight("l", "x").PushLeft("l", "y").PushLeft("newlist", "x").
		Drop("l", "a").DropSome("l", -1, "b").TrimLeft("l", 1).PushLeft("l", "z").TrimRight("log", 1).Append("log", 2, "3", "4").Include("s", "new").
		Exclude("s", "m").Include("newset", "m").
		SetAlarm("alarm", time.UnixMilli(1)).ClearAlarm("other").Release("job:1").
		Expire("r", time.Millisecond).Live("item", time.UnixMilli(7)).Live("fresh", time.UnixMilli(8)).Settle("done").
		Countdown("waiter", "waits", "queue:v", "waiter", set("status", "go")).
		Delete("queue:v").Delete("l").Delete("s").Set("l", set("now", "a record"))
}

func furnish(r *rig) board.Claimed {
	future := time.UnixMilli(1 << 42)
	r.commit(in(sp).
		Set("r", set("a", "1"), set("b", "2"), set("n", "3")).Set("lone", set("a", "1")).Set("doomed", set("a", "1")).
		PushRight("l", "a", "b", "a").Append("log", 2, "1", "2").Include("s", "m", "o").
		SetAlarm("alarm", future).SetAlarm("other", future).
		Live("item", time.UnixMilli(5)).Live("done", time.UnixMilli(6)).Set("waiter", set("waits", "1")).
		PushLeft("queue:v", "job:1", "job:9", "job:2"))
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.claimOne(ask(1, "me", "queue:v"), "job:9")
	return c
}

// snapshot is all that a test of all-or-nothing can see, as text.
func snapshot(r *rig) string {
	r.t.Helper()
	var s strings.Builder
	for _, key := range r.keys(sp, "", 100) {
		s.WriteString(key + ": ")
		if rec, err := r.Get(r.ctx, sp, key); err == nil {
			s.WriteString("record " + fields(rec[0]))
		} else if l, err := r.List(r.ctx, sp, key, 0, 100); err == nil {
			s.WriteString("list " + strings.Join(l, " "))
		} else if m, err := r.Members(r.ctx, sp, key, "", 100); err == nil {
			s.WriteString("set " + strings.Join(m, " "))
		}
		if l, ok, err := r.LeaseOf(r.ctx, sp, key); ok && err == nil {
			s.WriteString(" held by " + l.Owner + " with " + strconv.FormatInt(l.Token, 10))
		}
		s.WriteString("\n")
	}
	for _, a := range []string{"alarm", "other"} {
		at, ok, err := r.AlarmOf(r.ctx, sp, a)
		r.must(err)
		if ok {
			s.WriteString(a + " at " + strconv.FormatInt(at.UnixMilli(), 10) + "\n")
		}
	}
	live, err := r.Live(r.ctx, sp, board.LiveItem{}, 100)
	r.must(err)
	for _, l := range live {
		s.WriteString(l.Item + " since " + strconv.FormatInt(l.At.UnixMilli(), 10) + "\n")
	}
	return s.String()
}

func (r *rig) unchanged(before string) {
	r.t.Helper()
	if after := snapshot(r); after != before {
		r.t.Fatalf("got\n%s\nwant as before\n%s", after, before)
	}
}

func testAllOrNothingGuard(t *testing.T, f Factory) {
	r := open(t, f)
	furnish(r)
	before := snapshot(r)
	b := everything().Equal("r", "a", "1").Equal("r", "a", "2")
	r.conflict(b, 1)
	r.unchanged(before)
	r.wantReady("queue:v", sp)
}

func testAllOrNothingOp(t *testing.T, f Factory) {
	r := open(t, f)
	c := furnish(r)
	r.commit(in(sp).Set("text", set("n", "abc")))
	before := snapshot(r)
	r.refused(everything().Add("text", "n", 1))
	r.unchanged(before)
	r.refused(everything().PushLeft("r", "x"))
	r.unchanged(before)
	r.refused(everything().Set("big", set("a", strings.Repeat("x", board.MaxField+1))))
	r.unchanged(before)
	r.wantReady("queue:v", sp)
	if got := r.extend("me", c); got[0] != board.Renewed {
		t.Fatalf("extend after refused release: got %v", got)
	}
	// Then, without what was wrong with it, it applies.
	r.commit(everything())
	r.wantFree(sp, "job:1")
	r.wantRecord(sp, "waiter", "status=go waits=0")
	r.wantRecord(sp, "l", "now=a record")
	r.wantReady("queue:v")
}

func testWrongKinds(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r", set("a", "1")).PushLeft("l", "x").Include("s", "x").Set("n", set("waits", "1")))
	before := snapshot(r)
	for _, key := range []string{"r", "l", "s"} {
		if key != "r" {
			r.refused(in(sp).Set(key, set("a", "1")))
			r.refused(in(sp).Unset(key, "a"))
			r.refused(in(sp).Add(key, "a", 1))
			r.refused(in(sp).Equal(key, "a", ""))
			r.refused(in(sp).Countdown(key, "a", "q", "x"))
			_, err := r.Get(r.ctx, sp, key)
			r.invalid(err)
			_, err = r.Occupy(r.ctx, sp, key, "me", time.Minute)
			r.invalid(err)
		}
		if key != "l" {
			r.refused(in(sp).PushLeft(key, "x"))
			r.refused(in(sp).PushRight(key, "x"))
			r.refused(in(sp).Append(key, 5, "x"))
			r.refused(in(sp).Drop(key, "x"))
			r.refused(in(sp).DropSome(key, 1, "x"))
			r.refused(in(sp).TrimLeft(key, 1))
			r.refused(in(sp).Length(key, 0))
			r.refused(in(sp).ItemAt(key, 0, "x"))
			r.refused(in(sp).Countdown("n", "waits", key, "x"))
			_, err := r.List(r.ctx, sp, key, 0, 1)
			r.invalid(err)
			_, err = r.Len(r.ctx, sp, "l", key)
			r.invalid(err)
		}
		if key != "s" {
			r.refused(in(sp).Include(key, "x"))
			r.refused(in(sp).Exclude(key, "x"))
			_, err := r.Members(r.ctx, sp, key, "", 1)
			r.invalid(err)
		}
	}
	r.unchanged(before)
}

func testCommitEach(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("text", set("n", "abc")))
	first := in(sp).Absent("r").Set("r", set("n", "1"))
	errs := r.CommitEach(r.ctx, []board.Batch{
		*first, *first,
		*in(sp+1).Absent("r").Set("r", set("n", "other")),
		*in(sp).Set("r", set("n", "spoilt")).Add("text", "n", 1),
		*in(sp).Set("", set("a", "1")),
		*in(sp).Equal("r", "n", "1").Add("r", "n", 1),
		{},
	})
	if len(errs) != 7 {
		t.Fatalf("got %d errors, want one for each of 7 batches", len(errs))
	}
	checkConflict(t, errs[1], first, 0)
	for _, i := range []int{3, 4} {
		r.invalid(errs[i])
	}
	for _, i := range []int{0, 2, 5, 6} {
		if errs[i] != nil {
			t.Errorf("batch %d: %v", i, errs[i])
		}
	}
	r.wantRecord(sp, "r", "n=2")
	r.wantRecord(sp+1, "r", "n=other")
}

func testCommitEachKinds(t *testing.T, f Factory) {
	r := open(t, f)
	each := func(want string, batches ...*board.Batch) {
		t.Helper()
		var bs []board.Batch
		for _, b := range batches {
			bs = append(bs, *b)
		}
		var got []string
		for _, err := range r.CommitEach(r.ctx, bs) {
			got = append(got, outcome(err))
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("got %s, want %s", all, want)
		}
	}
	push, pop := in(sp).PushRight("k", "x"), in(sp).TrimRight("k", 1)
	each("ok ok ok invalid ok", push, pop, in(sp).Equal("k", "a", "").Set("k", set("a", "1")), push, in(sp).Delete("k"))
	each("ok ok ok invalid ok", push, pop, in(sp).Add("k", "n", 1), push, in(sp).Unset("k", "n"))
	each("ok ok ok invalid ok", push, pop, in(sp).Include("k", "m"), push, in(sp).Exclude("k", "m"))
	each("ok ok ok ok invalid", push, in(sp).ItemAt("k", 0, "x").TrimLeft("k", 1), in(sp).Length("k", 0),
		in(sp).Set("k", set("a", "1")), in(sp).Length("k", 0))
	r.wantRecord(sp, "k", "a=1")
}

func testCommitEachReads(t *testing.T, f Factory) {
	r := open(t, f)
	const n = 300
	batches := []board.Batch{*in(sp).Set("r", set("n", "0"))}
	for i := range n {
		batches = append(batches, *in(sp).Equal("r", "n", strconv.Itoa(i)).Add("r", "n", 1).PushRight("l", strconv.Itoa(i)))
	}
	r.commitAll(batches)
	r.wantRecord(sp, "r", "n=300")
	got, err := r.List(r.ctx, sp, "l", 0, n)
	r.must(err)
	for i, it := range got {
		if it != strconv.Itoa(i) {
			t.Fatalf("item %d: got %s, batches acted out of order", i, it)
		}
	}
}

func testOneWins(t *testing.T, f Factory) {
	r := open(t, f)
	for round := range 10 {
		var wins atomic.Int32
		each(16, func(i int) {
			err := r.Commit(r.ctx, *in(sp).Absent(name("r", round)).Set(name("r", round), set("by", strconv.Itoa(i))).Add("wins", "n", 1))
			switch {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, domain.ErrConflict):
				t.Errorf("commit: %v", err)
			}
		})
		if n := wins.Load(); n != 1 {
			t.Fatalf("round %d: %d commits won, want 1", round, n)
		}
	}
	r.wantRecord(sp, "wins", "n=10")
}

func testConcurrentAdd(t *testing.T, f Factory) {
	r := open(t, f)
	each(16, func(i int) {
		for range 20 {
			if err := r.Commit(r.ctx, *in(sp).Add("r", "n", 1).PushLeft("l", "x")); err != nil {
				t.Errorf("commit: %v", err)
			}
		}
	})
	r.wantRecord(sp, "r", "n=320")
	n, err := r.Len(r.ctx, sp, "l")
	r.must(err)
	if n[0] != 320 {
		t.Fatalf("length: got %d, want 320", n[0])
	}
}

func testAtomicReads(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r", set("a", "0"), set("b", "0")))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			if err := r.Commit(r.ctx, *in(sp).Add("r", "a", 1).Set("other", set("x", "1")).Add("r", "b", 1)); err != nil {
				t.Errorf("commit: %v", err)
			}
		}
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		if rec := r.get(sp, "r"); rec.Get("a") != rec.Get("b") {
			t.Fatalf("saw half a batch: %s", fields(rec))
		}
	}
	r.wantRecord(sp, "r", "a=100 b=100")
}

func testContextEnded(t *testing.T, f Factory) {
	r := open(t, f)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: got %v, want context.Canceled", what, err)
		}
	}
	check("commit", r.Commit(ctx, *in(sp).Set("r", set("a", "1"))))
	for _, err := range r.CommitEach(ctx, []board.Batch{*in(sp).Set("r", set("a", "1")), {}}) {
		check("commit each", err)
	}
	_, err := r.Get(ctx, sp, "r")
	check("get", err)
	_, err = r.Next(ctx, sp, "n", 1)
	check("next", err)
	a := ask(1, "me", "queue:v")
	a.Wait = patience
	_, err = r.Claim(ctx, a)
	check("claim", err)
	_, err = r.Due(ctx, 1, patience)
	check("due", err)
	_, err = r.Expired(ctx, 1, patience)
	check("expired", err)
}

func testNoAliases(t *testing.T, f Factory) {
	r := open(t, f)
	fs, its := []board.Field{set("a", "1"), set("b", "2")}, []string{"x", "y"}
	r.commit(in(sp).Set("r", fs...).PushRight("l", its...).Include("s", its...))
	fs[0], its[0] = set("z", "9"), "z"
	r.wantRecord(sp, "r", "a=1 b=2")
	rec := r.get(sp, "r")
	rec[0].Value, rec[1] = "spoilt", set("z", "9")
	r.wantRecord(sp, "r", "a=1 b=2")
	got, err := r.List(r.ctx, sp, "l", 0, 2)
	r.must(err)
	got[0] = "spoilt"
	r.wantList(sp, "l", "x", "y")
	r.wantMembers(sp, "s", "x", "y")
}
