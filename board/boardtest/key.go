package boardtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

var keyTests = []test{
	{"odd keys are keys like others", testOddKeys},
	{"odd prefixes are taken literally", testOddPrefixes},
	{"values are any bytes", testOddValues},
	{"spaces do not see each other", testSpacesApart},
	{"paging shows every key that stays", testKeysPaging},
	{"keys lists what exists and nothing else", testKeysExact},
}

// oddKeys means something to somebody: to Redis, to globs, to paths, to SQL.
var oddKeys = []string{
	" ", " a", "a ", "a b", ":", "::", "a:b:c", "a::b", "*", "a*", "?", "a?b", "[", "]", "[a-z]", "[^a]",
	`\`, `\*`, `a\`, `a\?b`, "a/b", "/", "..", "%", "%s", "%00", "{a}", "{", "'", `"`, "`", "$", "$(x)", "#", "-", "--",
	"\n", "a\r\nb", "\t", "\x01", "\x7f", "\xff", "\xfe\xff", "a\xffb", "ä", "日本語", "🦔", "e\u0301", "\u202e",
	"0", "1", "-1", "00", "true", "nil", "NULL", "ctx:1:r", "ramet:leases2", "\\x00", "~", "!", "@", "&", "|", ";", "<", ">", "=",
}

func testOddKeys(t *testing.T, f Factory) {
	r := open(t, f)
	for i, key := range oddKeys {
		r.commit(in(sp).Absent(key).Set(key, set("n", name("", i))).SetAlarm(key, time.UnixMilli(int64(i))).Live(key, time.UnixMilli(int64(i))))
	}
	for i, key := range oddKeys {
		r.wantRecord(sp, key, name("n=", i))
		r.commit(in(sp).Equal(key, "n", name("", i)).AlarmAt(key, time.UnixMilli(int64(i))))
		r.commit(in(sp).Set("fields", set(key, key)).Include("set", key).PushRight("queue:"+key, key))
		if v := r.get(sp, "fields").Get(key); v != key {
			t.Fatalf("field %q: got %q", key, v)
		}
		r.wantReady(queue.Group("queue:"+key), sp)
		c := r.claimOne(ask(1, "the "+key, "queue:"+key), key)
		r.commit(held(c, "the "+key).Release(key))
	}
	want := slices.Sorted(slices.Values(oddKeys))
	got, err := r.Members(r.ctx, sp, "set", "", 1000)
	r.must(err)
	if !slices.Equal(got, want) {
		t.Errorf("members: got %q\nwant %q", got, want)
	}
	due, err := r.Due(r.ctx, 1000, 0)
	r.must(err)
	if len(due) != len(oddKeys) {
		t.Errorf("got %d alarms due, want %d", len(due), len(oddKeys))
	}
	for _, a := range due {
		r.commit(in(a.Space).AlarmAt(a.Name, a.At).ClearAlarm(a.Name).Settle(a.Name).Delete(a.Name))
	}
	r.commit(in(sp).Delete("set").Delete("fields"))
	r.wantKeys(sp, "")
}

func testOddPrefixes(t *testing.T, f Factory) {
	r := open(t, f)
	keys := slices.Clone(oddKeys)
	for _, key := range oddKeys {
		keys = append(keys, key+"1", "x"+key, key+key)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	var batches []board.Batch
	for _, key := range keys {
		batches = append(batches, *in(sp).Set(key, set("a", "1")))
	}
	r.commitAll(batches)
	for _, prefix := range append(slices.Clone(oddKeys), "", "x", "none") {
		var want []string
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		if got := r.keys(sp, prefix, 50); !slices.Equal(got, want) {
			t.Errorf("keys with prefix %q: got %q, want %q", prefix, got, want)
		}
	}
}

func testOddValues(t *testing.T, f Factory) {
	r := open(t, f)
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	values := append([]string{"", "\x00", "\x00\x00", string(all[:])}, oddKeys...)
	for _, v := range values {
		r.commit(in(sp).Set("r", set("v", v)).Delete("l").PushLeft("l", v, v).Delete("s").Include("s", v))
		if got, ok := r.get(sp, "r").Lookup("v"); got != v || !ok {
			t.Errorf("field: got %q, want %q", got, v)
		}
		r.wantList(sp, "l", v, v)
		r.wantMembers(sp, "s", v)
		r.commit(in(sp).Equal("r", "v", v).Drop("l", v).Exclude("s", v))
		r.wantKeys(sp, "", "r")
	}
}

func testSpacesApart(t *testing.T, f Factory) {
	r := open(t, f)
	at := time.UnixMilli(5)
	for s := range board.Space(4) {
		r.commit(in(s).Absent("r").Set("r", set("n", name("", int(s)))).PushLeft("l", name("", int(s))).
			Include("s", name("", int(s))).SetAlarm("a", at).Live("r", at).PushLeft("queue:v", "r"))
	}
	r.commit(in(2).Delete("r").Delete("l").Delete("s").ClearAlarm("a"))
	for s := range board.Space(4) {
		if s == 2 {
			r.wantKeys(s, "", "queue:v")
			continue
		}
		n := name("", int(s))
		r.wantRecord(s, "r", "n="+n)
		r.wantList(s, "l", n)
		r.wantMembers(s, "s", n)
		r.wantKeys(s, "", "l", "queue:v", "r", "s")
		r.commit(in(s).AlarmAt("a", at))
	}
	first, err := r.Next(r.ctx, 1, "seq", 5)
	r.must(err)
	other, err := r.Next(r.ctx, 2, "seq", 1)
	r.must(err)
	if first != 1 || other != 1 {
		t.Fatalf("first numbers in two spaces: got %d and %d, want 1 and 1", first, other)
	}
}

func testKeysPaging(t *testing.T, f Factory) {
	r := open(t, f)
	const stay = 300
	var batches []board.Batch
	for i := range stay {
		batches = append(batches, *in(sp).Set(name("stay:", i), set("a", "1")))
	}
	r.commitAll(batches)
	// While pages are read, other keys come and go.
	seen := map[string]bool{}
	for cursor, page := "", 0; ; page++ {
		got, next, err := r.Keys(r.ctx, sp, "stay:", cursor, 20)
		r.must(err)
		for _, key := range got {
			seen[key] = true
		}
		if next == "" {
			break
		}
		if page > 50*stay {
			t.Fatalf("%d pages of keys and no end", page)
		}
		cursor = next
		r.commit(in(sp).Set(name("stay:guest", page), set("a", "1")).Delete(name("stay:guest", page-3)).PushLeft(name("l", page), "x"))
	}
	for i := range stay {
		if !seen[name("stay:", i)] {
			t.Errorf("key %s was never listed", name("stay:", i))
		}
	}
}

func testKeysExact(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r", set("a", "1")).PushLeft("queue:v", "job:1").Include("s", "m").
		SetAlarm("alarm", time.UnixMilli(1<<42)).Live("live", time.UnixMilli(5)).Expire("r", time.Hour))
	_, err := r.Occupy(r.ctx, sp, "routine", "me", time.Minute)
	r.must(err)
	r.wantKeys(sp, "", "queue:v", "r", "routine", "s")
	r.claimOne(ask(1, "me", "queue:v"), "job:1")
	r.wantKeys(sp, "", "job:1", "r", "routine", "s")
	r.wantKeys(sp, "r", "r", "routine")
	r.wantKeys(sp, "ro", "routine")
	r.wantKeys(sp, "routine1")
	r.wantKeys(sp+1, "")
	// A page may be larger than asked for, never endless.
	got, next, err := r.Keys(r.ctx, sp, "s", "", 1000)
	r.must(err)
	if len(got) != 1 || next != "" {
		// Some drivers need another page to see the end.
		rest := r.keys(sp, "s", 1000)
		if !slices.Equal(rest, []string{"s"}) {
			t.Fatalf("keys: got %q then %q", got, rest)
		}
	}
}
