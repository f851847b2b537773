package flow

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// whenTime bounds the evaluation of one condition.
const whenTime = time.Second

// conditions is the engine for `when`: an expression over `params` and `needs`.
var conditions = sync.OnceValue(func() *rhai.Engine {
	e := rhai.NewEngine()
	e.MaxOperations = 100_000
	e.MaxMemory = 16 << 20
	return e
})

func whenNames() *rhai.Scope {
	return rhai.NewScope().SetConst("params", value.Unit).SetConst("needs", value.Unit)
}

// compileWhen checks a condition.
func compileWhen(text string) error {
	if text == "" {
		return nil
	}
	_, err := conditions().CompileExpression(text, whenNames())
	return err
}

// needed is what a condition finds of a step before it.
type needed struct {
	state  Status
	result map[string]string
}

// evalWhen evaluates a condition.
func evalWhen(ctx context.Context, text string, params map[string]string, needs map[string]needed) WhenAnswer {
	ctx, cancel := context.WithTimeout(ctx, whenTime)
	defer cancel()
	steps := value.NewMap(len(needs))
	for name, n := range needs {
		one := value.NewMap(2)
		one.AsMap().Set("state", value.Str(string(n.state)))
		one.AsMap().Set("result", texts(n.result))
		steps.AsMap().Set(name, one)
	}
	scope := rhai.NewScope().SetConst("params", texts(params)).SetConst("needs", steps)
	v, err := conditions().EvalExpression(ctx, text, scope)
	switch {
	case err != nil:
		return WhenAnswer{Err: err.Error()}
	case !v.Is(value.BoolKind):
		return WhenAnswer{Err: "it is a " + v.TypeName() + ", want true or false"}
	}
	return WhenAnswer{Holds: v.AsBool()}
}

func texts(m map[string]string) value.Value {
	v := value.NewMap(len(m))
	for name, text := range m {
		v.AsMap().Set(name, value.Str(text))
	}
	return v
}
