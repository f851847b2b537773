package boardtest

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var guardTests = []test{
	{"absent holds only without record, list and set", testAbsent},
	{"equal compares a field, and nothing with empty", testEqual},
	{"held wants owner and token", testHeld},
	{"lapsed wants token and time run out", testLapsed},
	{"free holds without lease", testFree},
	{"alarm guard wants the exact millisecond", testAlarmGuard},
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
