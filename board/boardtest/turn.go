package boardtest

import (
	"testing"

	"github.com/ramet-run/ramet/board"
)

var turnTests = []test{
	{"spaces are served by weight, one at a time", func(t *testing.T, f Factory) { testShares(t, f, 1) }},
	{"spaces are served by weight, many at a time", func(t *testing.T, f Factory) { testShares(t, f, 8) }},
	{"a busy space does not starve a quiet one", testQuietSpace},
	{"a space that was away gets no credit", testNoCredit},
	{"a new weight counts at once", testWeightChanges},
	{"malformed limits count as default", testBadLimits},
	{"a thousand spaces each get their turn", testThousandSpaces},
	{"spaces without the lists asked for are passed over", testPassedOver},
}

// fill pushes n items into a queue of a space.
func (r *rig) fill(space board.Space, queue string, n int) {
	r.t.Helper()
	var batches []board.Batch
	for b := in(space); n > 0; n-- {
		b.PushLeft(queue, name("job:", n))
		if len(b.Ops) == 100 || n == 1 {
			batches = append(batches, *b)
			b = in(space)
		}
	}
	r.commitAll(batches)
}

// shares claims n items and counts them by space. It finishes each, so that
// items of the same name can be pushed again.
func (r *rig) shares(queue string, n, at int) map[board.Space]int {
	r.t.Helper()
	got := map[board.Space]int{}
	for n > 0 {
		cs := r.claim(ask(min(n, at), "me", queue))
		if len(cs) == 0 {
			r.t.Fatalf("nothing to claim, with %d still wanted", n)
		}
		for _, c := range cs {
			got[c.Space]++
		}
		n -= len(cs)
	}
	return got
}

func (r *rig) wantShare(got map[board.Space]int, space board.Space, want, slack int) {
	r.t.Helper()
	if d := got[space] - want; d < -slack || d > slack {
		r.t.Errorf("space %d was served %d items, want %d (give or take %d) of %v", space, got[space], want, slack, got)
	}
}

func testShares(t *testing.T, f Factory, at int) {
	r := open(t, f)
	r.commit(in(2).Set(board.LimitsKey, set("weight", "2")))
	r.commit(in(3).Set(board.LimitsKey, set("weight", "5")))
	for s := range board.Space(3) {
		r.fill(s+1, "queue:v", 320)
	}
	got := r.shares("queue:v", 480, at)
	for space, want := range map[board.Space]int{1: 60, 2: 120, 3: 300} {
		r.wantShare(got, space, want, 2*at+1)
	}
}

func testQuietSpace(t *testing.T, f Factory) {
	r := open(t, f)
	r.fill(1, "queue:v", 500)
	for round := range 10 {
		r.shares("queue:v", 20, 1)
		r.commit(in(2).PushLeft("queue:v", name("quiet:", round)))
		// The one served last and the one that came may be level.
		if got := r.shares("queue:v", 2, 1); got[2] != 1 {
			t.Fatalf("round %d: of 2 items after a push in space 2 got %v, want one of it", round, got)
		}
	}
}

func testNoCredit(t *testing.T, f Factory) {
	r := open(t, f)
	r.fill(1, "queue:v", 400)
	r.fill(2, "queue:v", 5)
	r.wantShare(r.shares("queue:v", 10, 1), 2, 5, 0)
	r.shares("queue:v", 200, 1) // only space 1 has any
	r.fill(2, "queue:v", 200)
	r.fill(3, "queue:v", 200) // was never here
	got := r.shares("queue:v", 90, 1)
	for s := board.Space(1); s <= 3; s++ {
		r.wantShare(got, s, 30, 3)
	}
}

func testWeightChanges(t *testing.T, f Factory) {
	r := open(t, f)
	r.fill(1, "queue:v", 300)
	r.fill(2, "queue:v", 300)
	r.wantShare(r.shares("queue:v", 40, 1), 1, 20, 2)
	r.commit(in(1).Set(board.LimitsKey, set("weight", "4")))
	r.wantShare(r.shares("queue:v", 100, 1), 1, 80, 3)
	r.commit(in(1).Delete(board.LimitsKey))
	r.wantShare(r.shares("queue:v", 40, 1), 1, 20, 3)
}

func testBadLimits(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(1).Set(board.LimitsKey, set("weight", "0"), set("max", "many"), set("max:queue:v", "-1"), set("other", "x")))
	r.commit(in(2).Set(board.LimitsKey, set("weight", "1001"), set("max", ""), set("max:queue:v", "1.5")))
	r.commit(in(3).Set(board.LimitsKey, set("weight", "heavy"), set("max", "99999999999999999999"), set("max:", "0")))
	for s := range board.Space(4) {
		r.fill(s+1, "queue:v", 60)
	}
	got := r.shares("queue:v", 80, 1)
	for s := range board.Space(4) {
		r.wantShare(got, s+1, 20, 2)
	}
}

func testThousandSpaces(t *testing.T, f Factory) {
	skip(t, f.Features.FewSpaces)
	r := open(t, f)
	const n = 1000
	var batches []board.Batch
	for s := range board.Space(n) {
		batches = append(batches, *in(s).PushLeft("queue:v", "job:1", "job:2"))
	}
	r.commitAll(batches)
	got, err := r.Ready(r.ctx, "queue:v")
	r.must(err)
	if len(got) != n {
		t.Fatalf("%d spaces are ready, want %d", len(got), n)
	}
	for space, k := range r.shares("queue:v", n, 1) {
		if k != 1 {
			t.Errorf("space %d was served %d times in the first round", space, k)
		}
	}
	for space, k := range r.shares("queue:v", n, 64) {
		if k != 1 {
			t.Errorf("space %d was served %d times in the second round", space, k)
		}
	}
	r.wantReady("queue:v")
}

func testPassedOver(t *testing.T, f Factory) {
	r := open(t, f)
	for s := range board.Space(5) {
		r.commit(in(s).PushLeft("queue:v:p1", "low"))
	}
	r.commit(in(5).PushLeft("queue:v", "job:1"))
	r.wantItems(r.claim(ask(9, "me", "queue:v")), "job:1")
	r.wantNone(ask(9, "me", "queue:v"))
	r.wantReady("queue:v", 0, 1, 2, 3, 4)
	if got := r.claim(ask(9, "me", "queue:v:p1")); len(got) != 5 {
		t.Fatalf("got %v, want the low item of 5 spaces", items(got))
	}
}
