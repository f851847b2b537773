package work

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file makes jobs that a foreign program wrote into those of a flow.

// Adopt makes a job one of a plain flow's: from now on its end is counted. One
// that nobody has queued yet is queued, or waits for what it needs. It can be
// repeated. missing is true where there is no such job, or it is another
// flow's.
func (e *Engine) Adopt(ctx context.Context, tenant domain.TenantID, id domain.FlowID, key domain.JobKey) (missing bool, err error) {
	space := layout.SpaceOf(tenant)
	for range unheldTries {
		j, rec, err := e.load(ctx, space, key)
		switch {
		case errors.Is(err, domain.ErrNotFound) || err == nil && rec.Get(layout.JobScriptType) == "":
			return true, nil
		case err != nil && !errors.Is(err, domain.ErrInvalid):
			return false, err
		case j.FlowID != 0:
			return j.FlowID != id, nil
		}
		j.ContextID = tenant
		b := board.Batch{Space: space}
		b.Equal(key.String(), layout.JobFlowID, "")
		b.Equal(key.String(), layout.JobStatus, string(j.Status))
		asRead(&b, j, layout.JobAttempt, layout.JobFinishedMs, layout.JobQueuedMs)
		if err := e.adoptInto(ctx, &b, j, id, err); err != nil {
			return false, err
		}
		if err := e.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
			return false, err
		}
	}
	return false, domain.Unavailablef("job %q changes too quickly; try again", key)
}

// Refuse ends a job that a foreign program wrote for a flow which cannot be one, for that
// reason. It leaves those alone that somebody runs, that have ended, or that are of a flow.
func (e *Engine) Refuse(ctx context.Context, tenant domain.TenantID, key domain.JobKey, why error) error {
	space := layout.SpaceOf(tenant)
	j, err := e.loadAny(ctx, space, key)
	if err == nil && j.FlowID == 0 {
		err = e.endUnheld(ctx, space, key, invalid(why))
	}
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, errEnded) || errors.Is(err, errHeld) {
		return nil
	}
	return err
}

// adoptInto adds to b what makes j one of the flow's. decodeErr is what reading
// its record gave.
func (e *Engine) adoptInto(ctx context.Context, b *board.Batch, j *domain.Job, id domain.FlowID, decodeErr error) error {
	item := j.Key().String()
	now := e.board.Now()
	fields := layout.FlowOf(id)
	j.FlowID, j.FlowEnv = id, true
	switch {
	case j.Final() && j.FinishedMs != 0:
		b.Set(item, fields...)
		report(b, j, ending{status: j.Status, reason: j.Reason, text: j.Error, result: j.Result, exitCode: j.ExitCode})
		return nil
	case j.Final() || j.LeaseOwner != "" || j.QueuedMs != 0 || j.Waits > 0:
		// Somebody has it, or it is one of ours already. Its holder has read it
		// before: the guard on the followers makes it read again.
		b.Set(item, fields...)
		b.Add(item, layout.JobFollowers, 1)
		b.Live(item, now)
		return nil
	}
	err := decodeErr
	if err == nil {
		if err = e.CheckFlowJob(ctx, domain.TenantID(b.Space), j); err == nil {
			err = e.waitsForItself(ctx, b.Space, j)
		}
		if err != nil && !errors.Is(err, domain.ErrInvalid) {
			return err // the board could not be asked: that is not the job's fault
		}
	}
	if err != nil {
		b.Set(item, fields...)
		e.end(ctx, b, j, invalid(err), now)
		return nil
	}
	return e.queueAdopted(ctx, b, j, fields, now)
}

// queueAdopted adds what a submit of ours would have written.
func (e *Engine) queueAdopted(ctx context.Context, b *board.Batch, j *domain.Job, fields []board.Field, now time.Time) error {
	item := j.Key().String()
	s := submission{e: e, space: b.Space, now: now}
	failed, err := s.follow(ctx, b, j, false)
	switch {
	case errors.Is(err, domain.ErrInvalid):
		b.Ops = nil
		b.Set(item, fields...)
		e.end(ctx, b, j, invalid(err), now)
		return nil
	case err != nil:
		return err
	case failed != 0:
		b.Ops = nil
		b.Set(item, fields...)
		e.end(ctx, b, j, ending{status: domain.JobError, reason: domain.ReasonDependencyFailed,
			text: dependencyText(domain.JobKey{Caller: j.CallerID, ID: failed})}, now)
		return nil
	}
	s.wait(b, j)
	status := domain.JobDispatched
	if len(j.Prerequisites) > 0 {
		b.Set(item, layout.UnmetField(j.Prerequisites))
	}
	if j.CreatedAt == 0 {
		j.CreatedAt = domain.At(now)
	}
	if j.Waits > 0 {
		status = domain.JobWaiting
	} else {
		j.QueuedMs = now.UnixMilli()
		// A foreign program may have pushed it as well: one entry is dropped.
		b.PushLeft(queue.Of(j), item)
	}
	b.Set(item, append(layout.AdoptedFields(j, status), fields...)...)
	// How long it waits for its prerequisites counts from now, whenever it was written.
	b.Set(item, board.Field{Name: layout.JobUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)})
	b.Live(item, now)
	return nil
}
