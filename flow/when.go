package flow

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// needed is what a condition finds of a step before it.
type needed struct {
	state  domain.StepStatus
	result map[string]string
}

// whenTime is for how long a keeper evaluates the conditions of one flow before it
// writes down what it knows, and lets others have their turn: a flow may have
// thousands, each of which may take a second, and a lease lasts half a minute.
const whenTime = time.Second

// when evaluates a condition, when it is the context's turn.
//
// Errors: the context's.
func (t *tending) when(ctx context.Context, text string, params map[string]string, needs map[string]needed) (WhenAnswer, error) {
	done, err := t.turns.Take(ctx, t.tenant())
	if err != nil {
		return WhenAnswer{}, err
	}
	defer done()
	return t.eval(ctx, text, params, needs), nil
}

// evalWhen evaluates a condition.
func evalWhen(ctx context.Context, text string, params map[string]string, needs map[string]needed) WhenAnswer {
	c, err := blueprint.CompileWhen(text)
	if err != nil {
		return WhenAnswer{Err: err.Error()}
	}
	steps := value.NewMap(len(needs))
	for name, n := range needs {
		one := value.NewMap(2)
		one.AsMap().Set("state", value.Str(string(n.state)))
		one.AsMap().Set("result", condition.Texts(n.result))
		steps.AsMap().Set(name, one)
	}
	holds, err := c.Holds(ctx, condition.Texts(params), steps)
	if err != nil {
		return WhenAnswer{Err: err.Error()}
	}
	return WhenAnswer{Holds: holds}
}
