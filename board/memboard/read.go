package memboard

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Get implements [board.Board].
func (b *Board) Get(ctx context.Context, id board.Space, keys ...string) ([]board.Record, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	out, bad := make([]board.Record, len(keys)), board.KeyErrors(nil)
	for i, key := range keys {
		e, err := b.spaces[id].lookup(key, board.KindRecord)
		if err := bad.Add(i, err); err != nil {
			return nil, err
		}
		if e != nil {
			out[i] = e.rec.copy()
		}
	}
	return out, bad.Err()
}

// GetFields implements [board.Board].
func (b *Board) GetFields(ctx context.Context, id board.Space, fields []string, keys ...string) ([]board.Record, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	out, bad := make([]board.Record, len(keys)), board.KeyErrors(nil)
	for i, key := range keys {
		e, err := b.spaces[id].lookup(key, board.KindRecord)
		if err := bad.Add(i, err); err != nil {
			return nil, err
		}
		if e != nil {
			out[i] = e.rec.some(fields)
		}
	}
	return out, bad.Err()
}

// List implements [board.Board].
func (b *Board) List(ctx context.Context, id board.Space, list string, from, n int) ([]string, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	e, err := b.spaces[id].lookup(list, board.KindList)
	if e == nil {
		return nil, err
	}
	if from < 0 {
		from = max(0, e.list.n+from)
	}
	n = min(n, e.list.n-from)
	if n <= 0 {
		return nil, nil
	}
	return e.list.slice(from, n), nil
}

// Len implements [board.Board].
func (b *Board) Len(ctx context.Context, id board.Space, lists ...string) ([]int, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	out := make([]int, len(lists))
	for i, list := range lists {
		e, err := b.spaces[id].lookup(list, board.KindList)
		if err != nil {
			return nil, err
		}
		if e != nil {
			out[i] = e.list.n
		}
	}
	return out, nil
}

// Stat implements [board.Board].
func (b *Board) Stat(ctx context.Context, id board.Space, keys ...string) ([]board.Stat, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	out := make([]board.Stat, len(keys))
	s := b.spaces[id]
	if s == nil {
		return out, nil
	}
	for i, key := range keys {
		e := s.entries[key]
		if e == nil {
			continue
		}
		out[i].Kind = e.kind
		if e.expires != 0 {
			out[i].Expires = time.UnixMilli(e.expires)
		}
	}
	return out, nil
}

// Members implements [board.Board].
func (b *Board) Members(ctx context.Context, id board.Space, set, after string, limit int) ([]string, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d members, want 1 or more", limit)
	}
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	e, err := b.spaces[id].lookup(set, board.KindSet)
	if e == nil {
		return nil, err
	}
	var out []string
	for m := range e.set.From(after) {
		if len(out) >= limit {
			break
		}
		// "" is both a possible member and the word for "from the start".
		if m != after || after == "" {
			out = append(out, m)
		}
	}
	return out, nil
}

// Keys implements [board.Board]. The cursor is the last key of the page
// before; order is lexical.
func (b *Board) Keys(ctx context.Context, id board.Space, prefix, cursor string, limit int) ([]string, string, error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d keys, want 1 or more", limit)
	}
	if _, err := b.lock(ctx); err != nil {
		return nil, "", err
	}
	defer b.mu.Unlock()
	s := b.spaces[id]
	if s == nil {
		return nil, "", nil
	}
	var keys []string
	for key := range s.keys.From(max(prefix, cursor)) {
		switch {
		case !strings.HasPrefix(key, prefix):
			return keys, "", nil
		case key == cursor:
		case len(keys) == limit:
			return keys, keys[limit-1], nil
		default:
			keys = append(keys, key)
		}
	}
	return keys, "", nil
}

// Live implements [board.Board].
func (b *Board) Live(ctx context.Context, id board.Space, after board.LiveItem, limit int) ([]board.LiveItem, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d live items, want 1 or more", limit)
	}
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	s := b.spaces[id]
	if s == nil {
		return nil, nil
	}
	last := mark{at: math.MinInt64}
	if after != (board.LiveItem{}) {
		last = mark{after.At.UnixMilli(), after.Item}
	}
	var out []board.LiveItem
	for m := range s.live.From(last) {
		if len(out) >= limit {
			break
		}
		if m != last {
			out = append(out, board.LiveItem{Item: m.item, At: time.UnixMilli(m.at)})
		}
	}
	return out, nil
}

// Ready implements [board.Board].
func (b *Board) Ready(ctx context.Context, name string) ([]board.Space, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	var out []board.Space
	if g := b.groups[name]; g != nil {
		out = g.Spaces()
	}
	return out, nil
}

// Changed implements [board.Board].
func (b *Board) Changed(ctx context.Context, since string) (board.Changes, error) {
	if _, err := b.lock(ctx); err != nil {
		return board.Changes{}, err
	}
	defer b.mu.Unlock()
	return b.recent.Since(since), nil
}

// Next implements [board.Board].
func (b *Board) Next(ctx context.Context, id board.Space, key string, n int) (int64, error) {
	if n < 0 {
		return 0, domain.Invalidf("reserve %d numbers of %q, want 1 or more, or 0 to see which comes next", n, key)
	}
	if err := new(board.Batch).Delete(key).Check(); err != nil { // holds the key to its limits
		return 0, err
	}
	if _, err := b.lock(ctx); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	s := b.space(id)
	first := s.counters[key] + 1
	s.counters[key] += int64(n)
	return first, nil
}
