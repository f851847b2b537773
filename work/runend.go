package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
)

// This file ends runs, also those whose first commit failed: a follower or a cancel
// came between, the board was away, or refused what the script left.

const (
	// againMin and againMax bound the pause between two tries.
	againMin = 100 * time.Millisecond
	againMax = 5 * time.Second
	// quickTries is how often a conflict is answered at once.
	quickTries = 5
)

// finish is a batch that ends a run.
type finish struct {
	x     *run
	batch board.Batch
	what  ended
}

// ended is what came of a run, for the observer and the log.
type ended struct {
	status  domain.JobStatus // started: it goes on later
	reason  domain.Reason
	text    string
	written bool // it is on the board already
	lost    bool // its lease could not be renewed in time
	// suspended is what its script waits for.
	suspended *domain.Suspension
}

// End is the commit that ends the run.
func (x *run) End() board.Batch { return x.last.batch }

// Again tries until the end of the run is written or the lease is no longer ours.
func (x *run) Again(ctx context.Context, err error) error {
	unsure := false // an answer was lost
	for try := 0; ; try++ {
		switch {
		case err == nil || lease.IsGone(err) || ctx.Err() != nil:
			if unsure && err != nil && x.applied(ctx) {
				err = nil
			}
			return err
		case errors.Is(err, domain.ErrConflict):
			if try >= quickTries {
				pause.For(ctx, againPause(try-quickTries))
			}
			x.last, err = x.rebuild(ctx, x.last)
		case errors.Is(err, domain.ErrInvalid):
			// The board refuses it for good: the job must not vanish.
			if try > 0 {
				pause.For(ctx, againPause(try))
			}
			x.last, err = x.refused(x.last, err), nil
		default:
			unsure = true
			pause.For(ctx, againPause(try))
			err = nil
		}
		if err == nil {
			err = x.r.e.board.Commit(ctx, x.last.batch)
		}
	}
}

func againPause(try int) time.Duration { return pause.Doubled(againMin, againMax, try) }

// applied tells whether the commit whose answer was lost is what ended our
// lease: then nobody has begun another attempt, or counted a loss.
func (x *run) applied(ctx context.Context) bool {
	j, err := x.r.e.loadAny(ctx, x.Claimed.Space, x.key)
	return err == nil && j.Attempt == x.Claimed.Token && j.LeaseOwner == "" && (j.Final() || j.Losses == x.job.Losses)
}

// rebuild puts the batch together again for the job as it is now.
func (x *run) rebuild(ctx context.Context, f finish) (finish, error) {
	j, err := x.r.e.loadAny(ctx, x.Claimed.Space, x.key)
	if errors.Is(err, domain.ErrNotFound) {
		return f, nil // the lease has gone with it: the commit will say so
	} else if err != nil {
		return f, err
	}
	now := x.r.e.board.Now()
	switch {
	case x.foreignItem != nil: // it was written at last
		x.job = j
		f.batch = x.heldBatch()
		f.what = x.giveBack(&f.batch)
	case f.what.status != domain.JobStarted:
		b := x.heldBatch()
		b.Ops = keepOps(f.batch.Ops, func(op board.Op) bool { return !tellOp(op, x.key) })
		x.r.e.tell(ctx, &b, j, x.Claimed.Item, f.what.status, now)
		if j.FlowID != x.job.FlowID { // it has become one of a flow's since it was taken
			x.r.e.tellFlow(ctx, &b, j, ending{status: f.what.status, reason: f.what.reason, text: f.what.text})
			x.job.FlowID = j.FlowID
		}
		f.batch = b
	case j.Cancel == "" && f.what.suspended != nil: // a signal came
		b := x.heldBatch()
		what, err := x.suspend(ctx, &b, f.what.suspended)
		if err != nil {
			return f, err
		}
		b.Ops = append(keepOps(f.batch.Ops, x.logOp), b.Ops...)
		f.batch, f.what = b, what
	case j.Cancel != "":
		n := cancelled(j.Cancel)
		b := x.heldBatch()
		b.Release(x.Claimed.Item)
		// Without what it says of the next attempt.
		b.Ops = append(b.Ops, keepOps(f.batch.Ops, func(op board.Op) bool { return x.logOp(op) && op.Kind != board.OpPushRight })...)
		x.r.e.end(ctx, &b, j, n, now)
		f.batch, f.what = b, ended{status: n.status, reason: n.reason, text: n.text}
	}
	return f, nil
}

// keepOps returns a new list: a board that was interrupted may still be
// looking at the old one.
func keepOps(ops []board.Op, keep func(board.Op) bool) []board.Op {
	kept := make([]board.Op, 0, len(ops))
	for _, op := range ops {
		if keep(op) {
			kept = append(kept, op)
		}
	}
	return kept
}

// tellOp reports whether op is one that Engine.tell added.
func tellOp(op board.Op, key domain.JobKey) bool {
	return op.Kind == board.OpCountdown && op.Field == layout.JobWaits || op.Kind == board.OpDelete && op.Key == layout.Followers(key) ||
		op.Kind == board.OpSetAlarm && op.Key == layout.Alarm(layout.AlarmCascade, key)
}

// logOp reports whether op writes the log.
func (x *run) logOp(op board.Op) bool {
	return op.Key == layout.Logs(x.key) || op.Kind == board.OpSet && op.Fields[0].Name == layout.JobLogBytes
}

// refused ends the job with the board's refusal as its error: a result over
// the limit, say. Refused again it goes without its checkpoint, too.
func (x *run) refused(f finish, cause error) finish {
	x.refusals++
	x.log = nil
	b := x.heldBatch()
	if slices.ContainsFunc(f.batch.Ops, x.logOp) {
		b.PushRight(layout.Logs(x.key), x.note("log cut: what came last went with an end that the board does not take"))
	}
	what := x.end(&b, ending{status: domain.JobError, reason: domain.ReasonInvalid, text: "its end could not be written: " + cause.Error()})
	return finish{x, b, what}
}
