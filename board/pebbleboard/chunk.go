package pebbleboard

import (
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// This file reads the items of lists.

// chunk is a part of a list on disk.
type chunk struct {
	first int64
	items []string
}

// cut takes off what lies at or right of the next chunk or the list's end.
func (ch *chunk) cut(end int64) error {
	n := end - ch.first
	if n > int64(len(ch.items)) {
		return errCorrupt
	}
	ch.items = ch.items[:n]
	return nil
}

func firstOf(key []byte) int64 { return ordered(key[9:]) }

// chunkAt reads the chunk at which an iterator stands.
func chunkAt(it *pebble.Iterator) (ch chunk, err error) {
	v, err := it.ValueAndErr()
	if err != nil {
		return ch, err
	}
	ch.first = firstOf(it.Key())
	ch.items, err = decodeChunk(make([]string, 0, 16), append([]byte(nil), v...))
	return ch, err
}

// chunkIter is an iterator over the chunks of a list that begin in [from, to).
func chunkIter(src pebble.Reader, id uint64, from, to int64) (*pebble.Iterator, error) {
	return src.NewIter(&pebble.IterOptions{LowerBound: appendChunkKey(nil, id, from), UpperBound: appendChunkKey(nil, id, to)})
}

// chunks reads the chunks that hold items [from, to) in the store, the last
// first, until more says no. Items of a chunk beyond the next are cut off.
func (b *Board) chunks(src pebble.Reader, id uint64, from, to int64, more func(chunk) bool) error {
	if from >= to {
		return nil
	}
	it, err := chunkIter(src, id, math.MinInt64, to)
	if err != nil {
		return b.readError(err)
	}
	defer it.Close()
	for ok := it.Last(); ok; ok = it.Prev() {
		ch, err := chunkAt(it)
		if err == nil {
			err = ch.cut(to)
		}
		if err != nil {
			return b.readError(err)
		}
		if !more(ch) || ch.first <= from {
			break
		}
		to = ch.first
	}
	return b.readError(it.Error())
}

// chunksOn is chunks the other way: the first comes first.
func (b *Board) chunksOn(src pebble.Reader, id uint64, from, to int64, more func(chunk) bool) error {
	if from >= to {
		return nil
	}
	it, err := chunkIter(src, id, math.MinInt64, to)
	if err != nil {
		return b.readError(err)
	}
	defer it.Close()
	for ok := it.SeekLT(appendChunkKey(nil, id, from+1)); ok; {
		ch, err := chunkAt(it)
		if err != nil {
			return b.readError(err)
		}
		end := to
		if ok = it.Next(); ok {
			end = firstOf(it.Key())
		}
		if err := ch.cut(end); err != nil {
			return b.readError(err)
		}
		if !more(ch) {
			break
		}
	}
	return b.readError(it.Error())
}

// starts are the chunks in the store that begin in [from, to).
func (b *Board) starts(src pebble.Reader, id uint64, from, to int64) (starts []int64, err error) {
	if from >= to {
		return nil, nil
	}
	it, err := chunkIter(src, id, from, to)
	if err != nil {
		return nil, b.readError(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		starts = append(starts, firstOf(it.Key()))
	}
	return starts, b.readError(it.Error())
}

// restOf reads what a chunk that reaches over the left edge of a list has
// right of it.
func (b *Board) restOf(src pebble.Reader, l *list) (rest []string, err error) {
	err = b.chunksOn(src, l.id, l.left, l.fresh, func(ch chunk) bool {
		if ch.first < l.left {
			rest = ch.items[l.left-ch.first:]
		}
		return false
	})
	return rest, err
}

// walk calls f for the items from the left, with their numbers, until it says
// no. It returns the chunks on disk that it has met.
func (c *committer) walk(l *list, f func(n int64, item string) bool) (starts []int64, err error) {
	for n := l.left; n < min(l.diskLeft, l.fresh); n++ {
		if !f(n, l.added[l.diskLeft-1-n]) {
			return nil, nil
		}
	}
	on := true
	from := max(l.left, l.diskLeft)
	err = c.b.chunksOn(c.b.db, l.id, from, l.fresh, func(ch chunk) bool {
		starts = append(starts, ch.first)
		for k := max(ch.first, from); on && k < ch.first+int64(len(ch.items)); k++ {
			on = f(k, ch.items[k-ch.first])
		}
		return on
	})
	for n := max(l.fresh, l.left); on && err == nil && n < l.right; n++ {
		on = f(n, l.window.at(int(n-l.windowLeft)))
	}
	return starts, err
}

// walkBack is walk from the right.
func (c *committer) walkBack(l *list, f func(n int64, item string) bool) error {
	on := true
	for n := l.right - 1; on && n >= l.windowLeft; n-- {
		on = f(n, l.window.at(int(n-l.windowLeft)))
	}
	from := max(l.left, l.diskLeft)
	if !on {
		return nil
	}
	err := c.b.chunks(c.b.db, l.id, from, l.windowLeft, func(ch chunk) bool {
		for k := ch.first + int64(len(ch.items)) - 1; on && k >= max(ch.first, from); k-- {
			on = f(k, ch.items[k-ch.first])
		}
		return on
	})
	for n := min(l.diskLeft, l.windowLeft) - 1; on && err == nil && n >= l.left; n-- {
		on = f(n, l.added[l.diskLeft-1-n])
	}
	return err
}

// at returns the item with a number that the list has, for a guard.
func (c *committer) at(l *list, n int64) (item string, err error) {
	if n >= l.windowLeft {
		return l.window.at(int(n - l.windowLeft)), nil
	}
	if n < l.diskLeft {
		return l.added[l.diskLeft-1-n], nil
	}
	if c.nearList != l.id || n < c.near.first || n >= c.near.first+int64(len(c.near.items)) {
		err = c.b.chunks(c.b.db, l.id, n, n+1, func(ch chunk) bool {
			c.near, c.nearList = ch, l.id
			return false
		})
		if err != nil {
			return "", err
		}
	}
	return c.near.items[n-c.near.first], nil
}
