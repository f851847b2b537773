package boardtest

import (
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var changedTests = []test{
	{"what is committed is told from a mark on", testChanged},
	{"a refused batch and one without operations change nothing", testChangedRefused},
	{"a change is told after the board was opened anew, or all may have changed", testChangedReopen},
	{"whoever is told can read it", testChangedRead},
}

// changed returns the spaces that were changed since a mark, sorted, and the next
// mark. Beside spaces that must be there others may be: only those asked for are kept.
func (r *rig) changed(since string, of ...board.Space) ([]board.Space, string) {
	r.t.Helper()
	c, err := r.Changed(r.ctx, since)
	r.must(err)
	if c.All {
		r.t.Fatalf("since %q all may have changed; want only some", since)
	}
	var got []board.Space
	for _, s := range of {
		if slices.Contains(c.Spaces, s) {
			got = append(got, s)
		}
	}
	if slices.Contains(c.Spaces, 0) {
		r.t.Error("space 0 was told")
	}
	return got, c.Next
}

// begins is the first mark.
func (r *rig) begins() string {
	r.t.Helper()
	c, err := r.Changed(r.ctx, "")
	r.must(err)
	if !c.All || c.Next == "" {
		r.t.Fatalf("at the beginning got %+v, want that all may have changed, and a mark", c)
	}
	return c.Next
}

// settles is a mark from which on the spaces are not told: a change may be told again,
// for as long as somebody still hears of it.
func (r *rig) settles(since string, of ...board.Space) string {
	r.t.Helper()
	for limit := time.Now().Add(patience); ; {
		again, next := r.changed(since, of...)
		if len(again) == 0 {
			return next
		}
		if since = next; time.Now().After(limit) {
			r.t.Fatalf("changes of %v are told again and again", again)
		}
	}
}

func testChanged(t *testing.T, f Factory) {
	r := open(t, f)
	begin := r.begins()
	for _, b := range []*board.Batch{
		in(1).Set("job:1:1", set("a", "1")),
		in(2).PushLeft("queue:v", "job:1:1"),
		in(3).Live("job:1:1", time.Now()),
		in(4).Include("some", "x"),
		in(0).Set("job:1:1", set("a", "1")),
	} {
		r.commit(b)
	}
	all := []board.Space{1, 2, 3, 4, 5}
	got, next := r.changed(begin, all...)
	if want := all[:4]; !slices.Equal(got, want) {
		t.Fatalf("got %v changed, want %v", got, want)
	}
	next = r.settles(next, all...)
	for i, err := range r.CommitEach(r.ctx, []board.Batch{*in(2).Settle("job:1:1"), *in(5).Set("k", set("a", "1"))}) {
		if err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	if got, _ = r.changed(next, all...); !slices.Equal(got, []board.Space{2, 5}) && !slices.Equal(got, []board.Space{5}) {
		// That a mark is taken away which was not there need not be a change.
		t.Errorf("got %v changed, want 5, and 2 or not", got)
	}
	if got, _ = r.changed(begin, all...); !slices.Equal(got, all) {
		t.Errorf("from the beginning got %v changed, want %v", got, all)
	}
}

func testChangedRefused(t *testing.T, f Factory) {
	r := open(t, f)
	begin := r.begins()
	r.conflict(in(1).Equal("k", "a", "1").Set("k", set("a", "2")), 0)
	r.commit(in(2).Absent("k"))
	if got, _ := r.changed(begin, 1, 2); len(got) != 0 {
		t.Errorf("got %v changed, want none", got)
	}
}

func testChangedReopen(t *testing.T, f Factory) {
	if f.Reopen == nil {
		t.Skip("nothing is left after the process")
	}
	b := f.Open(t)
	c, err := b.Changed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(t.Context(), *in(1).Set("k", set("a", "1"))); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, f.Reopen(t, b))
	c, err = r.Changed(r.ctx, c.Next)
	r.must(err)
	if !c.All && !slices.Contains(c.Spaces, 1) {
		t.Errorf("got %+v, want space 1 or all", c)
	}
	next := r.settles(c.Next, 1)
	r.commit(in(1).Set("k", set("a", "2")))
	if got, _ := r.changed(next, 1); len(got) != 1 {
		t.Error("a change after that was not told")
	}
}

func testChangedRead(t *testing.T, f Factory) {
	r := open(t, f)
	next := r.begins()
	done := make(chan struct{})
	const n = 50
	go func() {
		defer close(done)
		for i := range n {
			r.commit(in(board.Space(1+i%15)).PushLeft("some", "x"))
		}
	}()
	// Who looks only where something is told has seen all in the end.
	seen := map[board.Space]int{}
	look := func() {
		var got []board.Space
		got, next = r.changed(next, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
		for _, s := range got {
			lens, err := r.Len(r.ctx, s, "some")
			r.must(err)
			seen[s] = lens[0]
		}
	}
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		look()
	}
	sum := 0
	for _, k := range seen {
		sum += k
	}
	if sum != n {
		t.Errorf("saw %d of %d pushes", sum, n)
	}
}
