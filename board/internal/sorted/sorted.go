// Package sorted is a set of values in order, in memory, that drivers of a board
// keep their indexes in.
package sorted

import (
	"iter"
	"slices"
)

// chunkSize bounds the memory moved by one insert: 256 pointers are 2 KiB.
const chunkSize = 256

// Set is a set of distinct values in order, kept as a row of sorted chunks.
// Insert and remove cost O(log n) comparisons and one short copy.
type Set[T any] struct {
	// Compare orders the values; set it before the first is inserted.
	Compare func(a, b T) int
	chunks  [][]T
}

// seek finds the place of v: chunk, index within it, and whether v is there.
// When v is above everything, chunk is len(chunks).
func (s *Set[T]) seek(v T) (chunk, i int, found bool) {
	chunk, _ = slices.BinarySearchFunc(s.chunks, v, func(c []T, v T) int {
		return s.Compare(c[len(c)-1], v)
	})
	if chunk == len(s.chunks) {
		return chunk, 0, false
	}
	i, found = slices.BinarySearchFunc(s.chunks[chunk], v, s.Compare)
	return chunk, i, found
}

// Insert adds v and reports whether it was new.
func (s *Set[T]) Insert(v T) bool {
	c, i, found := s.seek(v)
	if found {
		return false
	}
	if c == len(s.chunks) {
		// Above everything: fill the last chunk, then begin another, so that
		// rising values make full chunks.
		if c == 0 || len(s.chunks[c-1]) == chunkSize {
			s.chunks = append(s.chunks, append(make([]T, 0, 8), v))
			return true
		}
		s.chunks[c-1] = append(s.chunks[c-1], v)
		return true
	}
	if len(s.chunks[c]) == chunkSize {
		half := s.chunks[c][chunkSize/2:]
		s.chunks = slices.Insert(s.chunks, c+1, slices.Clone(half))
		clear(half)
		s.chunks[c] = s.chunks[c][:chunkSize/2]
		if i >= chunkSize/2 {
			c, i = c+1, i-chunkSize/2
		}
	}
	s.chunks[c] = slices.Insert(s.chunks[c], i, v)
	return true
}

// Remove takes v out and reports whether it was there.
func (s *Set[T]) Remove(v T) bool {
	c, i, found := s.seek(v)
	if !found {
		return false
	}
	s.chunks[c] = slices.Delete(s.chunks[c], i, i+1)
	if len(s.chunks[c]) == 0 {
		s.chunks = slices.Delete(s.chunks, c, c+1)
	}
	return true
}

// Empty reports whether there is none.
func (s *Set[T]) Empty() bool { return len(s.chunks) == 0 }

// First returns the smallest value.
func (s *Set[T]) First() (v T, ok bool) {
	if len(s.chunks) == 0 {
		return v, false
	}
	return s.chunks[0][0], true
}

// All yields every value in order.
func (s *Set[T]) All() iter.Seq[T] { return s.walk(0, 0) }

// From yields the values at or above v in order.
func (s *Set[T]) From(v T) iter.Seq[T] {
	c, i, _ := s.seek(v)
	return s.walk(c, i)
}

func (s *Set[T]) walk(c, i int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ; c < len(s.chunks); c, i = c+1, 0 {
			for _, v := range s.chunks[c][i:] {
				if !yield(v) {
					return
				}
			}
		}
	}
}
