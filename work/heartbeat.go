package work

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/script"
)

// heartbeat renews the leases in hand, a third of their length after they
// were last renewed, and stops what is cancelled or lost. A script whose lease
// could not be renewed (the board is away) is stopped before the lease runs
// out, because then another node may start it.
func (r *Runner) heartbeat(ctx context.Context) {
	tick := time.NewTicker(r.cfg.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.beat(ctx, time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// beat does one round.
func (r *Runner) beat(ctx context.Context, now time.Time) {
	due := r.dueForRenewal(now)
	for len(due) > 0 {
		part := due[:min(len(due), board.MaxOps)]
		due = due[len(part):]
		r.extend(ctx, part)
	}
}

func (r *Runner) dueForRenewal(now time.Time) []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var due []*run
	for _, x := range r.held {
		if x.look(now); x.leaseUntil().Sub(now) <= r.cfg.Lease*2/3 {
			due = append(due, x)
		}
	}
	return due
}

func (r *Runner) extend(ctx context.Context, runs []*run) {
	held := make([]board.Held, len(runs))
	for i, x := range runs {
		held[i] = board.Held{Space: x.claimed.Space, Item: x.claimed.Item, Token: x.claimed.Token}
	}
	asked := time.Now()
	// Bounded, so that a board that hangs does not hide that leases run out.
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Lease/6)
	defer cancel()
	answers, err := r.e.board.Extend(ctx, r.cfg.Owner, r.cfg.Lease, held)
	if err != nil {
		r.log.Warn("leases not renewed", "jobs", len(held), "err", err)
		return
	}
	for i, a := range answers {
		x := runs[i]
		switch a {
		case board.Lost:
			x.cancel(script.ErrLost)
			continue
		case board.Cancelled:
			x.cancel(script.ErrCancelled)
		}
		x.renewed(asked.Add(r.cfg.Lease))
		x.saveCheckpoint(ctx)
	}
}
