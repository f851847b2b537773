package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// This file ends what workers have done, and takes the lines that they log.

// endTries bounds how often an end is put together again because the job moved under it.
const endTries = 20

// FinishFor ends attempts of a worker, each judged alone: errs has one place for each, nil
// for those whose end is written. One that was ended before in the same way is no error:
// its answer may have been lost.
//
// Errors: of the whole [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrUnavailable]; of
// one [domain.ErrInvalid], [domain.ErrNotFound], [domain.ErrConflict] when the worker does
// not have the job any more, or has ended the attempt in another way.
func (e *Engine) FinishFor(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) (done []domain.AttemptEnded, errs []error, err error) {
	if err := errors.Join(checkWorker(w), checkHeld(len(ends))); err != nil {
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
	var group []said
	var at []int
	for i := range ends {
		f, again, err := r.judgeEnd(ctx, space, &ends[i], keys[i], recs[i])
		switch {
		case err != nil:
			errs[i] = err
		case f == nil:
			done[i] = again
		default:
			group, at = append(group, said{*f, &ends[i]}), append(at, i)
		}
	}
	for n, a := range e.endAll(ctx, group) {
		done[at[n]], errs[at[n]] = a.AttemptEnded, a.err
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
func (r *Runner) judgeEnd(ctx context.Context, space board.Space, end *domain.AttemptEnd, key string,
	rec board.Record) (f *finish, again domain.AttemptEnded, err error) {
	out, err := outcomeOf(end)
	if err != nil {
		return nil, again, err
	}
	if rec == nil {
		return nil, again, domain.NotFoundf("job %q does not exist here", key)
	}
	j, derr := layout.DecodeJob(end.Key(), rec)
	if !holds(j, r.cfg.Owner, end.HeldAttempt) {
		again, err = r.endedBefore(j, end)
		return nil, again, err
	}
	r.claimers = append(r.claimers[:0], workerClaimer(r, j.ScriptType))
	x := r.taken(ctx, board.Claimed{Space: space, Item: key, Token: end.Attempt, Record: rec}, time.Now())
	x.job, x.began, x.Begun = j, end.StartedMs, time.UnixMilli(j.StartedMs)
	x.log = newLog(x, j, rec)
	if err := x.lastLines(parseSeen(rec.Get(layout.JobLogSeen), end.Attempt), end.Lines); err != nil {
		return nil, again, err
	}
	x.log.stop()
	if s := r.e.sessions.take(attemptOf{space: space, owner: r.cfg.Owner, held: end.HeldAttempt}); s != nil {
		x.script = s.x.script
	}
	b := x.heldBatch()
	if derr != nil {
		return fitted(x, b, x.end(&b, invalid(derr))), again, nil
	}
	if end.Verdict == domain.VerdictSuspended && j.Cancel == "" {
		what, err := x.suspend(ctx, &b, end.Suspension)
		return fitted(x, b, what), again, err
	}
	what := x.judge(&b, out, stopCause(j, end.Verdict))
	return fitted(x, b, what), again, nil
}

// holds reports whether a worker, by the owner on its leases, has the attempt of a job.
func holds(j *domain.Job, owner string, held domain.HeldAttempt) bool {
	return j.LeaseOwner == owner && j.Attempt == held.Attempt && began(j, held)
}

// began reports whether the attempt of a job that a worker means may be the one that stands on the
// record, by when that began.
func began(j *domain.Job, held domain.HeldAttempt) bool {
	return held.StartedMs == 0 || held.StartedMs == j.StartedMs
}

// lastLines adds to the log of a run the lines that came with its end. Where the number of one is refused the end is
// taken all the same, with a line that says that it is missing: it would come again as it is, until its lease was over and the
// job lost.
func (x *run) lastLines(seen logSeen, lines []domain.LogLine) error {
	var fits []domain.LogLine
	missing := map[int]int{} // how many before the line of that place among those that fit
	for _, l := range lines {
		if _, err := seen.unseen([]domain.LogLine{l}); err != nil {
			missing[len(fits)]++
			continue
		}
		fits = append(fits, l)
	}
	for i := range len(fits) + 1 {
		if n := missing[i]; n == 1 {
			x.log.add("ramet", []byte("1 line is missing here: its n is too far beyond the last that came"))
		} else if n > 0 {
			x.log.add("ramet", fmt.Appendf(nil, "%d lines are missing here: their n are too far beyond the last that came", n))
		}
		if i < len(fits) && seen.take(fits[i].N) {
			x.log.addText(fits[i].Stream, []byte(fits[i].Line))
		}
	}
	return nil
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
	case v == domain.VerdictLost:
		return script.ErrLost
	}
	return script.ErrDraining
}

// endedBefore answers a worker that ends what it does not have any more: with what stands,
// if it has ended this attempt before in the same way. An answer that was lost is asked for
// again like this.
//
// Errors: [domain.ErrConflict] when the attempt ended in another way, or is another's.
func (r *Runner) endedBefore(j *domain.Job, end *domain.AttemptEnd) (domain.AttemptEnded, error) {
	stands := domain.AttemptEnded{Status: j.Status, Reason: j.Reason, Error: j.Error}
	ours := j.Attempt == end.Attempt && j.LeaseOwner == "" && j.RunnerID == r.cfg.ID && (j.StartedMs == 0 || began(j, end.HeldAttempt))
	switch {
	case ours && j.Final() && (j.Reason != domain.ReasonRunnerLost || end.Verdict == domain.VerdictLost):
		if !sameEnd(j, end) {
			return domain.AttemptEnded{}, domain.Conflictf("job %q: attempt %d has ended already, as %s; this end of it is not counted", j.Key(), end.Attempt,
				endWords(j))
		}
		return stands, nil
	case ours && j.Suspended != nil && end.Verdict == domain.VerdictSuspended:
		return domain.AttemptEnded{Status: domain.JobStarted}, nil
	case ours && j.NextRetryMs != 0: // the record has no reason between two attempts
		stands.Status, stands.Reason = domain.JobStarted, domain.ReasonScriptFailed
		if end.Verdict == domain.VerdictTimeout {
			stands.Reason = domain.ReasonTimeout
		}
		if end.Verdict == domain.VerdictSucceeded || end.Verdict == domain.VerdictStopped || end.Verdict == domain.VerdictLost {
			return domain.AttemptEnded{}, domain.Conflictf("job %q: attempt %d has failed already, and the job is tried again; this end of it is not counted",
				j.Key(), end.Attempt)
		}
		return stands, nil
	case ours && !j.Final() && end.Verdict == domain.VerdictSuspended: // what it waits for has come
		return domain.AttemptEnded{Status: domain.JobStarted}, nil
	case ours && !j.Final() && (end.Verdict == domain.VerdictStopped || end.Verdict == domain.VerdictLost):
		// It waits for its next claim, which would count an attempt.
		return domain.AttemptEnded{Status: domain.JobStarted, Error: putBackText(j)}, nil
	}
	return domain.AttemptEnded{}, domain.Conflictf("job %q: attempt %d is not this worker's any more: it has ended before, its lease ran out, or it was "+
		"never its own; this end of it is not counted", j.Key(), end.Attempt)
}

// putBackText is what a worker hears of a job that it gave back: what was done the first time, whatever it
// says now.
func putBackText(j *domain.Job) string {
	if j.LostAttempt == j.Attempt {
		return notRenewed
	}
	return givenBack
}

// sameEnd reports whether the end of job j is what end says of it. Words about what went
// wrong are not compared.
func sameEnd(j *domain.Job, end *domain.AttemptEnd) bool {
	switch {
	case j.Status == domain.JobFinished:
		return end.Verdict == domain.VerdictSucceeded && maps.Equal(j.Result, end.Result)
	case j.Reason == domain.ReasonCancelled:
		return end.Verdict != domain.VerdictSucceeded // a cancel ends what would be tried again, too
	case j.Reason == domain.ReasonRunnerLost:
		return end.Verdict == domain.VerdictLost
	case j.Reason == domain.ReasonTimeout:
		return end.Verdict == domain.VerdictTimeout
	case j.Reason == domain.ReasonScriptFailed:
		return end.Verdict == domain.VerdictFailed || end.Verdict == domain.VerdictErrored
	}
	return true // whatever was said could not be written: that is what the answer says
}

// endWords say how a job ended.
func endWords(j *domain.Job) string {
	switch {
	case j.Status == domain.JobFinished:
		return "finished with its result"
	case j.Reason != "":
		return string(j.Status) + " (" + string(j.Reason) + ")"
	}
	return string(j.Status)
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
	case domain.VerdictStopped, domain.VerdictTimeout, domain.VerdictLost:
		out.Verdict = script.Stopped
	case domain.VerdictSuspended:
		if err := checkSuspension(end.Suspension); err != nil {
			return out, err
		}
		out.Verdict = script.Stopped // where it was cancelled meanwhile
	default:
		return out, domain.Invalidf("verdict %.40q: want succeeded, failed, errored, stopped, timeout, lost or suspended", end.Verdict)
	}
	if out.Verdict != script.Succeeded && out.Error == "" {
		out.Error = "its worker says that it has " + string(end.Verdict)
	}
	return out, nil
}

// erroredCode is the exit code of what ended unexpectedly, as of a process.
const erroredCode = 125

// said is the end of a run, and what a worker said of which it was made: nil where the
// node itself ends what it has just claimed.
type said struct {
	finish
	end *domain.AttemptEnd
}

// answer is what a worker hears of one end.
type answer struct {
	domain.AttemptEnded
	err error
}

// endAll writes ends of runs; each has its answer.
func (e *Engine) endAll(ctx context.Context, group []said) []answer {
	if len(group) == 0 {
		return nil
	}
	batches := make([]board.Batch, len(group))
	for i := range group {
		batches[i] = group[i].batch
	}
	answers := make([]answer, len(group))
	for i, err := range e.board.CommitEach(ctx, batches) {
		answers[i].AttemptEnded, answers[i].err = group[i].insist(ctx, err)
	}
	return answers
}

// insist writes an end whose first commit was answered with err. While the board is away
// it gives up: whoever asked asks again.
func (s said) insist(ctx context.Context, err error) (domain.AttemptEnded, error) {
	x, f := s.x, s.finish
	for try := 0; err != nil; try++ {
		switch {
		case isGone(err) && s.end == nil:
			if !x.applied(ctx) {
				return domain.AttemptEnded{}, domain.Conflictf("job %q: its lease ran out before it was put back", x.key)
			}
			return f.what.answer(), nil
		case isGone(err): // by this end, whose answer was lost, or by another one
			j, err := x.r.e.loadAny(ctx, x.Claimed.Space, x.key)
			if err != nil {
				return domain.AttemptEnded{}, err
			}
			return x.r.endedBefore(j, s.end)
		case try >= endTries:
			return domain.AttemptEnded{}, domain.Unavailablef("job %q changes too quickly; try again", x.key)
		case errors.Is(err, domain.ErrConflict):
			f, err = x.rebuild(ctx, f)
		case errors.Is(err, domain.ErrInvalid):
			f, err = x.refused(f, err), nil
		default:
			return domain.AttemptEnded{}, err
		}
		if err == nil {
			err = x.r.e.board.Commit(ctx, f.batch)
		}
	}
	x.traced(f.what, time.UnixMilli(x.job.StartedMs))
	if s.end != nil {
		x.endedAs(f.what)
	}
	return f.what.answer(), nil
}

// answer is what a worker hears of an end that is written.
func (n ended) answer() domain.AttemptEnded {
	return domain.AttemptEnded{Status: n.status, Reason: n.reason, Error: cutText(n.text)}
}

// LogFor adds lines to the log of a job that a worker has. What goes over the job's
// share is dropped, with a line that says so.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrNotFound]; [domain.ErrConflict]
// when the worker does not have the job any more.
func (e *Engine) LogFor(ctx context.Context, w domain.Worker, held domain.HeldAttempt, lines []domain.LogLine) error {
	if err := errors.Join(checkWorker(w), checkLines(lines)); err != nil {
		return err
	}
	key, space, limits := held.Key().String(), layout.SpaceOf(w.Context), e.board.Limits()
	var rest []string   // what is to be written still, as it is written
	var whole [][]int64 // for each of these, which lines of the worker's are whole with it, by their numbers
	var seen logSeen
	begun := false
	for range endTries {
		rec, err := e.recordForLog(ctx, space, key, lines)
		if err != nil {
			return err
		}
		r := e.runnerOf(w, domain.DefaultLease)
		r.claimers = []*claimer{workerClaimer(r, "")}
		x := r.taken(ctx, board.Claimed{Space: space, Item: key, Token: held.Attempt, Record: rec}, time.Now())
		j, _ := layout.DecodeJob(held.Key(), rec) // as much as there is of it
		x.began = held.StartedMs
		x.log = newLog(x, j, rec)
		if !begun { // else all of them are counted already
			whole, seen = nil, parseSeen(rec.Get(layout.JobLogSeen), held.Attempt)
			fresh, err := seen.unseen(lines)
			if err != nil {
				return err
			}
			for _, l := range fresh {
				if x.log.addText(l.Stream, []byte(l.Line)); len(whole) < len(x.log.lines) {
					whole = append(whole, make([][]int64, len(x.log.lines)-len(whole))...)
				}
				if end := len(whole) - 1; end >= 0 && l.N > 0 { // else there was no room for it
					whole[end] = append(whole[end], l.N)
				}
			}
			rest, _ = x.log.take()
			whole = append(whole, make([][]int64, max(0, len(rest)-len(whole)))...)
		}
		was := rec.Get(layout.JobLogBytes) // another request may add to it beside this one
		for _, part := range parts(limits, rec.Bytes(), rest, textBytes) {
			b := x.heldBatch()
			b.Equal(key, layout.JobLogBytes, was)
			x.log.put(&b, part)
			now := seen
			for _, n := range slices.Concat(whole[:len(part)]...) {
				now.take(n)
			}
			if now.last > 0 {
				b.Set(key, board.Field{Name: layout.JobLogSeen, Value: now.text(held.Attempt)})
			}
			if err = e.board.Commit(ctx, b); err != nil {
				break
			}
			begun, rest, whole, seen, was = true, rest[len(part):], whole[len(part):], now, x.log.used()
		}
		switch {
		case isGone(err):
			return domain.Conflictf("job %q: attempt %s is not this worker's any more", key, strconv.FormatInt(held.Attempt, 10))
		case !errors.Is(err, domain.ErrConflict):
			return err
		}
	}
	return domain.Unavailablef("the log of job %q changes too quickly; try again", key)
}

// logFields say how much of a log there is, and how much may come.
var logFields = append([]string{layout.JobLogBytes, layout.JobLogMost, layout.JobLogSeen}, layout.JobEnd...)

// recordForLog reads what lines are added by: how many bytes the log has, and the whole record
// where it may stand in their way.
func (e *Engine) recordForLog(ctx context.Context, space board.Space, key string, lines []domain.LogLine) (board.Record, error) {
	all := 0
	for i := range lines {
		all += len(lines[i].Line) + logLineCost
	}
	if e.board.Limits().Whole && all > smallPart/8 { // written as JSON they may be six times as long
		recs, err := board.Readable(e.board.Get(ctx, space, key))
		if err != nil {
			return nil, err
		}
		return recs[0], nil
	}
	recs, err := e.board.GetFields(ctx, space, logFields, key)
	if err != nil {
		return nil, err
	}
	return recs[0], nil
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
		if lines[i].N < 0 {
			return domain.Invalidf("line %d: n is %d, want 1 or more, or none", i+1, lines[i].N)
		}
		if len(lines[i].Line) > script.MaxLineBytes {
			return domain.Limitf("line %d has %d bytes, the limit is %d: write several", i+1, len(lines[i].Line), script.MaxLineBytes)
		}
	}
	return nil
}
