package circle

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/script"
)

// heartbeat renews the leases in hand, a third of their length after they were
// last renewed, and stops what is lost or told to stop. A script whose lease
// could not be renewed (the board is away) is stopped before the lease runs
// out, because then another node may start it.
func (w *Worker) heartbeat(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.beat(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// beat does one round: it renews, and then stops what could not be renewed in time. The
// lease of what was stopped for that is left to run out, so that another may have it.
func (w *Worker) beat(ctx context.Context) {
	var due []*run
	for _, x := range w.inHand() {
		if time.Until(x.leaseUntil()) <= w.cfg.Lease*2/3 && !errors.Is(context.Cause(x.ctx), script.ErrLost) {
			due = append(due, x)
		}
	}
	for len(due) > 0 {
		part := due[:min(len(due), board.MaxOps)]
		due = due[len(part):]
		w.extend(ctx, part)
		for _, x := range part {
			x.look(time.Now())
		}
	}
}

func (w *Worker) extend(ctx context.Context, runs []*run) {
	held := make([]board.Held, len(runs))
	for i, x := range runs {
		held[i] = board.Held{Space: x.claimed.Space, Item: x.claimed.Item, Token: x.claimed.Token}
	}
	asked := time.Now()
	// Bounded, so that a board that hangs does not hide that leases run out: time is left
	// to stop what has least.
	left := slices.MinFunc(runs, func(a, b *run) int { return a.leaseUntil().Compare(b.leaseUntil()) }).leaseUntil().Sub(asked)
	ctx, cancel := context.WithTimeout(ctx, min(w.cfg.Lease/6, max(left/2, w.cfg.Lease/20)))
	defer cancel()
	answers, err := w.e.board.Extend(ctx, w.cfg.Owner, w.cfg.Lease, held)
	if err != nil {
		w.log.Warn("leases of tasks not renewed", "tasks", len(held), "err", err)
		return
	}
	for i, a := range answers {
		switch a {
		case board.Lost:
			runs[i].cancel(script.ErrLost)
			continue
		case board.Cancelled:
			runs[i].cancel(script.ErrCancelled)
		}
		runs[i].renewed(asked.Add(w.cfg.Lease))
	}
}
