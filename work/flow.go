package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file is what flows need of jobs, and how jobs tell their flow that they
// have ended.

// Outcome is how a job of a flow ended, in one letter: it stands in the entry
// of [layout.FlowEnded].
type Outcome byte

// The outcomes.
const (
	OutcomeSucceeded Outcome = 's'
	OutcomeFailed    Outcome = 'f' // the script said so
	OutcomeErrored   Outcome = 'e' // something unexpected
	OutcomeAborted   Outcome = 'a' // by its flow
	OutcomeCancelled Outcome = 'c'
	OutcomeSkipped   Outcome = 'd' // what it needed did not end well
)

// maxFailedExit is the last exit code by which a script says that it failed;
// those above are the shell's and the system's.
const maxFailedExit = 124

// OutcomeOf says how a job ended.
func OutcomeOf(j *domain.Job) Outcome {
	return outcome(ending{status: j.Status, reason: j.Reason, exitCode: j.ExitCode})
}

func outcome(n ending) Outcome {
	switch {
	case n.status == domain.JobFinished:
		return OutcomeSucceeded
	case n.reason == domain.ReasonFlowAborted:
		return OutcomeAborted
	case n.reason == domain.ReasonCancelled:
		return OutcomeCancelled
	case n.reason == domain.ReasonDependencyFailed:
		return OutcomeSkipped
	case n.reason == domain.ReasonScriptFailed && (n.exitCode == nil || *n.exitCode >= 0 && *n.exitCode <= maxFailedExit):
		return OutcomeFailed
	}
	return OutcomeErrored
}

// Ending is an entry of [layout.FlowEnded].
type Ending struct {
	Job     domain.JobID
	Flow    domain.FlowID // instead of a job: a flow that one of the steps made
	Nth     int64         // which end of the flow it is; it grows
	Outcome Outcome
	Text    string // what went wrong
}

// FlowEnding is the entry for the end of a flow that a step made.
func FlowEnding(id domain.FlowID, nth int64, o Outcome, text string) string {
	return fmt.Sprintf("%c %s@%d %s", o, domain.FlowKey(id), nth, cutEnding(text))
}

// ParseEnding reads an entry: "<outcome> <job id> <text>", or of a flow "<outcome> flow:<id>@<nth> <text>".
func ParseEnding(entry string) (n Ending, ok bool) {
	what, rest, _ := strings.Cut(entry, " ")
	id, text, _ := strings.Cut(rest, " ")
	if len(what) != 1 {
		return n, false
	}
	n = Ending{Outcome: Outcome(what[0]), Text: text}
	if key, nth, of := strings.Cut(id, "@"); of {
		flow, err1 := domain.ParseFlowKey(key)
		number, err2 := strconv.ParseInt(nth, 10, 64)
		n.Flow, n.Nth = flow, number
		return n, err1 == nil && err2 == nil
	}
	number, err := strconv.ParseUint(id, 10, 32)
	n.Job = domain.JobID(number)
	return n, err == nil
}

// maxEndingText bounds the text of an entry.
const maxEndingText = 300

func cutEnding(text string) string {
	if len(text) <= maxEndingText {
		return text
	}
	return strings.ToValidUTF8(text[:maxEndingText], "") + "…"
}

// report adds to b what the end of j means to its flow. One that the keeper
// made, and one that did not end well, wakes the keeper; else the flow's
// counter is all: who makes it zero queues the flow.
func report(b *board.Batch, j *domain.Job, n ending) {
	item, waits := layout.FlowState(j.FlowID), layout.FlowWaits(j.FlowID)
	if n.status == domain.JobFinished {
		addParams(b, j, n.result)
		addResult(b, j, n.result)
		sayUnheard(b, j, n.result)
	}
	if j.Stepped || n.status != domain.JobFinished {
		b.PushLeft(layout.FlowEnded(j.FlowID), string(outcome(n))+" "+strconv.FormatUint(uint64(j.ID), 10)+" "+cutEnding(n.text))
	}
	if !j.Stepped {
		b.Countdown(waits, layout.WaitsPlain, queue.Keeper, item)
	}
	if j.Stepped || n.status != domain.JobFinished {
		b.Countdown(waits, layout.WaitsArmed, queue.Keeper, item)
	}
}

// addParams keeps what a job gives to those after it. The params of one index
// of a shard wait for the keeper, which puts them to the others before it begins
// what comes after: each of thousands of indexes would read what all others added.
func addParams(b *board.Batch, j *domain.Job, result map[string]string) {
	var fields []board.Field
	later := map[string]string{}
	for name, value := range result {
		switch param := strings.HasPrefix(name, "params."); {
		case param && j.Shard != "":
			later[name] = value
		case param || strings.HasPrefix(name, "steps."):
			fields = append(fields, board.Field{Name: name, Value: value})
		}
	}
	if len(fields) > 0 {
		b.Set(layout.FlowParams(j.FlowID), fields...)
	}
	if len(later) > 0 {
		b.PushLeft(layout.FlowAdded(j.FlowID), layout.MapField("", later).Value)
	}
}

// maxUnheard bounds how many lines a job gets about what its result does not change.
const maxUnheard = 20

// sayUnheard writes into the job's log what its result was to change of steps and does not.
// Whether there is such a step, the flow's explanation says.
func sayUnheard(b *board.Batch, j *domain.Job, result map[string]string) {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(result)) {
		if !strings.HasPrefix(name, domain.SettingPrefix) || len(lines) == maxUnheard {
			continue
		}
		_, _, err := domain.ParseStepSetting(name)
		switch {
		case err != nil:
		case !j.Stepped:
			err = domain.Invalidf("%s", name+Unheard)
		default:
			continue
		}
		lines = append(lines, layout.EncodeLog(domain.Log{AtMs: time.Now().UnixMilli(), Stream: "ramet", Attempt: int(j.Attempt), Line: err.Error()}))
	}
	if len(lines) > 0 {
		b.Append(layout.Logs(j.Key()), logLinesMost, lines...)
	}
}

// Unheard is what is said of a setting in a flow whose jobs were all made when it began.
const Unheard = " changes nothing: the flow is one of jobs, which were all made when it was submitted; " +
	"a blueprint whose scripts have `steps.` in their text makes one of steps"

// CheckFlowJob is what Submit checks of a job of a context; of 0 where it may be of any.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) CheckFlowJob(ctx context.Context, tenant domain.TenantID, j *domain.Job) error {
	if err := j.Validate(); err != nil {
		return err
	}
	if err := e.known(ctx, tenant, j); err != nil {
		return err
	}
	return validatePrerequisites(j.Prerequisites)
}

// UnknownTypeError says that nobody serves scripts of a type, nor has anybody made it known, so that
// no job of it is made. It is a [domain.ErrInvalid] of whoever asks for the job; who asks for a flow
// of somebody else's blueprint has done nothing wrong, and may ask again when it is known.
type UnknownTypeError struct{ Type domain.ScriptType }

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("script type %q is not known here; configure a runtime for it, use one that `ramet runner list` shows, "+
		"start the worker that serves it, or make it known with --register", e.Type)
}

func (e *UnknownTypeError) Unwrap() error { return domain.ErrInvalid }

// Place is how AddFlowJob writes a job.
type Place struct {
	// Held keeps the job back until [Page.Begin]: its flow is not written yet.
	Held bool
	// Followers are the entries of those that wait for it.
	Followers []string
}

// AddFlowJob adds to b the operations that make a job of a flow, with its guard
// that the id is free. All it depends on must be made in the same flow and
// before it may run. It returns the queue it goes to, "" where it waits: the
// caller pushes it there, several at once.
func AddFlowJob(b *board.Batch, j *domain.Job, p Place, now time.Time) (list string) {
	key := j.Key().String()
	j.Status, j.Waits, j.Followers = domain.JobDispatched, len(j.Dependends), len(p.Followers)
	j.CreatedAt, j.UpdatedAt = domain.At(now), domain.At(now)
	if j.Waits > 0 {
		j.Status = domain.JobWaiting
	}
	b.Absent(key)
	wait(b, j, now)
	if p.Held {
		j.Waits++
	}
	if j.Waits == 0 {
		j.QueuedMs = now.UnixMilli()
	}
	b.Set(key, jobFields(j)...)
	b.Live(key, now)
	if len(p.Followers) > 0 {
		b.PushRight(layout.Followers(j.Key()), p.Followers...)
	}
	if j.Waits > 0 {
		return ""
	}
	return queue.Of(j)
}

// Abort ends a job of a flow that nobody runs.
//
// held is true where somebody runs it; one that has ended, or is gone, is no error.
func (e *Engine) Abort(ctx context.Context, tenant domain.TenantID, key domain.JobKey, text string) (held bool, err error) {
	err = e.endUnheld(ctx, layout.SpaceOf(tenant), key, ending{status: domain.JobError, reason: domain.ReasonFlowAborted, text: text})
	switch {
	case errors.Is(err, errHeld):
		return true, nil
	case errors.Is(err, errEnded) || errors.Is(err, domain.ErrNotFound):
		return false, nil
	}
	return false, err
}

// RetryInFlow is [Engine.Retry] of a job of a flow, for the flow.
func (e *Engine) RetryInFlow(ctx context.Context, tenant domain.TenantID, key domain.JobKey) error {
	_, err := e.retry(ctx, tenant, key, func(*domain.Job) error { return nil })
	return err
}

// flowOf is the flow that j is one of, ok whether there is one. Who writes the
// record of a job writes there, too, which flow it is of: so only that of its own
// caller counts, whose jobs all flows are made of. Else one could read another's
// environment by a job, and say to another's flow that its steps had failed.
//
// Errors: [domain.ErrForbidden] for the flow of another caller.
func (e *Engine) flowOf(ctx context.Context, space board.Space, j *domain.Job) (f knownFlow, ok bool, err error) {
	if j.FlowID == 0 {
		return f, false, nil
	}
	f, err = e.flows.get(ctx, e.board, flowPlace{space, j.FlowID}, j.FlowEnv)
	switch {
	case err != nil || f.caller == "":
		return f, false, err
	case f.caller != callerText(j):
		return f, false, domain.Forbiddenf("job %q says that it is of flow:%d, which is another actor's; leave out %s, which the node writes itself",
			j.Key(), j.FlowID, layout.JobFlowID)
	}
	return f, true, nil
}

// ownFlow takes j out of a flow that is not there.
//
// Errors: [domain.ErrForbidden] for the flow of another caller.
func (e *Engine) ownFlow(ctx context.Context, space board.Space, j *domain.Job) error {
	_, ok, err := e.flowOf(ctx, space, j)
	if err == nil && !ok {
		j.FlowID, j.FlowEnv, j.Stepped = 0, false, false
	}
	return err
}

// tellFlow adds to b what the end of j means to its flow. Where the flow cannot be
// read, the commit finds out whether it is j's.
func (e *Engine) tellFlow(ctx context.Context, b *board.Batch, j *domain.Job, n ending) {
	_, ok, err := e.flowOf(ctx, b.Space, j)
	if err != nil && !errors.Is(err, domain.ErrForbidden) {
		b.Equal(layout.FlowState(j.FlowID), layout.FlowStateCaller, callerText(j))
		ok = true
	}
	if ok {
		report(b, j, n)
	}
}

// callerText is a job's caller, as its flow has it.
func callerText(j *domain.Job) string { return callerID(j.CallerID) }

func callerID(id domain.ActorID) string { return strconv.FormatUint(uint64(id), 10) }

// envOf is the environment that j finds of its flow, which must not be changed.
func (e *Engine) envOf(ctx context.Context, space board.Space, j *domain.Job) (map[string]string, error) {
	if !j.FlowEnv {
		return nil, nil
	}
	f, ok, err := e.flowOf(ctx, space, j)
	if err != nil || !ok {
		return nil, err
	}
	return f.env, f.bad
}

// addParamsOf puts the job's params into the input, under what the flow's jobs
// have added.
func addParamsOf(in *domain.Input, j *domain.Job, added board.Record) {
	in.Params = maps.Clone(j.Params)
	if in.Params == nil {
		in.Params = map[string]string{}
	}
	for _, f := range added {
		if name, ok := strings.CutPrefix(f.Name, "params."); ok {
			in.Params[name] = f.Value
		}
	}
}

// shardOf reads "<index>/<count>".
func shardOf(text string) (p domain.ShardPart, ok bool) {
	index, total, ok := strings.Cut(text, "/")
	var e1, e2 error
	p.Index, e1 = strconv.ParseInt(index, 10, 64)
	p.Total, e2 = strconv.ParseInt(total, 10, 64)
	return p, ok && e1 == nil && e2 == nil
}

// packOf reads "<id>:<start>-<end>".
func packOf(text string) (p domain.PackRange, ok bool) {
	id, span, ok1 := strings.Cut(text, ":")
	start, end, ok2 := strings.Cut(span, "-")
	var e1, e2, e3 error
	p.ID, e1 = strconv.ParseInt(id, 10, 64)
	p.Start, e2 = strconv.ParseInt(start, 10, 64)
	p.End, e3 = strconv.ParseInt(end, 10, 64)
	return p, ok1 && ok2 && errors.Join(e1, e2, e3) == nil
}

// Remove adds to b that a job goes with all that belongs to it.
func Remove(b *board.Batch, key domain.JobKey) {
	b.Release(key.String())
	for _, k := range []layout.AlarmKind{layout.AlarmStart, layout.AlarmRetry, layout.AlarmPrereq, layout.AlarmForeign, layout.AlarmCascade,
		layout.AlarmCalled} {
		b.ClearAlarm(layout.Alarm(k, key))
	}
	for _, own := range []string{key.String(), layout.Logs(key), layout.Checkpoint(key), layout.Steps(key), layout.Signals(key), layout.Followers(key)} {
		b.Delete(own)
	}
}
