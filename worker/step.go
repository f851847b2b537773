package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file lets functions remember what they have done: see "Durable scripts" in the
// documentation. Once a job has slept or waited, its function is called again from its
// top, by any worker, and what is remembered is given back without being done again. So
// what stands outside of steps must come to the same each time.

var (
	// ErrSuspended ends a function whose job sleeps or waits: return it. The job goes on
	// when that is over; no retry is spent.
	ErrSuspended = errors.New("the job waits, and goes on later")
	// ErrTimedOut says that what was waited for did not come in time.
	ErrTimedOut = errors.New("it did not come in time")
)

// StepError is how a step failed for good. It is remembered: the step fails so in later
// calls of the function, too.
type StepError struct {
	Name string
	Text string
	// Cause is what the step's function returned, where that was in this call.
	Cause error
}

func (e *StepError) Error() string { return fmt.Sprintf("step %q: %s", e.Name, e.Text) }
func (e *StepError) Unwrap() error { return e.Cause }

// StepAttempt is what a step's function may know of its step.
type StepAttempt struct {
	// Key is the same in all attempts at the step: the idempotency key for whatever is called.
	Key string
	// Attempt counts them, from 1.
	Attempt int
}

// Step calls f once, ever, and gives what it returned, to later calls of the job's function
// too. JSON must be able to carry it. An error of f is remembered as the step's failure,
// unless it is a [RetryAfter]: then the step is tried again after that time.
//
// Errors: *[StepError], [ErrSuspended] where a next try is far away, [domain.ErrConflict]
// when the function asks for something else than the job's history has.
func Step[T any](ctx context.Context, job *Job, name string, f func(ctx context.Context, s StepAttempt) (T, error)) (T, error) {
	var out T
	a, err := job.step(ctx, name, func(ctx context.Context, s StepAttempt) (any, error) { return f(ctx, s) })
	if err != nil {
		return out, err
	}
	if len(a) > 0 {
		if err := json.Unmarshal(a, &out); err != nil {
			return out, Fail(fmt.Errorf("what step %q remembers cannot be read: %w", name, err))
		}
	}
	return out, nil
}

// Wait waits for a signal to the job (`ramet job signal`), and gives its payload. The name
// of the wait is the signal's. timeout 0 is for ever.
//
// Errors: [ErrSuspended], [ErrTimedOut]; as those of [Step].
func Wait[T any](ctx context.Context, job *Job, name string, timeout time.Duration) (T, error) {
	var out T
	value, err := job.await(ctx, stepRequest{Do: "wait", Name: name}, timeout)
	if err != nil || len(value) == 0 {
		return out, err
	}
	if err := json.Unmarshal(value, &out); err != nil {
		return out, Fail(fmt.Errorf("the payload of signal %q cannot be read: %w", name, err))
	}
	return out, nil
}

// Sleep lets the job sleep; unless that is short, no worker has it meanwhile.
//
// Errors: [ErrSuspended]; as those of [Step].
func (j *Job) Sleep(ctx context.Context, name string, d time.Duration) error {
	_, err := j.ask(ctx, stepRequest{Do: "sleep", Name: name, ForMs: new(d.Milliseconds())})
	return err
}

// SleepUntil lets the job sleep until a time.
//
// Errors: as those of Sleep.
func (j *Job) SleepUntil(ctx context.Context, name string, t time.Time) error {
	_, err := j.ask(ctx, stepRequest{Do: "sleep", Name: name, UntilMs: new(t.UnixMilli())})
	return err
}

// Now is the time, the same in later calls of the function.
//
// Errors: as those of [Step].
func (j *Job) Now(ctx context.Context) (time.Time, error) {
	ms, err := drawn[int64](ctx, j, stepRequest{Do: "now"})
	return time.UnixMilli(ms), err
}

// Random is a number from 0 to below 1, the same in later calls of the function.
//
// Errors: as those of [Step].
func (j *Job) Random(ctx context.Context) (float64, error) {
	return drawn[float64](ctx, j, stepRequest{Do: "random"})
}

// UUID is a UUID, the same in later calls of the function.
//
// Errors: as those of [Step].
func (j *Job) UUID(ctx context.Context) (string, error) {
	return drawn[string](ctx, j, stepRequest{Do: "uuid"})
}

// Version says that what name is has version n in this program, and gives the version that the
// job began with: 0 where it came past here before there was one.
//
// Errors: as those of [Step].
func (j *Job) Version(ctx context.Context, name string, n int64) (int64, error) {
	return drawn[int64](ctx, j, stepRequest{Do: "version", Name: name, N: n})
}

func drawn[T any](ctx context.Context, j *Job, r stepRequest) (v T, err error) {
	a, err := j.ask(ctx, r)
	if err == nil {
		err = json.Unmarshal(a.Value, &v)
	}
	return v, err
}

// stepRequest and stepAnswer are what a function and its node say to each other: the words of
// the channel of scripts, see package durable, which workers do not bring along.
type stepRequest struct {
	Do           string          `json:"do"`
	Name         string          `json:"name,omitzero"`
	N            int64           `json:"n,omitzero"`
	Value        json.RawMessage `json:"value,omitzero"`
	Failure      *stepFailure    `json:"failure,omitzero"`
	RetryAfterMs *int64          `json:"retry_after_ms,omitzero"`
	ForMs        *int64          `json:"for_ms,omitzero"`
	UntilMs      *int64          `json:"until_ms,omitzero"`
	TimeoutMs    *int64          `json:"timeout_ms,omitzero"`
	Prerequisite string          `json:"prerequisite,omitzero"`
	Approval     *Approval       `json:"approval,omitzero"`
	Calls        []Call          `json:"calls,omitzero"`
}

type stepFailure struct {
	Kind string `json:"kind,omitzero"`
	Text string `json:"text"`
}

type stepAnswer struct {
	Done     bool            `json:"done"`
	Suspend  bool            `json:"suspend,omitzero"`
	Again    bool            `json:"again,omitzero"`
	Value    json.RawMessage `json:"value,omitzero"`
	Failure  *stepFailure    `json:"failure,omitzero"`
	TimedOut bool            `json:"timed_out,omitzero"`
	N        int64           `json:"n,omitzero"`
	Key      string          `json:"key,omitzero"`
	Attempt  int             `json:"attempt,omitzero"`
	Ends     []struct {
		Value   map[string]string `json:"value"`
		Failure *stepFailure      `json:"failure"`
	} `json:"ends,omitzero"`
	Error *struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	} `json:"error,omitzero"`
}

// counts reports whether the node counts the request: how far an attempt has come is how many
// of these it has made.
func (r *stepRequest) counts() bool {
	return r.Do != "done" && r.Do != "drop" && (r.Do != "step" || r.N == 0)
}

// memory is what a job in hand has asked for.
type memory struct {
	asking chan struct{} // the turn to make a request that counts: they go one after the other

	mu         sync.Mutex
	asked      []json.RawMessage // the requests that count and were answered
	suspension *domain.Suspension
}

// inStep marks the context of a step's function.
type inStep struct{}

// step does a step; it gives its answer as JSON.
func (j *Job) step(ctx context.Context, name string, f func(context.Context, StepAttempt) (any, error)) (json.RawMessage, error) {
	for r := (stepRequest{Do: "step", Name: name}); ; {
		a, err := j.ask(ctx, r)
		if err != nil {
			return nil, err
		}
		var cause error
		if r.N = a.N; !a.Done {
			if a, cause, err = j.do(ctx, name, a, f); err != nil {
				return nil, err
			}
		}
		switch {
		case a.Again: // the node waits with it, or suspends the job if that takes long
		case a.Failure != nil:
			return nil, &StepError{Name: name, Text: a.Failure.Text, Cause: cause}
		default:
			return a.Value, nil
		}
	}
}

// do calls a step's function, has remembered what came of it, and gives that as the node would.
func (j *Job) do(ctx context.Context, name string, begun stepAnswer, f func(context.Context, StepAttempt) (any, error)) (a stepAnswer, cause, err error) {
	done := stepRequest{Do: "done", Name: name, N: begun.N}
	value, cause := f(context.WithValue(ctx, inStep{}, name), StepAttempt{Key: begun.Key, Attempt: begun.Attempt})
	if cause != nil && ctx.Err() != nil { // it was told to stop: this is no end of the step
		return a, nil, cause
	}
	if cause == nil {
		if done.Value, cause = json.Marshal(value); cause != nil {
			cause = fmt.Errorf("what it has returned cannot be written as JSON: %w", cause)
		}
	}
	if cause == nil {
		a, err = j.ask(ctx, done)
		if !errors.Is(err, domain.ErrLimit) {
			a.Value = done.Value
			return a, nil, err
		}
		cause = Fail(err) // it is done, and would be done again if this were not remembered
	}
	done.Value, done.Failure = nil, &stepFailure{Text: cause.Error()}
	if what, ok := errors.AsType[*said](cause); ok && !what.final {
		done.RetryAfterMs = new(what.after.Milliseconds())
	}
	if a, err = j.ask(ctx, done); err == nil {
		a.Failure = done.Failure
	}
	return a, cause, err
}

// ask asks a node what the job remembers, until one answers.
func (j *Job) ask(ctx context.Context, r stepRequest) (a stepAnswer, err error) {
	if j.remember == nil {
		return a, fmt.Errorf("%s %q: nothing is remembered here: the job is in no worker's hands; tests have it remember by workertest", r.Do, r.Name)
	}
	if name, inside := ctx.Value(inStep{}).(string); inside {
		return a, fmt.Errorf("%s %q inside of step %q: what a step does cannot have steps, sleeps and waits of its own", r.Do, r.Name, name)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if r.counts() {
		select {
		case j.memory.asking <- struct{}{}:
			defer func() { <-j.memory.asking }()
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
	ask := domain.WorkerStep{HeldAttempt: j.held(), Request: text}
	for failures := 0; ; failures++ {
		ask.Asked = j.memory.count()
		got, err := j.remember(ctx, ask)
		switch {
		case errors.Is(err, domain.ErrUnavailable), errors.Is(err, domain.ErrExhausted):
			if rest(ctx, failures, comeAgain(err)); ctx.Err() != nil {
				return a, context.Cause(ctx)
			}
			continue
		case err != nil:
			return a, err
		case got.Unknown: // it does not know how far this attempt has come
			ask.Before = j.memory.list()
			continue
		}
		return a, j.answered(&a, &r, text, got)
	}
}

// answered takes in what a node answered.
func (j *Job) answered(a *stepAnswer, r *stepRequest, text json.RawMessage, got domain.WorkerStepAnswer) error {
	if err := json.Unmarshal(got.Answer, a); err != nil {
		return fmt.Errorf("the node's answer cannot be read: %w", err)
	}
	m := &j.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case a.Suspend:
		m.suspension = got.Suspension
		return ErrSuspended
	case a.Error != nil:
		return stepErrors(a.Error.Kind, a.Error.Text)
	case r.counts():
		m.asked = append(m.asked, text)
	}
	return nil
}

// stepErrors makes an error of the kind that the channel of scripts names.
func stepErrors(kind, text string) error {
	switch kind {
	case "drift":
		return Fail(domain.Conflictf("%s", text)) // it would be so each time
	case "lost", "conflict":
		return domain.Conflictf("%s", text)
	case "invalid":
		return domain.Invalidf("%s", text)
	case "limit":
		return domain.Limitf("%s", text)
	}
	return errors.New(text)
}

func (m *memory) count() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.asked))
}

func (m *memory) list() []json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]json.RawMessage{}, m.asked...)
}

// suspended is what the job waits for, nil where its function was not told so.
func (j *Job) suspended() *domain.Suspension {
	j.memory.mu.Lock()
	defer j.memory.mu.Unlock()
	return j.memory.suspension
}
