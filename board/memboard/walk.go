package memboard

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has what only somebody asks who walks the whole board.

// Alarms implements [board.Board].
func (b *Board) Alarms(ctx context.Context, after board.Alarm, limit int) ([]board.Alarm, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	last := moment{at: math.MinInt64}
	if after != (board.Alarm{}) {
		last = moment{after.At.UnixMilli(), after.Space, after.Name}
	}
	var out []board.Alarm
	for m := range b.alarms.From(last) {
		if len(out) >= limit {
			break
		}
		if m != last {
			out = append(out, board.Alarm{Space: m.space, Name: m.name, At: time.UnixMilli(m.at)})
		}
	}
	return out, nil
}

// Counters implements [board.Board]. The cursor is the last name of the page before.
func (b *Board) Counters(ctx context.Context, id board.Space, cursor string, limit int) (list []board.Counter, next string, err error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d counters, want 1 or more", limit)
	}
	if _, err := b.lock(ctx); err != nil {
		return nil, "", err
	}
	defer b.mu.Unlock()
	s := b.spaces[id]
	if s == nil {
		return nil, "", nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.counters)) {
		switch {
		case key <= cursor:
		case len(list) == limit:
			return list, list[limit-1].Key, nil
		default:
			list = append(list, board.Counter{Key: key, Last: s.counters[key]})
		}
	}
	return list, "", nil
}

// Spaces implements [board.Board].
func (b *Board) Spaces(ctx context.Context) ([]board.Space, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.spaces)), nil
}

// Snapshot implements [board.Snapshotter]. Nobody holds a lease on it.
func (b *Board) Snapshot(ctx context.Context) (board.Board, error) {
	if _, err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	was := Open()
	for id, s := range b.spaces {
		c := was.space(id)
		for key, e := range s.entries {
			c.put(key, e.copy())
			was.moveExpiry(c, key, c.entries[key], e.expires)
		}
		for name, at := range s.alarms {
			was.putAlarm(c, name, at)
		}
		for item, at := range s.marks {
			c.setMark(item, at)
		}
		maps.Copy(c.counters, s.counters)
	}
	return was, nil
}

var _ board.Snapshotter = (*Board)(nil)

func (e *entry) copy() *entry {
	c := newEntry(e.kind)
	switch e.kind {
	case board.KindRecord:
		for _, f := range e.rec.copy() {
			c.rec.set(f.Name, f.Value)
		}
	case board.KindList:
		for _, item := range e.list.slice(0, e.list.n) {
			c.list.pushRight(item)
		}
	default:
		for m := range e.set.All() {
			c.set.Insert(m)
		}
	}
	return c
}
