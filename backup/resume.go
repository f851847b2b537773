package backup

import (
	"context"
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/layout"
)

// This file goes on with a copy that was interrupted. It trusts nothing of what lies there:
// what is as it should be stays, all else is written, and both boards are compared in the
// end as after any other copy.

// expiryOff is how far apart the instants may be at which a key expires on both boards.
const expiryOff = 60_000 // ms

// prune removes from a board that was filled half what the other one has not, or not as the
// same kind of thing; of what is no record nothing stays. What is not the load's is
// somebody's, and is left to people, though the other one may have the same key.
//
// Errors: [domain.ErrConflict].
func (l *load) prune(ctx context.Context, from board.Board) error {
	to := l.board
	spaces, err := to.Spaces(ctx)
	if err != nil {
		return err
	}
	for _, s := range spaces {
		if err := l.pruneKeys(ctx, from, s); err != nil {
			return err
		}
		if err := emptyLive(ctx, to, s); err != nil {
			return err
		}
	}
	return emptyAlarms(ctx, to)
}

func (l *load) pruneKeys(ctx context.Context, from board.Board, s board.Space) error {
	to := l.board
	for cursor := ""; ; {
		keys, next, err := to.Keys(ctx, s, "", cursor, board.MaxOps)
		if err != nil {
			return err
		}
		want, err := from.Stat(ctx, s, keys...)
		if err != nil {
			return err
		}
		got, err := to.Stat(ctx, s, keys...)
		if err != nil {
			return err
		}
		batch := board.Batch{Space: s}
		for i, key := range keys {
			if layout.IsRestoring(key) {
				continue
			}
			if err := l.mine(s, key); err != nil {
				return err
			}
			if !stays(key, want[i], got[i]) {
				batch.Delete(key)
			}
		}
		for part := range slices.Chunk(batch.Ops, board.MaxOps) {
			if err := to.Commit(ctx, board.Batch{Space: s, Ops: part}); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// stays reports whether a key may be one that was copied already. Caps come last, for they
// hold up what lets leases run out.
func stays(key string, want, got board.Stat) bool {
	if want.Kind != board.KindRecord || got.Kind != board.KindRecord || key == board.LimitsKey || want.Expires.IsZero() != got.Expires.IsZero() {
		return false
	}
	off := want.Expires.Sub(got.Expires).Milliseconds()
	return want.Expires.IsZero() || max(off, -off) < expiryOff
}

// missing are those of some items of one space that the board has not as they are. A record
// that is otherwise there is removed: what is set would only be added to it.
func (l *load) missing(ctx context.Context, list []item) ([]item, error) {
	var keys []string
	for _, it := range list {
		if it.kind == kindRecord {
			keys = append(keys, it.key)
		}
	}
	if !l.goesOn || len(keys) == 0 {
		return list, nil
	}
	recs, err := board.Readable(l.board.Get(ctx, list[0].space, keys...))
	if err != nil {
		return nil, err
	}
	there, gone := map[string]board.Record{}, board.Batch{Space: list[0].space}
	for i, r := range recs {
		there[keys[i]] = r
	}
	var foreign error // came since the board was looked through
	rest := slices.DeleteFunc(slices.Clone(list), func(it item) bool {
		if it.kind != kindRecord || there[it.key] == nil {
			return false
		}
		has := item{fields: there[it.key]}
		has.canonical()
		if slices.Equal(has.fields, it.fields) {
			return true
		}
		if foreign == nil {
			foreign = l.mine(it.space, it.key)
		}
		gone.Delete(it.key)
		return false
	})
	if foreign != nil {
		return nil, foreign
	}
	if len(gone.Ops) > 0 {
		err = l.board.Commit(ctx, gone)
	}
	return rest, err
}

// displace removes from under the keys of some items what is of a kind that no board has, a
// string of Redis say, where whatever lies there may go: nobody lists it, and nothing could be
// written there. What such a thing has to itself is another program's, and stays.
func (l *load) displace(ctx context.Context, list []item) error {
	if !l.over {
		return nil
	}
	keys := map[board.Space][]string{}
	for _, it := range list {
		if it.kind == kindRecord || it.from == 0 && (it.kind == kindList || it.kind == kindSet) {
			keys[it.space] = append(keys[it.space], it.key)
		}
	}
	for s, keys := range keys {
		stats, err := l.board.Stat(ctx, s, keys...)
		if err != nil {
			return err
		}
		batch := board.Batch{Space: s}
		for i, stat := range stats {
			if stat.Kind == board.KindOther {
				batch.Delete(keys[i])
			}
		}
		for part := range slices.Chunk(batch.Ops, board.MaxOps) {
			if err := l.board.Commit(ctx, board.Batch{Space: s, Ops: part}); err != nil {
				return err
			}
		}
	}
	return nil
}
