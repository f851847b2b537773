package memboard

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

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
