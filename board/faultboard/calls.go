package faultboard

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file sends each call of a board through the faults. Durability, Watch
// and Close are the inner board's own.

// Commit implements [board.Board].
func (b *Board) Commit(ctx context.Context, batch board.Batch) error {
	_, err := change(ctx, b, Call{"commit", &batch}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.Board.Commit(ctx, batch)
	})
	return err
}

// CommitEach implements [board.Board]. It commits batch by batch, so that a
// crash can come between any two. A fault strikes the rest of the call too.
func (b *Board) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = b.Commit(ctx, batches[i])
		if broken(errs[i]) {
			for j := i + 1; j < len(errs); j++ {
				errs[j] = errs[i]
			}
			return errs
		}
	}
	return errs
}

// broken reports whether an error is not about the batch.
func broken(err error) bool {
	return err != nil && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrInvalid)
}

// Claim implements [board.Board].
func (b *Board) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	return change(ctx, b, Call{Name: "claim"}, func(ctx context.Context) ([]board.Claimed, error) {
		return b.Board.Claim(ctx, ask)
	})
}

// Extend implements [board.Board].
func (b *Board) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	return change(ctx, b, Call{Name: "extend"}, func(ctx context.Context) ([]board.Answer, error) {
		return b.Board.Extend(ctx, owner, ttl, held)
	})
}

// Occupy implements [board.Board].
func (b *Board) Occupy(ctx context.Context, space board.Space, item, owner string, ttl time.Duration) (int64, error) {
	return change(ctx, b, Call{Name: "occupy"}, func(ctx context.Context) (int64, error) {
		return b.Board.Occupy(ctx, space, item, owner, ttl)
	})
}

// Void implements [board.Board].
func (b *Board) Void(ctx context.Context, ownerPrefix string) error {
	_, err := change(ctx, b, Call{Name: "void"}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.Board.Void(ctx, ownerPrefix)
	})
	return err
}

// Next implements [board.Board].
func (b *Board) Next(ctx context.Context, space board.Space, key string, n int) (int64, error) {
	return change(ctx, b, Call{Name: "next"}, func(ctx context.Context) (int64, error) {
		return b.Board.Next(ctx, space, key, n)
	})
}

// Expired implements [board.Board].
func (b *Board) Expired(ctx context.Context, limit int, wait time.Duration) ([]board.Lease, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Lease, error) { return b.Board.Expired(ctx, limit, wait) })
}

// Due implements [board.Board].
func (b *Board) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Alarm, error) { return b.Board.Due(ctx, limit, wait) })
}

// Get implements [board.Board].
func (b *Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Record, error) { return b.Board.Get(ctx, space, keys...) })
}

// GetFields implements [board.Board].
func (b *Board) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Record, error) {
		return b.Board.GetFields(ctx, space, fields, keys...)
	})
}

// List implements [board.Board].
func (b *Board) List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error) {
	return read(ctx, b, func(ctx context.Context) ([]string, error) { return b.Board.List(ctx, space, list, from, n) })
}

// Len implements [board.Board].
func (b *Board) Len(ctx context.Context, space board.Space, lists ...string) ([]int, error) {
	return read(ctx, b, func(ctx context.Context) ([]int, error) { return b.Board.Len(ctx, space, lists...) })
}

// Stat implements [board.Board].
func (b *Board) Stat(ctx context.Context, space board.Space, keys ...string) ([]board.Stat, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Stat, error) { return b.Board.Stat(ctx, space, keys...) })
}

// Members implements [board.Board].
func (b *Board) Members(ctx context.Context, space board.Space, set, after string, limit int) ([]string, error) {
	return read(ctx, b, func(ctx context.Context) ([]string, error) { return b.Board.Members(ctx, space, set, after, limit) })
}

// Keys implements [board.Board].
func (b *Board) Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error) {
	keys, err = read(ctx, b, func(ctx context.Context) (keys []string, err error) {
		keys, next, err = b.Board.Keys(ctx, space, prefix, cursor, limit)
		return keys, err
	})
	return keys, next, err
}

// Live implements [board.Board].
func (b *Board) Live(ctx context.Context, space board.Space, after board.LiveItem, limit int) ([]board.LiveItem, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.LiveItem, error) { return b.Board.Live(ctx, space, after, limit) })
}

// LeaseOf implements [board.Board].
func (b *Board) LeaseOf(ctx context.Context, space board.Space, item string) (l board.Lease, ok bool, err error) {
	l, err = read(ctx, b, func(ctx context.Context) (l board.Lease, err error) {
		l, ok, err = b.Board.LeaseOf(ctx, space, item)
		return l, err
	})
	return l, ok && err == nil, err
}

// AlarmOf implements [board.Board].
func (b *Board) AlarmOf(ctx context.Context, space board.Space, name string) (at time.Time, ok bool, err error) {
	at, err = read(ctx, b, func(ctx context.Context) (at time.Time, err error) {
		at, ok, err = b.Board.AlarmOf(ctx, space, name)
		return at, err
	})
	return at, ok && err == nil, err
}

// Ready implements [board.Board].
func (b *Board) Ready(ctx context.Context, group string) ([]board.Space, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Space, error) { return b.Board.Ready(ctx, group) })
}

// Changed implements [board.Board].
func (b *Board) Changed(ctx context.Context, since string) (board.Changes, error) {
	return read(ctx, b, func(ctx context.Context) (board.Changes, error) { return b.Board.Changed(ctx, since) })
}

// Alarms implements [board.Board].
func (b *Board) Alarms(ctx context.Context, after board.Alarm, limit int) ([]board.Alarm, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Alarm, error) { return b.Board.Alarms(ctx, after, limit) })
}

// Counters implements [board.Board].
func (b *Board) Counters(ctx context.Context, space board.Space, cursor string, limit int) (list []board.Counter, next string, err error) {
	list, err = read(ctx, b, func(ctx context.Context) (list []board.Counter, err error) {
		list, next, err = b.Board.Counters(ctx, space, cursor, limit)
		return list, err
	})
	return list, next, err
}

// Spaces implements [board.Board].
func (b *Board) Spaces(ctx context.Context) ([]board.Space, error) {
	return read(ctx, b, func(ctx context.Context) ([]board.Space, error) { return b.Board.Spaces(ctx) })
}
