package boardtest

import (
	"context"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var watchTests = []test{
	{"a watcher sees changes of every kind", testWatchKinds},
	{"a watcher sees its prefix and its space only", testWatchPrefix},
	{"no change after watch returned is missed", testWatchOpen},
	{"a refused batch is no change", testWatchRefused},
	{"a watch ends with its context", testWatchEnds},
	{"a slow watcher holds nobody up and is told", testWatchOverflow},
}

// watch opens a watch that ends with the test.
func (r *rig) watch(space board.Space, prefix string) <-chan board.Event {
	r.t.Helper()
	ch, err := r.Watch(r.ctx, space, prefix)
	r.must(err)
	return ch
}

// sees waits for an event of each key, in any order and any number.
func (r *rig) sees(ch <-chan board.Event, space board.Space, keys ...string) {
	r.t.Helper()
	missing := map[string]bool{}
	for _, k := range keys {
		missing[k] = true
	}
	for limit := time.After(patience); len(missing) > 0; {
		select {
		case ev, ok := <-ch:
			if !ok {
				r.t.Fatalf("watch ended, events still missing: %v", missing)
			}
			if ev.Space != space {
				r.t.Fatalf("got an event of space %d, want only %d", ev.Space, space)
			}
			if ev.Key == "" {
				return // look at everything again: that covers it
			}
			delete(missing, ev.Key)
		case <-limit:
			r.t.Fatalf("events did not come within %v: %v", patience, missing)
		}
	}
}

func testWatchKinds(t *testing.T, f Factory) {
	r := open(t, f)
	ch := r.watch(sp, "")
	for _, c := range []struct {
		b    *board.Batch
		keys []string
	}{
		{in(sp).Set("r", set("a", "1"), set("n", "1"), set("waits", "1")), []string{"r"}},
		{in(sp).Unset("r", "a").Add("r2", "n", 1), []string{"r", "r2"}},
		{in(sp).PushLeft("l", "x").PushRight("l2", "x").Append("l3", 1, "x", "y"), []string{"l", "l2", "l3"}},
		{in(sp).Drop("l", "x").Include("s", "m"), []string{"l", "s"}},
		{in(sp).Exclude("s", "m").Delete("l2"), []string{"s", "l2"}},
		{in(sp).PushLeft("l", "x", "y", "z", "y").Include("s", "m", "n"), []string{"l", "s"}},
		{in(sp).TrimLeft("l", 1), []string{"l"}},
		{in(sp).TrimRight("l", 1), []string{"l"}},
		{in(sp).DropSome("l", -1, "y").DropSome("l3", 1, "y"), []string{"l", "l3"}},
		{in(sp).Exclude("s", "m"), []string{"s"}},
		{in(sp).Delete("s"), []string{"s"}},
		{in(sp).Countdown("r", "waits", "queue:v", "job:1", set("go", "1")), []string{"r", "queue:v"}},
	} {
		r.commit(c.b)
		r.sees(ch, sp, c.keys...)
	}
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.sees(ch, sp, "queue:v", "job:1")
	r.commit(held(c, "me").Release("job:1"))
	r.sees(ch, sp, "job:1")
	_, err := r.Occupy(r.ctx, sp, "routine", "me", time.Minute)
	r.must(err)
	r.sees(ch, sp, "routine")
}

func testWatchPrefix(t *testing.T, f Factory) {
	r := open(t, f)
	for _, prefix := range []string{"job:1", "job:*", "job:[12]", "jo?:", `job:\`} {
		ch := r.watch(sp, prefix)
		for _, key := range []string{"job:1", "job:12", "job:*", "job:*x", "job:[12]", "job:2", "jo?:1", `job:\1`, "other", "x" + prefix} {
			r.commit(in(sp+1).Set(prefix+key, set("a", prefix)))
			r.commit(in(sp).Set(key, set("a", prefix)))
		}
		r.commit(in(sp).Set(prefix+"end", set("a", "1")))
		for seen := false; !seen; {
			select {
			case ev := <-ch:
				if ev.Space != sp || len(ev.Key) < len(prefix) || ev.Key[:len(prefix)] != prefix {
					t.Fatalf("watch of %q in space %d: got %v", prefix, sp, ev)
				}
				seen = ev.Key == prefix+"end"
			case <-time.After(patience):
				t.Fatalf("watch of %q: the last event did not come", prefix)
			}
		}
	}
}

func testWatchOpen(t *testing.T, f Factory) {
	r := open(t, f)
	for i := range 25 {
		ctx, cancel := context.WithCancel(r.ctx)
		ch, err := r.Watch(ctx, sp, name("r", i))
		r.must(err)
		r.commit(in(sp).Set(name("r", i), set("a", "1")))
		r.sees(ch, sp, name("r", i))
		// The change is there when the event comes.
		r.wantRecord(sp, name("r", i), "a=1")
		cancel()
	}
}

func testWatchRefused(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("text", set("n", "abc")))
	ch := r.watch(sp, "")
	r.refused(in(sp).Set("refused", set("a", "1")).Add("text", "n", 1))
	r.conflict(in(sp).Set("conflict", set("a", "1")).Absent("text"), 0)
	r.commit(in(sp).Set("end", set("a", "1")))
	for {
		switch ev := <-ch; ev.Key {
		case "end":
			return
		case "refused", "conflict":
			t.Fatalf("got an event of %s, which was not applied", ev.Key)
		}
	}
}

func testWatchEnds(t *testing.T, f Factory) {
	r := open(t, f)
	ctx, cancel := context.WithCancel(r.ctx)
	first, err := r.Watch(ctx, sp, "")
	r.must(err)
	other := r.watch(sp, "")
	cancel()
	drained(t, first)
	r.commit(in(sp).Set("r", set("a", "1")))
	r.sees(other, sp, "r")
}

// drained reads a channel to its end.
func drained(t *testing.T, ch <-chan board.Event) {
	t.Helper()
	within(t, patience, "watch", func() {
		for range ch {
		}
	})
}

func testWatchOverflow(t *testing.T, f Factory) {
	skip(t, f.Features.NoOverflow)
	r := open(t, f)
	ch := r.watch(sp, "r")
	const n = 20000
	var batches []board.Batch
	b := in(sp)
	for i := range n {
		b.Set(name("r", i), set("a", "1"))
		if len(b.Ops) == 500 {
			batches, b = append(batches, *b), in(sp)
		}
	}
	within(t, 2*patience, "committing with a slow watcher", func() { r.commitAll(batches) })
	seen := 0
	for told := false; !told; {
		select {
		case ev := <-ch:
			seen++
			told = ev.Key == ""
		case <-time.After(patience):
			t.Fatalf("after %d of %d events neither a further one nor word that some are missing", seen, n)
		}
		if seen == n {
			return // it kept up: nothing is missing
		}
	}
	// Once told, it goes on.
	r.commit(in(sp).Set("r-end", set("a", "1")))
	r.sees(ch, sp, "r-end")
}
