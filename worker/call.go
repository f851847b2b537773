package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file lets functions have others do something: jobs and flows of their own, people,
// and whoever meets a prerequisite. Once its job waits, no worker has it meanwhile.

// Call is what a function has done by a job or a flow of its own: a blueprint, or a script. It
// is made once, whatever happens, in the name of the job's caller, and cancelled with the job.
type Call = domain.Call

// Approval is what a person is asked.
type Approval = domain.CallApproval

// Decision is what a person has decided.
type Decision struct {
	Approved bool              `json:"approved"`
	By       string            `json:"by"` // the number of an actor
	Comment  string            `json:"comment"`
	Answers  map[string]string `json:"answers"`
}

// Call has a job or a flow done, and gives its result.
//
// Errors: *[StepError] where it has ended badly, which is remembered; [ErrSuspended]; as those
// of [Step].
func (j *Job) Call(ctx context.Context, c Call) (map[string]string, error) {
	results, err := j.Gather(ctx, c)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// Gather has jobs and flows done side by side, and gives their results in that order when all
// have ended.
//
// Errors: *[StepError] of the first that has ended badly; as those of [Job.Call].
func (j *Job) Gather(ctx context.Context, calls ...Call) ([]map[string]string, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	a, err := j.ask(ctx, stepRequest{Do: "call", Calls: calls})
	if err != nil {
		return nil, err
	}
	if len(a.Ends) != len(calls) {
		return nil, fmt.Errorf("the node's answer has the ends of %d calls, not of %d", len(a.Ends), len(calls))
	}
	results := make([]map[string]string, len(calls))
	for i, end := range a.Ends {
		if end.Failure != nil {
			return nil, &StepError{Name: calls[i].Name, Text: end.Failure.Text}
		}
		results[i] = end.Value
	}
	return results, nil
}

// WaitFor waits until a prerequisite is met, such as "file:in.csv" or "job:12:7". timeout 0 is
// for ever.
//
// Errors: *[StepError] for one that can never be met; as those of [Wait].
func (j *Job) WaitFor(ctx context.Context, name, prerequisite string, timeout time.Duration) error {
	_, err := j.await(ctx, stepRequest{Do: "wait", Name: name, Prerequisite: prerequisite}, timeout)
	return err
}

// Approval waits for what a person decides. timeout 0 is for ever.
//
// Errors: as those of [Wait].
func (j *Job) Approval(ctx context.Context, name string, asked Approval, timeout time.Duration) (Decision, error) {
	var d Decision
	value, err := j.await(ctx, stepRequest{Do: "wait", Name: name, Approval: &asked}, timeout)
	if err == nil {
		err = json.Unmarshal(value, &d)
	}
	return d, err
}

// await waits for something, and gives what came.
func (j *Job) await(ctx context.Context, r stepRequest, timeout time.Duration) (json.RawMessage, error) {
	if timeout > 0 {
		r.TimeoutMs = new(timeout.Milliseconds())
	}
	a, err := j.ask(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case a.TimedOut:
		return nil, fmt.Errorf("wait %q: %w", r.Name, ErrTimedOut)
	case a.Failure != nil:
		return nil, &StepError{Name: r.Name, Text: a.Failure.Text}
	}
	return a.Value, nil
}
