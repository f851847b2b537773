package pebbleboard

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
)

// For tests from outside.

var CheckLogs = checkLogs

// CommitLater commits batches in one group whose clock is ahead.
func CommitLater(ctx context.Context, b *Board, ahead time.Duration, batches ...board.Batch) (errs []error) {
	err := b.call(ctx, func(c *committer) error {
		c.now += ahead.Milliseconds()
		for i := range batches {
			errs = append(errs, c.commit(&batches[i]))
		}
		return nil
	})
	if err != nil {
		return []error{err}
	}
	return errs
}

// Cached is how many bytes of blocks are kept in memory.
func Cached(b *Board) int64 { return b.cache.Metrics().Size }

// Written is how many bytes were written to the log so far.
func Written(b *Board) uint64 { return b.db.Metrics().WAL.BytesIn }

// SetClock sets the machine's clock, as the board sees it.
func SetClock(b *Board, ahead time.Duration) { b.clock.skew.Store(ahead.Milliseconds()) }
