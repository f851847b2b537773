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
	state  Status
	result map[string]string
}

// whenTime is for how long a keeper evaluates the conditions of one flow before it
// writes down what it knows, and lets others have their turn: a flow may have
// thousands, each of which may take a second, and a lease lasts half a minute.
const whenTime = time.Second

// when evaluates a condition: one of a context at a time, as it is nothing but
// computing, and others' must not run out of time meanwhile.
func (t *tending) when(ctx context.Context, text string, params map[string]string, needs map[string]needed) WhenAnswer {
	turn := t.turn(t.tenant())
	turn <- struct{}{}
	defer func() { <-turn }()
	return t.eval(ctx, text, params, needs)
}

// turn has room for whose turn it is in a context.
func (e *Engine) turn(id domain.TenantID) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turns[id] == nil {
		e.turns[id] = make(chan struct{}, 1)
	}
	return e.turns[id]
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
