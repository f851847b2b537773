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
	// results are those of a step that was done for each element of a list.
	results domain.Results
}

// whenTime is for how long a keeper evaluates the conditions of one flow before it
// writes down what it knows, and lets others have their turn: a flow may have
// thousands, each of which may take a second, and a lease lasts half a minute.
const whenTime = time.Second

// inTurn evaluates a condition when it is the context's turn.
//
// Errors: the context's.
func (t *tending) inTurn(ctx context.Context, eval func() WhenAnswer) (WhenAnswer, error) {
	done, err := t.turns.Take(ctx, t.tenant())
	if err != nil {
		return WhenAnswer{}, err
	}
	defer done()
	return eval(), nil
}

// evalWhen evaluates a condition.
func evalWhen(ctx context.Context, text string, params map[string]string, needs map[string]needed) WhenAnswer {
	c, err := blueprint.CompileWhen(text)
	if err != nil {
		return WhenAnswer{Err: err.Error()}
	}
	holds, err := c.Holds(ctx, condition.Texts(params), needsValue(needs))
	if err != nil {
		return WhenAnswer{Err: err.Error()}
	}
	return WhenAnswer{Holds: holds}
}

// evalUntil evaluates what a step is repeated until; result is what its newest round left.
func evalUntil(ctx context.Context, text string, params map[string]string, needs map[string]needed, result map[string]string, round int) WhenAnswer {
	c, err := blueprint.CompileUntil(text)
	if err != nil {
		return WhenAnswer{Err: err.Error()}
	}
	holds, err := c.Holds(ctx, condition.Texts(params), needsValue(needs), condition.Texts(result), value.Int(int64(round)))
	if err != nil {
		return WhenAnswer{Err: err.Error()}
	}
	return WhenAnswer{Holds: holds}
}

// needsValue is what an expression finds as needs.
func needsValue(needs map[string]needed) value.Value {
	steps := value.NewMap(len(needs))
	for name, n := range needs {
		one := value.NewMap(3)
		one.AsMap().Set("state", value.Str(string(n.state)))
		one.AsMap().Set("result", condition.Texts(n.result))
		if n.results != nil {
			list := make([]value.Value, len(n.results))
			for i, r := range n.results {
				list[i] = condition.Texts(r)
			}
			one.AsMap().Set("results", value.NewArray(list))
		}
		steps.AsMap().Set(name, one)
	}
	return steps
}
