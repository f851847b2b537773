package boardtest

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var limitTests = []test{
	{"keys and names have 1 to 255 bytes and no NUL", testKeyLimits},
	{"a value has up to 1 MiB", testFieldLimit},
	{"a record has up to 4 MiB", testRecordLimit},
	{"a batch has up to 1024 guards and operations", testOpsLimit},
	{"what asks for nonsense is refused", testArguments},
}

func testKeyLimits(t *testing.T, f Factory) {
	r := open(t, f)
	at := time.UnixMilli(5)
	use := func(key string) []*board.Batch {
		return []*board.Batch{
			in(sp).Set(key, set("a", "1")).Delete(key),
			in(sp).Set("r", set(key, "1")).Unset("r", key),
			in(sp).Add("r", key, 1).Unset("r", key),
			in(sp).PushLeft(key, "x").Drop(key, "x"),
			in(sp).Include(key, "x").Exclude(key, "x"),
			in(sp).SetAlarm(key, at).ClearAlarm(key),
			in(sp).Live(key, at).Settle(key),
			in(sp).Absent(key),
			in(sp).Free(key),
			in(sp).Length(key, 0),
			in(sp).PushLeft(key, "x").TrimLeft(key, 1),
			in(sp).Set("r", set("w", "1")).Countdown("r", "w", key, "x").Delete(key),
		}
	}
	for _, key := range []string{"k", strings.Repeat("k", board.MaxKey)} {
		for _, b := range use(key) {
			r.commit(b)
		}
	}
	r.commit(in(sp).Delete("r"))
	for _, key := range []string{"", strings.Repeat("k", board.MaxKey+1), "a\x00b", "\x00"} {
		for _, b := range use(key) {
			r.refused(b)
		}
		_, err := r.Occupy(r.ctx, sp, key, "me", time.Minute)
		r.invalid(err)
		_, err = r.Next(r.ctx, sp, key, 1)
		r.invalid(err)
	}
	r.wantKeys(sp, "")
}

func testFieldLimit(t *testing.T, f Factory) {
	r := open(t, f)
	over := strings.Repeat("x", board.MaxField+1)
	r.refused(in(sp).Set("r", set("a", over)))
	r.refused(in(sp).PushLeft("l", "small", over))
	r.refused(in(sp).PushRight("l", over))
	r.refused(in(sp).Append("l", 5, over))
	r.refused(in(sp).Include("s", over))
	r.refused(in(sp).Set("r", set("n", "1")).Countdown("r", "n", "l", "x", set("a", over)))
	r.wantKeys(sp, "")
	skip(t, f.Features.SmallRecords)
	most := over[1:]
	r.commit(in(sp).Set("r", set("a", most)).PushLeft("l", most))
	if got := r.get(sp, "r").Get("a"); got != most {
		t.Fatalf("field of %d bytes came back with %d", len(most), len(got))
	}
	r.wantList(sp, "l", most)
}

func testRecordLimit(t *testing.T, f Factory) {
	skip(t, f.Features.SmallRecords)
	r := open(t, f)
	mib := strings.Repeat("x", board.MaxField)
	// Four names of one byte each leave the last value four bytes short.
	r.commit(in(sp).Set("r", set("a", mib), set("b", mib)).Set("r", set("c", mib), set("d", mib[4:])))
	r.refused(in(sp).Set("r", set("d", mib[3:])))
	r.refused(in(sp).Set("r", set("e", "")))
	r.refused(in(sp).Add("r", "n", 1))
	r.refused(in(sp).Set("new", set("a", mib), set("b", mib), set("c", mib), set("d", mib)))
	r.commit(in(sp).Set("r", set("a", mib[1:]), set("e", "")))
	if got := r.get(sp, "r"); len(got) != 5 || len(got.Get("d")) != board.MaxField-4 {
		t.Fatalf("got %d fields, d with %d bytes", len(got), len(got.Get("d")))
	}
	r.wantRecord(sp, "new", "-")
}

func testOpsLimit(t *testing.T, f Factory) {
	r := open(t, f)
	b := in(sp)
	for i := range board.MaxOps {
		if i%2 == 0 {
			b.Absent(name("r", i))
			continue
		}
		b.Set(name("r", i), set("a", "1"))
	}
	r.commit(b)
	if got := r.keys(sp, "r", 100); len(got) != board.MaxOps/2 {
		t.Fatalf("got %d records, want %d", len(got), board.MaxOps/2)
	}
	over := in(sp)
	for i := range board.MaxOps + 1 {
		over.Set(name("over", i), set("a", "1"))
	}
	r.refused(over)
	r.wantKeys(sp, "over")
}

func testArguments(t *testing.T, f Factory) {
	r := open(t, f)
	good := ask(1, "me", "queue:v")
	for _, change := range []func(*board.Ask){
		func(a *board.Ask) { a.Max = 0 },
		func(a *board.Ask) { a.Max = board.MaxClaim + 1 },
		func(a *board.Ask) { a.Lease = board.MinLease - 1 },
		func(a *board.Ask) { a.Lease = board.MaxLease + 1 },
		func(a *board.Ask) { a.Owner = "" },
		func(a *board.Ask) { a.Queues = nil },
		func(a *board.Ask) { a.Queues = []board.Queue{{}} },
		func(a *board.Ask) { a.Queues = []board.Queue{{Lists: []string{"nolist"}}} },
		func(a *board.Ask) { a.Queues = []board.Queue{{Lists: []string{"queue:v", "queue:w"}}} },
		func(a *board.Ask) { a.Mark = []board.Field{{}} },
	} {
		bad := good
		change(&bad)
		_, err := r.Claim(r.ctx, bad)
		r.invalid(err)
	}
	for _, ttl := range []time.Duration{0, board.MinLease - 1, board.MaxLease + 1} {
		_, err := r.Extend(r.ctx, "me", ttl, nil)
		r.invalid(err)
		_, err = r.Occupy(r.ctx, sp, "r", "me", ttl)
		r.invalid(err)
	}
	_, err := r.Occupy(r.ctx, sp, "r", "", time.Minute)
	r.invalid(err)
	_, err = r.Next(r.ctx, sp, "n", -1)
	r.invalid(err)
	r.refused(in(sp).Expire("r", -time.Second))
	r.refused(&board.Batch{Space: sp, Ops: []board.Op{{Key: "r"}}})
	r.refused(&board.Batch{Space: sp, Guards: []board.Guard{{Key: "r"}}})
	r.wantKeys(sp, "")
	if got, err := r.Extend(r.ctx, "me", time.Minute, nil); err != nil || len(got) != 0 {
		t.Fatalf("extend of nothing: got %v %v", got, err)
	}
}
