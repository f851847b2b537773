package work

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// Retry starts a job again that ended in error, with all its retries anew; its
// checkpoint is kept. One that never became ready waits again for what it
// needs. Jobs that ended because of it are not started again.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] when it has not ended in
// error, or needs a job that has; [domain.ErrInvalid] for a job that was never
// a valid one.
func (e *Engine) Retry(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return e.retry(ctx, tenant, key, func(j *domain.Job) error {
		if j.FlowID != 0 {
			return domain.Conflictf("job %q belongs to a flow, which would not know of it; use `ramet flow retry %d`", key, j.FlowID)
		}
		return nil
	})
}

// retry is Retry of jobs that may allows.
func (e *Engine) retry(ctx context.Context, tenant domain.TenantID, key domain.JobKey, may func(*domain.Job) error) (*domain.Job, error) {
	space := layout.SpaceOf(tenant)
	for range unheldTries {
		j, _, err := e.load(ctx, space, key)
		if err != nil {
			return nil, err
		}
		j.ContextID = tenant
		if err := errors.Join(retriable(j), may(j)); err != nil {
			return nil, err
		}
		if err := e.tellAll(ctx, space, key); err != nil {
			return nil, err
		}
		b, err := e.restart(ctx, space, j)
		if err != nil {
			return nil, err
		}
		if j.FlowID != 0 && !j.Stepped {
			b.Add(layout.FlowWaits(j.FlowID), layout.WaitsPlain, 1)
		}
		err = e.board.Commit(ctx, b)
		if errors.Is(err, domain.ErrConflict) {
			continue
		} else if err != nil {
			return nil, err
		}
		return e.loadAny(ctx, space, key)
	}
	return nil, domain.Unavailablef("job %q changes too quickly; try again", key)
}

func retriable(j *domain.Job) error {
	switch {
	case j.Status != domain.JobError:
		return domain.Conflictf("job %q is %s; only a job that ended in error can be retried", j.Key(), j.Status)
	case j.FinishedMs == 0:
		return domain.Conflictf("job %q was ended by a foreign runner, and that is still being dealt with; try again in a few seconds", j.Key())
	}
	if err := j.Validate(); err != nil {
		return err
	}
	return validatePrerequisites(j.Prerequisites)
}

// tellAll tells the followers of an ended job that have not been told yet:
// once it runs again, nobody could tell those who have come since from them.
func (e *Engine) tellAll(ctx context.Context, space board.Space, key domain.JobKey) error {
	name := layout.Alarm(layout.AlarmCascade, key)
	for {
		at, set, err := e.board.AlarmOf(ctx, space, name)
		if err != nil || !set {
			return err
		}
		err = e.cascade(ctx, board.Alarm{Space: space, Name: name, At: at}, key)
		if err != nil && !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
}

// restart puts together the commit by which j begins anew.
func (e *Engine) restart(ctx context.Context, space board.Space, j *domain.Job) (board.Batch, error) {
	now := e.board.Now()
	key := j.Key().String()
	b := board.Batch{Space: space}
	b.Equal(key, layout.JobStatus, string(domain.JobError))
	asRead(&b, j, layout.JobFinishedMs, layout.JobQueuedMs)
	b.Free(key)
	b.Unset(key, layout.JobReason, layout.JobErrorText, layout.JobExitCode, layout.JobFinishedMs, layout.JobCancel,
		layout.JobFailures, layout.JobLosses, layout.JobLostAttempt, layout.JobWaits, layout.JobUnmet, layout.JobNextRetryMs, layout.JobSuspended, layout.JobParked,
		layout.JobTakenBy, layout.JobEndedBy, layout.JobAliveUntil)
	if j.At != "" { // it leaves in another message
		j.Message = ""
		b.Unset(key, layout.JobMessage)
	} else if err := e.openAgain(ctx, &b, j); err != nil {
		return b, err
	}
	j.Status, j.Waits, j.UpdatedAt = domain.JobDispatched, 0, domain.At(now)
	if j.QueuedMs == 0 {
		// It never became ready. What made it ready once stays true.
		if err := e.waitAgain(ctx, &b, j, now); err != nil {
			return b, err
		}
	}
	if j.Waits == 0 {
		j.QueuedMs = now.UnixMilli()
		b.PushLeft(queue.Of(j), key)
	}
	if j.Attempt > 0 {
		noteEnd(&b, j.Key(), j.Attempt, cmp.Or(j.Error, string(j.Reason)), "somebody has it begin anew", now)
	}
	b.Set(key, layout.RestartedFields(j)...)
	b.Add(key, layout.JobRetried, 1)
	b.Live(key, now)
	return b, nil
}

// openAgain counts a job again among those that the message it came with waits
// for, if that has not been answered yet.
func (e *Engine) openAgain(ctx context.Context, b *board.Batch, j *domain.Job) error {
	if j.Message == "" {
		return nil
	}
	recs, err := e.board.GetFields(ctx, b.Space, []string{layout.MessageOpen, layout.MessageStatus}, j.Message)
	if err != nil {
		return err
	}
	status := recs[0].Get(layout.MessageStatus)
	if recs[0].Get(layout.MessageOpen) != "" && !domain.MessageStatus(status).Final() {
		b.Equal(j.Message, layout.MessageStatus, status).Add(j.Message, layout.MessageOpen, 1)
	}
	return nil
}

// waitAgain registers j anew with what it needs. Entries of its earlier life
// may still stand on the lists of what it needed: they are taken off, so that
// it is counted down once.
func (e *Engine) waitAgain(ctx context.Context, b *board.Batch, j *domain.Job, now time.Time) error {
	s := submission{e: e, space: b.Space, now: now}
	deps, err := s.states(ctx, j, false)
	if err != nil {
		return err
	}
	entry := layout.Follower(j)
	for _, d := range deps {
		if d.status == domain.JobError {
			return domain.Conflictf("job %q depends on %s, which ended in error; retry that first", j.Key(), d.key)
		}
		d.guard(b)
		b.Drop(layout.Followers(d.key), entry)
		if d.status == domain.JobFinished {
			b.Add(d.key.String(), layout.JobFollowers, 1) // see dependency.register
			continue
		}
		d.register(b, entry, now)
		j.Waits++
	}
	if j.Waits > 0 {
		j.Status = domain.JobWaiting
	}
	s.wait(b, j)
	if len(j.Prerequisites) > 0 {
		b.Set(j.Key().String(), layout.UnmetField(j.Prerequisites))
	}
	return nil
}
