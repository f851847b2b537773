package rhai

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// Script is a compiled script. It may run any number of times, in many
// goroutines at once.
type Script struct {
	unit *unit
}

// Compile parses and compiles text.
//
// Errors: *[Error] of kind ErrorParsing.
func (e *Engine) Compile(text string) (*Script, error) { return e.CompileNamed("", text, nil) }

// CompileNamed compiles text under a name, which errors and imports use, for
// running with scope: its constants are known to the parser. scope may be nil.
//
// Errors: as Compile.
func (e *Engine) CompileNamed(name, text string, scope *Scope) (*Script, error) {
	p, err := syntax.Parse(text, name, e.parseOptions(scope))
	if err != nil {
		return nil, parsing(err)
	}
	u := compileUnit(e, p)
	u.hash = sha256.Sum256([]byte(text))
	return &Script{u}, nil
}

// CompileExpression compiles a single expression: no statements, no loops, no
// variables of its own. It is what conditions and queries are.
//
// Errors: as Compile.
func (e *Engine) CompileExpression(text string, scope *Scope) (*Script, error) {
	o := e.parseOptions(scope)
	o.ExprOnly = true
	p, err := syntax.Parse(text, "", o)
	if err != nil {
		return nil, parsing(err)
	}
	u := compileUnit(e, p)
	u.hash = sha256.Sum256([]byte(text))
	return &Script{u}, nil
}

// Tree gives the script's tree, which must not be changed.
func (s *Script) Tree() *syntax.Program { return s.unit.prog }

// Hash is the SHA-256 of the script's text.
func (s *Script) Hash() [32]byte { return s.unit.hash }

// Error is what went wrong in a script: see value.Error.
type Error = value.Error

func parsing(err error) *Error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		e = &syntax.Error{Kind: "BadInput/UnexpectedInput", Text: err.Error()}
	}
	if e.Kind == syntax.TooLarge {
		return tooMuch(e.Pos)
	}
	return &Error{Kind: value.ErrorParsing, Parse: e, Pos: e.Pos}
}

// Eval compiles and runs text and gives its value.
//
// Errors: *[Error].
func (e *Engine) Eval(ctx context.Context, text string) (Value, error) {
	return e.EvalWith(ctx, text, NewScope())
}

// EvalWith is Eval with variables of the host; those that the script declares
// at its top level are added to scope.
//
// Errors: *[Error].
func (e *Engine) EvalWith(ctx context.Context, text string, scope *Scope) (Value, error) {
	s, err := e.CompileNamed("", text, scope)
	if err != nil {
		return Value{}, err
	}
	return s.Run(ctx, scope)
}

// EvalExpression evaluates a single expression: see [Engine.CompileExpression].
//
// Errors: *[Error].
func (e *Engine) EvalExpression(ctx context.Context, text string, scope *Scope) (Value, error) {
	s, err := e.CompileExpression(text, scope)
	if err != nil {
		return Value{}, err
	}
	return s.Run(ctx, scope)
}

// newRun makes the state of a run.
func (e *Engine) newRun(ctx context.Context, u *unit, scope *Scope) *run {
	r := &run{engine: e, scope: scope}
	if scope == nil {
		r.scope = NewScope()
	}
	if ctx != nil && ctx.Done() != nil {
		r.cancel = ctx
	}
	if ctx == nil {
		ctx = context.Background()
	}
	r.ctx = value.Ctx{Host: r, Context: ctx, Limits: e.Sizes, Deterministic: e.Deterministic, Source: u.prog.Source}
	r.sizes = e.Sizes != value.Limits{}
	r.beginMemory(u)
	r.stack = make([]Value, max(smallStack, 4*u.slots))
	r.frames = make([]*frame, 1, 16)
	r.frames[0] = &frame{run: r}
	r.root = &environ{unit: u}
	r.refuel()
	return r
}

// Run runs the script. Variables that it declares at its top level are added
// to scope, which may be nil. Cancelling ctx ends it.
//
// Errors: *[Error].
func (s *Script) Run(ctx context.Context, scope *Scope) (Value, error) {
	return s.unit.engine.newRun(ctx, s.unit, scope).body(s.unit)
}

// body runs the script's top level.
func (r *run) body(u *unit) (Value, error) {
	fr := r.frames[0]
	fr.env = r.root
	fr.slots = r.push(u.slots)
	var v Value
	if fr.spend(u.cost, Pos{}) {
		v = u.body(fr)
	}
	r.publish(u, fr)
	return r.result(v)
}

// publish leaves the top-level variables in the host's scope.
func (r *run) publish(u *unit, fr *frame) {
	for _, l := range u.vars {
		if v := fr.slots[l.slot]; !l.module && !v.IsNone() {
			r.scope.push(l.name, v.Flatten(), l.readonly)
		}
	}
	for _, x := range fr.extras {
		if strings.HasPrefix(x.name, importMark) {
			continue
		}
		r.scope.push(x.name, x.v.Flatten(), x.readonly)
	}
}

// result turns the way a run ended into what the host gets.
func (r *run) result(v Value) (Value, error) {
	if !v.IsNone() {
		return v.Flatten().Keep(), nil
	}
	switch r.ctl {
	case ctlReturn, ctlExit:
		return r.ret.Flatten().Keep(), nil
	case ctlError:
		return Value{}, r.err
	}
	return value.Unit, nil
}

// CallFn calls a function of the script.
//
// With Before the script's top level is run first, so that its constants and
// imports are there.
//
// Errors: *[Error]; of kind ErrorFunctionNotFound when there is none of that name and arity.
func (s *Script) CallFn(ctx context.Context, scope *Scope, name string, o CallOptions, args ...Value) (Value, error) {
	r := s.unit.engine.newRun(ctx, s.unit, scope)
	fr := r.frames[0]
	fr.env = r.root
	fr.slots = r.push(s.unit.slots)
	if o.Before {
		if v := s.unit.body(fr); v.IsNone() && r.ctl != ctlReturn {
			return r.result(v)
		}
		r.ctl = ctlNone
		r.publish(s.unit, fr)
	}
	vals := make([]Value, len(args))
	for i, a := range args {
		vals[i] = a.Keep()
	}
	f := fr.namedFunction(name, fr.env, o.This, len(args))
	if f == nil {
		fr.fail(&Error{Kind: value.ErrorFunctionNotFound, Name: name})
		return r.result(Value{})
	}
	return r.result(fr.callIn(f.fn, f.env, o.This, false, vals, Pos{}))
}

// CallOptions shape CallFn. The zero value calls the function alone.
type CallOptions struct {
	// Before runs the script's top level first.
	Before bool
	// This is bound to this in the function, by reference.
	This *Value
}

// Call calls a function pointer that a run of the script has given.
//
// Errors: *[Error]; of kind ErrorMismatchDataType when fn is no function pointer.
func (s *Script) Call(ctx context.Context, fn Value, args ...Value) (Value, error) {
	r := s.unit.engine.newRun(ctx, s.unit, nil)
	fr := r.frames[0]
	fr.env = r.root
	if !fn.Is(value.FnKind) {
		return Value{}, &Error{Kind: value.ErrorMismatchDataType, Got: fn.TypeName(), Want: "Fn"}
	}
	return r.result(fr.callFn(fn, nil, false, args, Pos{}))
}

// Functions lists the functions that the script defines.
func (s *Script) Functions() []*syntax.Func { return s.unit.prog.Funcs }
