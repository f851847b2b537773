package flow

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Ranges is a set of whole numbers, kept as ranges that neither touch nor
// overlap, in order. As text: "[0,99];[200,399]".
//
// Source: seed 004, "done range".
type Ranges []Range

// Range is the numbers from Start to End, both included.
type Range struct{ Start, End int64 }

// Add puts the numbers of a range in.
func (r Ranges) Add(start, end int64) Ranges {
	if start > end {
		return r
	}
	// The first range that touches or follows.
	i, _ := slices.BinarySearchFunc(r, start, func(a Range, s int64) int {
		if a.End < s && a.End+1 < s {
			return -1
		}
		return 1
	})
	j := i
	for j < len(r) && (r[j].Start <= end || r[j].Start-1 == end) {
		start, end = min(start, r[j].Start), max(end, r[j].End)
		j++
	}
	return slices.Replace(r, i, j, Range{start, end})
}

// Without takes one number out.
func (r Ranges) Without(n int64) Ranges {
	i, found := r.find(n)
	if !found {
		return r
	}
	a := r[i]
	switch {
	case a.Start == a.End:
		return slices.Delete(r, i, i+1)
	case a.Start == n:
		r[i].Start++
	case a.End == n:
		r[i].End--
	default:
		r = slices.Insert(r, i, Range{a.Start, n - 1})
		r[i+1].Start = n + 1
	}
	return r
}

// has reports whether a number is there.
func (r Ranges) has(n int64) bool {
	_, found := r.find(n)
	return found
}

// find is the range that a number is in.
func (r Ranges) find(n int64) (i int, found bool) {
	return slices.BinarySearchFunc(r, n, func(a Range, n int64) int {
		switch {
		case a.End < n:
			return -1
		case a.Start > n:
			return 1
		}
		return 0
	})
}

// all are the numbers, smallest first.
func (r Ranges) all() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, a := range r {
			for n := a.Start; n <= a.End; n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// Count is how many numbers there are.
func (r Ranges) Count() (n int64) {
	for _, a := range r {
		n += a.End - a.Start + 1
	}
	return n
}

// Watermark is the last number up to which none is missing from start on;
// start-1 where start itself is missing.
func (r Ranges) Watermark(start int64) int64 {
	for _, a := range r {
		if a.Start <= start && start <= a.End {
			return a.End
		}
	}
	return start - 1
}

// String is the ranges as text.
func (r Ranges) String() string {
	var b strings.Builder
	for i, a := range r {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteByte('[')
		b.WriteString(strconv.FormatInt(a.Start, 10))
		b.WriteByte(',')
		b.WriteString(strconv.FormatInt(a.End, 10))
		b.WriteByte(']')
	}
	return b.String()
}

// ParseRanges reads such a text.
//
// Errors: [domain.ErrInvalid].
func ParseRanges(text string) (Ranges, error) {
	if text == "" {
		return nil, nil
	}
	var r Ranges
	for part := range strings.SplitSeq(text, ";") {
		inner, ok := strings.CutPrefix(part, "[")
		inner, ok2 := strings.CutSuffix(inner, "]")
		from, to, ok3 := strings.Cut(inner, ",")
		start, err1 := strconv.ParseInt(from, 10, 64)
		end, err2 := strconv.ParseInt(to, 10, 64)
		if !ok || !ok2 || !ok3 || err1 != nil || err2 != nil || start > end {
			return nil, domain.Invalidf("ranges %q: want [start,end];[start,end]", text)
		}
		r = r.Add(start, end)
	}
	return r, nil
}

// MarshalText writes the ranges into JSON.
func (r Ranges) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads them from there.
func (r *Ranges) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRanges(string(text))
	return err
}
