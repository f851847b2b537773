package pebbleboard_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

// TestLongLists does to lists of thousands of items, with many chunks on
// disk and only a window in memory, what can be done to a list, and compares
// them with slices. Now and then the power is cut.
func TestLongLists(t *testing.T) {
	for seed := range watched.Rounds(6, 1) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			d := &disks{}
			l := &lists{t: t, Rand: rand.New(rand.NewPCG(uint64(seed), 7)), want: map[string][]string{}}
			l.b = d.open(t, vfs.NewCrashableMem())
			for i := range 600 {
				l.step([]string{"queue:v", "plain", "queue:w"}[l.IntN(3)])
				if i%100 == 99 {
					disk := d.cut(l.b, 0, nil)
					if err := l.b.Close(); err != nil {
						t.Fatal(err)
					}
					l.b = d.open(t, disk)
				}
				if i%10 == 9 {
					l.compare()
				}
			}
			l.clean(d)
		})
	}
}

// TestWindowCut cuts a queue off on the left within the part of it that is in
// memory, beyond what a window may have.
func TestWindowCut(t *testing.T) {
	l := &lists{t: t, Rand: rand.New(rand.NewPCG(1, 7)), want: map[string][]string{}}
	l.b = (&disks{}).open(t, vfs.NewCrashableMem())
	defer l.b.Close()
	var have []string
	for round := range 12 {
		items := l.fresh(2000)
		batch := &board.Batch{Space: 1}
		if len(have) > 3000 {
			batch.TrimLeft("queue:v", len(have)-3000+100*round)
			have = have[len(have)-3000+100*round:]
		}
		batch.PushRight("queue:v", items...)
		have = slices.Concat(have, items)
		if err := l.b.Commit(t.Context(), *batch); err != nil {
			t.Fatal(err)
		}
	}
	l.want["queue:v"] = have
	l.compare()
	for len(have) > 0 {
		have = l.claim("queue:v", have, 700)
	}
}

type lists struct {
	*rand.Rand
	t    *testing.T
	b    *pebbleboard.Board
	want map[string][]string
	last int
}

// clean deletes all lists, and looks at what is left of them on the disk.
func (l *lists) clean(d *disks) {
	l.t.Helper()
	for name := range l.want {
		if err := l.b.Commit(l.t.Context(), *(&board.Batch{Space: 1}).Delete(name)); err != nil {
			l.t.Fatal(err)
		}
	}
	disk := d.of[l.b]
	if err := l.b.Close(); err != nil {
		l.t.Fatal(err)
	}
	db, err := pebble.Open("board", &pebble.Options{FS: disk, ReadOnly: true})
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("l"), UpperBound: []byte("m")})
	if err != nil {
		l.t.Fatal(err)
	}
	defer it.Close()
	if it.First() {
		l.t.Fatalf("of lists that are gone, %x is left on the disk", it.Key())
	}
}

// fresh makes n new items, some of which are there already.
func (l *lists) fresh(n int) []string {
	items := make([]string, n)
	for i := range items {
		l.last++
		items[i] = fmt.Sprintf("item:%d", l.last)
		if l.IntN(50) == 0 {
			items[i] = fmt.Sprintf("item:%d", 1+l.IntN(l.last))
		}
	}
	return items
}

func (l *lists) step(name string) {
	l.t.Helper()
	have := l.want[name]
	batch := &board.Batch{Space: 1}
	l.guard(batch, name, have)
	refused := l.IntN(6) == 0
	for range 1 + l.IntN(3) {
		switch n := 1 + l.IntN(700); l.IntN(17) {
		case 0, 1, 2, 3:
			items := l.fresh(n)
			batch.PushLeft(name, slices.Clone(items)...)
			slices.Reverse(items)
			have = slices.Concat(items, have)
		case 4:
			items := l.fresh(n / 10)
			batch.PushRight(name, items...)
			have = slices.Concat(have, items)
		case 5:
			batch.TrimRight(name, n)
			have = slices.Clone(have[:max(0, len(have)-n)])
		case 6:
			items := l.fresh(n / 10)
			most := max(len(have)-n/3, 0)
			batch.Append(name, most, items...)
			have = slices.Concat(have, items)
			have = slices.Clone(have[max(0, len(have)-most):])
		case 7:
			have = l.drop(batch, name, have)
		case 8:
			if l.IntN(8) == 0 {
				batch.Delete(name)
				have = nil
			}
		case 9, 10:
			batch.TrimLeft(name, n)
			have = slices.Clone(have[min(n, len(have)):])
		case 11: // a stack
			items := l.fresh(1 + n%5)
			batch.TrimLeft(name, n%9).PushLeft(name, slices.Clone(items)...)
			slices.Reverse(items)
			have = slices.Concat(items, have[min(n%9, len(have)):])
		case 12, 13:
			have = l.dropSome(batch, name, have)
		default:
			if name != "plain" && len(batch.Ops) == 0 && len(batch.Guards) == 0 && !refused {
				have = l.claim(name, have, n)
			}
		}
	}
	if refused {
		batch.Equal("text", "n", "").Set("text", board.Field{Name: "n", Value: "x"}).Add("text", "n", 1)
		if err := l.b.Commit(l.t.Context(), *batch); !errors.Is(err, domain.ErrInvalid) {
			l.t.Fatalf("adding to a text: got %v, want it refused", err)
		}
		return
	}
	l.want[name] = have
	if err := l.b.Commit(l.t.Context(), *batch); err != nil {
		l.t.Fatal(err)
	}
}

// guard guards, now and then, what is so.
func (l *lists) guard(batch *board.Batch, name string, have []string) {
	if l.IntN(3) > 0 {
		return
	}
	batch.Length(name, len(have))
	for range 3 {
		if len(have) > 0 {
			i := l.IntN(len(have))
			batch.ItemAt(name, i, have[i]).ItemAt(name, i-len(have), have[i])
		}
	}
	in := func() *board.Batch { return &board.Batch{Space: 1} }
	for _, wrong := range []*board.Batch{
		in().Length(name, len(have)+1), in().ItemAt(name, len(have), ""), in().ItemAt(name, -1-len(have), ""),
	} {
		if err := l.b.Commit(l.t.Context(), *wrong); !errors.Is(err, domain.ErrConflict) {
			l.t.Fatalf("%v of %d items: got %v, want a conflict", wrong.Guards[0], len(have), err)
		}
	}
}

// dropSome drops some of a few items from one end or the other.
func (l *lists) dropSome(batch *board.Batch, name string, have []string) []string {
	if len(have) == 0 {
		return have
	}
	item := have[l.IntN(len(have))]
	if l.IntN(3) == 0 {
		item = "none"
	}
	n := l.IntN(5) - 2
	batch.DropSome(name, n, item)
	have = slices.Clone(have)
	if n < 0 {
		slices.Reverse(have)
	}
	left := max(n, -n)
	have = slices.DeleteFunc(have, func(it string) bool {
		if it != item || n != 0 && left == 0 {
			return false
		}
		left--
		return true
	})
	if n < 0 {
		slices.Reverse(have)
	}
	return have
}

func (l *lists) drop(batch *board.Batch, name string, have []string) []string {
	if len(have) == 0 {
		return have
	}
	var items []string
	for range 3 {
		items = append(items, have[l.IntN(len(have))])
	}
	batch.Drop(name, items...)
	return slices.DeleteFunc(slices.Clone(have), func(it string) bool { return slices.Contains(items, it) })
}

// claim takes n items by claims; those that come twice come once.
func (l *lists) claim(name string, have []string, n int) []string {
	l.t.Helper()
	ask := board.Ask{Queues: []board.Queue{{Lists: []string{name}}}, Max: n, Owner: "me", Lease: time.Minute}
	got, err := l.b.Claim(l.t.Context(), ask)
	if err != nil {
		l.t.Fatal(err)
	}
	batch := &board.Batch{Space: 1}
	for i, c := range got {
		for len(have) > 0 && have[len(have)-1] != c.Item { // a double of one leased just before
			if !slices.ContainsFunc(got[:i], func(o board.Claimed) bool { return o.Item == have[len(have)-1] }) {
				l.t.Fatalf("%s: claimed %s, want %s", name, c.Item, have[len(have)-1])
			}
			have = have[:len(have)-1]
		}
		if len(have) == 0 {
			l.t.Fatalf("%s: claimed %s from an empty list", name, c.Item)
		}
		have = have[:len(have)-1]
		batch.Delete(c.Item)
	}
	if len(got) < n { // doubles at the end are gone too
		have = nil
	}
	if err := l.b.Commit(l.t.Context(), *batch); err != nil {
		l.t.Fatal(err)
	}
	return slices.Clone(have)
}

func (l *lists) compare() {
	l.t.Helper()
	for name, want := range l.want {
		from := 0
		if len(want) > 0 {
			from = l.IntN(len(want))
		}
		got, err := l.b.List(l.t.Context(), 1, name, from, 1<<20)
		if err != nil {
			l.t.Fatal(err)
		}
		if !slices.Equal(got, want[from:]) {
			l.t.Fatalf("%s from %d on: got %d items, want %d", name, from, len(got), len(want)-from)
		}
		n, err := l.b.Len(l.t.Context(), 1, name)
		if err != nil || n[0] != len(want) {
			l.t.Fatalf("length of %s: got %v (%v), want %d", name, n, err, len(want))
		}
	}
}

// TestOneOfALongListIsDroppedAtTheNearerEnd: the list of what a silent site has not
// acknowledged may be long, and each message to another is dropped from it.
func TestOneOfALongListIsDroppedAtTheNearerEnd(t *testing.T) {
	b, err := pebbleboard.Open(t.TempDir(), pebbleboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var want []string
	commit := func(batch *board.Batch) (bytes uint64) {
		t.Helper()
		before := pebbleboard.Written(b)
		if err := b.Commit(t.Context(), *batch); err != nil {
			t.Fatal(err)
		}
		return pebbleboard.Written(b) - before
	}
	in := func() *board.Batch { return &board.Batch{Space: 1} }
	for i := range 10_000 {
		want = append(want, fmt.Sprint("message:12:", i))
	}
	all := commit(in().PushRight("l", want...))
	for range 2 {
		for _, n := range []int{1, -1} {
			for _, at := range []int{3, len(want) - 4} {
				if bytes := commit(in().DropSome("l", n, want[at])); bytes > all/10 {
					t.Errorf("drop %d of item %d of %d: %d bytes were written, all are %d", n, at, len(want), bytes, all)
				}
				want = slices.Delete(want, at, at+1)
			}
		}
	}
	got, err := b.List(t.Context(), 1, "l", 0, len(want)+1)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %d items, %v, want the %d that are left, in order", len(got), err, len(want))
	}
}
