package memboard

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestSorted compares the container with a plain slice under random changes.
func TestSorted(t *testing.T) {
	for _, span := range []int{10, 1000, 100000} {
		r := rand.New(rand.NewPCG(uint64(span), 0))
		s := sorted[int]{compare: cmp.Compare[int]}
		var want []int
		for range 6000 {
			v := r.IntN(span)
			i, found := slices.BinarySearch(want, v)
			if r.IntN(3) > 0 {
				if got := s.insert(v); got == found {
					t.Fatalf("insert %d: new is %v", v, got)
				}
				if !found {
					want = slices.Insert(want, i, v)
				}
				continue
			}
			if got := s.remove(v); got != found {
				t.Fatalf("remove %d: there is %v", v, got)
			}
			if found {
				want = slices.Delete(want, i, i+1)
			}
		}
		if got := slices.Collect(s.all()); !slices.Equal(got, want) {
			t.Fatalf("span %d: got %d values, want %d", span, len(got), len(want))
		}
		for range 200 {
			v := r.IntN(span)
			i, _ := slices.BinarySearch(want, v)
			if got := slices.Collect(s.from(v)); !slices.Equal(got, want[i:]) {
				t.Fatalf("from %d: got %d values, want %d", v, len(got), len(want[i:]))
			}
		}
		for _, v := range slices.Clone(want) {
			if first, ok := s.first(); !ok || first != v {
				t.Fatalf("first: got %d %v, want %d", first, ok, v)
			}
			s.remove(v)
		}
		if !s.empty() {
			t.Fatal("not empty after removing everything")
		}
	}
}

// TestDeque compares the ring buffer with a plain slice under random changes.
func TestDeque(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	var d deque
	var want []string
	for i := range 20000 {
		v, grow := strconv.Itoa(i), (i/2000)%2 == 0 // grows and drains in turn
		switch k := r.IntN(6); {
		case k == 0 || grow && k < 3:
			d.pushLeft(v)
			want = slices.Insert(want, 0, v)
		case k == 1 || grow:
			d.pushRight(v)
			want = append(want, v)
		case len(want) == 0:
		case k%2 == 0:
			if got := d.popLeft(); got != want[0] {
				t.Fatalf("pop left: got %s, want %s", got, want[0])
			}
			want = want[1:]
		default:
			if got := d.popRight(); got != want[len(want)-1] {
				t.Fatalf("pop right: got %s, want %s", got, want[len(want)-1])
			}
			want = want[:len(want)-1]
		}
		if d.n != len(want) {
			t.Fatalf("length: got %d, want %d", d.n, len(want))
		}
	}
	if got := d.slice(0, d.n); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}
