package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
)

// This file deals with foreign programs that speak to the same Redis: jobs
// they write and queue by themselves, and jobs of ours that their runners take
// from a queue without a lease.

const (
	// unwrittenTries is how often a queued key is looked at again that has no
	// record yet: some clients push before they write.
	unwrittenTries = 30
	unwrittenPause = 100 * time.Millisecond
	// flowScanEvery is how often flows of foreign programs are looked for, while
	// they write jobs.
	flowScanEvery = 500 * time.Millisecond
	// foreignLook is how often a job in a foreign runner's hands is looked at.
	foreignLook = 2 * time.Second
	// foreignSearch is how far a queue is searched for a job whose foreign runner's
	// time has run out, from where it would be put back.
	foreignSearch = 10 * listPage
)

// adopt takes over a job that a foreign program wrote and queued. done is true
// when there is nothing to run now: it was refused, or must wait. decodeErr is
// what reading the record gave.
func (x *run) adopt(b *board.Batch, decodeErr error) (done bool, what ended, err error) {
	switch {
	case x.job.TakenBy != 0 && x.job.Cancel == "":
		return x.leaveForeign()
	case decodeErr == nil && x.job.QueuedMs != 0:
		return x.unpermitted(b)
	case decodeErr == nil && x.job.Waits > 0:
		return x.letWait()
	case decodeErr == nil:
		decodeErr = x.awaitRecord()
	}
	switch {
	case errors.Is(decodeErr, errUnwritten):
		x.foreignItem = decodeErr
		return true, x.discard(b), nil
	case errors.Is(decodeErr, domain.ErrInvalid):
		return true, x.end(b, invalid(decodeErr)), nil
	case decodeErr != nil:
		return true, what, decodeErr
	}
	j := x.job
	j.ContextID = domain.TenantID(x.Claimed.Space)
	verr := x.r.e.checkForeign(x.Ctx, j)
	if verr != nil && !errors.Is(verr, domain.ErrInvalid) {
		return true, what, verr // the board could not be asked: that is not the job's fault
	}
	if verr == nil && j.ScriptType != x.claimer.typ {
		verr = domain.Invalidf("it is of type %s but was queued for %s", j.ScriptType, x.claimer.typ)
	}
	if verr != nil {
		return true, x.end(b, invalid(verr)), nil
	}
	if done, what, err = x.unpermitted(b); done || err != nil {
		return done, what, err
	}
	return x.adoptValid(b)
}

// checkForeign is what Submit checks of a job that a foreign program wrote. Its type may
// be one that no node serves: other programs may.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) checkForeign(ctx context.Context, j *domain.Job) error {
	if err := j.Validate(); err != nil {
		return err
	}
	if err := validatePrerequisites(j.Prerequisites); err != nil {
		return err
	}
	return e.CheckPlace(ctx, j.ContextID, j.CallerID, j.At)
}

// unpermitted ends a job whose caller may not create work in its context: it was
// queued past the doors, or its caller has lost the right since. Nothing on a
// record proves that a door let it in, for who can write jobs can write that. Nor
// does one that says it is of another caller's flow begin.
func (x *run) unpermitted(b *board.Batch) (done bool, what ended, err error) {
	err = x.r.e.permit(x.Ctx, x.Claimed.Space, x.key.Caller, x.Claimed.Item)
	if err == nil {
		err = x.r.e.ownFlow(x.Ctx, x.Claimed.Space, x.job)
	}
	if errors.Is(err, domain.ErrForbidden) {
		x.r.e.clearWaits(b, x.job)
		return true, x.end(b, invalid(err)), nil
	}
	return false, what, err
}

// permit asks [Config.Permit], and names the right that is missing.
//
// Errors: [domain.ErrForbidden].
func (e *Engine) permit(ctx context.Context, space board.Space, caller domain.ActorID, object string) error {
	if e.cfg.Permit == nil {
		return nil
	}
	err := e.cfg.Permit(ctx, domain.TenantID(space), caller, object)
	if errors.Is(err, domain.ErrForbidden) {
		return domain.Forbiddenf("its caller, actor %d, may not create work in context %d: that wants the role admin there, "+
			"or executor where the context says executors_may_submit; see `ramet context grant`", caller, space)
	}
	return err
}

func invalid(err error) ending {
	return ending{status: domain.JobError, reason: domain.ReasonInvalid, text: err.Error()}
}

// letWait lets go of a job that was queued although it still waits: a foreign
// program has pushed its key again. If it becomes ready meanwhile it runs,
// because that entry in the queue was dropped while we held the lease.
func (x *run) letWait() (done bool, what ended, err error) {
	for {
		b := x.heldBatch()
		b.Equal(x.Claimed.Item, layout.JobQueuedMs, "")
		b.Equal(x.Claimed.Item, layout.JobCancel, "")
		b.Release(x.Claimed.Item)
		status := domain.JobDispatched
		if len(x.job.Dependends)+len(x.job.Prerequisites) > 0 {
			status = domain.JobWaiting
		}
		b.Set(x.Claimed.Item, board.Field{Name: layout.JobStatus, Value: string(status)})
		b.Unset(x.Claimed.Item, layout.JobStartedMs, layout.JobRunnerID)
		err = x.r.e.board.Commit(x.Ctx, b)
		switch {
		case err == nil:
			return true, ended{status: domain.JobStarted, text: "it still waits", written: true}, nil
		case lease.IsGone(err):
			return true, ended{reason: reasonLost}, nil
		case !errors.Is(err, domain.ErrConflict):
			return true, what, err
		}
		recs, err := x.r.e.board.Get(x.Ctx, x.Claimed.Space, x.Claimed.Item)
		if err != nil {
			return true, what, err
		}
		x.Claimed.Record = recs[0]
		if x.job, err = layout.DecodeJob(x.key, recs[0]); err != nil {
			return true, what, err
		}
		if x.job.QueuedMs != 0 || x.job.Cancel != "" {
			return false, what, nil
		}
	}
}

// awaitRecord looks again for the record of a key that was queued before it
// was written, or while it is written field by field. It holds a slot for that
// long; it is rare.
func (x *run) awaitRecord() error {
	for range unwrittenTries {
		if x.job.Script != "" && x.job.ScriptType != "" {
			return nil
		}
		pause.For(x.Ctx, unwrittenPause)
		recs, err := x.r.e.board.Get(x.Ctx, x.Claimed.Space, x.Claimed.Item)
		if err != nil {
			return err
		}
		x.Claimed.Record = recs[0]
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
func (x *run) adoptValid(b *board.Batch) (done bool, what ended, err error) {
	for range submitTries {
		done, err = x.adoptOnce()
		var failed *dependencyError
		switch {
		case errors.As(err, &failed):
			scanFlows(b, x.r.e.board.Now())
			n := ending{status: domain.JobError, reason: domain.ReasonDependencyFailed, text: err.Error()}
			return true, x.end(b, n), nil
		case errors.Is(err, domain.ErrInvalid):
			scanFlows(b, x.r.e.board.Now())
			return true, x.end(b, invalid(err)), nil
		case err != nil && lease.IsGone(err):
			return true, ended{reason: reasonLost}, nil
		case !errors.Is(err, domain.ErrConflict):
			return done, ended{status: domain.JobStarted, text: "adopted", written: done}, err
		}
	}
	return done, what, err
}

// dependencyError says that a job can never start.
type dependencyError struct{ dep domain.JobKey }

func (e *dependencyError) Error() string { return dependencyText(e.dep) }
func (e *dependencyError) Unwrap() error { return domain.ErrConflict }

// adoptOnce tries that once. leaves is true where the job is not to run now, or not here.
func (x *run) adoptOnce() (leaves bool, err error) {
	now := x.r.e.board.Now()
	s := submission{e: x.r.e, space: x.Claimed.Space, now: now}
	b := x.heldBatch()
	j := x.job
	j.Waits, j.QueuedMs = 0, 0
	if err := x.r.e.waitsForItself(x.Ctx, x.Claimed.Space, j); err != nil {
		return false, err
	}
	failed, err := s.follow(x.Ctx, &b, j, false)
	if err != nil {
		return false, err
	}
	if failed != 0 {
		return false, &dependencyError{domain.JobKey{Caller: j.CallerID, ID: failed}}
	}
	s.wait(&b, j)
	if j.CreatedAt == 0 {
		j.CreatedAt = domain.At(now)
	}
	status, leaves := domain.JobStarted, j.Waits > 0 || j.At != ""
	if j.Waits > 0 {
		status = domain.JobWaiting
	} else {
		j.QueuedMs = now.UnixMilli()
	}
	if leaves {
		b.Release(x.Claimed.Item)
	}
	if leaves && j.Waits == 0 { // it is to run elsewhere: the supervisor sends it
		status = domain.JobDispatched
		b.Unset(x.Claimed.Item, layout.JobStartedMs, layout.JobRunnerID)
		b.PushLeft(queue.Of(j), x.Claimed.Item)
	}
	b.Set(x.Claimed.Item, layout.AdoptedFields(j, status)...)
	if len(j.Prerequisites) > 0 {
		b.Set(x.Claimed.Item, layout.UnmetField(j.Prerequisites))
	}
	b.Live(x.Claimed.Item, now)
	scanFlows(&b, now)
	return leaves, x.r.e.board.Commit(x.Ctx, b)
}

// scanFlows has flows looked for: who writes jobs may have written a flow of them.
func scanFlows(b *board.Batch, now time.Time) {
	b.SetAlarm(layout.FlowScan, now.Truncate(flowScanEvery).Add(flowScanEvery))
}

// watchForeign looks after a job that a foreign runner took from a queue: when
// its status has turned final, what follows is done; when its time has run
// out, it goes back to the queue as a lost one.
func (e *Engine) watchForeign(ctx context.Context, a board.Alarm, key domain.JobKey) error {
	j, rec, err := e.load(ctx, a.Space, key)
	var unread error
	if errors.Is(err, domain.ErrInvalid) {
		unread, err = err, nil // it is looked after as far as it can be read
	}
	if errors.Is(err, domain.ErrNotFound) || err == nil && (j.FinishedMs != 0 || j.LeaseOwner != "" || j.NextRetryMs != 0 && !j.Final()) {
		return e.clear(ctx, a) // it has ended, one of our runners has it, or will
	} else if err != nil {
		return err
	}
	says := saysOf(j.Result)
	switch {
	case j.TriesAgain() && !says.never:
		return e.retryForeign(ctx, a, j, says.after)
	case j.Final():
		_, noResult := layout.ReadResult(key, rec)
		return e.settleForeign(ctx, a, j, noResult)
	case j.Script == "" && j.ScriptType == "" || j.Waits > 0:
		return e.clear(ctx, a) // nobody has written it yet, or it is queued when it is ready
	}
	now := e.board.Now()
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).Free(key.String())
	b.Equal(key.String(), layout.JobStatus, string(j.Status))
	if until := e.foreignUntil(j); now.Before(until) {
		b.SetAlarm(a.Name, earlier(until, now.Add(foreignLook)))
		return e.board.Commit(ctx, b)
	}
	b.ClearAlarm(a.Name)
	queued, whole, err := e.backInQueue(ctx, a.Space, j)
	switch {
	case err != nil:
		return err
	case queued:
		b.Unset(key.String(), layout.JobStartedMs)
		handsOff(&b, j)
		return e.board.Commit(ctx, b)
	case !whole:
		b.Drop(queue.Of(j), key.String()) // else it might stand there twice
	}
	if !inForeignHands(j) {
		// Its key was popped before its record was there or while it still waited for
		// something, and was handed to nobody.
		if j.QueuedMs == 0 {
			err = e.takeOver(ctx, &b, j, unread, now)
		} else {
			e.requeue(&b, j, now)
		}
		if err != nil {
			return err
		}
		return e.board.Commit(ctx, b)
	}
	b.Set(key.String(), lossesField(j.Losses+1))
	if j.Losses+1 >= e.cfg.MaxLosses {
		e.end(ctx, &b, j, ending{status: domain.JobError, reason: domain.ReasonRunnerLost,
			text: fmt.Sprintf("a foreign runner took it %d times and never ended it", j.Losses+1)}, now)
	} else {
		b.Unset(key.String(), layout.JobStartedMs) // the next one's time begins anew
		e.requeue(&b, j, now)
	}
	return e.board.Commit(ctx, b)
}

// takeOver adds to b, which holds j to what was read, what a submit of ours would have
// written of a job that nobody has: it is queued, or waits for what it needs. unread is
// what reading its record gave.
func (e *Engine) takeOver(ctx context.Context, b *board.Batch, j *domain.Job, unread error, now time.Time) error {
	asRead(b, j, layout.JobQueuedMs, layout.JobFinishedMs)
	b.Equal(j.Key().String(), layout.JobScriptType, string(j.ScriptType)) // it is there still
	j.ContextID = domain.TenantID(b.Space)
	err := unread
	if err == nil {
		err = e.permit(ctx, b.Space, j.CallerID, j.Key().String())
	}
	if err == nil {
		err = e.checkForeign(ctx, j)
	}
	if err == nil {
		err = e.waitsForItself(ctx, b.Space, j)
	}
	switch {
	case errors.Is(err, domain.ErrInvalid), errors.Is(err, domain.ErrForbidden):
		e.end(ctx, b, j, invalid(err), now)
		return nil
	case err != nil:
		return err
	}
	foreign := layout.Alarm(layout.AlarmForeign, j.Key())
	if err := e.queueAdopted(ctx, b, j, nil, now); err != nil {
		return err
	}
	b.ClearAlarm(foreign) // where the job ended, what was in b before is not in it any more
	scanFlows(b, now)
	return nil
}

// backInQueue reports whether a job that a foreign runner was thought to have is
// in its queue: that put it back by itself, or it was pushed when we had looked.
// whole is false where the queue was too long to know. At the Redis door nobody
// has it whose key is still there.
func (e *Engine) backInQueue(ctx context.Context, space board.Space, j *domain.Job) (found, whole bool, err error) {
	if j.TakenBy != 0 {
		return false, true, nil
	}
	key, looked := j.Key().String(), 0
	err = e.scanQueue(ctx, space, queue.Of(j), func(item string) bool {
		found = item == key
		looked++
		return !found && looked < foreignSearch
	})
	return found, looked < foreignSearch, err
}

// foreignUntil is until when a job is left to the foreign runner that has it:
// for as long as that says, or else for the job's timeout.
func (e *Engine) foreignUntil(j *domain.Job) time.Time {
	if j.AliveUntil != 0 {
		return j.AliveUntil.Time()
	}
	if !inForeignHands(j) {
		return time.Time{}
	}
	return time.UnixMilli(max(j.StartedMs, j.QueuedMs, int64(j.UpdatedAt)*1000)).Add(j.TimeoutOr(e.cfg.Timeout))
}

// inForeignHands reports whether a foreign runner has said that it has a job, or
// somebody has seen it take it.
func inForeignHands(j *domain.Job) bool {
	return j.TakenBy != 0 || j.StartedMs != 0 || j.AliveUntil != 0 || j.Status == domain.JobStarted
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// retryForeign sets the alarm for the next attempt at a job that a foreign runner
// ended in error, as long as it has retries: after at least some time.
func (e *Engine) retryForeign(ctx context.Context, a board.Alarm, j *domain.Job, after time.Duration) error {
	key := j.Key().String()
	now := e.board.Now()
	next := now.Add(max(e.backoff(j.Retry, j.Failures+1), min(after, domain.MaxRetryDelay*time.Second)))
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name).Free(key)
	asRead(&b, j, layout.JobFinishedMs)
	b.Equal(key, layout.JobStatus, string(j.Status))
	b.Set(key, board.Field{Name: layout.JobStatus, Value: string(domain.JobStarted)},
		board.Field{Name: layout.JobFailures, Value: strconv.Itoa(j.Failures + 1)},
		board.Field{Name: layout.JobNextRetryMs, Value: strconv.FormatInt(next.UnixMilli(), 10)},
		board.Field{Name: layout.JobUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)})
	if j.EndedBy != 0 {
		b.Unset(key, layout.JobEndedBy)
	}
	handsOff(&b, j)
	leaveQueue(&b, j)
	b.Unset(key, layout.JobStartedMs)
	b.Live(key, now) // we may not have taken it over
	b.SetAlarm(layout.Alarm(layout.AlarmRetry, j.Key()), next)
	return e.board.Commit(ctx, b)
}

// leaveQueue takes a job that a foreign runner ended out of its queue, where it
// may stand: that runner had been given up, and was only slow.
func leaveQueue(b *board.Batch, j *domain.Job) {
	if j.Losses > 0 {
		b.Drop(queue.Of(j), j.Key().String())
	}
}

// leaveForeign lets go of a job that a foreign runner has: its key was pushed
// more than once.
func (x *run) leaveForeign() (done bool, what ended, err error) {
	b := x.heldBatch()
	b.Equal(x.Claimed.Item, layout.JobTakenBy, strconv.FormatUint(uint64(x.job.TakenBy), 10))
	b.Release(x.Claimed.Item)
	b.Unset(x.Claimed.Item, layout.JobRunnerID)
	b.SetAlarm(layout.Alarm(layout.AlarmForeign, x.key), x.r.e.board.Now().Add(foreignLook))
	err = x.r.e.board.Commit(x.Ctx, b)
	switch {
	case err == nil:
		return true, ended{status: domain.JobStarted, text: "a foreign runner has it", written: true}, nil
	case lease.IsGone(err):
		return true, ended{reason: reasonLost}, nil
	}
	return true, what, err
}

// settleForeign does what our own finish would have done in its commit. A job whose
// result cannot be read (that is unread) ends in error, whatever its runner says:
// nobody is to go on without what he needs, as though there were none.
func (e *Engine) settleForeign(ctx context.Context, a board.Alarm, j *domain.Job, unread error) error {
	key := j.Key().String()
	now := e.board.Now()
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	asRead(&b, j, layout.JobFinishedMs)
	b.Equal(key, layout.JobStatus, string(j.Status))
	if unread != nil && j.Status == domain.JobFinished {
		leaveQueue(&b, j)
		e.end(ctx, &b, j, invalid(unread), now)
		return e.board.Commit(ctx, b)
	}
	b.Set(key, layout.FinishedField(now.UnixMilli()))
	switch {
	case j.Status == domain.JobError && j.Reason == "":
		b.Set(key, board.Field{Name: layout.JobReason, Value: string(domain.ReasonScriptFailed)})
	case j.Status == domain.JobFinished && j.Reason != "": // of an attempt before
		b.Unset(key, layout.JobReason)
	}
	if j.NextRetryMs != 0 { // it was ended between two attempts of ours
		b.Unset(key, layout.JobNextRetryMs).ClearAlarm(layout.Alarm(layout.AlarmRetry, j.Key()))
	}
	b.Settle(key)
	layout.Ended(&b, key, now, layout.FailedJobs, j.Status == domain.JobError)
	leaveQueue(&b, j)
	e.tell(ctx, &b, j, key, j.Status, now)
	e.tellAbove(ctx, &b, j, ending{status: j.Status, reason: cmp.Or(j.Reason, domain.ReasonScriptFailed), result: j.Result}, now)
	return e.board.Commit(ctx, b)
}
