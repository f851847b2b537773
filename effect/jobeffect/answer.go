package jobeffect

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// maxErrorText bounds the error in an answer, in bytes.
const maxErrorText = 1_000

// answer is what a command's work came to.
type answer struct {
	Job      string          `json:"job,omitzero"`  // its key
	Flow     domain.FlowID   `json:"flow,omitzero"` // its number
	Status   string          `json:"status"`        // finished or error
	Reason   string          `json:"reason,omitzero"`
	Error    string          `json:"error,omitzero"`
	ExitCode *int            `json:"exit_code,omitzero"`
	Result   json.RawMessage `json:"result"` // names and texts; cut, with its size, where it is too long
}

// give is the end of an attempt: the answer, as a refusal where the work did
// not end well.
func (a answer) give(what string, result map[string]string) (json.RawMessage, error) {
	if result == nil {
		result = map[string]string{}
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	a.Error = domain.PlainText(a.Error, maxErrorText)
	a.Result = effect.Body(text, int64(len(text)))
	out, err := json.Marshal(a)
	if err != nil || a.Status == string(domain.JobFinished) {
		return out, err
	}
	cause := what + " ended in error"
	for _, more := range []string{a.Reason, a.Error} {
		if more != "" {
			cause += ": " + more
		}
	}
	return nil, &effect.Refused{Cause: cause, Answer: out}
}

// refuse makes a refusal of what another attempt would meet again. A ban, a
// flow that must be alone, a board that is away are none.
func refuse(err error) error {
	for _, kind := range []error{domain.ErrInvalid, domain.ErrNotFound, domain.ErrForbidden, domain.ErrLimit} {
		if errors.Is(err, kind) {
			return effect.Refusedf("%v", err)
		}
	}
	return err
}

// open is whether a provider still takes calls.
type open struct{ closed atomic.Bool }

// Close implements [effect.Provider].
func (o *open) Close() error {
	o.closed.Store(true)
	return nil
}

// take returns an error where a call is not taken.
func (o *open) take(ctx context.Context) error {
	if o.closed.Load() {
		return domain.Unavailablef("the effect is closed")
	}
	return ctx.Err()
}
