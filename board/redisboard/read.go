package redisboard

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// read calls one of the reads of lua/read.lua on a space.
func (b *Board) read(ctx context.Context, what string, space board.Space, args ...string) (rueidis.RedisMessage, error) {
	if err := b.checkSpace(space); err != nil {
		return rueidis.RedisMessage{}, err
	}
	m, _, err := b.run(ctx, readScript, append([]string{what, decimal(space)}, args...)...)
	return m, err
}

// maxKeys is how many records one call reads.
const maxKeys = 256

// Get implements [board.Board].
func (b *Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	return b.records(ctx, "get", space, nil, keys)
}

// GetFields implements [board.Board].
func (b *Board) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	return b.records(ctx, "fields", space, append([]string{strconv.Itoa(len(fields))}, fields...), keys)
}

// records reads records, as many at a time as one call may; what to read of
// each stands before the keys.
func (b *Board) records(ctx context.Context, call string, space board.Space, what, keys []string) ([]board.Record, error) {
	out, bad := make([]board.Record, 0, len(keys)), board.KeyErrors(nil)
	for part := range slices.Chunk(keys, maxKeys) {
		m, err := b.read(ctx, call, space, slices.Concat(what, part)...)
		if err != nil {
			return nil, err
		}
		answer, err := m.ToString()
		if err != nil {
			return nil, b.translate(err)
		}
		u := unpacker{in: answer}
		for range u.array() {
			rec, wrong := u.record()
			if wrong != "" {
				_ = bad.Add(len(out), domain.Invalidf("%s", wrong))
			}
			out = append(out, rec)
		}
		if u.err != nil {
			return nil, domain.Unavailablef("redis at %s: %v", b.addr, u.err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, bad.Err()
}

// List implements [board.Board].
func (b *Board) List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error) {
	if n < 1 {
		return nil, ctx.Err()
	}
	m, err := b.read(ctx, "list", space, list, strconv.Itoa(from), strconv.Itoa(n))
	if err != nil {
		return nil, err
	}
	items, err := m.AsStrSlice()
	return items, b.translate(err)
}

// Len implements [board.Board].
func (b *Board) Len(ctx context.Context, space board.Space, lists ...string) ([]int, error) {
	m, err := b.read(ctx, "len", space, lists...)
	if err != nil {
		return nil, err
	}
	return b.ints(m)
}

func (b *Board) ints(m rueidis.RedisMessage) ([]int, error) {
	values, err := m.AsIntSlice()
	out := make([]int, len(values))
	for i, v := range values {
		out[i] = int(v)
	}
	return out, b.translate(err)
}

// Stat implements [board.Board]. The board's own indexes are not there, as for
// Keys.
func (b *Board) Stat(ctx context.Context, space board.Space, keys ...string) ([]board.Stat, error) {
	out := make([]board.Stat, 0, len(keys))
	for part := range slices.Chunk(keys, maxKeys) {
		m, err := b.read(ctx, "stat", space, part...)
		if err != nil {
			return nil, err
		}
		pairs, err := m.ToArray()
		if err != nil || len(pairs) != 2*len(part) {
			return nil, b.translate(err)
		}
		now := time.Now()
		for i, key := range part {
			kind, _ := pairs[2*i].ToString()
			left, _ := pairs[2*i+1].AsInt64()
			out = append(out, stat(key, kind, left, now))
		}
	}
	return out, ctx.Err()
}

// stat is what Redis says of a key: what it holds, and the milliseconds left to
// it (negative: it does not expire).
func stat(key, kind string, left int64, now time.Time) (s board.Stat) {
	if hidden(key) || kind == "zset" && strings.HasPrefix(key, "ramet:") {
		return s
	}
	switch kind {
	case "none":
		return s
	case "hash":
		s.Kind = board.KindRecord
	case "list":
		s.Kind = board.KindList
	case "set":
		s.Kind = board.KindSet
	default:
		s.Kind = board.KindOther
	}
	if left >= 0 {
		s.Expires = now.Add(time.Duration(left) * time.Millisecond)
	}
	return s
}

// Members implements [board.Board]. Redis keeps no order: each page looks
// through the whole set, a part at a time.
func (b *Board) Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d members, want 1 or more", limit)
	}
	var out []string
	for cursor := "0"; ; {
		m, err := b.read(ctx, "members", space, set, cursor)
		if err != nil {
			return nil, err
		}
		page, err := m.AsScanEntry()
		if err != nil {
			return nil, b.translate(err)
		}
		for _, el := range page.Elements {
			// "" is both a possible member and the word for "from the start".
			if el > after || after == "" {
				out = append(out, el)
			}
		}
		if len(out) > 4*limit || page.Cursor == 0 {
			slices.Sort(out)
			out = slices.Compact(out) // a scan may return a member twice
			out = out[:min(limit, len(out))]
		}
		if page.Cursor == 0 {
			return out, nil
		}
		cursor = strconv.FormatUint(page.Cursor, 10)
	}
}

// Keys implements [board.Board]. The cursor is Redis's own.
func (b *Board) Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) ([]string, string, error) {
	if limit < 1 {
		return nil, "", domain.Invalidf("page of %d keys, want 1 or more", limit)
	}
	if cursor == "" {
		cursor = "0"
	}
	pattern := escape(b.prefix(space)+prefix) + "*"
	for {
		m, err := b.read(ctx, "keys", space, cursor, pattern, strconv.Itoa(max(limit, 100)))
		if err != nil {
			return nil, "", err
		}
		parts, err := m.ToArray()
		if err != nil || len(parts) < 2 {
			return nil, "", b.translate(err)
		}
		cursor, _ = parts[0].ToString()
		found, err := parts[1].AsStrSlice()
		if err != nil {
			return nil, "", b.translate(err)
		}
		keys := b.listed(space, found)
		if cursor == "0" {
			return keys, "", nil
		}
		if len(keys) > 0 {
			return keys, cursor, nil
		}
	}
}

// listed are those of some Redis keys that are the space's and not the
// board's own, by their names in the space.
func (b *Board) listed(space board.Space, found []string) []string {
	var keys []string
	for _, key := range found {
		name := strings.TrimPrefix(key, b.prefix(space))
		if s, _ := b.cutPrefix(space, key); b.tenancy == TenancyPrefix && s != space || hidden(name) {
			continue
		}
		keys = append(keys, name)
	}
	return keys
}

// Live implements [board.Board].
func (b *Board) Live(ctx context.Context, space board.Space, after board.LiveItem, limit int) ([]board.LiveItem, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d live items, want 1 or more", limit)
	}
	ms := ""
	if after != (board.LiveItem{}) {
		ms = formatInt(after.At.UnixMilli())
	}
	m, err := b.read(ctx, "live", space, ms, after.Item, strconv.Itoa(limit))
	if err != nil {
		return nil, err
	}
	rows, err := m.AsStrSlice()
	var out []board.LiveItem
	for ; len(rows) >= 2; rows = rows[2:] {
		out = append(out, board.LiveItem{Item: rows[0], At: instant(rows[1])})
	}
	return out, b.translate(err)
}

// Ready implements [board.Board].
func (b *Board) Ready(ctx context.Context, group string) ([]board.Space, error) {
	m, err := b.read(ctx, "ready", 0, append([]string{group}, queue.Lists(group)...)...)
	if err != nil {
		return nil, err
	}
	spaces, err := b.ints(m)
	var out []board.Space
	for _, s := range spaces {
		out = append(out, board.Space(s))
	}
	slices.Sort(out)
	return slices.Compact(out), err
}
