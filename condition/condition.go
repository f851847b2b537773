// Package condition is the one language of yes and no: Rhai expressions, as the
// `when` of a step and the `--where` of a list. They are bounded and do nothing
// but compute.
package condition

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// MaxBytes bounds the text of a condition.
const MaxBytes = domain.MaxWhenBytes

// evalTime bounds one evaluation.
const evalTime = time.Second

// engine evaluates them all.
var engine = sync.OnceValue(func() *rhai.Engine {
	e := rhai.NewEngine()
	e.MaxOperations = 100_000
	e.MaxMemory = 16 << 20
	e.Syntax.Strict = true // a name that there is not is found at once
	return e
})

// Condition is a compiled expression over some names. It is safe for
// concurrent use.
type Condition struct {
	script *rhai.Script
	names  []string
}

// Compile reads a condition over names.
//
// Errors: [domain.ErrInvalid] with line, column, and what is wrong; it wraps
// the *[rhai.Error], but for a text that is too long.
func Compile(text string, names ...string) (*Condition, error) {
	if len(text) > MaxBytes {
		return nil, domain.Invalidf("the condition has %d bytes, the limit is %d", len(text), MaxBytes)
	}
	scope := rhai.NewScope()
	for _, n := range names {
		scope.SetConst(n, value.Unit)
	}
	s, err := engine().CompileExpression(text, scope)
	if err != nil {
		return nil, compileError{err}
	}
	return &Condition{s, names}, nil
}

// compileError is of the kind [domain.ErrInvalid], and keeps what the compiler
// said, which has a position.
type compileError struct{ error }

func (e compileError) Unwrap() []error { return []error{domain.ErrInvalid, e.error} }

// Holds evaluates the condition; values are those of its names, in order.
//
// Errors: [domain.ErrInvalid] where it fails, or is no yes or no.
func (c *Condition) Holds(ctx context.Context, values ...value.Value) (bool, error) {
	v, err := c.Value(ctx, values...)
	switch {
	case err != nil:
		return false, err
	case !v.Is(value.BoolKind):
		return false, domain.Invalidf("it is a %s, want true or false", v.TypeName())
	}
	return v.AsBool(), nil
}

// Value evaluates an expression that is more than a yes or no.
//
// Errors: [domain.ErrInvalid] where it fails.
func (c *Condition) Value(ctx context.Context, values ...value.Value) (value.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, evalTime)
	defer cancel()
	scope := rhai.NewScope()
	for i, n := range c.names {
		scope.SetConst(n, values[i])
	}
	v, err := c.script.Run(ctx, scope)
	if err != nil {
		return v, domain.Invalidf("%v", err)
	}
	return v, nil
}

// Of is a value as a condition sees it: with the names, and the left-out empty
// fields, that its JSON has.
func Of(v any) (value.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return value.Value{}, err
	}
	return value.ReadJSON(string(text))
}

// Texts is a map of strings as a condition sees it.
func Texts(m map[string]string) value.Value {
	v := value.NewMap(len(m))
	for name, text := range m {
		v.AsMap().Set(name, value.Str(text))
	}
	return v
}
