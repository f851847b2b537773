package listing_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/listing"
)

const space = 1

// rig is a board with things on it, and how often its records were read.
type rig struct {
	t *testing.T
	board.Board
	read int
}

func newRig(t *testing.T) *rig {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return &rig{t: t, Board: b}
}

func (r *rig) GetFields(ctx context.Context, s board.Space, fields []string, keys ...string) ([]board.Record, error) {
	r.read += len(keys)
	return r.Board.GetFields(ctx, s, fields, keys...)
}

// put writes records that were born at an instant.
func (r *rig) put(born int, keys ...string) {
	r.t.Helper()
	b := board.Batch{Space: space}
	for _, key := range keys {
		b.Set(key, board.Field{Name: "born", Value: strconv.Itoa(born)})
	}
	if err := r.Commit(r.t.Context(), b); err != nil {
		r.t.Fatal(err)
	}
}

// number draws a number and writes a record with it.
func (r *rig) number(born int, name, counter string) {
	r.t.Helper()
	n, err := r.Next(r.t.Context(), space, counter, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	r.put(born, "thing:"+name+strconv.FormatInt(n, 10))
}

func (r *rig) skip(counter string, n int) {
	if _, err := r.Next(r.t.Context(), space, counter, n); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) drop(keys ...string) {
	b := board.Batch{Space: space}
	for _, key := range keys {
		b.Delete(key)
	}
	if err := r.Commit(r.t.Context(), b); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) things(look int) listing.Records {
	return listing.Records{Board: r, Space: space, Prefix: "thing:", Fields: []string{"born"}, Look: look}
}

// all goes through all pages of a list, and calls between after each.
func all(t *testing.T, page func(cursor string) (listing.Page, error), between func(pages int)) (keys []string) {
	t.Helper()
	cursor := ""
	for pages := 1; ; pages++ {
		p, err := page(cursor)
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range p.Records {
			if rec != nil {
				keys = append(keys, p.Keys[i])
			}
		}
		if again, err := page(p.Here); p.Here != "" && (err != nil || !slices.Equal(again.Keys, p.Keys)) {
			t.Fatalf("page %q again: got %v, %v, want %v", p.Here, again.Keys, err, p.Keys)
		}
		if between != nil {
			between(pages)
		}
		if cursor = p.Next; cursor == "" {
			return keys
		}
		if pages > 2000 {
			t.Fatal("the list has no end")
		}
	}
}

func numbered(from, to int) (keys []string) {
	for n := from; n >= to; n-- {
		keys = append(keys, "thing:"+strconv.Itoa(n))
	}
	return keys
}

func newest(r *rig, look int, numbers ...listing.Numbers) func(string) (listing.Page, error) {
	return func(cursor string) (listing.Page, error) {
		return r.things(look).Newest(r.t.Context(), numbers, "born", cursor)
	}
}

func TestTheNewestComesFirst(t *testing.T) {
	one := listing.Numbers{Counter: "seq"}
	for _, look := range []int{1, 3, 7, 500} {
		r := newRig(t)
		for range 25 {
			r.number(0, "", "seq")
		}
		r.put(0, "thing:4000000000", "thing:x", "thing:007") // of another program
		r.put(0, "other:1")
		got := all(t, newest(r, look, one), nil)
		if diff := cmp.Diff(numbered(25, 1), got[:25]); diff != "" {
			t.Errorf("%d a page (-want +got):\n%s", look, diff)
		}
		if diff := cmp.Diff([]string{"thing:007", "thing:4000000000", "thing:x"}, slices.Sorted(slices.Values(got[25:]))); diff != "" {
			t.Errorf("%d a page, the rest (-want +got):\n%s", look, diff)
		}
	}
}

func TestAPageCostsWhatItHas(t *testing.T) {
	r := newRig(t)
	for range 3000 {
		r.number(0, "", "seq")
	}
	page := newest(r, 10, listing.Numbers{Counter: "seq"})
	for cursor, n := "", 0; n < 3; n++ {
		r.read = 0
		p, err := page(cursor)
		if cursor = p.Next; err != nil || len(p.Keys) != 10 || r.read != 10 || p.Looked != 10 {
			t.Errorf("page %d: got %d things, read %d, looked at %d, %v", n, len(p.Keys), r.read, p.Looked, err)
		}
	}
}

func TestBehindALongGapNothingIsMissed(t *testing.T) {
	r := newRig(t)
	for range 5 {
		r.number(0, "", "seq")
	}
	r.skip("seq", 2_000_000)
	r.number(0, "", "seq")
	r.skip("seq", 400)
	r.number(0, "", "seq")
	got := all(t, newest(r, 100, listing.Numbers{Counter: "seq"}), nil)
	if diff := cmp.Diff([]string{"thing:2000407", "thing:2000006"}, got[:2]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(numbered(5, 1), reversed(got[2:])); diff != "" {
		t.Error(diff)
	}
	if r.read > 6000 {
		t.Errorf("%d keys were read for 7 things", r.read)
	}
}

// A board that was restored, or has lost something, gives numbers far beyond.
func TestTheNewestComesFirstOverEpochs(t *testing.T) {
	for _, look := range []int{30, 100, 500} {
		r := newRig(t)
		var want []string
		born := 0
		make := func(name string) {
			born++
			r.number(born, name, "seq:"+name)
			n, _ := r.Next(t.Context(), space, "seq:"+name, 0)
			want = append(want, "thing:"+name+strconv.FormatInt(n-1, 10))
		}
		for epoch := range 3 {
			for range 4 {
				make("1:")
				make("7:")
			}
			if epoch == 1 { // some of its first are gone by now
				r.drop(want[len(want)-8 : len(want)-4]...)
				want = slices.Delete(want, len(want)-8, len(want)-4)
			}
			for _, name := range []string{"1:", "7:", "9:"} { // the last time nothing comes after it
				r.skip("seq:"+name, board.EpochLeap)
			}
		}
		slices.Reverse(want)
		got := all(t, newest(r, look, listing.Numbers{Name: "1:", Counter: "seq:1:"}, listing.Numbers{Name: "7:", Counter: "seq:7:"},
			listing.Numbers{Name: "9:", Counter: "seq:9:"}), nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d a page (-want +got):\n%s", look, diff)
		}
	}
}

func TestSeveralSeriesAreMergedByTheirInstants(t *testing.T) {
	for _, look := range []int{1, 2, 5, 500} {
		r := newRig(t)
		var want []string
		for born := range 40 {
			name := []string{"1:", "7:", "1:", "1:"}[born%4]
			r.number(born, name, "seq:"+name)
			n, _ := r.Next(t.Context(), space, "seq:"+name, 0)
			want = append(want, "thing:"+name+strconv.FormatInt(n-1, 10))
		}
		r.put(0, "thing:9:1") // of nobody who is known
		slices.Reverse(want)
		got := all(t, newest(r, look, listing.Numbers{Name: "1:", Counter: "seq:1:"}, listing.Numbers{Name: "7:", Counter: "seq:7:"},
			listing.Numbers{Name: "8:", Counter: "seq:8:"}), nil)
		if diff := cmp.Diff(append(want, "thing:9:1"), got); diff != "" {
			t.Errorf("%d a page (-want +got):\n%s", look, diff)
		}
	}
}

func TestWhatComesAndGoesMeanwhileHidesNothing(t *testing.T) {
	r := newRig(t)
	for range 60 {
		r.number(0, "", "seq")
	}
	r.put(0, "thing:5000", "thing:6000")
	gone := 60
	page := newest(r, 4, listing.Numbers{Counter: "seq"})
	got := all(t, func(cursor string) (listing.Page, error) { return page(cursor) }, nil)
	if len(got) != 62 {
		t.Fatalf("got %d", len(got))
	}
	seen := map[string]int{}
	cursor := ""
	for {
		p, err := page(cursor)
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range p.Records {
			if rec != nil {
				seen[p.Keys[i]]++
			}
		}
		if gone > 2 { // those that end in 0 go, and new ones come
			r.drop("thing:" + strconv.Itoa(gone/10*10))
			gone -= 2
			r.number(0, "", "seq")
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	for n := range 60 {
		if key := "thing:" + strconv.Itoa(n+1); (n+1)%10 != 0 && seen[key] != 1 {
			t.Errorf("%s came %d times", key, seen[key])
		}
	}
	if seen["thing:5000"] != 1 || seen["thing:6000"] != 1 {
		t.Error("what has no number of the counter was missed")
	}
}

func TestWhatIsAliveComesInItsOrder(t *testing.T) {
	r := newRig(t)
	var want []string
	b := board.Batch{Space: space}
	for i := range 20 {
		key := "thing:" + strconv.Itoa(20-i)
		r.put(i, key)
		b.Live(key, time.UnixMilli(int64(1000+i))).Live("other:"+strconv.Itoa(i), time.UnixMilli(int64(1000+i)))
		want = append(want, key)
	}
	if err := r.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, look := range []int{1, 3, 500} {
		got := all(t, func(cursor string) (listing.Page, error) { return r.things(look).Live(t.Context(), cursor) }, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d a page (-want +got):\n%s", look, diff)
		}
	}
}

func TestALogNamesWhatItIsStillTrueOf(t *testing.T) {
	r := newRig(t)
	entry := func(born int, key string) string { return strconv.Itoa(born) + " " + key }
	log := func(entries ...string) {
		if err := r.Commit(t.Context(), *(&board.Batch{Space: space}).PushRight("log", entries...)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 30 {
		r.put(n, "thing:"+strconv.Itoa(n))
		log(entry(n, "thing:"+strconv.Itoa(n)))
	}
	r.put(99, "thing:7") // it was started again, and ended again
	log("rubbish", "other:1", entry(99, "thing:7"))
	r.drop("thing:8")
	want := []string{"thing:7"}
	for n := 29; n >= 0; n-- {
		if n != 7 && n != 8 {
			want = append(want, "thing:"+strconv.Itoa(n))
		}
	}
	if p, err := r.things(0).Logged(t.Context(), "log", "born", noKey, "e"+strconv.Itoa(1<<40)); err == nil && p.Here != "e33" {
		t.Errorf("a cursor behind the end: got %+v, %v", p.At, err)
	}
	keyOf := func(entry string) (key, value string, ok bool) {
		i := slices.Index([]byte(entry), ' ')
		if i < 0 {
			return "", "", false
		}
		return entry[i+1:], entry[:i], true
	}
	for _, look := range []int{1, 4, 500} {
		got := all(t, func(cursor string) (listing.Page, error) {
			return r.things(look).Logged(t.Context(), "log", "born", keyOf, cursor)
		}, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d a page (-want +got):\n%s", look, diff)
		}
	}
}

func TestAMalformedCursorIsRefused(t *testing.T) {
	r := newRig(t)
	r.number(0, "", "seq")
	for _, bad := range []string{"x", "n1", "n.1.2.3", "n.-1.-1.0", "n.5.4", "n.5.4.x", "nthing.5.4.0", "n.99999999999999999999.1.0", "rq.1.1.0~",
		"n" + string(make([]byte, 5000))} {
		if way, err := listing.WayOf(bad); err == nil && way == listing.WayNewest {
			_, err = newest(r, 5)(bad)
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("cursor %q: got %v", bad, err)
			}
		} else if !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("way of %q: got %v", bad, err)
		}
	}
	for _, bad := range []string{"l", "lx.y", "e", "e-1", "ex"} {
		_, err := r.things(5).Live(t.Context(), bad)
		_, err2 := r.things(5).Logged(t.Context(), "log", "born", nil, bad)
		if !errors.Is(err, domain.ErrInvalid) || !errors.Is(err2, domain.ErrInvalid) {
			t.Errorf("cursor %q: got %v, %v", bad, err, err2)
		}
	}
}

func reversed(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

func noKey(string) (key, value string, ok bool) { return "", "", false }
