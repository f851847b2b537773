package sorted_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ramet-run/ramet/board/internal/sorted"
)

// TestSorted compares the container with a plain slice under random changes.
func TestSorted(t *testing.T) {
	for _, span := range []int{10, 1000, 100000} {
		r := rand.New(rand.NewPCG(uint64(span), 0))
		s := sorted.Set[int]{Compare: cmp.Compare[int]}
		var want []int
		for range 6000 {
			v := r.IntN(span)
			i, found := slices.BinarySearch(want, v)
			if r.IntN(3) > 0 {
				if got := s.Insert(v); got == found {
					t.Fatalf("insert %d: new is %v", v, got)
				}
				if !found {
					want = slices.Insert(want, i, v)
				}
				continue
			}
			if got := s.Remove(v); got != found {
				t.Fatalf("remove %d: there is %v", v, got)
			}
			if found {
				want = slices.Delete(want, i, i+1)
			}
		}
		if got := slices.Collect(s.All()); !slices.Equal(got, want) {
			t.Fatalf("span %d: got %d values, want %d", span, len(got), len(want))
		}
		for range 200 {
			v := r.IntN(span)
			i, _ := slices.BinarySearch(want, v)
			if got := slices.Collect(s.From(v)); !slices.Equal(got, want[i:]) {
				t.Fatalf("from %d: got %d values, want %d", v, len(got), len(want[i:]))
			}
		}
		for _, v := range slices.Clone(want) {
			if first, ok := s.First(); !ok || first != v {
				t.Fatalf("first: got %d %v, want %d", first, ok, v)
			}
			s.Remove(v)
		}
		if !s.Empty() {
			t.Fatal("not empty after removing everything")
		}
	}
}
