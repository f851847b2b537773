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

// engine evaluates them all, listEngine those whose value is a list, which may have to go
// through a hundred thousand elements.
var (
	engine     = sync.OnceValue(func() *rhai.Engine { return newEngine(100_000, 16<<20) })
	listEngine = sync.OnceValue(func() *rhai.Engine { return newEngine(5_000_000, 64<<20) })
)

func newEngine(operations, memory int64) *rhai.Engine {
	e := rhai.NewEngine()
	e.MaxOperations = operations
	e.MaxMemory = memory
	// Strangers write them: what they print goes nowhere.
	e.OnPrint = func(string) {}
	e.OnDebug = func(string, string, rhai.Pos) {}
	e.Syntax.Strict = true // a name that there is not is found at once
	return e
}

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
func Compile(text string, names ...string) (*Condition, error) { return compile(engine(), text, names) }

// CompileList reads an expression whose value is a list, in the same way.
func CompileList(text string, names ...string) (*Condition, error) {
	return compile(listEngine(), text, names)
}

func compile(e *rhai.Engine, text string, names []string) (*Condition, error) {
	if len(text) > MaxBytes {
		return nil, domain.Invalidf("the condition has %d bytes, the limit is %d", len(text), MaxBytes)
	}
	scope := rhai.NewScope()
	for _, n := range names {
		scope.SetConst(n, value.Unit)
	}
	s, err := e.CompileExpression(text, scope)
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
		return false, domain.Invalidf("it is %s, want true or false", Word(v))
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
		return v, domain.Invalidf("%s", plainly(err.Error()))
	}
	return v, nil
}

// Of is a value as a condition sees it: with the names, and the left-out empty
// fields, that its JSON has. What a stranger's JSON in it has that Rhai has not is read loosely:
// one event with the number 1e400 must not keep a list from all others.
func Of(v any) (value.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return value.Value{}, err
	}
	return value.ReadLooseJSON(string(text))
}

// Texts is a map of strings as a condition sees it.
func Texts(m map[string]string) value.Value {
	v := value.NewMap(len(m))
	for name, text := range m {
		v.AsMap().Set(name, value.Str(text))
	}
	return v
}
