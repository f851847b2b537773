package boardtest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var capTests = []test{
	{"a cap holds while many claim, release and retry", testCapStorm},
	{"a space at its cap lets others go on", testCapOthers},
	{"a cap of a type counts its priorities and runners' own queues", testCapGroup},
	{"the engine's own queues count to no cap", testCapOwn},
	{"a release wakes who waits at a cap", testCapWakes},
	{"every end of a lease frees a place", testCapFreed},
	{"a lease that has run out still counts", testCapLapsed},
	{"a new cap counts at once", testCapChanges},
	{"occupied items count to no cap", testCapOccupied},
}

// testCapStorm lets 24 claimers run 120 jobs, each of which is retried once,
// in two spaces with different caps, and counts how many run at once.
func testCapStorm(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(1).Set(board.LimitsKey, set("max", "3"), set("max:queue:v", "2")))
	r.commit(in(2).Set(board.LimitsKey, set("max:queue:w", "4")))
	const jobs = 30
	for s := board.Space(1); s <= 2; s++ {
		for _, q := range []string{"queue:v", "queue:w"} {
			b := in(s)
			for i := range jobs {
				b.PushLeft(q, name(q+"/job:", i))
			}
			r.commit(b)
		}
	}
	var running [3]struct{ v, w atomic.Int32 }
	var left atomic.Int32
	left.Store(2 * 2 * jobs * 2)
	each(24, func(i int) {
		a := ask(1+i%3, name("me", i), "queue:v", "queue:w")
		a.Wait = 20 * time.Millisecond // only so that the last ones notice the end
		for left.Load() > 0 {
			cs, err := r.Claim(r.ctx, a)
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			for _, c := range cs {
				in := &running[c.Space]
				n := &in.v
				if c.Record.Get(board.FieldQueue) == "queue:w" {
					n = &in.w
				}
				n.Add(1)
				v, w := in.v.Load(), in.w.Load()
				if c.Space == 1 && (v > 2 || v+w > 3) || c.Space == 2 && w > 4 {
					t.Errorf("space %d runs %d of queue:v and %d of queue:w, over its cap", c.Space, v, w)
				}
			}
			for _, c := range cs {
				queue := c.Record.Get(board.FieldQueue)
				end := held(c, a.Owner)
				if c.Token == 1 {
					end.Release(c.Item).PushRight(queue, c.Item)
				} else {
					end.Delete(c.Item)
				}
				if queue == "queue:v" {
					running[c.Space].v.Add(-1)
				} else {
					running[c.Space].w.Add(-1)
				}
				left.Add(-1)
				if err := r.Commit(r.ctx, *end); err != nil {
					t.Errorf("finish: %v", err)
				}
			}
		}
	})
	r.wantKeys(1, "queue:")
	r.wantKeys(2, "queue:")
}

func testCapOthers(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(1).Set(board.LimitsKey, set("max", "2"), set("weight", "1000")))
	r.commit(in(2).Set(board.LimitsKey, set("max", "0")))
	for s := board.Space(1); s <= 3; s++ {
		r.fill(s, "queue:v", 10)
	}
	got := map[board.Space]int{}
	for range 5 {
		for _, c := range r.claim(ask(4, "me", "queue:v")) {
			got[c.Space]++
		}
	}
	if got[1] != 2 || got[2] != 0 || got[3] != 10 {
		t.Fatalf("got %v, want 2 of space 1, none of space 2, all 10 of space 3", got)
	}
	r.wantReady("queue:v", 1, 2)
}

func testCapGroup(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set(board.LimitsKey, set("max:queue:v", "2")))
	r.commit(in(sp).PushLeft("queue:v:runner7", "own:1", "own:2").PushLeft("queue:v:p9", "high:1", "high:2").
		PushLeft("queue:v", "job:1", "job:2").PushLeft("queue:w", "w:1", "w:2", "w:3"))
	a := ask(9, "me", "queue:v:runner7", "queue:v:p9", "queue:w")
	a.Queues[1].Lists = []string{"queue:v:p9", "queue:v"}
	first := r.claim(a)
	r.wantItems(first, "own:1", "own:2", "w:1", "w:2", "w:3")
	r.wantNone(a)
	r.commit(held(first[0], "me").Delete("own:1"))
	second := r.claim(a)
	r.wantItems(second, "high:1")
	r.wantNone(a)
	r.commit(held(second[0], "me").Delete("high:1"))
	r.commit(held(first[1], "me").Delete("own:2"))
	r.wantItems(r.claim(a), "high:2", "job:1")
	r.wantReady("queue:v", sp)
}

func testCapOwn(t *testing.T, f Factory) {
	r := open(t, f)
	const own = "ramet:queue:keeper"
	r.commit(in(sp).Set(board.LimitsKey, set("max", "1")).PushLeft(own, "a:1", "a:2").PushLeft("queue:v", "job:1", "job:2"))
	engines := r.claim(ask(1, "me", own))
	r.wantItems(engines, "a:1")
	first := r.claimOne(ask(9, "me", "queue:v"), "job:1")
	r.wantItems(r.claim(ask(9, "me", own)), "a:2")
	r.commit(held(engines[0], "me").Delete("a:1"))
	r.wantNone(ask(9, "me", "queue:v"))
	r.commit(held(first, "me").Delete("job:1"))
	r.claimOne(ask(9, "me", "queue:v"), "job:2")
}

func testCapWakes(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set(board.LimitsKey, set("max", "1")).PushLeft("queue:v", "job:0"))
	last := r.claimOne(ask(1, "me", "queue:v"), "job:0")
	for i := 1; i <= 10; i++ {
		r.commit(in(sp).PushLeft("queue:v", name("job:", i)))
		next := r.waiting(ask(1, "me", "queue:v"))
		r.commit(held(last, "me").Delete(last.Item))
		got := soon(t, next)
		r.wantItems(got, name("job:", i))
		last = got[0]
	}
}

func testCapFreed(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set(board.LimitsKey, set("max", "1")))
	a := ask(1, "me", "queue:v")
	for what, end := range map[string]func(c board.Claimed){
		"release":        func(c board.Claimed) { r.commit(in(sp).Release(c.Item)) },
		"delete":         func(c board.Claimed) { r.commit(in(sp).Delete(c.Item)) },
		"released twice": func(c board.Claimed) { r.commit(in(sp).Release(c.Item).Release(c.Item).Delete(c.Item)) },
		"taken over": func(c board.Claimed) {
			r.must(r.Void(r.ctx, "me"))
			r.commit(in(sp).Lapsed(c.Item, c.Token).Release(c.Item))
		},
		"occupied by another": func(c board.Claimed) {
			r.must(r.Void(r.ctx, "me"))
			_, err := r.Occupy(r.ctx, sp, c.Item, "you", time.Minute)
			r.must(err)
		},
	} {
		r.commit(in(sp).PushLeft("queue:v", "a "+what, "b "+what))
		c := r.claimOne(a, "a "+what)
		r.wantNone(a)
		end(c)
		c = r.claimOne(a, "b "+what)
		r.wantNone(a)
		r.commit(held(c, "me").Delete(c.Item))
	}
	// A release that is refused frees nothing.
	r.commit(in(sp).PushLeft("queue:v", "x", "y"))
	c := r.claimOne(a, "x")
	r.conflict(held(c, "you").Release("x"), 0)
	r.refused(held(c, "me").Release("x").PushLeft("x", "no list"))
	r.wantNone(a)
}

func testCapLapsed(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set(board.LimitsKey, set("max:queue:v", "1")).PushLeft("queue:v", "job:1", "job:2"))
	a := ask(1, "me", "queue:v")
	c := r.claimOne(a, "job:1")
	r.must(r.Void(r.ctx, "me"))
	r.lapsed("job:1")
	r.wantNone(a)
	r.commit(in(sp).Lapsed("job:1", c.Token).Release("job:1").PushRight("queue:v", "job:1"))
	c = r.claimOne(a, "job:1")
	if c.Token != 2 {
		t.Fatalf("got token %d, want 2", c.Token)
	}
	r.wantNone(a)
}

func testCapChanges(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set(board.LimitsKey, set("max", "1")))
	r.fill(sp, "queue:v", 9)
	a := ask(9, "me", "queue:v")
	first := r.claim(a)
	r.commit(in(sp).Set(board.LimitsKey, set("max", "3")))
	first = append(first, r.claim(a)...)
	if len(first) != 3 {
		t.Fatalf("claimed %d with caps of 1 and then 3", len(first))
	}
	// Lowered, it ends nothing, but lets nothing begin either.
	r.commit(in(sp).Set(board.LimitsKey, set("max", "2")))
	r.commit(held(first[0], "me").Delete(first[0].Item))
	r.wantNone(a)
	r.commit(held(first[1], "me").Delete(first[1].Item))
	if got := r.claim(a); len(got) != 1 {
		t.Fatalf("claimed %d under a cap of 2 with 1 running", len(got))
	}
	// A claim that waits at the cap is woken when the cap goes.
	woken := r.waiting(ask(9, "me", "queue:v"))
	r.commit(in(sp).Unset(board.LimitsKey, "max"))
	if got := soon(t, woken); len(got) != 5 {
		t.Fatalf("claimed %d without a cap, want the 5 left", len(got))
	}
}

func testCapOccupied(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set(board.LimitsKey, set("max", "1")).PushLeft("queue:v", "job:1", "job:2"))
	_, err := r.Occupy(r.ctx, sp, "flow:1", "me", time.Minute)
	r.must(err)
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.commit(in(sp).Release("flow:1"))
	r.wantNone(ask(1, "me", "queue:v"))
	// Renewing one's own claim by name leaves it a claim.
	tok, err := r.Occupy(r.ctx, sp, "job:1", "me", time.Minute)
	r.must(err)
	if tok != c.Token {
		t.Fatalf("got token %d, want that of the claim, %d", tok, c.Token)
	}
	r.wantNone(ask(1, "me", "queue:v"))
}
