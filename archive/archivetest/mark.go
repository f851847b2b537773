package archivetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

var markTests = []test{
	{"a mark changes only from what it was, and survives", func(t *testing.T, f Factory) {
		r := open(t, f)
		for _, c := range []struct{ was, value, want string }{
			{"", "one", "one"}, {"", "two", "one"}, {"one", "two", "two"}, {"two", "", ""}, {"", "three", "three"},
		} {
			if now, err := r.Mark(r.Context(), "board", c.was, c.value); err != nil || now != c.want {
				t.Errorf("from %q to %q: got %q, %v, want %q", c.was, c.value, now, err, c.want)
			}
		}
		a := f.Reopen(t, r.Archive)
		defer a.Close()
		if all, err := a.Marks(t.Context()); err != nil || !maps.Equal(all, map[string]string{"board": "three"}) {
			t.Errorf("got %v, %v", all, err)
		}
	}},
	{"of those who change a mark at once one does", func(t *testing.T, f Factory) {
		r := open(t, f)
		got := make([]string, 8)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				var err error
				if got[i], err = r.Mark(r.Context(), "board", "", strconv.Itoa(i+1)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if slices.Sort(got); got[0] != got[len(got)-1] || got[0] == "" {
			t.Errorf("got %v, want one value", got)
		}
	}},
	{"the highest ids", func(t *testing.T, f Factory) {
		r := open(t, f)
		if list, err := r.Highest(r.Context()); err != nil || len(list) > 0 {
			t.Errorf("got %v, %v of an empty archive", list, err)
		}
		r.put(job(1, 9, 1000), job(1, 10, 2000), job(1, 2, 3000), job(2, 5, 1000), flow(1, 99, 1000, "b", "x"), flow(1, 100, 1000, "b", "y"))
		list, err := r.Highest(r.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(list, func(a, b archive.Highest) int {
			return cmp.Or(cmp.Compare(a.Context, b.Context), cmp.Compare(a.Kind, b.Kind))
		})
		caller := job(1, 1, 1).Caller
		want := []archive.Highest{{Context: 1, Kind: domain.ArchiveFlow, ID: 100}, {Context: 1, Kind: domain.ArchiveJob, Caller: caller, ID: 10},
			{Context: 2, Kind: domain.ArchiveJob, Caller: caller, ID: 5}}
		if !slices.Equal(list, want) {
			t.Errorf("got %v, want %v", list, want)
		}
	}},
}
