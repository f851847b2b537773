package lib

import (
	"math"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file tells which part of a sequence numbers and ranges mean.

// clip gives the part of a sequence of n items that begins at start and has
// length items. A negative start counts from the end; all is clipped. A start
// past the end gives n, 0.
func clip(n int, start, length int64) (from, count int) {
	switch {
	case start >= int64(n):
		return n, 0
	case start >= 0:
		from = int(start)
	case -start > 0 && -start < int64(n): // not so for the least int, which has no opposite
		from = n + int(start)
	}
	return from, int(min(max(length, 0), int64(n-from)))
}

// place gives the index of item i of n, a negative one counting from the end,
// clipped to the first item; ok is false past the end.
func place(n int, i int64) (at int, ok bool) {
	at, _ = clip(n, i, 0)
	return at, at < n
}

// strictPlace is place without clipping.
func strictPlace(n int, i int64) (at int, ok bool) {
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

// partOf gives start and length of a range of items. In ranges nothing counts
// from the end; a..=b has the item a even when b is less.
func partOf(r *value.Range) (start, length int64) {
	start = max(r.From, 0)
	if r.Inclusive() {
		return start, min(max(r.To, start), math.MaxInt64-1) - start + 1
	}
	return start, max(r.To, start) - start
}

// streamPart is partOf for iterators, where a..=b is empty when b is less.
func streamPart(r *value.Range) (start, length int64) {
	start = max(r.From, 0)
	if r.Inclusive() {
		return start, min(max(r.To, start-1), math.MaxInt64-1) - start + 1
	}
	return start, max(r.To, start) - start
}
