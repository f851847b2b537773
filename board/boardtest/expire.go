package boardtest

import (
	"testing"
	"time"
)

var expireTests = []test{
	{"a key is gone at its instant", testExpire},
	{"an expired list is not ready", testExpireQueue},
	{"expiry is taken back, kept by changes, and lost with the key", testExpireKept},
}

// outlive waits until a key that expires after d, set just now, must be gone.
// A board's own clock tells the time: an alarm set there that is due.
func (r *rig) outlive(d time.Duration) {
	r.t.Helper()
	// Store clocks are cut to milliseconds, so a few are left as a margin.
	r.commit(in(15).SetAlarm("clock", time.Now().Add(d+5*time.Millisecond)))
	if got := r.due(1, patience); len(got) != 1 {
		r.t.Fatalf("alarm after %v did not come", d)
	}
	r.commit(in(15).ClearAlarm("clock"))
}

func testExpire(t *testing.T, f Factory) {
	r := open(t, f)
	const ttl = 300 * time.Millisecond
	began := time.Now()
	r.commit(in(sp).Set("r", set("a", "1")).PushLeft("l", "x").Include("s", "x").
		Set("stays", set("a", "1")).Expire("r", ttl).Expire("l", ttl).Expire("s", ttl).Expire("none", ttl))
	early := r.keys(sp, "", 10)
	if d := time.Since(began); d < ttl && len(early) != 4 {
		t.Fatalf("after %v only these keys are left: %q", d, early)
	}
	r.outlive(ttl)
	r.wantRecord(sp, "r", "-")
	r.wantList(sp, "l")
	r.wantMembers(sp, "s")
	r.wantKeys(sp, "", "stays")
	r.commit(in(sp).Absent("r").Absent("l").Absent("s").Equal("r", "a", "").Length("l", 0).Length("r", 0))
	r.conflict(in(sp).ItemAt("l", 0, "x"), 0)
	r.commit(in(sp).TrimLeft("l", 1).DropSome("l", 1, "x").TrimRight("r", 1))
	// What is made anew knows nothing of the old.
	r.commit(in(sp).PushLeft("r", "now a list").Set("l", set("now", "a record")).Include("s", "y"))
	r.wantList(sp, "r", "now a list")
	r.wantMembers(sp, "s", "y")
}

func testExpireQueue(t *testing.T, f Factory) {
	r := open(t, f)
	const ttl = 50 * time.Millisecond
	r.commit(in(sp).PushLeft("queue:v", "job:1").Expire("queue:v", ttl))
	r.commit(in(2).PushLeft("queue:v", "job:2"))
	r.outlive(ttl)
	got := r.claim(ask(5, "me", "queue:v"))
	r.wantItems(got, "job:2")
	r.wantReady("queue:v")
}

func testExpireKept(t *testing.T, f Factory) {
	r := open(t, f)
	ttl := 100 * time.Millisecond
	for { // until both commits come within that: a key that is gone is made anew
		began := time.Now()
		b := in(sp)
		for _, key := range []string{"changed", "taken back", "moved", "made again"} {
			b.Delete(key).Set(key, set("a", "1")).Expire(key, ttl)
		}
		r.commit(b.Set("changed", set("b", "2")).Expire("taken back", 0).Expire("moved", time.Hour).
			Delete("made again").Set("made again", set("b", "2")))
		r.commit(in(sp).Add("changed", "n", 1))
		if time.Since(began) < ttl {
			break
		}
		ttl *= 4
	}
	r.outlive(ttl)
	r.wantKeys(sp, "", "made again", "moved", "taken back")
}
