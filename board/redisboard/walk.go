package redisboard

import (
	"context"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has what only somebody asks who walks the whole board.

// Alarms implements [board.Board].
func (b *Board) Alarms(ctx context.Context, after board.Alarm, limit int) (out []board.Alarm, err error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d alarms, want 1 or more", limit)
	}
	ms, member := "", ""
	if after != (board.Alarm{}) {
		ms, member = formatInt(after.At.UnixMilli()), decimal(after.Space)+"|"+after.Name
	}
	m, err := b.read(ctx, "walkAlarms", 0, ms, member, strconv.Itoa(limit))
	if err != nil {
		return nil, err
	}
	rows, err := m.AsStrSlice()
	for ; len(rows) >= 2; rows = rows[2:] {
		if space, name, ok := cutMember(rows[0]); ok {
			out = append(out, board.Alarm{Space: space, Name: name, At: instant(rows[1])})
		}
	}
	return out, b.translate(err)
}

// Counters implements [board.Board]. Those of a space come at once.
func (b *Board) Counters(ctx context.Context, space board.Space, _ string, limit int) (list []board.Counter, next string, err error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d counters, want 1 or more", limit)
	}
	m, err := b.read(ctx, "counters", space)
	if err != nil {
		return nil, "", err
	}
	pairs, err := m.AsStrSlice()
	for ; len(pairs) >= 2; pairs = pairs[2:] {
		if last, err := strconv.ParseInt(pairs[1], 10, 64); err == nil {
			list = append(list, board.Counter{Key: pairs[0], Last: last})
		}
	}
	return list, "", b.translate(err)
}

// Spaces implements [board.Board]: space 0, those in which a node has committed
// something, and the contexts, in which only foreign programs may have written.
func (b *Board) Spaces(ctx context.Context) ([]board.Space, error) {
	m, err := b.read(ctx, "spaces", 0)
	if err != nil {
		return nil, err
	}
	parts, err := m.ToArray()
	if err != nil {
		return nil, b.translate(err)
	}
	list := []board.Space{0}
	for _, part := range parts {
		names, err := part.AsStrSlice()
		if err != nil {
			return nil, b.translate(err)
		}
		for _, name := range names {
			if n, err := strconv.ParseUint(name, 10, 32); err == nil {
				list = append(list, board.Space(n))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
