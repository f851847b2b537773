package work

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/script"
)

// This file has holders of leases hear at once that a job is to stop, wherever somebody has
// cancelled it: nodes, and workers that wait for it. The cancel stands on the job's record, and
// comes with the next renewal where this way is lost.

// toldKept is how long it is kept what a holder is to be told: longer than the longest lease,
// with whose renewal it learns of it anyway.
const toldKept = 2 * domain.MaxWorkerLease

// toldField names a job that is to stop; its value is the attempt, for the same holder may have it again.
func toldField(space board.Space, item string) string { return fmt.Sprintf("%d/%s", space, item) }

// tellHolder lets the holder of a job know that it is to stop.
func (e *Engine) tellHolder(ctx context.Context, owner string, space board.Space, key domain.JobKey, attempt int64) {
	var b board.Batch
	b.Set(layout.Told(owner), board.Field{Name: toldField(space, key.String()), Value: strconv.FormatInt(attempt, 10)}).Expire(layout.Told(owner), toldKept)
	if err := e.board.Commit(ctx, b); err != nil {
		e.log.Warn("that a job is to stop comes with its next renewal only", "job", key.String(), "holder", owner, "err", err)
	}
}

// untold reports whether the holder of a job has yet to be told that it is to stop.
func (e *Engine) untold(ctx context.Context, owner string, space board.Space, item string, attempt int64) (bool, error) {
	name := toldField(space, item)
	recs, err := e.board.GetFields(ctx, 0, []string{name}, layout.Told(owner))
	return err == nil && recs[0].Get(name) == strconv.FormatInt(attempt, 10), err
}

// told notes that a holder has been told of some jobs.
func (e *Engine) told(ctx context.Context, owner string, fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	recs, err := e.board.GetFields(ctx, 0, fields, layout.Told(owner))
	if err != nil || len(recs[0]) == 0 {
		return err // it was told before
	}
	var b board.Batch
	return e.board.Commit(ctx, *b.Unset(layout.Told(owner), fields...))
}

// toldOf watches for what a holder is told.
func (e *Engine) toldOf(ctx context.Context, owner string) (<-chan board.Event, error) {
	return e.board.Watch(ctx, 0, layout.Told(owner))
}

// hear stops jobs of the runner's that others cancel, until ctx ends.
func (r *Runner) hear(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.hearOnce(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("which jobs are to stop is not heard; it comes with their renewals", "err", err)
			pause.For(ctx, lease.Rest)
		}
	}
}

// hearOnce hears until the watch ends, or the board cannot be asked.
func (r *Runner) hearOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := r.e.toldOf(ctx, r.cfg.Owner)
	if err != nil {
		return err
	}
	for open := true; open; _, open = <-events {
		recs, err := r.e.board.Get(ctx, 0, layout.Told(r.cfg.Owner))
		if err != nil {
			return err
		}
		if len(recs[0]) == 0 {
			continue
		}
		var told []string
		for _, x := range r.items.All() {
			name := toldField(x.Claimed.Space, x.Claimed.Item)
			if recs[0].Get(name) == strconv.FormatInt(x.Claimed.Token, 10) {
				x.Stop(script.ErrCancelled)
				told = append(told, name)
			}
		}
		if err := r.e.told(ctx, r.cfg.Owner, told); err != nil {
			return err
		}
	}
	return nil
}
