package flow

import "context"

// For tests from outside.

// EvalBy has conditions take as long as f, and then hold.
func (e *Engine) EvalBy(f func(text string)) {
	e.eval = func(_ context.Context, text string, _ map[string]string, _ map[string]needed) WhenAnswer {
		f(text)
		return WhenAnswer{Holds: true}
	}
}
