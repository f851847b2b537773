package circle

import (
	"context"
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
			w.beat(ctx, time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// beat does one round.
func (w *Worker) beat(ctx context.Context, now time.Time) {
	var due []*run
	for _, x := range w.inHand() {
		if x.look(now); x.leaseUntil().Sub(now) <= w.cfg.Lease*2/3 {
			due = append(due, x)
		}
	}
	for len(due) > 0 {
		part := due[:min(len(due), board.MaxOps)]
		due = due[len(part):]
		w.extend(ctx, part)
	}
}

func (w *Worker) extend(ctx context.Context, runs []*run) {
	held := make([]board.Held, len(runs))
	for i, x := range runs {
		held[i] = board.Held{Space: x.claimed.Space, Item: x.claimed.Item, Token: x.claimed.Token}
	}
	asked := time.Now()
	// Bounded, so that a board that hangs does not hide that leases run out.
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Lease/6)
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
