package boardtest

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	{"a charge moves a space's turns on", testCharge},
	{"a charge counts by weight", testChargeByWeight},
	{"a charge is made once, however long the claim waits", testChargeOnce},
	{"nobody owes for what nobody else wanted", testChargeAlone},
	{"a space that is away is charged", testChargeAway},
	{"charges beside limits are refused", testChargeLimits},
	{"what has waited long goes before what is newer and before it by rank", testAging},
	{"without ageing, or an instant, lists are served in their order", testNoAging},
	{"what is dropped ages too", testAgingDrops},
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

// charge claims from the queue, and has spaces charged before that.
func charge(queue string, charges ...board.Charge) board.Ask {
	a := ask(1, "me", queue)
	a.Charges = charges
	return a
}

// wantSpace wants the next claim to be of a space.
func (r *rig) wantSpace(a board.Ask, space board.Space) {
	r.t.Helper()
	if got := r.claim(a); len(got) != 1 || got[0].Space != space {
		r.t.Fatalf("got %v, want one of space %d", got, space)
	}
}

func testCharge(t *testing.T, f Factory) {
	r := open(t, f)
	r.fill(1, "queue:v", 100)
	r.fill(2, "queue:v", 100)
	r.wantSpace(charge("queue:v"), 1)
	r.wantSpace(charge("queue:v", board.Charge{Space: 1, Items: 19}), 2) // 1 has had 20
	r.wantShare(r.shares("queue:v", 19, 1), 2, 19, 1)
	r.wantShare(r.shares("queue:v", 20, 1), 2, 10, 1)
}

func testChargeByWeight(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(1).Set(board.LimitsKey, set("weight", "5")))
	r.fill(1, "queue:v", 100)
	r.fill(2, "queue:v", 100)
	r.wantShare(r.shares("queue:v", 12, 1), 1, 10, 1)
	r.claim(charge("queue:v", board.Charge{Space: 1, Items: 100}, board.Charge{Space: 2, Items: 10}))
	r.wantShare(r.shares("queue:v", 10, 1), 2, 10, 1)
	r.wantShare(r.shares("queue:v", 12, 1), 1, 10, 2)
}

func testChargeOnce(t *testing.T, f Factory) {
	r := open(t, f)
	r.fill(1, "queue:v", 1)
	r.wantSpace(charge("queue:v"), 1)
	a := charge("queue:v", board.Charge{Space: 1, Items: 10})
	waits := r.waiting(a)
	r.commit(in(1).PushLeft("queue:v", "late"))
	r.wantItems(soon(t, waits), "late")
	r.fill(1, "queue:v", 100)
	r.fill(2, "queue:v", 100)
	// 2 is level with 1, or as much ahead as 1 was charged; twice that is too much.
	got := r.shares("queue:v", 30, 1)
	r.wantShare(got, 2, 20, 6)
}

func testChargeAlone(t *testing.T, f Factory) {
	r := open(t, f)
	r.fill(1, "queue:v", 100)
	for range 10 {
		r.wantSpace(charge("queue:v", board.Charge{Space: 1, Items: 1000}), 1)
	}
	r.fill(2, "queue:v", 100)
	r.fill(3, "queue:v", 100)
	got := r.shares("queue:v", 60, 1)
	for s := board.Space(1); s <= 3; s++ {
		r.wantShare(got, s, 20, 2)
	}
}

func testChargeAway(t *testing.T, f Factory) {
	r := open(t, f)
	r.fill(1, "queue:v", 1)
	r.fill(2, "queue:v", 100)
	r.wantShare(r.shares("queue:v", 2, 1), 1, 1, 0)
	r.wantSpace(charge("queue:v", board.Charge{Space: 1, Items: 20}), 2)
	r.fill(1, "queue:v", 100)
	r.wantShare(r.shares("queue:v", 18, 1), 2, 18, 2)
	r.wantShare(r.shares("queue:v", 20, 1), 1, 10, 3)
}

func testChargeLimits(t *testing.T, f Factory) {
	r := open(t, f)
	for _, c := range [][]board.Charge{{{Space: 1}}, {{Space: 1, Items: -1}}, {{Space: 1, Items: board.MaxItems + 1}}, make([]board.Charge, board.MaxCharge+1)} {
		_, err := r.Claim(r.ctx, charge("queue:v", c...))
		r.invalid(err)
	}
	// A queue in which nobody ever had anything, and spaces that nobody knows.
	r.wantNone(charge("queue:w", board.Charge{Space: 9, Items: board.MaxItems}))
}

// aged is a claim from three lists of a queue in which each step is a minute.
func aged(limit int) board.Ask {
	a := ask(limit, "me")
	a.Queues = []board.Queue{{Lists: []string{"queue:v:p9", "queue:v:p8", "queue:v"}}}
	a.Aging = board.Aging{Step: time.Minute, Fields: []string{"queued_ms", "created_at"}}
	a.Skip = board.Match{Field: "status", Values: []string{"gone"}}
	return a
}

// queue pushes an item that has waited for some seconds.
func (r *rig) queue(list, item string, waited int) {
	at := time.Now().Add(-time.Duration(waited) * time.Second).UnixMilli()
	r.commit(in(1).Set(item, set("queued_ms", strconv.FormatInt(at, 10))).PushLeft(list, item))
}

func testAging(t *testing.T, f Factory) {
	for _, limit := range []int{1, 64} {
		r := open(t, f)
		r.queue("queue:v:p9", "high:1", 30)
		r.queue("queue:v:p9", "high:2", 20)
		r.queue("queue:v:p9", "high:3", 10)
		r.queue("queue:v:p8", "next:1", 85) // 25 beside those of p9
		r.queue("queue:v:p8", "next:2", 30)
		r.queue("queue:v", "low:1", 1000)
		r.queue("queue:v", "low:2", 135) // 15
		r.queue("queue:v", "low:3", 3000)
		// By the seconds where it has no milliseconds; what has neither has just come.
		old := strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
		r.commit(in(1).Set("low:4", set("created_at", old)).Set("low:5", set("queued_ms", "soon")).PushLeft("queue:v", "low:4", "low:5", "low:6"))
		var got []string
		for len(got) < 11 {
			cs := r.claim(aged(limit))
			if len(cs) == 0 {
				break
			}
			got = append(got, items(cs)...)
		}
		want := []string{"low:1", "high:1", "next:1", "high:2", "low:2", "low:3", "low:4", "high:3", "next:2", "low:5", "low:6"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("claims of %d (-want +got):\n%s", limit, diff)
		}
	}
}

func testNoAging(t *testing.T, f Factory) {
	r := open(t, f)
	a := aged(10)
	a.Aging.Step = 0
	r.queue("queue:v", "low", 10_000)
	r.queue("queue:v:p9", "high", 0)
	r.wantItems(r.claim(a), "high", "low")
	r.commit(in(1).PushLeft("queue:v", "low:2").PushLeft("queue:v:p9", "high:2"))
	r.wantItems(r.claim(aged(10)), "high:2", "low:2")
	for _, step := range []time.Duration{-1, board.MaxAging + 1} {
		a.Aging.Step = step
		_, err := r.Claim(r.ctx, a)
		r.invalid(err)
	}
}

func testAgingDrops(t *testing.T, f Factory) {
	r := open(t, f)
	for i := range 300 {
		r.queue("queue:v", name("gone:", i), 1000)
		r.commit(in(1).Set(name("gone:", i), set("status", "gone")))
	}
	r.queue("queue:v", "low", 1)
	r.queue("queue:v:p9", "high:1", 2)
	r.queue("queue:v:p9", "high:2", 2)
	r.wantItems(r.claim(aged(10)), "high:1", "high:2", "low")
	r.wantNone(aged(10))
}
