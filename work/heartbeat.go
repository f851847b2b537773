package work

import (
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/script"
)

// heartbeat renews the leases in hand, a third of their length after they
// were last renewed, and stops what is cancelled or lost. A script whose lease
// could not be renewed (the board is away) is stopped before the lease runs
// out, because then another node may start it. A node that was held up itself (a
// machine that slept) asks first: what it has still goes on.
func (r *Runner) heartbeat(ctx context.Context) {
	tick := time.NewTicker(r.cfg.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.beat(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// beat does one round.
func (r *Runner) beat(ctx context.Context) {
	due := r.below(r.cfg.Lease * 2 / 3)
	for len(due) > 0 {
		part := due[:min(len(due), board.MaxOps)]
		due = due[len(part):]
		r.extend(ctx, part)
		for _, x := range part {
			x.look(time.Now())
		}
	}
}

// below are the runs in hand whose leases have no more left than that, those with least
// first.
func (r *Runner) below(left time.Duration) (list []*run) {
	now := time.Now()
	r.mu.Lock()
	for _, x := range r.held {
		if x.leaseUntil().Sub(now) <= left {
			list = append(list, x)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b *run) int { return a.leaseUntil().Compare(b.leaseUntil()) })
	return list
}

func (r *Runner) extend(ctx context.Context, runs []*run) {
	held := make([]board.Held, len(runs))
	for i, x := range runs {
		held[i] = board.Held{Space: x.claimed.Space, Item: x.claimed.Item, Token: x.claimed.Token}
	}
	asked := time.Now()
	// Bounded, so that a board that hangs does not hide that leases run out: time is left
	// to stop what has least.
	left := runs[0].leaseUntil().Sub(asked)
	ctx, cancel := context.WithTimeout(ctx, min(r.cfg.Lease/6, max(left/2, r.cfg.Lease/20)))
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
