package boardtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var opTests = []test{
	{"set makes and changes fields", testSet},
	{"unset takes fields, and the record with the last", testUnset},
	{"delete takes whatever a key holds", testDelete},
	{"delete ends the lease and the live mark", testDeleteLeased},
	{"add counts from nothing, and both ways", testAdd},
	{"pushes go where they say", testPush},
	{"drop removes every occurrence", testDrop},
	{"drop takes as many as it is to, from the end it is to", testDropSome},
	{"trim takes from the right", testTrimRight},
	{"trim takes from the left", testTrimLeft},
	{"a long list is the same list wherever it was cut", testLongList},
	{"append keeps the newest", testAppend},
	{"a set holds each member once", testSetMembers},
	{"countdown acts exactly at zero", testCountdown},
	{"live marks move and go", testLiveMarks},
	{"operations without anything to do do nothing", testEmptyOps},
	{"a key may change its kind once it is empty", testKindChanges},
}

func testSet(t *testing.T, f Factory) {
	r := open(t, f)
	r.wantRecord(sp, "r", "-")
	r.commit(in(sp).Set("r", set("a", "1"), set("b", "")))
	r.wantRecord(sp, "r", "a=1 b=")
	r.commit(in(sp).Set("r", set("a", "2"), set("c", "3"), set("a", "4")))
	r.wantRecord(sp, "r", "a=4 b= c=3")
	r.wantRecord(sp+1, "r", "-")
	recs, err := r.Get(r.ctx, sp, "none", "r", "none", "r")
	r.must(err)
	if len(recs) != 4 || recs[0] != nil || recs[2] != nil || fields(recs[1]) != fields(recs[3]) {
		t.Fatalf("get of several keys: got %v", recs)
	}
}

func testUnset(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Unset("r", "a"))
	r.commit(in(sp).Set("r", set("a", "1"), set("b", "2"), set("c", "3")).Unset("r", "a", "none"))
	r.wantRecord(sp, "r", "b=2 c=3")
	r.commit(in(sp).Unset("r", "b", "c"))
	r.wantRecord(sp, "r", "-")
	r.wantKeys(sp, "")
	r.commit(in(sp).Absent("r"))
}

func testDelete(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r", set("a", "1")).PushLeft("queue:l", "x").Include("s", "x"))
	r.wantKeys(sp, "", "queue:l", "r", "s")
	r.commit(in(sp).Delete("r").Delete("queue:l").Delete("s").Delete("none"))
	r.wantKeys(sp, "")
	r.wantRecord(sp, "r", "-")
	r.wantList(sp, "queue:l")
	r.wantMembers(sp, "s")
	r.wantReady("queue:l")
}

func testDeleteLeased(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("job:1", set("a", "1")).Live("job:1", time.UnixMilli(5)).PushLeft("queue:v", "job:1"))
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.commit(held(c, "me").Delete("job:1"))
	r.wantRecord(sp, "job:1", "-")
	r.wantFree(sp, "job:1")
	r.conflict(held(c, "me"), 0)
	if got := r.extend("me", c); got[0] != board.Lost {
		t.Fatalf("extend of a deleted record: got %v, want lost", got)
	}
	live, err := r.Live(r.ctx, sp, board.LiveItem{}, 10)
	r.must(err)
	if len(live) != 0 {
		t.Fatalf("live after delete: got %v", live)
	}
}

func testAdd(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Add("r", "n", 5))
	r.wantRecord(sp, "r", "n=5")
	r.commit(in(sp).Add("r", "n", -7).Add("r", "m", 0))
	r.wantRecord(sp, "r", "m=0 n=-2")
	r.commit(in(sp).Set("r", set("n", strconv.Itoa(math.MaxInt64-1))).Add("r", "n", 1))
	r.wantRecord(sp, "r", "m=0 n=9223372036854775807")
	r.refused(in(sp).Add("r", "n", 1))
	r.commit(in(sp).Add("r", "n", math.MinInt64))
	r.wantRecord(sp, "r", "m=0 n=-1")
	for _, bad := range []string{"x", "1.5", " 5", "", "1e3", "9223372036854775808", "010", "+5", "-0", "-05", "00", "-", "+", "5 ", "1_0",
		"00000000000000000005"} {
		r.commit(in(sp).Set("r", set("bad", bad)))
		r.refused(in(sp).Set("r", set("m", "9")).Add("r", "bad", 1))
		r.wantRecord(sp, "r", "bad="+bad+" m=0 n=-1")
	}
}

func testPush(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushLeft("l", "a", "b", "c"))
	r.wantList(sp, "l", "c", "b", "a")
	r.commit(in(sp).PushRight("l", "x", "y").PushLeft("l", "a"))
	r.wantList(sp, "l", "a", "c", "b", "a", "x", "y")
	r.wantList(sp+1, "l")
}

func testDrop(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Drop("l", "x"))
	r.commit(in(sp).PushRight("l", "a", "b", "a", "c", "b", "a").Drop("l", "a", "c", "none"))
	r.wantList(sp, "l", "b", "b")
	r.commit(in(sp).Drop("l", "b"))
	r.wantList(sp, "l")
	r.wantKeys(sp, "")
	r.commit(in(sp).PushLeft("queue:v", "a", "b", "a"))
	r.commit(in(sp).Drop("queue:v", "a"))
	r.wantReady("queue:v", sp)
	r.wantList(sp, "queue:v", "b")
	r.commit(in(sp).Drop("queue:v", "b"))
	r.wantReady("queue:v")
}

func testTrimRight(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).TrimRight("l", 3))
	r.commit(in(sp).PushRight("l", "a", "b", "c", "d").TrimRight("l", 1))
	r.wantList(sp, "l", "a", "b", "c")
	r.commit(in(sp).TrimRight("l", 0))
	r.commit(in(sp).TrimRight("l", 2).PushRight("l", "x"))
	r.wantList(sp, "l", "a", "x")
	r.commit(in(sp).PushLeft("queue:v", "1", "2").TrimRight("queue:v", 9))
	r.wantReady("queue:v")
	r.commit(in(sp).TrimRight("l", 9))
	r.wantKeys(sp, "")
	r.refused(in(sp).TrimRight("l", -1))
	r.refused(in(sp).Set("r", set("a", "1")).TrimRight("r", 1))
}

func testDropSome(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).DropSome("l", 1, "x").DropSome("l", -1, "x").DropSome("l", 0, "x"))
	for _, c := range []struct {
		n    int
		item string
		want string
	}{
		{1, "a", "bacab"}, {2, "a", "bcab"}, {3, "a", "bcb"}, {9, "a", "bcb"}, {0, "a", "bcb"}, {math.MaxInt, "a", "bcb"},
		{-1, "a", "abacb"}, {-2, "a", "abcb"}, {-3, "a", "bcb"}, {-9, "a", "bcb"}, {math.MinInt, "a", "bcb"},
		{1, "b", "aacab"}, {-1, "b", "abaca"}, {2, "b", "aaca"}, {-2, "b", "aaca"}, {1, "c", "abaab"}, {-1, "c", "abaab"},
		{1, "x", "abacab"}, {-1, "", "abacab"}, {0, "x", "abacab"},
	} {
		r.commit(in(sp).Delete("l").PushRight("l", strings.Split("abacab", "")...))
		r.commit(in(sp).DropSome("l", c.n, c.item))
		got, err := r.List(r.ctx, sp, "l", 0, 99)
		r.must(err)
		if all := strings.Join(got, ""); all != c.want {
			t.Errorf("drop of %d %q: got %s, want %s", c.n, c.item, all, c.want)
		}
	}
	// Several items, each as often.
	r.commit(&board.Batch{Space: sp, Ops: []board.Op{{Kind: board.OpDrop, Key: "l", N: -1, Items: []string{"a", "b", "a"}}}})
	r.wantList(sp, "l", "a", "b", "c")
	r.commit(in(sp).DropSome("l", 1, "b").DropSome("l", 1, "a").PushLeft("l", "x").DropSome("l", -1, "c").DropSome("l", 5, "x"))
	r.wantKeys(sp, "")
	// A list of which everything is moved keeps its time.
	r.commit(in(sp).PushRight("l", "a", "b").Expire("l", time.Hour))
	r.commit(in(sp).DropSome("l", -1, "a").PushRight("l", "c").DropSome("l", 1, "c"))
	r.wantList(sp, "l", "b")
	stat, err := r.Stat(r.ctx, sp, "l")
	r.must(err)
	if stat[0].Expires.IsZero() {
		t.Error("a list of which some was dropped does not expire any more")
	}
	r.commit(in(sp).Delete("l"))
	r.commit(in(sp).PushLeft("queue:v", "a", "b", "a"))
	r.commit(in(sp).DropSome("queue:v", -1, "a"))
	r.wantList(sp, "queue:v", "a", "b")
	r.claimOne(ask(1, "me", "queue:v"), "b")
	r.commit(in(sp).DropSome("queue:v", 2, "a"))
	r.wantReady("queue:v")
	r.refused(in(sp).Set("r", set("a", "1")).DropSome("r", 1, "a"))
}

func testTrimLeft(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).TrimLeft("l", 3))
	r.commit(in(sp).PushRight("l", "a", "b", "c", "d").TrimLeft("l", 1))
	r.wantList(sp, "l", "b", "c", "d")
	r.commit(in(sp).TrimLeft("l", 0))
	r.commit(in(sp).TrimLeft("l", 2).PushLeft("l", "x"))
	r.wantList(sp, "l", "x", "d")
	r.commit(in(sp).TrimLeft("l", 1).PushLeft("l", "y", "z").TrimLeft("l", 1).TrimRight("l", 1))
	r.wantList(sp, "l", "y")
	r.commit(in(sp).PushLeft("queue:v", "1", "2", "3").TrimLeft("queue:v", 1))
	r.claimOne(ask(1, "me", "queue:v"), "1")
	r.commit(in(sp).TrimLeft("queue:v", 9))
	r.wantReady("queue:v")
	r.commit(in(sp).TrimLeft("l", 9))
	r.wantKeys(sp, "", "1")
	r.refused(in(sp).TrimLeft("l", -1))
	r.refused(in(sp).Set("r", set("a", "1")).TrimLeft("r", 1))
	// A refused batch takes nothing.
	r.commit(in(sp).PushRight("l", "a", "b", "c").Set("r", set("n", "x")))
	r.refused(in(sp).TrimLeft("l", 2).PushLeft("l", "x").DropSome("l", -1, "c").PushRight("l", "y").Add("r", "n", 1))
	r.wantList(sp, "l", "a", "b", "c")
}

// testLongList does to a list of hundreds what can be done to its ends, and
// compares it with a slice: drivers keep long lists in pieces.
func testLongList(t *testing.T, f Factory) {
	r := open(t, f)
	rnd := rand.New(rand.NewPCG(5, 0))
	var have []string
	next := 0
	fresh := func() (items []string) {
		for range 1 + rnd.IntN(150) {
			next++
			items = append(items, name("item:", next-rnd.IntN(next)/8))
		}
		return items
	}
	for step := range 60 {
		b := in(sp).Length("l", len(have))
		if len(have) > 0 {
			i := rnd.IntN(len(have))
			b.ItemAt("l", i, have[i]).ItemAt("l", i-len(have), have[i])
		}
		n := rnd.IntN(100)
		switch rnd.IntN(6) {
		case 0:
			items := fresh()
			b.PushLeft("l", items...)
			have = slices.Concat(reversed(items), have)
		case 1:
			items := fresh()
			b.PushRight("l", items...)
			have = slices.Concat(have, items)
		case 2:
			b.TrimLeft("l", n).PushLeft("l", "x")
			have = slices.Concat([]string{"x"}, have[min(n, len(have)):])
		case 3:
			b.TrimRight("l", n).PushRight("l", "x")
			have = append(slices.Clone(have[:max(0, len(have)-n)]), "x")
		case 4:
			b.DropSome("l", 2, "x").PushLeft("l", "first")
			for range 2 {
				if i := slices.Index(have, "x"); i >= 0 {
					have = slices.Concat(have[:i], have[i+1:])
				}
			}
			have = slices.Concat([]string{"first"}, have)
		case 5:
			item := "x"
			if len(have) > 0 {
				item = have[rnd.IntN(len(have))]
			}
			b.DropSome("l", -1, item).PushRight("l", "last")
			back := reversed(have)
			if i := slices.Index(back, item); i >= 0 {
				have = reversed(slices.Concat(back[:i], back[i+1:]))
			}
			have = append(slices.Clone(have), "last")
		}
		r.commit(b)
		if step%5 == 4 {
			r.wantList(sp, "l", have...)
		}
	}
	r.conflict(in(sp).Length("l", len(have)+1), 0)
}

func reversed(items []string) []string {
	out := slices.Clone(items)
	slices.Reverse(out)
	return out
}

func testAppend(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Append("l", 3, "a", "b"))
	r.wantList(sp, "l", "a", "b")
	r.commit(in(sp).Append("l", 3, "c", "d"))
	r.wantList(sp, "l", "b", "c", "d")
	r.commit(in(sp).Append("l", 2))
	r.wantList(sp, "l", "c", "d")
	r.commit(in(sp).Append("l", 2, "1", "2", "3", "4"))
	r.wantList(sp, "l", "3", "4")
	r.commit(in(sp).Append("l", 0, "x"))
	r.wantList(sp, "l")
	r.wantKeys(sp, "")
	r.refused(in(sp).Append("l", -1, "x"))
}

func testSetMembers(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Exclude("s", "a"))
	r.commit(in(sp).Include("s", "b", "a", "b", "").Include("s", "a"))
	r.wantMembers(sp, "s", "", "a", "b")
	r.commit(in(sp).Exclude("s", "a", "none", ""))
	r.wantMembers(sp, "s", "b")
	r.commit(in(sp).Exclude("s", "b"))
	r.wantMembers(sp, "s")
	r.wantKeys(sp, "")
}

func testCountdown(t *testing.T, f Factory) {
	r := open(t, f)
	down := func() *board.Batch {
		return in(sp).Countdown("job:2", "waits", "queue:v", "job:2", set("status", "ready"), set("at", "9"))
	}
	r.commit(down())
	r.wantRecord(sp, "job:2", "-")
	r.commit(in(sp).Set("job:2", set("waits", "3")))
	r.commit(down())
	r.wantRecord(sp, "job:2", "waits=2")
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	two := down()
	two.Ops = append(two.Ops, two.Ops[0])
	r.commit(two)
	r.wantRecord(sp, "job:2", "at=9 status=ready waits=0")
	r.wantList(sp, "queue:v", "job:1", "job:2")
	r.wantReady("queue:v", sp)
	r.commit(down())
	r.wantRecord(sp, "job:2", "at=9 status=ready waits=-1")
	r.wantList(sp, "queue:v", "job:1", "job:2")
	r.claimOne(ask(1, "me", "queue:v"), "job:2") // what has begun goes first
	r.commit(in(sp).Set("job:3", set("other", "1")))
	r.commit(in(sp).Countdown("job:3", "waits", "queue:v", "job:3"))
	r.wantRecord(sp, "job:3", "other=1 waits=-1")
	for _, bad := range []string{"many", "01", "+1"} {
		r.commit(in(sp).Set("job:3", set("waits", bad)))
		r.refused(in(sp).Countdown("job:3", "waits", "queue:v", "job:3"))
		r.wantRecord(sp, "job:3", "other=1 waits="+bad)
	}
}

func testLiveMarks(t *testing.T, f Factory) {
	r := open(t, f)
	want := func(want ...board.LiveItem) {
		t.Helper()
		got, err := r.Live(r.ctx, sp, board.LiveItem{}, 10)
		r.must(err)
		if !sameLive(got, want) {
			t.Fatalf("live: got %v, want %v", got, want)
		}
	}
	at := func(item string, ms int64) board.LiveItem { return board.LiveItem{Item: item, At: time.UnixMilli(ms)} }
	r.commit(in(sp).Settle("none"))
	r.commit(in(sp).Live("b", time.UnixMilli(20)).Live("a", time.UnixMilli(30)).Live("c", time.UnixMilli(20)))
	want(at("b", 20), at("c", 20), at("a", 30))
	r.commit(in(sp).Live("b", time.UnixMilli(40)))
	want(at("c", 20), at("a", 30), at("b", 40))
	r.commit(in(sp).Settle("a").Settle("a"))
	want(at("c", 20), at("b", 40))
	r.commit(in(sp).Delete("c"))
	want(at("b", 40))
	r.wantKeys(sp, "")
}

func testEmptyOps(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp))
	r.commit(in(sp).Set("r").PushLeft("l").PushRight("l").Append("l", 5).Include("s").Exclude("s").Drop("l").Unset("r"))
	r.commit(in(sp).ClearAlarm("a").Release("r").Expire("r", time.Hour).Expire("r", 0).Settle("r").Delete("r"))
	r.wantKeys(sp, "")
	if errs := r.CommitEach(r.ctx, nil); len(errs) != 0 {
		t.Fatalf("commit of no batches: got %v", errs)
	}
}

func testKindChanges(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("k", set("a", "1")))
	r.commit(in(sp).Unset("k", "a").PushLeft("k", "x"))
	r.wantList(sp, "k", "x")
	r.commit(in(sp).Drop("k", "x").Include("k", "m"))
	r.wantMembers(sp, "k", "m")
	r.commit(in(sp).Exclude("k", "m").Set("k", set("b", "2")))
	r.wantRecord(sp, "k", "b=2")
	r.commit(in(sp).Delete("k").PushRight("k", "y"))
	r.wantList(sp, "k", "y")
}

func sameLive(a, b []board.LiveItem) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Item != b[i].Item || !a[i].At.Equal(b[i].At) {
			return false
		}
	}
	return true
}
