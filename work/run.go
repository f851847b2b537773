package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// run is one attempt at one job in this process.
type run struct {
	r       *Runner
	lane    *lane
	claimed board.Claimed
	key     domain.JobKey
	job     *domain.Job
	begun   time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	done    func() // tells the runner that nothing of the run is left
	// foreignItem is set when what was queued is no job's key.
	foreignItem error

	log    *logBook
	folder *folder // nil for runtimes inside the process

	mu    sync.Mutex
	until time.Time // when the lease runs out
}

func (x *run) place() place { return place{x.claimed.Space, x.key} }

func (x *run) leaseUntil() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.until
}

func (x *run) renewed(until time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = until
}

// heldBatch is a batch that only the holder of the lease can commit.
func (x *run) heldBatch() board.Batch {
	b := board.Batch{Space: x.claimed.Space, Guards: make([]board.Guard, 0, 2), Ops: make([]board.Op, 0, 5)}
	b.Held(x.claimed.Item, x.r.cfg.Owner, x.claimed.Token)
	return b
}

// do runs the job and hands its end to the finisher.
func (x *run) do() {
	b := x.heldBatch()
	what, err := x.attempt(&b)
	if err != nil {
		// The board could not be asked, or the machine could not do its part.
		b = x.heldBatch()
		what = x.unable(&b, err)
	}
	if what.reason == reasonLost || what.written {
		x.close(what, nil)
		x.lane.giveSlots(1)
		return
	}
	x.r.finishes <- finish{x, b, what}
}

// reasonLost marks the end of a run whose lease is gone: nothing is written.
const reasonLost domain.Reason = "lost"

// attempt runs the script and puts into b what its end means.
func (x *run) attempt(b *board.Batch) (ended, error) {
	if x.foreignItem != nil {
		return x.discard(b), nil
	}
	job, err := layout.DecodeJob(x.key, x.claimed.Record)
	x.job = job
	if adopted, what, aerr := x.adopt(b, err); adopted || aerr != nil {
		return what, aerr
	}
	if job.Cancel != "" {
		return x.end(b, cancelled(job.Cancel))
	}
	task, err := x.prepare()
	if err != nil {
		return ended{}, err
	}
	x.log = &logBook{x: x, room: x.r.e.cfg.LogBytes - logBytesOf(x.claimed.Record)}
	timeout := time.AfterFunc(job.TimeoutOr(x.r.e.cfg.Timeout), func() { x.cancel(script.ErrTimeout) })
	out, err := x.lane.rt.Run(x.ctx, task, x.log)
	timeout.Stop()
	cause := context.Cause(x.ctx)
	x.log.stop()
	if err != nil {
		return ended{}, fmt.Errorf("run %s: %w", x.key, err)
	}
	return x.judge(b, out, cause)
}

func logBytesOf(r board.Record) int {
	n, _ := strconv.Atoi(r.Get(layout.JobLogBytes))
	return n
}

// judge decides what the outcome of the script means for the job.
func (x *run) judge(b *board.Batch, out script.Outcome, cause error) (ended, error) {
	if out.Verdict == script.Stopped {
		switch {
		case errors.Is(cause, script.ErrLost):
			return ended{reason: reasonLost}, nil
		case errors.Is(cause, script.ErrDraining):
			return x.giveBack(b), nil
		case errors.Is(cause, script.ErrCancelled):
			n := cancelled(x.canceller())
			n.result, n.exitCode = out.Result, &out.ExitCode
			return x.end(b, n)
		}
	}
	n := ending{status: domain.JobFinished, result: out.Result, exitCode: &out.ExitCode}
	if out.Verdict != script.Succeeded {
		n.status, n.reason, n.text = domain.JobError, domain.ReasonScriptFailed, out.Error
		switch {
		case out.Verdict == script.Stopped:
			n.reason = domain.ReasonTimeout
			n.text = fmt.Sprintf("stopped after %v", x.job.TimeoutOr(x.r.e.cfg.Timeout))
		case out.Invalid:
			n.reason = domain.ReasonInvalid
		}
		if x.job.Failures < int(x.job.Retries) {
			return x.tryLater(b, n), nil
		}
	}
	return x.end(b, n)
}

// canceller is who asked for the cancel: known only when it was read.
func (x *run) canceller() string {
	recs, err := x.r.e.board.Get(context.WithoutCancel(x.ctx), x.claimed.Space, x.key.String())
	if err != nil || recs[0] == nil {
		return "unknown"
	}
	return recs[0].Get(layout.JobCancel)
}

// end puts the end of the job into b.
func (x *run) end(b *board.Batch, n ending) (ended, error) {
	b.Release(x.claimed.Item)
	x.addLogs(b)
	if n.status == domain.JobError && n.reason != domain.ReasonCancelled {
		b.Add(x.claimed.Item, layout.JobFailures, 1)
	}
	if x.claimed.Token > 1 || x.folder.hasCheckpoint() {
		b.Delete(layout.Checkpoint(x.key))
	}
	err := x.r.e.end(context.WithoutCancel(x.ctx), b, x.job, n, time.Now())
	return ended{status: n.status, reason: n.reason, text: n.text}, err
}

// addLogs puts the last lines of the log into the commit that ends the run.
func (x *run) addLogs(b *board.Batch) {
	if x.log != nil {
		x.log.addTo(b)
	}
}

// tryLater sets the alarm for the next attempt.
func (x *run) tryLater(b *board.Batch, n ending) ended {
	now := time.Now()
	next := now.Add(x.r.e.backoff(x.job.Failures + 1))
	b.Add(x.claimed.Item, layout.JobFailures, 1)
	x.later(b, now, next, n.text)
	return ended{status: domain.JobStarted, reason: n.reason, text: n.text}
}

// later lets go of the job until next.
func (x *run) later(b *board.Batch, now, next time.Time, text string) {
	b.Release(x.claimed.Item)
	x.addLogs(b)
	b.Set(x.claimed.Item,
		board.Field{Name: layout.JobNextRetryMs, Value: strconv.FormatInt(next.UnixMilli(), 10)},
		board.Field{Name: layout.JobUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)},
		board.Field{Name: layout.JobErrorText, Value: text})
	if data, ok := x.folder.checkpoint(); ok {
		b.Set(layout.Checkpoint(x.key), board.Field{Name: layout.CheckpointData, Value: data})
	}
	b.SetAlarm(layout.Alarm(layout.AlarmRetry, x.key), next)
}

// giveBack puts the job back where it goes first: the node is going away, and
// that is not the job's fault.
func (x *run) giveBack(b *board.Batch) ended {
	b.Release(x.claimed.Item)
	x.addLogs(b)
	if data, ok := x.folder.checkpoint(); ok {
		b.Set(layout.Checkpoint(x.key), board.Field{Name: layout.CheckpointData, Value: data})
	}
	x.r.e.requeue(b, x.job, time.Now())
	return ended{status: domain.JobStarted, text: "given back: the node is going away"}
}

// unable deals with a run that could not be done for no fault of the script:
// no process, no disk. It counts as a loss, so that it does not go on for
// ever, and is tried again, perhaps elsewhere.
func (x *run) unable(b *board.Batch, err error) ended {
	x.r.log.Warn("job not run", "job", x.claimed.Item, "context", uint32(x.claimed.Space), "err", err)
	text := "the runner could not run it: " + err.Error()
	if x.job.Losses+1 >= x.r.e.cfg.MaxLosses {
		b.Add(x.claimed.Item, layout.JobLosses, 1)
		what, err := x.end(b, ending{status: domain.JobError, reason: domain.ReasonRunnerLost, text: text})
		if err == nil {
			return what
		}
		// The followers could not be read: let the lease run out instead.
		return ended{reason: reasonLost, text: text}
	}
	now := time.Now()
	b.Add(x.claimed.Item, layout.JobLosses, 1)
	x.later(b, now, now.Add(x.r.e.backoff(x.job.Losses+1)), text)
	return ended{status: domain.JobStarted, reason: domain.ReasonRunnerLost, text: text}
}

// discard removes what is no job at all: the claim made a record of it.
func (x *run) discard(b *board.Batch) ended {
	x.r.log.Warn("queued item is no job", "item", x.claimed.Item, "context", uint32(x.claimed.Space), "err", x.foreignItem)
	x.job = &domain.Job{}
	b.Delete(x.claimed.Item)
	return ended{status: domain.JobError, reason: domain.ReasonInvalid, text: x.foreignItem.Error()}
}

// finishAgain ends a run whose first commit failed: a follower came, or the
// board was away. It tries until it is done or the lease is no longer ours.
func (x *run) finishAgain(ctx context.Context, f finish, err error) {
	defer x.lane.giveSlots(1)
	for try := 0; ; try++ {
		switch {
		case err == nil || x.settled(err) || ctx.Err() != nil:
			x.close(f.what, err)
			return
		case errors.Is(err, domain.ErrConflict):
			f.batch, err = x.rebuild(ctx, f)
		case errors.Is(err, domain.ErrUnavailable):
			pause(ctx, min(100*time.Millisecond<<min(try, 6), 5*time.Second))
			err = nil
		default:
			// A batch the board refuses for good: the job must not vanish.
			f.batch, f.what, err = x.refused(err)
		}
		if err == nil {
			err = x.r.e.board.Commit(ctx, f.batch)
		}
	}
}

// rebuild puts the batch together again with the followers as they are now.
func (x *run) rebuild(ctx context.Context, f finish) (board.Batch, error) {
	j, _, err := x.r.e.load(ctx, x.claimed.Space, x.key)
	if err != nil {
		return f.batch, err
	}
	b := f.batch
	b.Guards = []board.Guard{f.batch.Guards[0]}
	b.Ops = nil
	for _, op := range f.batch.Ops {
		if !tellOp(op, x.key) {
			b.Ops = append(b.Ops, op)
		}
	}
	return b, x.r.e.tell(ctx, &b, j, x.claimed.Item, f.what.status, time.Now())
}

// tellOp reports whether op is one that Engine.tell added.
func tellOp(op board.Op, key domain.JobKey) bool {
	return op.Kind == board.OpCountdown || op.Kind == board.OpDelete && op.Key == layout.Followers(key) ||
		op.Kind == board.OpSetAlarm && op.Key == layout.Alarm(layout.AlarmCascade, key)
}

// refused ends the job with the board's refusal as its error: a result over
// the limit, say.
func (x *run) refused(cause error) (board.Batch, ended, error) {
	b := x.heldBatch()
	x.log = nil
	what, err := x.end(&b, ending{status: domain.JobError, reason: domain.ReasonInvalid, text: "its end could not be written: " + cause.Error()})
	return b, what, err
}

// close ends the run on this side.
func (x *run) close(what ended, err error) {
	x.cancel(nil)
	x.r.release(x)
	keep := what.status == domain.JobError || what.reason != ""
	if ferr := x.folder.close(keep && what.reason != reasonLost); ferr != nil && !errors.Is(ferr, os.ErrNotExist) {
		x.r.log.Warn("job folder not removed", "job", x.claimed.Item, "err", ferr)
	}
	if err != nil || what.reason == reasonLost {
		x.r.log.Warn("finish of a lost lease dropped", "job", x.claimed.Item, "context", uint32(x.claimed.Space), "attempt", x.claimed.Token, "err", err)
	}
	if o := x.r.cfg.Observer; o != nil {
		o.AttemptEnded(x.lane.typ, what.status, what.reason, time.Since(x.begun))
	}
	x.done()
}
