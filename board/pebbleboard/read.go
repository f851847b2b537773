package pebbleboard

import (
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// This file has the reads. They go to the store, past the committer: what
// was answered is in it.

// value reads what lies under a key; a header of kindNone when nothing does.
// The body is the caller's.
func (b *Board) value(src pebble.Reader, id ident, want kind) (h header, body []byte, err error) {
	h, body, closer, err := b.borrow(src, id, want)
	if closer != nil {
		body = slices.Clone(body)
		closer.Close()
	}
	return h, body, err
}

// borrow is value without a copy of the body, which is the store's and good
// until closer is closed; nil: there is none.
func (b *Board) borrow(src pebble.Reader, id ident, want kind) (h header, body []byte, closer io.Closer, err error) {
	v, closer, err := src.Get(appendKey(nil, id))
	if err == pebble.ErrNotFound {
		return header{}, nil, nil, nil
	}
	if err != nil {
		return header{}, nil, nil, b.readError(err)
	}
	if h, body, err = b.opened(v, id, want); h.kind == kindNone {
		closer.Close()
		closer = nil
	}
	return h, body, closer, err
}

// opened takes apart what lies under a key; the zero header is nothing.
func (b *Board) opened(v []byte, id ident, want kind) (h header, body []byte, err error) {
	body, err = h.decode(v)
	switch {
	case err != nil:
		err = b.readError(err)
	case h.kind == kindNone || h.gone(b.clock.now()):
	case h.kind != want:
		err = domain.Invalidf("%q is a %s, not a %s", id.name, h.kind, want)
	default:
		return h, body, nil
	}
	return header{}, nil, err
}

// Get implements [board.Board].
func (b *Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	out := make([]board.Record, len(keys))
	bad, err := b.records(space, keys, func(i int, body []byte, l *lease) error {
		if l == nil { // else it is nobody's alone, and stays as it is
			body = slices.Clone(body)
		}
		fields, err := decodeFields(nil, body)
		if l != nil {
			fields = l.overlay(fields)
		}
		out[i] = fields
		return b.readError(err)
	})
	if err != nil {
		return nil, err
	}
	return out, bad.Err()
}

// GetFields implements [board.Board]. Records lie in one piece, so all of each
// is read, but only what is asked for is copied.
func (b *Board) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	out := make([]board.Record, len(keys))
	var whole []board.Field // room for one record at a time
	bad, err := b.records(space, keys, func(i int, body []byte, l *lease) (err error) {
		if whole, err = decodeFields(whole[:0], body); err != nil {
			return b.readError(err)
		}
		if l != nil {
			whole = l.overlay(whole)
		}
		out[i] = pickFields(whole, fields)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, bad.Err()
}

// records calls f for each record that is there, with its body, which is good until f returns,
// and its lease, where that is only in memory.
//
// What is leased comes first. Of the store the iterator of many keys sees what was there when
// it was made: what is leased no more when its turn came could be from before the call.
//
// Bad are those that cannot be read.
func (b *Board) records(space board.Space, keys []string, f func(i int, body []byte, l *lease) error) (bad board.KeyErrors, err error) {
	cold := make([]int, 0, len(keys))
	for i, key := range keys {
		hot, ok := b.hot.get(ident{space, key})
		if !ok {
			cold = append(cold, i)
		} else if err := bad.Add(i, f(i, hot.body, hot.lease)); err != nil {
			return nil, err
		}
	}
	var find finder
	defer find.close()
	var room []byte
	for n, i := range cold {
		id := ident{space, keys[i]}
		room = appendKey(room[:0], id)
		v, found, err := find.get(b.db, room, len(cold)-n)
		var h header
		var body []byte
		if err = b.readError(err); err == nil && found {
			h, body, err = b.opened(v, id, kindRecord)
		}
		if err == nil && h.kind != kindNone {
			err = f(i, body, nil)
		}
		if err := bad.Add(i, err); err != nil {
			return nil, err
		}
	}
	return bad, nil
}

// pickFields copies those of the named fields that are there.
func pickFields(whole []board.Field, names []string) board.Record {
	some := make(board.Record, 0, len(names))
	for i := range whole {
		if n := slices.Index(names, whole[i].Name); n >= 0 {
			some = append(some, board.Field{Name: names[n], Value: strings.Clone(whole[i].Value)})
		}
	}
	return some
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

// Stat implements [board.Board].
func (b *Board) Stat(ctx context.Context, space board.Space, keys ...string) ([]board.Stat, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	out := make([]board.Stat, len(keys))
	var find finder
	defer find.close()
	for i, key := range keys {
		var err error
		if out[i], err = b.stat(&find, ident{space, key}, len(keys)-i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *Board) stat(find *finder, id ident, n int) (s board.Stat, err error) {
	v, found, err := find.get(b.db, appendKey(nil, id), n)
	if !found || err != nil {
		return s, b.readError(err)
	}
	var h header
	if _, err := h.decode(v); err != nil || h.gone(b.clock.now()) {
		return s, b.readError(err)
	}
	s.Kind = kinds[h.kind]
	if h.expires != 0 {
		s.Expires = time.UnixMilli(h.expires)
	}
	return s, nil
}

// kinds are what the contract calls them.
var kinds = [...]board.Kind{"", board.KindRecord, board.KindList, board.KindSet}

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
	now := b.clock.now()
	for _, ns := range []byte{nsKey, nsQueue} {
		from := prefix
		if cursor != "" {
			inQueues := queue.Is(cursor)
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
			out = g.Spaces()
		}
		return nil
	})
	return out, err
}

// Changed implements [board.Board]. The one process that has the folder open knows
// of every batch since it opened it.
func (b *Board) Changed(ctx context.Context, since string) (board.Changes, error) {
	if err := b.enter(ctx); err != nil {
		return board.Changes{}, err
	}
	defer b.leave()
	return b.recent.Since(since), nil
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
