package flow

import (
	"context"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/rhai/value"
)

// needed is what a condition finds of a step before it.
type needed struct {
	state  Status
	result map[string]string
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
