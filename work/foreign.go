package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file deals with foreign programs that speak to the same Redis: jobs
// they write and queue by themselves, and jobs of ours that their runners take
// from a queue without a lease.

const (
	// unwrittenTries is how often a queued key is looked at again that has no
	// record yet: some clients push before they write.
	unwrittenTries = 30
	unwrittenPause = 100 * time.Millisecond
	// foreignLook is how often a job in a foreign runner's hands is looked at.
	foreignLook = 2 * time.Second
)

// adopt takes over a job that a foreign program wrote and queued. done is true
// when there is nothing to run now: it was refused, or must wait. decodeErr is
// what reading the record gave.
func (x *run) adopt(b *board.Batch, decodeErr error) (done bool, what ended, err error) {
	if decodeErr == nil && x.job.QueuedMs != 0 {
		return false, what, nil
	}
	if decodeErr == nil {
		decodeErr = x.awaitRecord()
	}
	switch {
	case errors.Is(decodeErr, errUnwritten):
		x.foreignItem = decodeErr
		return true, x.discard(b), nil
	case errors.Is(decodeErr, domain.ErrInvalid):
		what, err = x.end(b, ending{status: domain.JobError, reason: domain.ReasonInvalid, text: decodeErr.Error()})
		return true, what, err
	case decodeErr != nil:
		return true, what, decodeErr
	}
	j := x.job
	j.ContextID = domain.TenantID(x.claimed.Space)
	verr := j.Validate()
	if verr == nil {
		verr = validatePrerequisites(j.Prerequisites)
	}
	if verr == nil && j.ScriptType != x.lane.typ {
		verr = domain.Invalidf("it is of type %s but was queued for %s", j.ScriptType, x.lane.typ)
	}
	if verr != nil {
		what, err = x.end(b, ending{status: domain.JobError, reason: domain.ReasonInvalid, text: verr.Error()})
		return true, what, err
	}
	return x.adoptValid()
}

// awaitRecord looks again for the record of a key that was queued before it
// was written. It holds a slot for that long; it is rare.
func (x *run) awaitRecord() error {
	for range unwrittenTries {
		if x.job.Script != "" || x.job.ScriptType != "" {
			return nil
		}
		pause(x.ctx, unwrittenPause)
		recs, err := x.r.e.board.Get(x.ctx, x.claimed.Space, x.claimed.Item)
		if err != nil {
			return err
		}
		x.claimed.Record = recs[0]
		if x.job, err = layout.DecodeJob(x.key, recs[0]); err != nil {
			return err
		}
	}
	if x.job.Script == "" && x.job.ScriptType == "" {
		return errUnwritten
	}
	return nil
}

var errUnwritten = errors.New("it was queued, but nobody wrote its record")

// adoptValid writes what a submit of ours would have written, and registers
// what the job waits for.
func (x *run) adoptValid() (done bool, what ended, err error) {
	for range submitTries {
		done, err = x.adoptOnce()
		var g *board.GuardError
		if errors.As(err, &g) && g.Guard.Kind == board.GuardHeld {
			return true, ended{reason: reasonLost}, nil
		}
		if errors.Is(err, domain.ErrInvalid) {
			b := x.heldBatch()
			what, eerr := x.end(&b, ending{status: domain.JobError, reason: domain.ReasonInvalid, text: err.Error()})
			if eerr == nil {
				eerr = x.r.e.board.Commit(x.ctx, b)
			}
			what.written = true
			return true, what, eerr
		}
		if !errors.Is(err, domain.ErrConflict) {
			break
		}
	}
	return done, ended{status: domain.JobStarted, text: "adopted", written: done}, err
}

func (x *run) adoptOnce() (waits bool, err error) {
	now := time.Now()
	s := submission{e: x.r.e, space: x.claimed.Space, now: now}
	b := x.heldBatch()
	j := x.job
	j.Waits = 0
	failed, err := s.follow(x.ctx, &b, j, false)
	if err != nil {
		return false, err
	}
	if failed != 0 {
		return false, domain.Invalidf("%s", dependencyText(domain.JobKey{Caller: j.CallerID, ID: failed}))
	}
	s.wait(&b, j)
	if j.CreatedAt == 0 {
		j.CreatedAt = domain.At(now)
	}
	status := domain.JobStarted
	if j.Waits > 0 {
		status = domain.JobWaiting
	} else {
		j.QueuedMs = now.UnixMilli()
	}
	b.Set(x.claimed.Item, layout.AdoptedFields(j, status)...)
	if len(j.Prerequisites) > 0 {
		b.Set(x.claimed.Item, layout.UnmetField(j.Prerequisites))
	}
	b.Live(x.claimed.Item, now)
	if j.Waits > 0 {
		b.Release(x.claimed.Item)
	}
	return j.Waits > 0, x.r.e.board.Commit(x.ctx, b)
}

// watchForeign looks after a job that a foreign runner took from a queue: when
// its status has turned final, what follows is done; when its time has run
// out, it goes back to the queue as a lost one.
func (e *Engine) watchForeign(ctx context.Context, a board.Alarm, key domain.JobKey) error {
	j, _, err := e.load(ctx, a.Space, key)
	if errors.Is(err, domain.ErrNotFound) || err == nil && (j.FinishedMs != 0 || j.LeaseOwner != "") {
		return e.clear(ctx, a)
	} else if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	if j.Final() {
		return e.settleForeign(ctx, a, j)
	}
	now := time.Now()
	since := max(j.StartedMs, j.QueuedMs, int64(j.UpdatedAt)*1000)
	limit := time.UnixMilli(since).Add(j.TimeoutOr(e.cfg.Timeout))
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).Free(key.String())
	b.Equal(key.String(), layout.JobStatus, string(j.Status))
	if now.Before(limit) {
		b.SetAlarm(a.Name, now.Add(foreignLook))
		return e.board.Commit(ctx, b)
	}
	b.ClearAlarm(a.Name)
	b.Add(key.String(), layout.JobLosses, 1)
	if j.Losses+1 >= e.cfg.MaxLosses {
		err := e.end(ctx, &b, j, ending{status: domain.JobError, reason: domain.ReasonRunnerLost,
			text: fmt.Sprintf("a foreign runner took it %d times and never ended it", j.Losses+1)}, now)
		if err != nil {
			return err
		}
	} else {
		e.requeue(&b, j, now)
	}
	return e.board.Commit(ctx, b)
}

// settleForeign does what our own finish would have done in its commit.
func (e *Engine) settleForeign(ctx context.Context, a board.Alarm, j *domain.Job) error {
	key := j.Key().String()
	now := time.Now()
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	b.Equal(key, layout.JobFinishedMs, "")
	b.Equal(key, layout.JobStatus, string(j.Status))
	b.Set(key, layout.FinishedField(now.UnixMilli()))
	if j.Status == domain.JobError && j.Reason == "" {
		b.Set(key, board.Field{Name: layout.JobReason, Value: string(domain.ReasonScriptFailed)})
	}
	b.Settle(key)
	b.PushLeft(layout.Finished, key)
	if err := e.tell(ctx, &b, j, key, j.Status, now); err != nil {
		return err
	}
	return e.board.Commit(ctx, b)
}
