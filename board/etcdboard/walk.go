package etcdboard

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
func (b *Board) Alarms(ctx context.Context, after board.Alarm, limit int) (out []board.Alarm, err error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	last := moment{at: math.MinInt64}
	if after != (board.Alarm{}) {
		last = moment{after.At.UnixMilli(), name{after.Space, after.Name}}
	}
	err = b.read(ctx, func(m *mirror, _ int64) error {
		for a := range m.alarms.From(last) {
			if len(out) >= limit {
				break
			}
			if a != last {
				out = append(out, board.Alarm{Space: a.space, Name: a.key, At: time.UnixMilli(a.at)})
			}
		}
		return nil
	})
	return out, err
}

// Counters implements [board.Board]. A space has few, and all come at once.
func (b *Board) Counters(ctx context.Context, space board.Space, _ string, limit int) (list []board.Counter, next string, err error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d counters, want 1 or more", limit)
	}
	err = b.read(ctx, func(m *mirror, _ int64) error {
		for key, c := range m.cells { // seldom asked for, so there is no index
			last, ok := c.value.(counter)
			if _, n, _ := parseKey(key); ok && n.space == space {
				list = append(list, board.Counter{Key: n.key, Last: int64(last)})
			}
		}
		return nil
	})
	return list, "", err
}

// Spaces implements [board.Board]. A space in which there is an alarm alone has no index
// either, so the keys say it.
func (b *Board) Spaces(ctx context.Context) (list []board.Space, err error) {
	err = b.read(ctx, func(m *mirror, _ int64) error {
		found := maps.Clone(m.spaces)
		for key := range m.cells {
			if room, n, _ := parseKey(key); room != 0 {
				found[n.space] = nil
			}
		}
		list = slices.Sorted(maps.Keys(found))
		return nil
	})
	return list, err
}
