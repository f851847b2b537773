package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/script"
)

// run is one attempt at one job in this process.
type run struct {
	lease.Item
	r       *Runner
	claimer *claimer
	key     domain.JobKey
	job     *domain.Job
	// began is when the attempt of a worker began, in Unix milliseconds, as far as the worker says so; see
	// [domain.HeldAttempt].
	began int64
	// foreignItem is set when what was queued is no job's key.
	foreignItem error
	refusals    int // of its end by the board
	// early says that another is to run alone first: this one goes back.
	early bool
	// last is how it ended, once Do has returned.
	last finish

	level domain.Isolation // how far its context wants it held in

	found *domain.Input // that the job's environment was filled in with; nil where it was not

	secrets map[string]string // variable -> value, of those that the job names
	hide    *hide.Values      // them, in whatever it leaves

	log *logBuffer

	script  *durable.Script // what it remembers; nil until it is prepared
	channel *durable.Server // by which its processes ask for that; nil inside the process

	mu     sync.Mutex
	folder *folder // nil until it is made

	left *domain.ArtifactSet // files that the script left, which are in the store; nil: none
}

func (x *run) ref() ref { return ref{x.Claimed.Space, x.key} }

// heldBatch is a batch that only the holder of the lease can commit.
func (x *run) heldBatch() board.Batch {
	b := board.Batch{Space: x.Claimed.Space, Guards: make([]board.Guard, 0, 2), Ops: make([]board.Op, 0, 8)}
	x.hold(&b)
	return b
}

// hold guards a batch so that only the holder of the lease can commit it.
func (x *run) hold(b *board.Batch) {
	b.Held(x.Claimed.Item, x.r.cfg.Owner, x.Claimed.Token)
	if x.began != 0 {
		b.Equal(x.Claimed.Item, layout.JobStartedMs, strconv.FormatInt(x.began, 10))
	}
}

// isGone reports whether a commit was refused because the job is not the run's any more.
func isGone(err error) bool {
	g, refused := errors.AsType[*board.GuardError](err)
	return lease.IsGone(err) || refused && g.Guard.Kind == board.GuardEqual && g.Guard.Field == layout.JobStartedMs
}

// Do runs the job.
func (x *run) Do() (write bool) {
	defer x.claimer.ran(x)
	b := x.heldBatch()
	what, err := x.attempt(&b)
	if err != nil {
		// The board could not be asked, or the machine could not do its part.
		b = x.heldBatch()
		what = x.unable(&b, err)
	}
	x.last = finish{x, b, what}
	if what.reason == reasonLost || what.written {
		return false
	}
	x.last = x.fit(x.last)
	return true
}

// reasonLost marks the end of a run whose lease is gone: nothing is written.
const reasonLost domain.Reason = "lost"

// attempt runs the script and puts into b what its end means.
func (x *run) attempt(b *board.Batch) (ended, error) {
	if what, done, err := x.admit(b); done || err != nil {
		return what, err
	}
	if what, left, err := x.holdIn(b); left || err != nil {
		return what, err
	}
	if x.early {
		x.putBack(b)
		return ended{status: domain.JobStarted, text: "put back: a job whose runner was lost is run alone first"}, nil
	}
	leave, tries := x.claimer.leftAlone(x)
	if leave {
		return x.spare(b, false), nil
	}
	if x.claimer.isAlone(x) {
		x.claimer.waitAlone(x)
	}
	if len(x.job.Secrets) > 0 {
		missing, err := x.readSecrets()
		if err != nil {
			return ended{}, err
		}
		if missing != nil {
			x.begun()
			return x.judge(b, without(missing), nil), nil
		}
	}
	task, err := x.prepare()
	defer x.closeChannel()
	var unread *resultError
	switch {
	case errors.As(err, &unread):
		return x.end(b, invalid(err)), nil
	case err != nil:
		return ended{}, err
	}
	x.begun()
	if script.Stop(x.Ctx) != nil {
		return x.judge(b, script.Outcome{Verdict: script.Stopped}, context.Cause(x.Ctx)), nil
	}
	x.log = newLog(x, x.job, x.Claimed.Record)
	if tries {
		defer time.AfterFunc(trialTime, func() { x.claimer.started(x) }).Stop()
	}
	timeout := time.AfterFunc(x.job.TimeoutOr(x.r.e.cfg.Timeout), func() { x.Stop(script.ErrTimeout) })
	out, err := x.runScript(task)
	timeout.Stop()
	x.closeChannel() // first: it answers what was asked for before the end
	if err == nil && out.Verdict == script.Succeeded && len(x.job.Artifacts) > 0 && x.script.Suspended() == nil {
		out = x.keepArtifacts(out)
	}
	cause := context.Cause(x.Ctx)
	x.log.stop()
	if err != nil {
		return ended{}, fmt.Errorf("run %s: %w", x.key, x.hideError(err))
	}
	x.claimer.started(x)
	out = x.hideOutcome(out)
	if what, yes := x.judgeDurable(context.WithoutCancel(x.Ctx), b, out, cause); yes {
		return what, nil
	}
	return x.judge(b, out, cause), nil
}

// admit reads the job that was claimed and finds out whether it is to be run now,
// whoever runs it. done is true where it is not: then b has what becomes of it.
func (x *run) admit(b *board.Batch) (what ended, done bool, err error) {
	if x.foreignItem != nil {
		return x.discard(b), true, nil
	}
	job, err := layout.DecodeJob(x.key, x.Claimed.Record)
	x.job = job
	if adopted, what, err := x.adopt(b, err); adopted || err != nil {
		return what, true, err
	}
	job = x.job // its record may have been written after its key was queued
	if job.Cancel != "" {
		x.r.e.clearWaits(b, job)
		return x.end(b, cancelled(job.Cancel)), true, nil
	}
	return x.heldUp(b)
}

// runScript runs the script. A runtime inside the process that panics costs
// the job, not the node.
func (x *run) runScript(task script.Task) (out script.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			x.r.log.Error("runtime panicked", "job", x.Claimed.Item, "context", uint32(x.Claimed.Space),
				"script_type", string(x.claimer.typ), "panic", x.hide.Text(fmt.Sprint(p)), "stack", string(debug.Stack()))
			out, err = script.Outcome{Verdict: script.Errored, ExitCode: 1,
				Error: fmt.Sprintf("the %s runtime panicked (%v); this is a fault of the runtime, please report it with the node's log", x.claimer.typ, p)}, nil
		}
	}()
	return x.claimer.rt.Run(x.Ctx, task, x.log)
}

// judge decides what the outcome of the script means for the job.
func (x *run) judge(b *board.Batch, out script.Outcome, cause error) ended {
	if out.Verdict == script.Succeeded && len(x.job.Artifacts) > 0 && x.left == nil {
		out.Verdict, out.Invalid = script.Errored, true
		out.Error = "artifacts: the job was run by a worker, which cannot leave files; have it run by a node, or leave artifacts out"
	}
	if out.Verdict == script.Stopped {
		if what, stopped := x.stopped(b, out, cause); stopped {
			return what
		}
	}
	n := ending{status: domain.JobFinished, result: out.Result, exitCode: &out.ExitCode}
	if out.Verdict != script.Succeeded {
		n.status, n.reason, n.text = domain.JobError, domain.ReasonScriptFailed, out.Error
		end, code := domain.RetryErrored, out.ExitCode
		switch {
		case out.Verdict == script.Failed:
			end = domain.RetryFailed
		case out.Verdict == script.Stopped:
			code = 0 // what stopped it says nothing of its own
			n.reason = domain.ReasonTimeout
			n.text = fmt.Sprintf("stopped after %v", x.job.TimeoutOr(x.r.e.cfg.Timeout))
		case out.Invalid:
			n.reason = domain.ReasonInvalid
		}
		says := saysOf(out.Result)
		n.text += says.strange
		if x.job.Failures < x.job.MaxRetries() && !out.Final && !says.never && !x.job.Retry.Final(end, code) {
			return x.tryLater(b, n, max(out.After, says.after))
		}
	}
	return x.end(b, n)
}

// stopped deals with a run that was told to stop for no fault of its own.
func (x *run) stopped(b *board.Batch, out script.Outcome, cause error) (what ended, yes bool) {
	switch {
	case errors.Is(cause, script.ErrLost):
		return x.letDown(b), true
	case errors.Is(cause, script.ErrDraining):
		what := x.giveBack(b)
		x.noteEnd(b, what.text, "the next begins when a node takes it", x.r.e.board.Now())
		return what, true
	case errors.Is(cause, script.ErrCancelled):
		n := cancelled(x.canceller())
		n.result = out.Result
		if out.Verdict != "" {
			n.exitCode = &out.ExitCode
		}
		return x.end(b, n), true
	}
	return what, false
}

// canceller is who asked for the cancel: known only when it was read.
func (x *run) canceller() string {
	recs, err := x.r.e.board.Get(context.WithoutCancel(x.Ctx), x.Claimed.Space, x.key.String())
	if err != nil || recs[0] == nil {
		return "unknown"
	}
	return recs[0].Get(layout.JobCancel)
}

// end puts the end of the job into b.
func (x *run) end(b *board.Batch, n ending) ended {
	b.Release(x.Claimed.Item)
	x.addLogs(b)
	x.noteRemembered(b)
	if n.status == domain.JobFinished {
		x.addArtifacts(b)
	}
	if n.status == domain.JobError || x.job.Routine != "" {
		// Whoever retries it by hand goes on from its checkpoint, and so does a
		// routine's next round.
		x.addCheckpoint(b)
		if n.status == domain.JobError && n.reason != domain.ReasonCancelled {
			b.Set(x.Claimed.Item, x.failuresField())
		}
	} else if x.Claimed.Token > 1 || x.folder.hasCheckpoint() {
		b.Delete(layout.Checkpoint(x.key))
	}
	x.r.e.end(context.WithoutCancel(x.Ctx), b, x.job, n, x.r.e.board.Now())
	return ended{status: n.status, reason: n.reason, text: n.text}
}

// failuresField counts one more; see lossesField.
func (x *run) failuresField() board.Field {
	return board.Field{Name: layout.JobFailures, Value: strconv.Itoa(x.job.Failures + 1)}
}

// addCheckpoint puts a changed checkpoint into the commit that ends the run.
func (x *run) addCheckpoint(b *board.Batch) {
	if data, _, ok := x.folder.checkpoint(); ok && x.refusals < 2 {
		b.Set(layout.Checkpoint(x.key), board.Field{Name: layout.CheckpointData, Value: data})
	}
}

// addLogs puts the last lines of the log into the commit that ends the run.
func (x *run) addLogs(b *board.Batch) {
	if x.log != nil {
		x.log.addTo(b)
	}
}

// tryLater sets the alarm for the next attempt, which begins after at least
// some time.
func (x *run) tryLater(b *board.Batch, n ending, after time.Duration) ended {
	now := x.r.e.board.Now()
	wait := x.r.e.backoff(x.job.Retry, x.job.Failures+1)
	if after = min(after, domain.MaxRetryDelay*time.Second); after > wait {
		wait = after
		n.text += fmt.Sprintf("; it asks for a pause of %v", after)
	}
	next := now.Add(wait)
	b.Set(x.Claimed.Item, x.failuresField())
	x.later(b, now, next, n.text)
	return ended{status: domain.JobStarted, reason: n.reason, text: n.text}
}

// later lets go of the job until next, unless it was cancelled meanwhile.
func (x *run) later(b *board.Batch, now, next time.Time, text string) {
	b.Equal(x.Claimed.Item, layout.JobCancel, "")
	b.Release(x.Claimed.Item)
	x.addLogs(b)
	x.noteEnd(b, text, "the next begins "+after(next.Sub(now)), now)
	b.Set(x.Claimed.Item,
		board.Field{Name: layout.JobNextRetryMs, Value: strconv.FormatInt(next.UnixMilli(), 10)},
		board.Field{Name: layout.JobUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)},
		board.Field{Name: layout.JobErrorText, Value: cutText(text)})
	if x.job.Parked != "" {
		b.Unset(x.Claimed.Item, layout.JobParked)
	}
	if x.job.Suspended != nil { // it ran all the same: a doubled entry in the queue
		b.Unset(x.Claimed.Item, layout.JobSuspended)
	}
	x.addCheckpoint(b)
	x.noteRemembered(b)
	b.SetAlarm(layout.Alarm(layout.AlarmRetry, x.key), next)
}

// giveBack puts the job back where it goes first: the node is going away, and
// that is not the job's fault.
func (x *run) giveBack(b *board.Batch) ended {
	b.Equal(x.Claimed.Item, layout.JobCancel, "")
	b.Release(x.Claimed.Item)
	x.addLogs(b)
	x.addCheckpoint(b)
	x.job.ScriptType = cmp.Or(x.job.ScriptType, x.claimer.typ)
	x.r.e.requeue(b, x.job, x.r.e.board.Now())
	return ended{status: domain.JobStarted, text: givenBack}
}

// givenBack says of a run that it ended without fault of its job.
const givenBack = "given back: the node or worker is going away"

// notRenewed says of a run that it was given up with its lease.
const notRenewed = "put back: its lease could not be renewed in time"

// letDown puts a job back whose lease could not be renewed in time, and counts a loss,
// as when the lease had run out: nobody has to wait for that. If it has, or the job is
// another's already, the board refuses it.
func (x *run) letDown(b *board.Batch) ended {
	losses := x.job.Losses + 1
	switch {
	case x.r.e.onlyWaits(x.job):
		losses = x.job.Losses
	case losses >= x.r.e.cfg.MaxLosses:
		b.Set(x.Claimed.Item, lossesField(losses))
		what := x.end(b, ending{status: domain.JobError, reason: domain.ReasonRunnerLost,
			text: fmt.Sprintf("its lease was lost %d times, last by %s, which could not renew it in time; does the job keep its node from that?", losses,
				x.r.cfg.Owner)})
		what.lost = true
		return what
	}
	what := x.giveBack(b)
	b.Set(x.Claimed.Item, lossesField(losses), board.Field{Name: layout.JobLostAttempt, Value: strconv.FormatInt(x.Claimed.Token, 10)})
	what.lost = true
	what.text = notRenewed
	x.noteEnd(b, what.text, "the next begins when a node takes it", x.r.e.board.Now())
	return what
}

// unable deals with a run that could not be done for no fault of the script. Where the
// machine is at fault (no process, no disk), or the board, which did not answer what the
// job was to be prepared by, the job goes back, and the machine rests.
// Else it counts as a loss, so that it does not go on for ever, and is tried again,
// perhaps elsewhere.
func (x *run) unable(b *board.Batch, err error) ended {
	if what, yes := x.stopped(b, script.Outcome{}, context.Cause(x.Ctx)); yes {
		return what
	}
	if x.job.ScriptType == "" {
		// Queued but not written yet: there is nothing to keep an alarm for.
		pause.For(x.Ctx, lease.Rest)
		return x.giveBack(b)
	}
	if away := (*storeError)(nil); errors.As(err, &away) {
		return x.awaitStore(b, err)
	}
	if yes, again := x.claimer.ofMachine(x.Ctx, x, err); yes {
		x.claimer.rests(err)
		return x.spare(b, again)
	}
	x.r.log.Warn("job not run", "job", x.Claimed.Item, "context", uint32(x.Claimed.Space), "err", err)
	text := "the runner could not run it: " + err.Error()
	b.Set(x.Claimed.Item, lossesField(x.job.Losses+1))
	if x.job.Losses+1 >= x.r.e.cfg.MaxLosses {
		return x.end(b, ending{status: domain.JobError, reason: domain.ReasonRunnerLost, text: text})
	}
	now := x.r.e.board.Now()
	x.later(b, now, now.Add(x.r.e.backoff(nil, x.job.Losses+1)), text)
	return ended{status: domain.JobStarted, reason: domain.ReasonRunnerLost, text: text}
}

// discard lets go of what is no job, and takes back what the claim has
// written: if that is all there is, nothing is left. Whatever else stands
// there is not ours to delete.
func (x *run) discard(b *board.Batch) ended {
	x.r.log.Warn("queued item is no job", "item", x.Claimed.Item, "context", uint32(x.Claimed.Space), "err", x.foreignItem)
	if x.job == nil {
		x.job = &domain.Job{}
	} else {
		// Its writer may be slow, rather than none.
		b.Equal(x.Claimed.Item, layout.JobScript, "").Equal(x.Claimed.Item, layout.JobScriptType, "")
	}
	b.Release(x.Claimed.Item)
	b.Unset(x.Claimed.Item, layout.JobStatus, layout.JobRunnerID, layout.JobStartedMs, layout.JobUpdatedAt, layout.JobAttempt, layout.JobLosses)
	return ended{status: domain.JobError, reason: domain.ReasonInvalid, text: x.foreignItem.Error()}
}

// Close ends the run on this side.
func (x *run) Close(err error) {
	what := x.last.what
	x.claimer.leave(x.Claimed.Space)
	keep := (what.status == domain.JobError || what.reason != "") && !x.r.e.traceless(domain.TenantID(x.Claimed.Space)) && x.hide == nil
	if ferr := x.closeFolder(keep && what.reason != reasonLost); ferr != nil && !errors.Is(ferr, os.ErrNotExist) {
		x.r.log.Warn("job folder not removed", "job", x.Claimed.Item, "err", ferr)
	}
	if err != nil || what.reason == reasonLost {
		x.r.log.Warn("finish of a lost lease dropped", "job", x.Claimed.Item, "context", uint32(x.Claimed.Space), "attempt", x.Claimed.Token, "err", err)
	}
	if err == nil && what.reason != reasonLost {
		x.traced(what, x.Begun)
	}
	what.lost = what.lost && err == nil // else whoever finds that it has run out counts it
	x.endedAs(what)
}
