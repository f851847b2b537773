package work

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// RecoverLease brings back a job whose lease has run out: its runner is dead,
// paused or cut off. It goes before what has not begun, spends no retry, and
// ends as runner_lost once it has lost too many. It reports whether the lease
// is one of a job.
func (e *Engine) RecoverLease(ctx context.Context, l board.Lease) (ours bool, err error) {
	key, err := domain.ParseJobKey(l.Item)
	if err != nil {
		return false, nil
	}
	err = e.recoverJob(ctx, l, key)
	if errors.Is(err, domain.ErrConflict) {
		err = nil // renewed, finished, or another node was first
	}
	return true, err
}

func (e *Engine) recoverJob(ctx context.Context, l board.Lease, key domain.JobKey) error {
	j, _, err := e.load(ctx, l.Space, key)
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		if errors.Is(err, domain.ErrNotFound) {
			return e.dropLease(ctx, l)
		}
		return err
	}
	now := time.Now()
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token)
	b.Release(l.Item)
	switch {
	case j.Final():
		return e.board.Commit(ctx, b)
	case j.Cancel != "":
		err = e.end(ctx, &b, j, cancelled(j.Cancel), now)
	case j.Losses+1 >= e.cfg.MaxLosses:
		b.Add(l.Item, layout.JobLosses, 1)
		err = e.end(ctx, &b, j, ending{status: domain.JobError, reason: domain.ReasonRunnerLost,
			text: fmt.Sprintf("its runner was lost %d times, last %s; does the job kill its node?", j.Losses+1, l.Owner)}, now)
	default:
		b.Add(l.Item, layout.JobLosses, 1)
		e.requeue(&b, j, now)
	}
	if err != nil {
		return err
	}
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	e.log.Warn("lease ran out", "job", key.String(), "context", uint32(l.Space), "owner", l.Owner, "losses", j.Losses+1)
	return nil
}

// dropLease ends the lease on a job that was deleted.
func (e *Engine) dropLease(ctx context.Context, l board.Lease) error {
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token).Release(l.Item)
	return e.board.Commit(ctx, b)
}

func cancelled(by string) ending {
	return ending{status: domain.JobError, reason: domain.ReasonCancelled, text: "cancelled by actor " + by}
}

// Cancel ends a job that waits or is queued at once; one that runs is told to
// stop, at once on this node, elsewhere with its next renewal. Cancelling
// twice is no error.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] when the job has ended.
func (e *Engine) Cancel(ctx context.Context, tenant domain.TenantID, key domain.JobKey, by domain.ActorID) (*domain.Job, error) {
	space := layout.SpaceOf(tenant)
	who := strconv.FormatUint(uint64(by), 10)
	for range unheldTries {
		err := e.endUnheld(ctx, space, key, cancelled(who))
		if errors.Is(err, errHeld) {
			err = e.askToStop(ctx, space, key, who)
		}
		switch {
		case errors.Is(err, errEnded):
			return nil, domain.Conflictf("job %q has ended already", key)
		case errors.Is(err, domain.ErrConflict):
			continue // it was taken or let go between
		case err != nil:
			return nil, err
		}
		j, _, err := e.load(ctx, space, key)
		return j, err
	}
	return nil, domain.Unavailablef("job %q changes too quickly; try again", key)
}

// askToStop marks a running job as cancelled; its holder learns of it.
func (e *Engine) askToStop(ctx context.Context, space board.Space, key domain.JobKey, who string) error {
	j, _, err := e.load(ctx, space, key)
	if err != nil {
		return err
	}
	b := board.Batch{Space: space}
	b.Equal(key.String(), layout.JobLeaseOwner, j.LeaseOwner)
	b.Equal(key.String(), layout.JobAttempt, attemptText(j))
	b.Equal(key.String(), layout.JobStatus, string(domain.JobStarted))
	b.Set(key.String(), board.Field{Name: layout.JobCancel, Value: who})
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	e.stopHere(space, key)
	return nil
}

// Retry starts a job again that ended in error, with all its retries anew.
// Jobs that ended because of it are not started again.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] when it has not ended in
// error.
func (e *Engine) Retry(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	space := layout.SpaceOf(tenant)
	j, _, err := e.load(ctx, space, key)
	if err != nil {
		return nil, err
	}
	if j.Status != domain.JobError {
		return nil, domain.Conflictf("job %q is %s; only a job that ended in error can be retried", key, j.Status)
	}
	now := time.Now()
	k := key.String()
	b := board.Batch{Space: space}
	b.Equal(k, layout.JobStatus, string(domain.JobError))
	b.Equal(k, layout.JobFinishedMs, millisText(j.FinishedMs))
	b.Free(k)
	b.Set(k, board.Field{Name: layout.JobStatus, Value: string(domain.JobDispatched)},
		board.Field{Name: layout.JobUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)}, ready(now))
	b.Unset(k, layout.JobReason, layout.JobErrorText, layout.JobExitCode, layout.JobFinishedMs, layout.JobCancel,
		layout.JobFailures, layout.JobLosses, layout.JobWaits, layout.JobUnmet)
	b.Live(k, now)
	b.PushLeft(layout.Queue(j), k)
	if err := e.board.Commit(ctx, b); err != nil {
		if errors.Is(err, domain.ErrConflict) {
			return nil, domain.Conflictf("job %q was changed by somebody else; look at it again", key)
		}
		return nil, err
	}
	j, _, err = e.load(ctx, space, key)
	return j, err
}

// millisText is an instant as a record has it: "" where it is not set.
func millisText(ms int64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatInt(ms, 10)
}
