package boardtest

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

var guardTests = []test{
	{"absent holds only without record, list and set", testAbsent},
	{"equal compares a field, and nothing with empty", testEqual},
	{"held wants owner and token", testHeld},
	{"lapsed wants token and time run out", testLapsed},
	{"free holds without lease", testFree},
	{"alarm guard wants the exact millisecond", testAlarmGuard},
	{"length wants exactly so many items", testLength},
	{"item at wants this very item in this very place", testItemAt},
	{"an item that is looked at and then taken is taken once", testPopStorm},
	{"the first failed guard is named", testGuardOrder},
	{"guards see the state before the batch", testGuardsBeforeOps},
}

func testAbsent(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Absent("r").Set("r", set("a", "1")))
	r.conflict(in(sp).Absent("r").Set("r", set("a", "2")), 0)
	r.wantRecord(sp, "r", "a=1")
	r.commit(in(sp).PushLeft("l", "x").Include("s", "x"))
	r.conflict(in(sp).Absent("l"), 0)
	r.conflict(in(sp).Absent("s"), 0)
	r.commit(in(sp + 1).Absent("r").Absent("l").Absent("s"))
	r.commit(in(sp).Delete("r").Drop("l", "x").Exclude("s", "x"))
	r.commit(in(sp).Absent("r").Absent("l").Absent("s"))
}

func testEqual(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Equal("r", "a", "").Set("r", set("a", "1"), set("empty", "")))
	r.commit(in(sp).Equal("r", "a", "1").Equal("r", "b", "").Equal("r", "empty", ""))
	r.conflict(in(sp).Equal("r", "a", ""), 0)
	r.conflict(in(sp).Equal("r", "a", "2"), 0)
	r.conflict(in(sp).Equal("r", "b", "1"), 0)
	r.conflict(in(sp).Equal("none", "a", "1"), 0)
	r.conflict(in(sp).Equal("r", "a", "1 "), 0)
	r.commit(in(sp).Set("r", set("bin", "\x00\xff\r\n")).Equal("r", "a", "1"))
	r.commit(in(sp).Equal("r", "bin", "\x00\xff\r\n"))
}

func testHeld(t *testing.T, f Factory) {
	r := open(t, f)
	r.conflict(in(sp).Held("job:1", "me", 1), 0)
	r.commit(in(sp).Set("job:1", set("a", "1")).PushLeft("queue:v", "job:1"))
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.commit(in(sp).Held("job:1", "me", c.Token))
	r.conflict(in(sp).Held("job:1", "you", c.Token), 0)
	r.conflict(in(sp).Held("job:1", "me", c.Token+1), 0)
	r.conflict(in(sp).Held("job:1", "me", 0), 0)
	r.conflict(in(sp+1).Held("job:1", "me", c.Token), 0)
	r.commit(held(c, "me").Release("job:1"))
	r.conflict(held(c, "me"), 0)
}

func testLapsed(t *testing.T, f Factory) {
	r := open(t, f)
	r.conflict(in(sp).Lapsed("job:1", 1), 0)
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	a := ask(1, "me", "queue:v")
	a.Lease = board.MinLease
	c := r.claimOne(a, "job:1")
	r.conflict(in(sp).Lapsed("job:1", c.Token), 0)
	r.lapsed("job:1")
	r.conflict(in(sp).Lapsed("job:1", c.Token+1), 0)
	r.commit(in(sp).Held("job:1", "me", c.Token)) // nobody has taken it away
	r.commit(in(sp).Lapsed("job:1", c.Token).Release("job:1"))
	r.conflict(in(sp).Lapsed("job:1", c.Token), 0)
	r.conflict(held(c, "me"), 0)
}

func testFree(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Free("job:1").PushLeft("queue:v", "job:1"))
	r.commit(in(sp).Free("job:1"))
	c := r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.conflict(in(sp).Free("job:1"), 0)
	r.commit(in(sp + 1).Free("job:1"))
	r.must(r.Void(r.ctx, "me"))
	r.commit(in(sp).Free("job:1"))
	r.commit(held(c, "me").Release("job:1"))
	r.commit(in(sp).Free("job:1"))
}

func testAlarmGuard(t *testing.T, f Factory) {
	r := open(t, f)
	at := time.UnixMilli(time.Now().Add(time.Hour).UnixMilli())
	r.conflict(in(sp).AlarmAt("a", at), 0)
	r.conflict(in(sp).AlarmAt("a", time.UnixMilli(0)), 0)
	r.commit(in(sp).SetAlarm("a", at))
	r.commit(in(sp).AlarmAt("a", at))
	r.conflict(in(sp).AlarmAt("a", at.Add(time.Millisecond)), 0)
	r.conflict(in(sp).AlarmAt("b", at), 0)
	r.conflict(in(sp+1).AlarmAt("a", at), 0)
	r.commit(in(sp).AlarmAt("a", at).ClearAlarm("a"))
	r.conflict(in(sp).AlarmAt("a", at), 0)
}

func testLength(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Length("l", 0))
	r.conflict(in(sp).Length("l", 1), 0)
	r.commit(in(sp).PushLeft("l", "a", "b", "a").Set("r", set("a", "1")).Include("s", "m").Length("l", 0))
	r.commit(in(sp).Length("l", 3).PushRight("l", "c"))
	for _, n := range []int{0, 3, 5, math.MaxInt} {
		r.conflict(in(sp).Length("l", n), 0)
	}
	r.commit(in(sp).Length("l", 4).Drop("l", "a"))
	r.commit(in(sp).Length("l", 2).Delete("l").PushLeft("l", "x"))
	r.commit(in(sp).Length("l", 1).TrimRight("l", 1))
	r.commit(in(sp).Length("l", 0))
	r.commit(in(sp+1).Length("l", 0))
	r.refused(in(sp).Length("l", -1))
	r.refused(in(sp).Length("r", 0))
	r.refused(in(sp).Length("s", 1))
}

func testItemAt(t *testing.T, f Factory) {
	r := open(t, f)
	r.conflict(in(sp).ItemAt("l", 0, ""), 0)
	r.conflict(in(sp).ItemAt("l", -1, ""), 0)
	r.commit(in(sp).PushRight("l", "a", "", "c\x00\xff").Set("r", set("a", "1")))
	r.commit(in(sp).ItemAt("l", 0, "a").ItemAt("l", 1, "").ItemAt("l", 2, "c\x00\xff"))
	r.commit(in(sp).ItemAt("l", -3, "a").ItemAt("l", -2, "").ItemAt("l", -1, "c\x00\xff"))
	for _, b := range []*board.Batch{
		in(sp).ItemAt("l", 0, ""), in(sp).ItemAt("l", 0, "aa"), in(sp).ItemAt("l", 1, "a"), in(sp).ItemAt("l", 2, "c"),
		in(sp).ItemAt("l", 3, ""), in(sp).ItemAt("l", -4, "a"), in(sp).ItemAt("l", -4, ""), in(sp+1).ItemAt("l", 0, "a"),
		in(sp).ItemAt("l", math.MaxInt, "a"), in(sp).ItemAt("l", math.MinInt, "a"),
	} {
		r.conflict(b, 0)
	}
	// The state before the batch counts, and the first that fails is named.
	r.conflict(in(sp).ItemAt("l", 0, "a").ItemAt("l", -1, "x").Absent("r").PushRight("l", "x"), 1)
	r.commit(in(sp).ItemAt("l", 0, "a").PushLeft("l", "b").TrimRight("l", 1))
	r.wantList(sp, "l", "b", "a", "")
	r.refused(in(sp).ItemAt("r", 0, "a"))
	r.refused(in(sp).Include("s", "m").ItemAt("r", 0, "a"))
}

// testPopStorm has many take items by looking at an end of a list and
// committing against what they saw.
func testPopStorm(t *testing.T, f Factory) {
	r := open(t, f)
	const n = 60
	var all []string
	for i := range n {
		all = append(all, name("item:", i%7)) // most are there several times
	}
	r.commit(in(sp).PushRight("l", all...))
	var mu sync.Mutex
	var got []string
	each(6, func(k int) {
		index, trim := 0, (*board.Batch).TrimLeft
		if k%2 == 0 {
			index, trim = -1, (*board.Batch).TrimRight
		}
		for {
			seen, err := r.List(r.ctx, sp, "l", index, 1)
			if err != nil || len(seen) == 0 {
				if err != nil {
					t.Errorf("list: %v", err)
				}
				return
			}
			switch err := r.Commit(r.ctx, *trim(in(sp).ItemAt("l", index, seen[0]).Add("taken", "n", 1), "l", 1)); {
			case errors.Is(err, domain.ErrConflict): // another was first
			case err != nil:
				t.Errorf("take: %v", err)
				return
			default:
				mu.Lock()
				got = append(got, seen[0])
				mu.Unlock()
			}
		}
	})
	slices.Sort(all)
	slices.Sort(got)
	if !slices.Equal(got, all) {
		t.Fatalf("got %q\nwant %q", got, all)
	}
	r.wantRecord(sp, "taken", name("n=", n))
}

func testGuardOrder(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r", set("a", "1")).PushLeft("l", "x"))
	r.conflict(in(sp).Absent("none").Equal("r", "a", "2").Absent("r").Held("r", "me", 1), 1)
	r.conflict(in(sp).Absent("none").Equal("r", "a", "1").Absent("r").Held("r", "me", 1), 2)
	r.conflict(in(sp).Absent("none").Equal("r", "a", "1").Absent("none").Held("r", "me", 1), 3)
	// A guard that fails hides what is wrong after it.
	r.conflict(in(sp).Absent("r").Equal("l", "a", "1").Set("l", set("a", "1")), 0)
	r.refused(in(sp).Absent("none").Equal("l", "a", "1"))
}

func testGuardsBeforeOps(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r", set("a", "2")).Equal("r", "a", "").Absent("r"))
	r.commit(in(sp).Delete("r").Equal("r", "a", "2"))
	r.wantRecord(sp, "r", "-")
}
