package pebbleboard

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has the reads. They go to the store, past the committer: what
// was answered is in it.

// value reads what lies under a key; a header of kindNone when nothing does.
// The body is the caller's.
func (b *Board) value(src pebble.Reader, id ident, want kind) (h header, body []byte, err error) {
	v, closer, err := src.Get(appendKey(nil, id))
	if err == pebble.ErrNotFound {
		return header{}, nil, nil
	}
	if err != nil {
		return header{}, nil, b.readError(err)
	}
	defer closer.Close()
	if body, err = h.decode(v); err != nil {
		return header{}, nil, b.readError(err)
	}
	if h.kind == kindNone || h.gone(time.Now().UnixMilli()) {
		return header{}, nil, nil
	}
	if h.kind != want {
		return header{}, nil, domain.Invalidf("%q is a %s, not a %s", id.name, h.kind, want)
	}
	return h, slices.Clone(body), nil
}

// Get implements [board.Board].
func (b *Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	out := make([]board.Record, len(keys))
	for i, key := range keys {
		rec, err := b.get(ident{space, key})
		if err != nil {
			return nil, err
		}
		out[i] = rec
	}
	return out, nil
}

func (b *Board) get(id ident) (board.Record, error) {
	if hot, ok := b.hot.get(id); ok {
		fields, err := decodeFields(nil, hot.body)
		return hot.lease.overlay(fields), b.readError(err)
	}
	h, body, err := b.value(b.db, id, kindRecord)
	if h.kind == kindNone || err != nil {
		return nil, err
	}
	fields, err := decodeFields(nil, body)
	return fields, b.readError(err)
}

// listAt reads where a list lies; nil: there is none.
func (b *Board) listAt(src pebble.Reader, id ident) (*list, error) {
	h, body, err := b.value(src, id, kindList)
	if h.kind == kindNone || err != nil {
		return nil, err
	}
	l := &list{}
	return l, b.readError(l.decode(body))
}

// List implements [board.Board].
func (b *Board) List(ctx context.Context, space board.Space, name string, from, n int) ([]string, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	src := b.db.NewSnapshot()
	defer src.Close()
	l, err := b.listAt(src, ident{space, name})
	if l == nil || err != nil {
		return nil, err
	}
	if from < 0 {
		from = max(0, l.len()+from)
	}
	n = min(n, l.len()-from)
	if n <= 0 {
		return nil, nil
	}
	out := make([]string, n)
	first := l.left + int64(from)
	err = b.chunks(src, l.id, first, first+int64(n), func(ch chunk) bool {
		for k := max(ch.first, first); k < ch.first+int64(len(ch.items)); k++ {
			out[k-first] = ch.items[k-ch.first]
		}
		return true
	})
	return out, err
}

// Len implements [board.Board].
func (b *Board) Len(ctx context.Context, space board.Space, lists ...string) ([]int, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	out := make([]int, len(lists))
	for i, name := range lists {
		l, err := b.listAt(b.db, ident{space, name})
		if err != nil {
			return nil, err
		}
		if l != nil {
			out[i] = l.len()
		}
	}
	return out, nil
}

// Members implements [board.Board].
func (b *Board) Members(ctx context.Context, space board.Space, name, after string, limit int) ([]string, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d members, want 1 or more", limit)
	}
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	src := b.db.NewSnapshot()
	defer src.Close()
	h, body, err := b.value(src, ident{space, name}, kindSet)
	if h.kind == kindNone || err != nil {
		return nil, err
	}
	var s set
	if err := s.decode(body); err != nil {
		return nil, b.readError(err)
	}
	prefix := appendMember(nil, s.id, "")
	var out []string
	err = b.scan(src, appendMember(nil, s.id, after), afterAll(prefix), func(key, _ []byte) (bool, error) {
		m := string(key[len(prefix):])
		// "" is both a possible member and the word for "from the start".
		if m != after || after == "" {
			out = append(out, m)
		}
		return len(out) < limit, nil
	})
	return out, err
}

// scan calls f for the entries in [from, to) until it says no.
func (b *Board) scan(src pebble.Reader, from, to []byte, f func(key, value []byte) (bool, error)) error {
	it, err := src.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return b.readError(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return b.readError(err)
		}
		if more, err := f(it.Key(), v); !more || err != nil {
			return b.readError(err)
		}
	}
	return b.readError(it.Error())
}

// Keys implements [board.Board]. Queue names lie by themselves and come last;
// the cursor is the last key of the page before.
func (b *Board) Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d keys, want 1 or more", limit)
	}
	if err := b.enter(ctx); err != nil {
		return nil, "", err
	}
	defer b.leave()
	now := time.Now().UnixMilli()
	for _, ns := range []byte{nsKey, nsQueue} {
		from := prefix
		if cursor != "" {
			inQueues := board.IsQueue(cursor)
			if inQueues && ns == nsKey {
				continue
			}
			if inQueues == (ns == nsQueue) {
				from = max(prefix, cursor)
			}
		}
		base := appendSpace(nil, ns, space)
		err := b.scan(b.db, append(base, from...), afterAll(append(base[:5:5], prefix...)), func(key, v []byte) (bool, error) {
			var h header
			if _, err := h.decode(v); err != nil {
				return false, err
			}
			if name := string(key[5:]); h.kind != kindNone && !h.gone(now) && name != cursor {
				keys = append(keys, name)
			}
			return len(keys) <= limit, nil
		})
		if err != nil {
			return nil, "", err
		}
		if len(keys) > limit {
			return keys[:limit], keys[limit-1], nil
		}
	}
	return keys, "", nil
}

// Live implements [board.Board].
func (b *Board) Live(ctx context.Context, space board.Space, after board.LiveItem, limit int) ([]board.LiveItem, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d live items, want 1 or more", limit)
	}
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	s := b.lives.of(space).begin()
	defer s.end()
	fromStart := after == board.LiveItem{}
	from := appendOrdered(appendSpace(nil, nsLive, space), s.from)
	if !fromStart {
		from = append(appendLive(nil, space, after.At.UnixMilli(), after.Item), 0)
	}
	var out []board.LiveItem
	first := int64(math.MaxInt64)
	err := b.scan(b.db, from, afterAll(appendSpace(nil, nsLive, space)), func(key, _ []byte) (bool, error) {
		at := ordered(key[5:])
		first = min(first, at)
		out = append(out, board.LiveItem{Item: string(key[13:]), At: time.UnixMilli(at)})
		return len(out) < limit, nil
	})
	if err == nil && fromStart {
		s.found(first)
	}
	return out, err
}

// Ready implements [board.Board].
func (b *Board) Ready(ctx context.Context, name string) (out []board.Space, err error) {
	err = b.call(ctx, func(c *committer) error {
		if g := c.groups[name]; g != nil {
			for id, t := range g.turns {
				if len(t.lists) > 0 {
					out = append(out, id)
				}
			}
		}
		slices.Sort(out)
		return nil
	})
	return out, err
}

// Next implements [board.Board].
func (b *Board) Next(ctx context.Context, space board.Space, key string, n int) (first int64, err error) {
	if n < 1 {
		return 0, domain.Invalidf("reserve %d numbers of %q, want 1 or more", n, key)
	}
	if err := new(board.Batch).Delete(key).Check(); err != nil { // holds the key to its limits
		return 0, err
	}
	err = b.call(ctx, func(c *committer) error {
		id := ident{space, key}
		last, err := c.counter(id)
		if err != nil {
			return err
		}
		first = last + 1
		c.counters[id] = last + int64(n)
		return nil
	})
	return first, err
}

func (c *committer) counter(id ident) (int64, error) {
	if n, ok := c.counters[id]; ok {
		return n, nil
	}
	c.keyBuf = appendNamed(c.keyBuf[:0], nsCounter, id)
	v, closer, err := c.b.db.Get(c.keyBuf)
	if err == pebble.ErrNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, c.b.readError(err)
	}
	defer closer.Close()
	n, size := binary.Varint(v)
	if size <= 0 {
		return 0, c.b.readError(errCorrupt)
	}
	return n, nil
}

// afterAll returns the first key behind all that begin with prefix.
func afterAll(prefix []byte) []byte {
	end := slices.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
