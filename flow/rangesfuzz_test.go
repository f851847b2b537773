package flow_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// FuzzRanges: ranges that are read are in order, apart from each other, written so
// that they are read the same, and adding one adds what is in it and no more.
func FuzzRanges(f *testing.F) {
	for _, s := range []string{"", "[1,3]", "[1,3];[5,5]", "[5,5];[1,3];[4,4]", "[-9223372036854775808,9223372036854775807]",
		"[9223372036854775807,9223372036854775807];[1,2]", "[2,1]", "[1,2]]", "[+1,02]", "[1,2];", "[5,10];[1,9223372036854775807]",
		"[5,10];[-9223372036854775808,1]"} {
		f.Add(s, int64(4), int64(4))
	}
	f.Add("[1,1]", int64(math.MaxInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, text string, start, end int64) {
		r, err := flow.ParseRanges(text)
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v, want one of kind invalid", text, err)
			}
			return
		}
		check := func(r flow.Ranges) {
			for i, a := range r {
				if a.Start > a.End || i > 0 && (r[i-1].End >= a.Start || r[i-1].End+1 >= a.Start) {
					t.Errorf("%q makes %v", text, r)
				}
			}
		}
		check(r)
		if again, err := flow.ParseRanges(r.String()); err != nil || again.String() != r.String() {
			t.Errorf("%q is %v, and again %v, %v", text, r, again, err)
		}
		if start > end {
			return
		}
		has := func(r flow.Ranges, n int64) bool {
			for _, a := range r {
				if a.Start <= n && n <= a.End {
					return true
				}
			}
			return false
		}
		before := r.String()
		more := r.Add(start, end)
		check(more)
		for _, n := range []int64{start, end, start - 1, end + 1, 0, math.MinInt64, math.MaxInt64} {
			was, err := flow.ParseRanges(before)
			if want := has(was, n) || start <= n && n <= end; err != nil || has(more, n) != want {
				t.Errorf("%s and [%d,%d] is %v: it has %d: %v", before, start, end, more, n, !want)
			}
		}
	})
}
