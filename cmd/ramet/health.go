package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/layout"
)

const (
	// checkTime bounds one look at the board.
	checkTime = 5 * time.Second
	// checkKept is how long what a look wrote stays.
	checkKept = time.Hour
)

// boardCheck looks whether the board can be written to: one that is full still
// answers what is read. Everybody may ask, so it is looked at once at a time, for
// all who had come before the look began.
func boardCheck(b board.Board, node string) func(ctx context.Context) error {
	turn := make(chan struct{}, 1) // held by who looks
	var begun atomic.Int64         // looks so far
	var last error                 // what the last look found
	return func(ctx context.Context) error {
		came := begun.Load()
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-turn }()
		if begun.Load() > came {
			return last
		}
		begun.Add(1)
		// Not ended by who asked and went: others wait for the answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
		defer cancel()
		var write board.Batch
		write.Set(layout.Health, board.Field{Name: layout.HealthNode, Value: node}).Expire(layout.Health, checkKept)
		last = b.Commit(ctx, write)
		return last
	}
}

// evictionsOf is how to ask a board what its store throws away; nil: it throws
// nothing away.
func evictionsOf(b board.Board) func(ctx context.Context) ([]string, error) {
	if l, may := b.(interface {
		Evictions(ctx context.Context) ([]string, error)
	}); may {
		return l.Evictions
	}
	return nil
}
