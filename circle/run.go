package circle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/script"
)

// run is one task in the hands of this worker.
type run struct {
	lease.Item
	w       *Worker
	claimer *claimer
	task    *domain.Task
	what    ending      // how it ended, once Do has returned
	batch   board.Batch // what that changes
}

// Do runs the task.
func (x *run) Do() (write bool) {
	id, _ := layout.ParseTask(x.Claimed.Item) // a circle's list has nothing else: see board.Named
	x.task = layout.DecodeTask(id, x.Claimed.Record)
	x.ends(x.attempt())
	return x.what.fate != lost
}

// attempt runs the script and says what becomes of the task.
func (x *run) attempt() ending {
	if banned, _ := x.w.cfg.Banned(x.claimer.circle.Context); banned {
		return ending{fate: givenBack, text: "banned"}
	}
	if err := x.awaitScript(); err != nil {
		return x.without(err)
	}
	if err := x.permit(); errors.Is(err, domain.ErrForbidden) {
		return failed(err.Error())
	} else if err != nil {
		return x.without(err)
	}
	if fault := x.Claimed.Record.Get(board.FieldUnreadable); fault != "" {
		return failed(fault)
	}
	limit := x.w.e.cfg.Timeout
	if script.Stop(x.Ctx) != nil {
		return x.stopped(limit)
	}
	timer := time.AfterFunc(limit, func() { x.Stop(script.ErrTimeout) })
	defer timer.Stop()
	out, err := x.runScript()
	if err != nil {
		return failed(fmt.Sprintf("the script could not be run: %v", err))
	}
	switch out.Verdict {
	case script.Succeeded:
		return ending{status: domain.TaskCompleted, text: out.Value}
	case script.Stopped:
		return x.stopped(limit)
	}
	return failed(out.Error)
}

// permit asks whether the task's caller may have it done.
//
// Errors: [domain.ErrForbidden] naming the right that is missing;
// [domain.ErrUnavailable].
func (x *run) permit() error {
	cfg, caller := x.w.e.cfg, x.task.CallerID
	if caller == 0 {
		if cfg.Named {
			return domain.Forbiddenf("it names no caller: this node wants caller_id on each task (circle_callers)")
		}
		return nil
	}
	err := cfg.Permit(x.Ctx, x.claimer.circle.Context, caller, x.Claimed.Item)
	if errors.Is(err, domain.ErrForbidden) {
		return domain.Forbiddenf("its caller, actor %d, may not create work in context %d: that wants the role admin there, "+
			"or executor where the context says executors_may_submit; see `ramet context grant`", caller, x.claimer.circle.Context)
	}
	return err
}

// stopped deals with a run that was told to stop.
func (x *run) stopped(limit time.Duration) ending {
	cause := context.Cause(x.Ctx)
	switch {
	case errors.Is(cause, script.ErrTimeout):
		return failed(fmt.Sprintf("stopped after %v", limit))
	case errors.Is(cause, script.ErrCancelled):
		return failed("cancelled")
	case errors.Is(cause, script.ErrDraining):
		return ending{fate: givenBack, text: "the node is going away"}
	}
	return ending{fate: lost}
}

const (
	// scriptWait is how long a task is waited for whose id was pushed before it
	// was written; it holds a slot for that long. Some clients do that, and
	// write within a millisecond.
	scriptWait = 3 * time.Second
	// scriptPause is the first pause between two looks; it doubles up to
	// scriptPauseMost.
	scriptPause     = time.Millisecond
	scriptPauseMost = 250 * time.Millisecond
)

// What a task without a script is: nobody wrote anything, or somebody something else.
var (
	errUnwritten = errors.New("its id was pushed, but nobody wrote its record")
	errNoScript  = fmt.Errorf("it has no script: want the field script in its record, before its id is pushed or within %v", scriptWait)
)

// awaitScript looks again for a task whose id came before its record.
//
// Errors: errUnwritten; errNoScript; the board's.
func (x *run) awaitScript() error {
	if layout.HasScript(x.Claimed.Record) {
		return nil
	}
	rec, began := x.Claimed.Record, time.Now()
	for wait := scriptPause; time.Since(began) < scriptWait && x.Ctx.Err() == nil; wait = min(2*wait, scriptPauseMost) {
		pause.For(x.Ctx, wait)
		recs, err := x.w.e.board.Get(x.Ctx, x.Claimed.Space, x.Claimed.Item)
		if err != nil {
			return err
		}
		rec = recs[0]
		if x.task = layout.DecodeTask(x.task.ID, rec); layout.HasScript(rec) {
			return nil
		}
	}
	if slices.ContainsFunc(rec, func(f board.Field) bool { return !slices.Contains(claimedFields, f.Name) }) {
		return errNoScript
	}
	return errUnwritten
}

// claimedFields are those that a claim writes: a record with no others is none.
var claimedFields = []string{layout.TaskStatus, layout.TaskUpdatedAt, layout.TaskAttempt, layout.TaskOwner, layout.TaskQueue, layout.TaskLosses}

// without is what becomes of a task without a script.
func (x *run) without(err error) ending {
	switch {
	case x.Ctx.Err() != nil:
		return x.stopped(0)
	case errors.Is(err, errUnwritten):
		return ending{fate: dropped, text: err.Error(), unwritten: true}
	case errors.Is(err, errNoScript):
		n := failed(err.Error())
		n.unwritten = true
		return n
	}
	x.w.log.Warn("task not read", "task", x.task.ID, "circle", x.claimer.circle.Name, "context", uint32(x.Claimed.Space), "err", err)
	pause.For(x.Ctx, lease.Rest)
	return ending{fate: givenBack, text: err.Error()}
}

// runScript runs the script. A runtime that panics costs the task, not the node.
func (x *run) runScript() (out script.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			x.w.log.Error("runtime panicked", "task", x.task.ID, "context", uint32(x.Claimed.Space), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out, err = script.Outcome{}, fmt.Errorf("the runtime panicked (%v); this is a fault of the runtime, please report it with the node's log", p)
		}
	}()
	return x.w.cfg.Runtime.Run(x.Ctx, script.Task{
		Name: x.Claimed.Item, Script: x.task.Script, Context: domain.TenantID(x.Claimed.Space), Caller: x.task.CallerID,
		Attempt: x.Claimed.Token, Whole: true, Limits: x.w.cfg.Limits,
	}, x)
}

// Log implements [script.Host]: a task has no log of its own.
func (x *run) Log(stream string, line []byte) {
	if x.w.log.Enabled(x.Ctx, slog.LevelDebug) {
		x.w.log.Debug("task says", "task", x.task.ID, "context", uint32(x.Claimed.Space), "stream", stream, "line", string(line))
	}
}

// Close tells how the run ended.
func (x *run) Close(err error) {
	n := x.what
	switch {
	case err != nil || n.fate == lost:
		x.w.log.Warn("end of a task dropped: its lease is lost", "task", x.task.ID, "circle", x.claimer.circle.Name,
			"context", uint32(x.Claimed.Space), "attempt", x.Claimed.Token, "err", err)
	case n.fate == dropped:
		x.w.log.Warn("task dropped", "task", x.task.ID, "circle", x.claimer.circle.Name, "context", uint32(x.Claimed.Space), "why", n.text)
	case n.fate == ended && x.w.cfg.Observer != nil:
		x.w.cfg.Observer.TaskEnded(x.claimer.circle.Name, n.status, time.Since(x.Begun))
	}
}
