package value

import (
	"context"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/rhai/syntax"
)

// Func is a function written in Go. this is the first argument by reference
// (nil for a function without parameters), args are the others; all are
// borrowed: see the package comment. It returns what it made, Unit for
// nothing, or c.Fail(...) for an error.
type Func func(c *Ctx, this *Value, args []Value) Value

// Native is one overload of a native function.
type Native struct {
	Name string
	// Params are the kinds that each parameter takes. A set of one kind is an
	// exact type; AnyKind takes all and is tried after exact ones.
	Params []Param
	// Mutates says that the function changes its first argument: as a method
	// it is refused on constants.
	Mutates bool
	// Volatile says that the answer depends on more than the arguments (clock,
	// randomness, the outside): absent in deterministic mode.
	Volatile bool
	// Linear says that the function works through all of its first argument, a
	// text or a container: the evaluator counts that as so much work.
	Linear bool
	Call   Func
	// Doc and Signature are for function lists: "index_of(array: array, v: any) -> int".
	Doc, Signature string
}

// Param is the type of a parameter: kinds, or one host type. One that has neither takes nothing.
type Param struct {
	Kinds Kinds
	Type  *Type // when not nil, only objects of this type
}

// Accepts reports whether v fits the parameter.
func (p Param) Accepts(v Value) bool {
	k := v.Kind()
	if p.Type != nil {
		return k == CustomKind && v.AsCustom().Type == p.Type
	}
	return p.Kinds.Has(k)
}

// Limits bound what a script may use. Zero means no bound.
type Limits struct {
	MaxString int // bytes of a string
	MaxArray  int // items of an array or blob, nested ones included
	MaxMap    int // entries of a map, nested ones included
}

// Ctx is what a native function may ask of the script that calls it. It is
// good only until the function returns.
type Ctx struct {
	// Host is the evaluator.
	Host Host
	// Context is what the host gave to the run: its values are the host's, its
	// end is the run's.
	Context context.Context
	// Err is the error of the last Fail; the evaluator takes it.
	Err *Error
	// Pos is the place of the call.
	Pos    syntax.Pos
	Limits Limits
	// Deterministic is set when neither clock nor chance may be seen.
	Deterministic bool
	// Const says that the function's first argument is a constant, or a part of one.
	Const bool
	// Source names the running script, for errors.
	Source string
	// Depth is how deep a library function has gone into nested data: see Deeper.
	Depth int
}

// Host is the evaluator as native functions see it.
type Host interface {
	// CallFn calls a function pointer. this may be nil; args are borrowed.
	// None means an error, which is in Ctx.Err already.
	CallFn(c *Ctx, fn Value, this *Value, args []Value) Value
	// Callback prepares fn for many calls by a library function.
	Callback(c *Ctx, fn Value) Callback
	// Named makes a function pointer of a name as Fn(name) does. None means
	// that no function can have the name, which is in Ctx.Err already.
	Named(c *Ctx, name string) Value
	// Print and Debug write a line for the script.
	Print(text string)
	Debug(text, source string, pos syntax.Pos)
	// Alive counts work that a native function does in a loop of its own
	// (n steps) and reports whether the script may go on; when not, Ctx.Err is set.
	Alive(c *Ctx, n int) bool
	// Charge counts memory that is about to be used, in bytes, against the
	// script's total; when it may not, Ctx.Err is set.
	Charge(c *Ctx, bytes int) bool
	// Functions lists script functions for get_fn_metadata_list.
	Functions(name string, arity int) []*syntax.Func
	// Now is the clock, Sleep waits; both obey the host's settings.
	Now() time.Time
	Sleep(c *Ctx, d time.Duration) bool
}

// Callback is a function pointer made ready for repeated calls.
type Callback interface {
	// Call calls it for one element, in the first of these forms that fn has,
	// A being the fixed arguments and X the extra ones (an index):
	//
	//	el as this, A
	//	A with el put in at place at
	//	A and X, with el put in at place at
	//
	// With at < 0 the element is never an argument; then the forms are el as
	// this with A, and el as this with A and X. A nil el means that there is
	// no element: A, then A and X.
	//
	// As this the element is changed in place (or refused, where c.Const says
	// that it belongs to a constant). fixed and extra are handed over: Call
	// need not keep them, and who calls it does not use them again. The
	// element stays with its container: as an argument it has to be kept.
	//
	// What it returns belongs to the caller. None means an error, in Ctx.Err,
	// or that the script ends (exit), with no Ctx.Err.
	Call(c *Ctx, el *Value, fixed []Value, at int, extra []Value) Value
}

// mostDeep bounds recursion over nested data. Go's stack ends the process
// when it is used up, and data may be nested as deep as there is memory.
const mostDeep = 10_000

// Deeper goes one level deeper into nested data, and reports whether that may
// be; when not, it has failed. Each that may is ended by c.Depth--.
func (c *Ctx) Deeper() bool {
	if c.Depth >= mostDeep {
		c.Fail(&Error{Kind: ErrorStackOverflow})
		return false
	}
	c.Depth++
	return true
}

// Fail records an error and gives the none that a native function returns.
func (c *Ctx) Fail(e *Error) Value {
	if e.Pos.IsZero() {
		e.Pos = c.Pos
	}
	c.Err = e
	return Value{}
}

// FailIn is what the library function name returns when its callback has given
// None. It adds itself to the error, unless that is one that calls do not add
// themselves to. When the script merely ends there is no error to add to.
func (c *Ctx) FailIn(name string) Value {
	if c.Err == nil || !c.Err.Kind.Wrapped() {
		return Value{}
	}
	return c.Fail(&Error{Kind: ErrorInFunctionCall, Name: name, Source: c.Source, Inner: c.Err})
}

// Throw fails with a runtime error of a text.
func (c *Ctx) Throw(format string, args ...any) Value {
	return c.Fail(&Error{Kind: ErrorRuntime, Value: Str(fmt.Sprintf(format, args...))})
}

// Pace keeps the making of a large text within the limits of the script.
func (c *Ctx) Pace() Pace {
	return func(size, room int) bool {
		return c.FitsString(size) && c.Host.Alive(c, room/64) && c.Host.Charge(c, room)
	}
}

// Display is [Value.Display] within the limits of the script; when not ok, c has failed.
func (c *Ctx) Display(v Value) (text string, ok bool) { return RenderDisplay(v, c.Pace()) }

// Arithmetic fails with an arithmetic error.
func (c *Ctx) Arithmetic(format string, args ...any) Value {
	return c.Fail(&Error{Kind: ErrorArithmetic, Name: fmt.Sprintf(format, args...)})
}

// FitsString reports whether a string of n bytes is allowed; when not, it has failed.
func (c *Ctx) FitsString(n int) bool { return c.fits(n, c.Limits.MaxString, "Length of string") }

// FitsArray is FitsString for items of arrays and blobs.
func (c *Ctx) FitsArray(n int) bool { return c.fits(n, c.Limits.MaxArray, "Size of array/BLOB") }

// FitsMap is FitsString for entries of maps.
func (c *Ctx) FitsMap(n int) bool { return c.fits(n, c.Limits.MaxMap, "Size of object map") }

func (c *Ctx) fits(n, limit int, what string) bool {
	if limit <= 0 || n <= limit {
		return true
	}
	c.Fail(&Error{Kind: ErrorDataTooLarge, Name: what})
	return false
}
