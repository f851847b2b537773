package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file makes one attempt and says how it ended.

// maxError bounds what is kept of an error's text.
const maxError = 2 << 10

// attempt is how one ended.
type attempt struct {
	outcome domain.EffectOutcome
	answer  json.RawMessage
	err     string
	after   time.Duration // the least time until the next, as the target wants it
	took    time.Duration
	stack   string // of a provider that panicked
}

// verdict is what it says of the target.
func (a attempt) verdict() verdict {
	switch a.outcome {
	case domain.EffectDone, domain.EffectDenied:
		return works
	case domain.EffectAbandoned:
		return unknown
	}
	return fails
}

// errAbandoned is why a context ends when the node does.
var errAbandoned = errors.New("the node stops")

// try makes one attempt within the definition's time. What comes back has no
// secrets in it.
func (e *opened) try(ctx context.Context, call Call, secrets *Secrets) (a attempt) {
	began := time.Now()
	tctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	answer, stack, err := e.do(tctx, call)
	a = attempt{outcome: domain.EffectDone, took: time.Since(began), stack: stack}
	var refused *Refused
	var later *RetryAfter
	switch {
	case err == nil:
		a.answer = clean(answer, secrets)
		return a
	case errors.As(err, &refused):
		a.outcome, a.answer = domain.EffectDenied, clean(refused.Answer, secrets)
	case ctx.Err() != nil:
		a.outcome = domain.EffectAbandoned
	case tctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		a.outcome = domain.EffectTimedOut
		err = fmt.Errorf("no answer within %s: %w", e.Timeout, err)
	default:
		a.outcome = domain.EffectFailed
	}
	if errors.As(err, &later) {
		a.after = later.After
	}
	a.err = domain.PlainText(secrets.Redact(err.Error()), maxError)
	return a
}

// do asks the provider, whose panics are errors: a payload that it chokes on
// must not end the node.
func (e *opened) do(ctx context.Context, call Call) (answer json.RawMessage, stack string, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack, err = string(debug.Stack()), fmt.Errorf("BUG: provider of kind %s panics: %v", e.Kind, p)
		}
	}()
	answer, err = e.provider.Do(ctx, call)
	return answer, "", err
}

// clean is an answer as it may go on: valid, within bounds, without secrets.
func clean(answer json.RawMessage, secrets *Secrets) json.RawMessage {
	if len(answer) == 0 {
		return nil
	}
	text := secrets.Redact(string(answer))
	if len(text) <= MaxAnswer && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return Body([]byte(text), 0)
}
