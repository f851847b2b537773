package boardtest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/internal/watched"
)

var readTests = []test{
	{"list reads from both ends", testListIndexes},
	{"stat tells kinds and ends of keys", testStat},
	{"members come in order and in pages", testMembersPaging},
	{"live items come oldest first and in pages", testLivePaging},
	{"numbers are never given twice", testNext},
	{"ready follows what is in the queues", testReady},
	{"some fields of records are read without the others", testGetFields},
	{"what is no record keeps no listed record from being read", testListed},
	{"one key of the wrong kind does not spoil the others", testKeyErrors},
	{"durability is one of the four", testDurability},
	{"what was never written reads as nothing", testReadNothing},
}

func testListIndexes(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).PushRight("l", "0", "1", "2", "3", "4"))
	for _, c := range []struct {
		from, n int
		want    string
	}{
		{0, 5, "01234"}, {0, 2, "01"}, {0, 99, "01234"}, {3, 1, "3"}, {3, 9, "34"}, {5, 1, ""}, {99, 1, ""}, {0, 0, ""},
		{-1, 1, "4"}, {-1, 9, "4"}, {-2, 1, "3"}, {-2, 2, "34"}, {-5, 2, "01"}, {-5, 5, "01234"}, {-9, 99, "01234"},
	} {
		got, err := r.List(r.ctx, sp, "l", c.from, c.n)
		r.must(err)
		var all string
		for _, it := range got {
			all += it
		}
		if all != c.want {
			t.Errorf("list from %d, %d items: got %q, want %q", c.from, c.n, all, c.want)
		}
	}
	// After turning over a few times, the ends are still the ends.
	for i := range 50 {
		r.commit(in(sp).Append("l", 7, name("", i)))
	}
	r.wantList(sp, "l", "43", "44", "45", "46", "47", "48", "49")
	n, err := r.Len(r.ctx, sp, "none", "l", "none")
	r.must(err)
	if !slices.Equal(n, []int{0, 7, 0}) {
		t.Errorf("lengths: got %v, want [0 7 0]", n)
	}
}

func testStat(t *testing.T, f Factory) {
	r := open(t, f)
	stat := func(keys ...string) []board.Stat {
		t.Helper()
		got, err := r.Stat(r.ctx, sp, keys...)
		r.must(err)
		if len(got) != len(keys) {
			t.Fatalf("stat of %d keys returned %d", len(keys), len(got))
		}
		return got
	}
	kinds := func(want ...board.Kind) {
		t.Helper()
		for i, s := range stat("r", "queue:v", "s", "none", "job:1", "live", "alarm", "seq") {
			if s != (board.Stat{Kind: want[i]}) {
				t.Errorf("stat of key %d: got %v, want %q", i, s, want[i])
			}
		}
	}
	kinds("", "", "", "", "", "", "", "")
	r.commit(in(sp).Set("r", set("a", "1")).PushLeft("queue:v", "job:1", "job:2").Include("s", "m").
		Live("live", time.UnixMilli(5)).SetAlarm("alarm", time.UnixMilli(1<<42)))
	_, err := r.Next(r.ctx, sp, "seq", 1)
	r.must(err)
	kinds("record", "list", "set", "", "", "", "", "")
	r.claimOne(ask(1, "me", "queue:v"), "job:1") // makes the record
	kinds("record", "list", "set", "", "record", "", "", "")
	r.commit(in(sp).Unset("r", "a").TrimLeft("queue:v", 1).Exclude("s", "m").Delete("job:1"))
	kinds("", "", "", "", "", "", "", "")
	// A key may be again, as another kind.
	r.commit(in(sp).PushLeft("r", "x").Include("queue:v", "x").Set("s", set("a", "1")))
	kinds("list", "set", "record", "", "", "", "", "")

	about := time.Now().Add(time.Hour)
	r.commit(in(sp).Expire("r", time.Hour).Expire("queue:v", 2*time.Hour).Expire("s", time.Hour).Expire("s", 0).Expire("none", time.Hour))
	got := stat("r", "queue:v", "s", "none")
	for i, want := range []time.Time{about, about.Add(time.Hour), {}, {}} {
		if d := got[i].Expires.Sub(want).Abs(); d > time.Minute {
			t.Errorf("end of key %d: got %v, want about %v", i, got[i].Expires, want)
		}
	}
	r.commit(in(sp).Expire("r", time.Millisecond).Expire("queue:v", time.Millisecond))
	for end := time.Now().Add(patience); ; pause() {
		got := stat("r", "queue:v", "s")
		if got[0] == (board.Stat{}) && got[1] == (board.Stat{}) && got[2].Kind == board.KindRecord {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("stat of keys whose time has run out: got %v", got)
		}
	}
	// Many at once are as good as few.
	many := stat(slices.Repeat([]string{"s", "none"}, 300)...)
	for i, s := range many {
		if want := []board.Kind{board.KindRecord, ""}[i%2]; s.Kind != want {
			t.Fatalf("key %d of many: got %v, want %q", i, s, want)
		}
	}
	stat()
	if got, err := r.Stat(r.ctx, 9, "r"); err != nil || len(got) != 1 || got[0] != (board.Stat{}) {
		t.Errorf("stat in a space where nothing is: got %v %v", got, err)
	}
}

func testMembersPaging(t *testing.T, f Factory) {
	r := open(t, f)
	var want []string
	b := in(sp)
	for i := range 250 {
		want = append(want, name("m", (i*7919)%100000))
		b.Include("s", want[i])
	}
	r.commit(b)
	slices.Sort(want)
	for _, page := range []int{1, 7, 249, 250, 1000} {
		var all []string
		for after := ""; ; after = all[len(all)-1] {
			got, err := r.Members(r.ctx, sp, "s", after, page)
			r.must(err)
			if len(got) > page {
				t.Fatalf("page of %d members has %d", page, len(got))
			}
			all = append(all, got...)
			if len(got) < page {
				break
			}
		}
		if !slices.Equal(all, want) {
			t.Fatalf("pages of %d: got %d members, want %d", page, len(all), len(want))
		}
	}
	got, err := r.Members(r.ctx, sp, "s", "m1", 1) // m1 itself is not there
	r.must(err)
	i, _ := slices.BinarySearch(want, "m1")
	if got[0] != want[i] {
		t.Fatalf("member after m1: got %s, want %s", got[0], want[i])
	}
}

func testLivePaging(t *testing.T, f Factory) {
	r := open(t, f)
	var want []board.LiveItem
	b := in(sp)
	for i := range 200 {
		it := board.LiveItem{Item: name("job:", i), At: time.UnixMilli(1_700_000_000_000 + int64(i*31%17))}
		want = append(want, it)
		b.Live(it.Item, it.At)
	}
	r.commit(b)
	r.commit(in(sp).Live("before", time.UnixMilli(1)))
	want = append(want, board.LiveItem{Item: "before", At: time.UnixMilli(1)})
	slices.SortFunc(want, func(a, b board.LiveItem) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		if a.Item < b.Item {
			return -1
		}
		return 1
	})
	for _, page := range []int{1, 9, 201, 1000} {
		var all []board.LiveItem
		var after board.LiveItem
		for {
			got, err := r.Live(r.ctx, sp, after, page)
			r.must(err)
			if len(got) > page {
				t.Fatalf("page of %d live items has %d", page, len(got))
			}
			all = append(all, got...)
			if len(got) < page {
				break
			}
			after = all[len(all)-1]
		}
		if !sameLive(all, want) {
			t.Fatalf("pages of %d: got %v\nwant %v", page, all, want)
		}
	}
	// The last of a page may be settled before the next page is read.
	r.commit(in(sp).Settle(want[9].Item))
	got, err := r.Live(r.ctx, sp, want[9], 1)
	r.must(err)
	if !sameLive(got, want[10:11]) {
		t.Fatalf("after a settled item: got %v, want %v", got, want[10:11])
	}
	for i, it := range want {
		if still, err := board.StillLive(r.ctx, r, sp, it); err != nil || still == (i == 9) {
			t.Fatalf("%v is still live: got %t, %v", it, still, err)
		}
	}
}

func testNext(t *testing.T, f Factory) {
	r := open(t, f)
	for _, c := range []struct{ n, want int64 }{{0, 1}, {1, 1}, {1, 2}, {5, 3}, {0, 8}, {0, 8}, {1, 8}, {1000, 9}, {1, 1009}} {
		got, err := r.Next(r.ctx, sp, "ramet:seq:job", int(c.n))
		r.must(err)
		if got != c.want {
			t.Fatalf("next of %d: got %d, want %d", c.n, got, c.want)
		}
	}
	var mu sync.Mutex
	given := map[int64]bool{}
	each(16, func(i int) {
		for range 25 {
			n := i%3 + 1
			first, err := r.Next(r.ctx, sp, "ramet:seq:other", n)
			if err != nil {
				t.Errorf("next: %v", err)
				return
			}
			mu.Lock()
			for k := range n {
				if given[first+int64(k)] {
					t.Errorf("number %d was given twice", first+int64(k))
				}
				given[first+int64(k)] = true
			}
			mu.Unlock()
		}
	})
	for i := range int64(len(given)) {
		if !given[i+1] {
			t.Fatalf("number %d was left out", i+1)
		}
	}
}

func testReady(t *testing.T, f Factory) {
	r := open(t, f)
	r.wantReady("queue:v")
	r.commit(in(3).PushLeft("queue:v", "a"))
	r.commit(in(1).PushRight("queue:v:p7", "a"))
	r.commit(in(2).PushLeft("queue:v:runner7", "a").PushLeft("msg_out", "m").Append("rhai_tasks:c", 5, "t"))
	r.commit(in(4).PushLeft("other", "a").PushLeft("queue:w", "a"))
	r.wantReady("queue:v", 1, 3)
	r.wantReady("queue:v:runner7", 2)
	r.wantReady("msg_out", 2)
	r.wantReady("rhai_tasks:c", 2)
	r.wantReady("queue:w", 4)
	r.wantReady("other")
	// One list of two becomes empty: something is left.
	r.commit(in(1).PushLeft("queue:v", "b"))
	r.commit(in(1).Drop("queue:v", "b"))
	r.wantReady("queue:v", 1, 3)
	r.commit(in(1).Delete("queue:v:p7"))
	r.wantReady("queue:v", 3)
	r.claimOne(ask(1, "me", "queue:v"), "a")
	r.wantReady("queue:v")
}

func testGetFields(t *testing.T, f Factory) {
	r := open(t, f)
	big := strings.Repeat("x", board.MaxField)
	r.commit(in(sp).Set("r", set("a", "1"), set("b", ""), set("big", big), set("c", "3")).Set("job:1", set("a", "5"), set("big", big)).PushLeft("l", "x"))
	read := func(want string, names []string, keys ...string) {
		t.Helper()
		recs, err := r.GetFields(r.ctx, sp, names, keys...)
		r.must(err)
		var got []string
		for _, rec := range recs {
			got = append(got, fields(rec))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("fields %q of %q: got %q, want %q", names, keys, text, want)
		}
	}
	read("a=1 b= c=3, -, a=5", []string{"c", "none", "b", "a"}, "r", "none", "job:1")
	read(", -, ", []string{"none"}, "r", "none", "job:1")
	read(", -", nil, "r", "none")
	read("", []string{"a"})
	// Many at a time, and more than one call may read of some drivers.
	many := watched.Rounds(600, 30)
	read(strings.Repeat("c=3, ", many-1)+"c=3", []string{"c"}, slices.Repeat([]string{"r"}, many)...)
	// What a claim writes is there at once, also where it is kept elsewhere.
	r.commit(in(sp).PushLeft("queue:v", "job:1"))
	a := ask(1, "me", "queue:v")
	a.Mark = []board.Field{set("status", "started")}
	r.claimOne(a, "job:1")
	read("a=5 attempt=1 lease_owner=me status=started", []string{"a", "status", board.FieldOwner, board.FieldAttempt}, "job:1")
	if _, err := r.GetFields(r.ctx, sp, []string{"a"}, "r", "l"); err == nil {
		t.Error("the fields of a list were read")
	} else {
		r.invalid(err)
	}
}

func testDurability(t *testing.T, f Factory) {
	r := open(t, f)
	all := []board.Durability{board.DurableMemory, board.DurableProcess, board.DurableDisk, board.DurableQuorum}
	if d := r.Durability(); !slices.Contains(all, d) {
		t.Fatalf("durability: got %q, want one of %q", d, all)
	}
}

func testReadNothing(t *testing.T, f Factory) {
	r := open(t, f)
	r.wantRecord(9, "r", "-")
	r.wantList(9, "l")
	r.wantMembers(9, "s")
	r.wantKeys(9, "")
	r.wantReady("queue:none")
	r.wantFree(9, "r")
	if recs, err := r.Get(r.ctx, 9); err != nil || len(recs) != 0 {
		t.Errorf("get of no keys: got %v %v", recs, err)
	}
	if n, err := r.Len(r.ctx, 9); err != nil || len(n) != 0 {
		t.Errorf("lengths of no lists: got %v %v", n, err)
	}
	if live, err := r.Live(r.ctx, 9, board.LiveItem{}, 5); err != nil || len(live) != 0 {
		t.Errorf("live: got %v %v", live, err)
	}
	if at, ok, err := r.AlarmOf(r.ctx, 9, "a"); err != nil || ok {
		t.Errorf("alarm: got %v %v %v", at, ok, err)
	}
	if due, err := r.Due(r.ctx, 5, 0); err != nil || len(due) != 0 {
		t.Errorf("due: got %v %v", due, err)
	}
	if ls, err := r.Expired(r.ctx, 5, 0); err != nil || len(ls) != 0 {
		t.Errorf("expired: got %v %v", ls, err)
	}
	r.must(r.Void(r.ctx, "nobody"))
	r.wantNone(ask(5, "me", "queue:none", "msg_in"))
}

func testKeyErrors(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r1", set("a", "1"), set("b", "2")).PushLeft("list", "x").Include("set", "m").Set("r2", set("b", "3")))
	keys := []string{"r1", "list", "none", "set", "r2"}
	whole, err1 := r.Get(r.ctx, sp, keys...)
	some, err2 := r.GetFields(r.ctx, sp, []string{"a"}, keys...)
	for name, got := range map[string]struct {
		recs []board.Record
		err  error
		b    string // what r1 has there
	}{"Get": {whole, err1, "2"}, "GetFields": {some, err2, ""}} {
		r.invalid(got.err)
		recs, bad, err := board.PerKey(got.recs, got.err)
		if err != nil || len(bad) != 2 {
			t.Fatalf("%s: got %v and %v, want the errors of two keys", name, bad, err)
		}
		for i, text := range map[int]string{1: `"list" is a list, not a record`, 3: `"set" is a set, not a record`} {
			if bad[i] == nil || bad[i].Error() != text || !isInvalid(bad[i]) {
				t.Errorf("%s: key %d: got %v, want %s", name, i, bad[i], text)
			}
		}
		if len(recs) != 5 || recs[0].Get("a") != "1" || recs[0].Get("b") != got.b || recs[1] != nil || recs[2] != nil || recs[3] != nil || recs[4] == nil {
			t.Errorf("%s: got %v", name, recs)
		}
	}
	if recs, bad, err := board.PerKey(r.Get(r.ctx, sp, "r1", "none")); err != nil || bad != nil || len(recs) != 2 {
		t.Errorf("got %v, %v, %v, want no errors", recs, bad, err)
	}
}

func testListed(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r1", set("a", "1"), set("b", "2")).PushLeft("list", "x").Include("set", "m").Set("r2", set("b", "3")))
	got, err := board.Listed(r.ctx, r, sp, []string{"a"}, []string{"r1", "list", "none", "set", "r2"})
	r.must(err)
	if len(got) != 5 || got[0].Get("a") != "1" || got[0].Get("b") != "" || got[1] != nil || got[2] != nil || got[3] != nil || got[4] == nil {
		t.Errorf("got %v", got)
	}
}
