package work

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// HandleAlarm does what an alarm of a job asks for. It reports whether the
// alarm is one of ours. Handling is a commit guarded by the alarm's instant,
// so two nodes cannot both do it; losing that race is no error.
func (e *Engine) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	if scope, ok := layout.ParseParkedAlarm(a.Name); ok {
		return true, unlessConflict(e.unpark(ctx, a, scope))
	}
	kind, key, ok := layout.ParseAlarm(a.Name)
	if !ok {
		return false, nil
	}
	switch kind {
	case layout.AlarmStart:
		err = e.startDelayed(ctx, a, key)
	case layout.AlarmRetry:
		err = e.startRetry(ctx, a, key)
	case layout.AlarmPrereq:
		err = e.checkPrerequisites(ctx, a, key)
	case layout.AlarmCascade:
		err = e.cascade(ctx, a, key)
	case layout.AlarmCalled:
		err = e.called(ctx, a, key)
	case layout.AlarmForeign:
		err = e.watchForeign(ctx, a, key)
	default:
		return false, nil
	}
	return true, unlessConflict(err)
}

// unlessConflict takes a conflict for what it is here: another node was first.
func unlessConflict(err error) error {
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	return err
}

// clear clears an alarm that has nothing left to do.
func (e *Engine) clear(ctx context.Context, a board.Alarm) error {
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	return e.board.Commit(ctx, b)
}

// startDelayed lets a job go on whose not_before has come.
func (e *Engine) startDelayed(ctx context.Context, a board.Alarm, key domain.JobKey) error {
	j, err := e.loadAny(ctx, a.Space, key)
	if errors.Is(err, domain.ErrNotFound) || err == nil && j.Final() {
		return e.clear(ctx, a)
	} else if err != nil {
		return err
	}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	b.Countdown(key.String(), layout.JobWaits, queue.Of(j), key.String(), ready(e.board.Now()))
	return e.board.Commit(ctx, b)
}

// startRetry queues a job for its next attempt, before what has not begun.
func (e *Engine) startRetry(ctx context.Context, a board.Alarm, key domain.JobKey) error {
	j, err := e.loadAny(ctx, a.Space, key)
	if errors.Is(err, domain.ErrNotFound) || err == nil && j.Final() {
		return e.clear(ctx, a)
	} else if err != nil {
		return err
	}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	b.Equal(key.String(), layout.JobLeaseOwner, j.LeaseOwner)
	if j.LeaseOwner == "" {
		e.requeue(&b, j, e.board.Now())
	}
	// Else a doubled entry in the queue let it begin before its time: the end
	// of that attempt, or of its lease, decides what comes next.
	return e.board.Commit(ctx, b)
}

// requeue puts a job that has begun before what has not.
func (e *Engine) requeue(b *board.Batch, j *domain.Job, now time.Time) {
	key := j.Key().String()
	if j.QueuedMs != 0 {
		// A foreign program's job that we have not taken over yet stays
		// without: it would pass for one that has nothing to wait for.
		b.Set(key, ready(now))
	}
	if j.NextRetryMs != 0 {
		b.Unset(key, layout.JobNextRetryMs)
	}
	if j.Suspended != nil {
		b.Unset(key, layout.JobSuspended)
		e.unwantSuspended(b, j)
	}
	if j.Parked != "" { // it ran all the same: a doubled entry in the queue
		b.Unset(key, layout.JobParked)
	}
	handsOff(b, j)
	b.PushRight(queue.Of(j), key)
}

// handsOff takes a job from the foreign runner that had it.
func handsOff(b *board.Batch, j *domain.Job) {
	if j.TakenBy != 0 {
		b.Unset(j.Key().String(), layout.JobTakenBy)
	}
	if j.AliveUntil != 0 {
		b.Unset(j.Key().String(), layout.JobAliveUntil)
	}
}

// giveUp ends a waiting job from within its alarm.
func (e *Engine) giveUp(ctx context.Context, a board.Alarm, j *domain.Job, reason domain.Reason, text string) error {
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).Free(j.Key().String())
	b.Equal(j.Key().String(), layout.JobStatus, string(j.Status))
	e.clearWaits(&b, j)
	e.end(ctx, &b, j, ending{status: domain.JobError, reason: reason, text: text}, e.board.Now())
	return e.board.Commit(ctx, b)
}
