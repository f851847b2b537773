package work

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/script"
)

// This file ends what workers have done, and takes the lines that they log.

// endTries bounds how often an end is put together again because the job moved under it.
const endTries = 20

// FinishFor ends attempts of a worker, each judged alone: errs has one place for each, nil
// for those whose end is written. One that was ended before is no error: its answer
// may have been lost.
//
// Errors: of the whole [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrUnavailable]; of
// one [domain.ErrInvalid], [domain.ErrNotFound], [domain.ErrConflict] when the worker does
// not have the job any more.
func (e *Engine) FinishFor(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) (done []domain.AttemptEnded, errs []error, err error) {
	if err := errors.Join(w.Validate(), checkHeld(len(ends))); err != nil {
		return nil, nil, err
	}
	keys := make([]string, len(ends))
	for i := range ends {
		keys[i] = ends[i].Key().String()
	}
	space := layout.SpaceOf(w.Context)
	recs, err := board.Readable(e.board.Get(ctx, space, keys...))
	if err != nil {
		return nil, nil, err
	}
	r := e.runnerOf(w, domain.DefaultLease)
	done, errs = make([]domain.AttemptEnded, len(ends)), make([]error, len(ends))
	var group []finish
	var at []int
	for i := range ends {
		f, again, err := r.judgeEnd(ctx, space, &ends[i], keys[i], recs[i])
		switch {
		case err != nil:
			errs[i] = err
		case f == nil:
			done[i] = again
		default:
			group, at = append(group, *f), append(at, i)
		}
	}
	for n, err := range e.endAll(ctx, group) {
		what := group[n].what
		done[at[n]], errs[at[n]] = domain.AttemptEnded{Status: what.status, Reason: what.reason, Error: what.text}, err
	}
	return done, errs, nil
}

// finishOne is FinishFor for one.
func (e *Engine) finishOne(ctx context.Context, w domain.Worker, end domain.AttemptEnd) (domain.AttemptEnded, error) {
	done, errs, err := e.FinishFor(ctx, w, []domain.AttemptEnd{end})
	if err != nil {
		return domain.AttemptEnded{}, err
	}
	return done[0], errs[0]
}

// judgeEnd makes of what a worker says the end of its run, or says what has become of
// the job already.
func (r *Runner) judgeEnd(ctx context.Context, space board.Space, end *domain.AttemptEnd, key string, rec board.Record) (f *finish, again domain.AttemptEnded, err error) {
	out, err := outcomeOf(end)
	if err != nil {
		return nil, again, err
	}
	if rec == nil {
		return nil, again, domain.NotFoundf("job %q does not exist here", key)
	}
	j, derr := layout.DecodeJob(end.Key(), rec)
	if j.LeaseOwner != r.cfg.Owner || j.Attempt != end.Attempt {
		return nil, domain.AttemptEnded{Status: j.Status, Reason: j.Reason, Error: j.Error}, r.lost(j, end)
	}
	r.lanes = append(r.lanes[:0], workerLane(r, j.ScriptType))
	x := r.taken(ctx, board.Claimed{Space: space, Item: key, Token: end.Attempt, Record: rec}, time.Now())
	x.job = j
	x.log = &logBook{x: x, room: r.e.cfg.LogBytes - logBytesOf(rec)}
	for _, l := range end.Lines {
		x.log.add(l.Stream, []byte(l.Line))
	}
	b := x.heldBatch()
	if derr != nil {
		return fitted(x, b, x.end(&b, invalid(derr))), again, nil
	}
	what := x.judge(&b, out, stopCause(j, end.Verdict))
	return fitted(x, b, what), again, nil
}

func fitted(x *run, b board.Batch, what ended) *finish {
	f := x.fit(finish{x, b, what})
	return &f
}

// stopCause is why a run was stopped before its end.
func stopCause(j *domain.Job, v domain.Verdict) error {
	switch {
	case j.Cancel != "":
		return script.ErrCancelled
	case v == domain.VerdictTimeout:
		return script.ErrTimeout
	}
	return script.ErrDraining
}

// lost is the error of one who ends what it does not have, unless it ended that before.
func (r *Runner) lost(j *domain.Job, end *domain.AttemptEnd) error {
	ours := j.Attempt == end.Attempt && j.LeaseOwner == "" && j.RunnerID == r.cfg.ID
	if ours && (j.Final() && j.Reason != domain.ReasonRunnerLost || j.NextRetryMs != 0) {
		return nil
	}
	return domain.Conflictf("job %q: attempt %d is not this worker's any more: its lease ran out, or it was never its own; what it did is not counted",
		end.Key(), end.Attempt)
}

// outcomeOf reads what a worker says of the end of its function.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit].
func outcomeOf(end *domain.AttemptEnd) (out script.Outcome, err error) {
	if err := script.CheckResult(end.Result); err != nil {
		return out, err
	}
	if len(end.Lines) > domain.MaxLogLines {
		return out, domain.Limitf("%d lines, the limit is %d in one request", len(end.Lines), domain.MaxLogLines)
	}
	if err := checkLines(end.Lines); err != nil {
		return out, err
	}
	out = script.Outcome{Result: end.Result, Error: end.Error, Final: end.Final, After: time.Duration(max(end.AfterMs, 0)) * time.Millisecond, ExitCode: 1}
	switch end.Verdict {
	case domain.VerdictSucceeded:
		out.Verdict, out.ExitCode = script.Succeeded, 0
	case domain.VerdictFailed:
		out.Verdict = script.Failed
	case domain.VerdictErrored:
		out.Verdict, out.ExitCode = script.Errored, erroredCode
	case domain.VerdictStopped, domain.VerdictTimeout:
		out.Verdict = script.Stopped
	default:
		return out, domain.Invalidf("verdict %.40q: want succeeded, failed, errored, stopped or timeout", end.Verdict)
	}
	if out.Verdict != script.Succeeded && out.Error == "" {
		out.Error = "its worker says that it has " + string(end.Verdict)
	}
	return out, nil
}

// erroredCode is the exit code of what ended unexpectedly, as of a process.
const erroredCode = 125

// endAll writes ends of runs; errs has one place for each.
func (e *Engine) endAll(ctx context.Context, group []finish) []error {
	if len(group) == 0 {
		return nil
	}
	batches := make([]board.Batch, len(group))
	for i := range group {
		batches[i] = group[i].batch
	}
	errs := e.board.CommitEach(ctx, batches)
	for i, err := range errs {
		if err != nil {
			group[i], errs[i] = group[i].x.insist(ctx, group[i], err)
		}
	}
	return errs
}

// insist writes an end whose first commit failed. While the board is away it gives up:
// whoever asked asks again.
func (x *run) insist(ctx context.Context, f finish, err error) (finish, error) {
	for try := 0; err != nil; try++ {
		switch {
		case lease.IsGone(err):
			if x.applied(ctx) {
				return f, nil
			}
			return f, domain.Conflictf("job %q: attempt %d is not this worker's any more: its lease ran out; what it did is not counted", x.key, x.Claimed.Token)
		case try >= endTries:
			return f, domain.Unavailablef("job %q changes too quickly; try again", x.key)
		case errors.Is(err, domain.ErrConflict):
			f, err = x.rebuild(ctx, f)
		case errors.Is(err, domain.ErrInvalid):
			f, err = x.refused(f, err), nil
		default:
			return f, err
		}
		if err == nil {
			err = x.r.e.board.Commit(ctx, f.batch)
		}
	}
	return f, nil
}

// LogFor adds lines to the log of a job that a worker has. What goes over the job's
// share is dropped, with a line that says so.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrNotFound]; [domain.ErrConflict]
// when the worker does not have the job any more.
func (e *Engine) LogFor(ctx context.Context, w domain.Worker, held domain.HeldAttempt, lines []domain.LogLine) error {
	if err := errors.Join(w.Validate(), checkLines(lines)); err != nil {
		return err
	}
	key, space := held.Key().String(), layout.SpaceOf(w.Context)
	for range endTries {
		recs, err := e.board.GetFields(ctx, space, []string{layout.JobLogBytes}, key)
		if err != nil {
			return err
		}
		r := e.runnerOf(w, domain.DefaultLease)
		r.lanes = []*lane{workerLane(r, "")}
		x := r.taken(ctx, board.Claimed{Space: space, Item: key, Token: held.Attempt, Record: recs[0]}, time.Now())
		used := logBytesOf(recs[0])
		x.log = &logBook{x: x, room: e.cfg.LogBytes - used}
		x.log.full = used >= e.cfg.LogBytes
		for _, l := range lines {
			x.log.add(l.Stream, []byte(l.Line))
		}
		b := x.heldBatch()
		was := recs[0].Get(layout.JobLogBytes) // another request may add to it beside this one
		b.Equal(key, layout.JobLogBytes, was)
		x.log.addTo(&b)
		err = e.board.Commit(ctx, b)
		switch {
		case lease.IsGone(err):
			return domain.Conflictf("job %q: attempt %s is not this worker's any more", key, strconv.FormatInt(held.Attempt, 10))
		case !errors.Is(err, domain.ErrConflict):
			return err
		}
	}
	return domain.Unavailablef("the log of job %q changes too quickly; try again", key)
}

// checkLines checks what a worker wants in a log.
func checkLines(lines []domain.LogLine) error {
	if len(lines) > domain.MaxLogLines {
		return domain.Limitf("%d lines, the limit is %d in one request", len(lines), domain.MaxLogLines)
	}
	for i := range lines {
		if l := &lines[i]; l.Stream == "" {
			l.Stream = "stdout"
		} else if l.Stream != "stdout" && l.Stream != "stderr" {
			return domain.Invalidf("stream %.40q: want stdout or stderr", l.Stream)
		}
		if len(lines[i].Line) > script.MaxLineBytes {
			return domain.Limitf("line %d has %d bytes, the limit is %d: write several", i+1, len(lines[i].Line), script.MaxLineBytes)
		}
	}
	return nil
}
