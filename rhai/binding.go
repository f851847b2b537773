package rhai

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file turns the signature of a Go function into that of a native one.

// mostVariadic is how many arguments a script may give for the last parameter
// of a variadic function: each number of them is a function of its own.
const mostVariadic = 16

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// binding is a native function that is being made of one of Go's, whose
// parameters are picked one after the other.
type binding struct {
	e      *Engine
	native value.Native
	own    reflect.Type // *T of a method of T, whose first parameter is the object itself
	picked int          // parameters of the Go function so far, but for the object
	into   func(*value.Native)
	err    error // the first thing that makes it impossible
	// takes and gives are the types within its parameters and results.
	takes, gives map[reflect.Type]bool
}

func (e *Engine) binding(name string) *binding {
	s := &binding{e: e, native: value.Native{Name: name}, into: e.Register, takes: map[reflect.Type]bool{}, gives: map[reflect.Type]bool{}}
	s.err = callable(name)
	return s
}

// callable says why no script can call a function of that name.
func callable(name string) error {
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	switch words := len(strings.FieldsFunc(name, func(r rune) bool { return !word(r) })); {
	case name == "":
		return errors.New("a function needs a name")
	case strings.Contains(name, "$"), words == 0 && !strings.ContainsAny(name, " ()"): // a property or an index; an operator
		return nil
	case strings.ContainsFunc(name, func(r rune) bool { return !word(r) }):
		return errors.New("no script can call a function of this name")
	}
	if _, err := syntax.Parse(name+"()", "", &syntax.Options{}); err != nil {
		return fmt.Errorf("no script can call a function of this name: %w", err)
	}
	return nil
}

func (s *binding) refuse(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// add registers the function with the parameters picked so far.
//
// Errors: what makes it impossible.
func (s *binding) add(call value.Func) error {
	if n := len(s.native.Params); s.own == nil && languages(s.native.Name, n) {
		s.refuse("%s(…) with %d parameters belongs to the language", s.native.Name, n)
	}
	if s.err != nil {
		shown := s.native.Name[strings.LastIndexByte(s.native.Name, '$')+1:]
		return fmt.Errorf("register %q: %w", shown, s.err)
	}
	native := s.native
	native.Params = slices.Clone(s.native.Params)
	native.Call = s.guarded(call)
	s.into(&native)
	if s.e.plain == nil {
		s.e.plain = map[reflect.Type]bool{}
	}
	maps.Copy(s.e.plain, s.takes)
	maps.Copy(s.e.plain, s.gives)
	return nil
}

// register is add for those whose signature the compiler knows: an impossible
// one is a mistake in the program.
func (s *binding) register(call value.Func) {
	if err := s.add(call); err != nil {
		panic("BUG: " + err.Error())
	}
}

// guarded makes a panic of the host's function an error of the script.
func (s *binding) guarded(call value.Func) value.Func {
	return func(c *value.Ctx, this *Value, args []Value) (v Value) {
		defer func() {
			if p := recover(); p != nil {
				v = c.Throw("function %s panicked: %v", s.native.Name, p)
			}
		}()
		return call(c, this, args)
	}
}

// argument gives what a parameter gets in a call.
type argument[A any] func(c *value.Ctx, this *Value, args []Value) (A, error)

// param picks the next parameter, of type A.
func param[A any](s *binding) argument[A] {
	t := reflect.TypeFor[A]()
	if s.ofRun(t) {
		return func(c *value.Ctx, _ *Value, _ []Value) (A, error) { return c.Context.(A), nil }
	}
	return pick(s, t, takerOf[A](s.e))
}

// paramOf picks the next parameter, of a type that is known to reflection only.
func (s *binding) paramOf(t reflect.Type) argument[reflect.Value] {
	if s.ofRun(t) {
		return func(c *value.Ctx, _ *Value, _ []Value) (reflect.Value, error) { return reflect.ValueOf(c.Context), nil }
	}
	return pick(s, t, s.e.takerFor(t))
}

// ofRun reports that the next parameter gets the context of the run.
func (s *binding) ofRun(t reflect.Type) bool {
	s.picked++
	if t != contextType {
		return false
	}
	if s.picked > 1 {
		s.refuse("a %s has to be the first parameter", t)
	}
	return true
}

func pick[A any](s *binding, t reflect.Type, x taker[A]) argument[A] {
	if bad := s.e.types.Unfit(t, false, s.takes); bad != nil {
		s.refuse("no script has a value for its parameter of type %s", within(t, bad))
	}
	i := len(s.native.Params)
	s.native.Params = append(s.native.Params, x.param)
	take := func(v Value) (A, error) {
		a, err := x.take(v)
		if err != nil {
			err = &Error{Kind: value.ErrorMismatchDataType, Got: v.TypeName(), Want: t.String(), Cause: err}
		}
		return a, err
	}
	if i == 0 {
		return func(_ *value.Ctx, this *Value, _ []Value) (A, error) { return take(*this) }
	}
	return func(_ *value.Ctx, _ *Value, args []Value) (A, error) { return take(args[i-1]) }
}

// within shows a type, and what is wrong with it.
func within(t, bad reflect.Type) string {
	if t == bad {
		return t.String()
	}
	return fmt.Sprintf("%s, because of %s", t, bad)
}

// result is the type of the result.
func (s *binding) result(t reflect.Type) {
	if bad := s.e.types.Unfit(t, true, s.gives); bad != nil {
		s.refuse("no script can take its result of type %s", within(t, bad))
	}
}

// reflected registers f, a function of any type.
//
// Errors: what makes it impossible.
func (s *binding) reflected(f any) error {
	fn := reflect.ValueOf(f)
	if fn.Kind() != reflect.Func || fn.IsNil() {
		s.refuse("%T is not a function", f)
		return s.add(nil)
	}
	t := fn.Type()
	fixed := t.NumIn()
	if t.IsVariadic() {
		fixed--
	}
	var args []argument[reflect.Value]
	for i := range fixed {
		if i == 0 && s.own != nil {
			args = append(args, s.object())
			continue
		}
		args = append(args, s.paramOf(t.In(i)))
	}
	if s.own != nil && (fixed == 0 || t.In(0) != s.own) {
		s.refuse("the first parameter of %s has to be a %s", t, s.own)
	}
	give := s.resultsOf(t)
	if t.IsVariadic() {
		for range mostVariadic {
			if err := s.add(calling(fn, slices.Clone(args), give)); err != nil {
				return err
			}
			args = append(args, s.paramOf(t.In(fixed).Elem()))
		}
	}
	return s.add(calling(fn, args, give))
}

// object gives the object that a method is called on.
func (s *binding) object() argument[reflect.Value] {
	if !s.native.Mutates {
		return func(_ *value.Ctx, this *Value, _ []Value) (reflect.Value, error) {
			return reflect.ValueOf(this.AsCustom().Data), nil
		}
	}
	return func(_ *value.Ctx, this *Value, _ []Value) (reflect.Value, error) {
		return reflect.ValueOf(value.MutCustom(this).Data), nil
	}
}

// resultsOf picks the conversion of what a t returns.
func (s *binding) resultsOf(t reflect.Type) func(out []reflect.Value) (Value, error) {
	n := t.NumOut()
	failing := n > 0 && t.Out(n-1) == errorType
	if failing {
		n--
	}
	switch n {
	case 0:
	case 1:
		s.result(t.Out(0))
	default:
		s.refuse("%s has more than one result besides an error", t)
	}
	return func(out []reflect.Value) (Value, error) {
		if failing {
			if err, _ := out[n].Interface().(error); err != nil {
				return Value{}, err
			}
		}
		if n == 0 {
			return value.Unit, nil
		}
		return s.e.give(out[0].Interface())
	}
}

// calling makes a native function of fn.
func calling(fn reflect.Value, args []argument[reflect.Value], give func([]reflect.Value) (Value, error)) value.Func {
	return func(c *value.Ctx, this *Value, given []Value) Value {
		in := make([]reflect.Value, len(args))
		for i, arg := range args {
			var err error
			if in[i], err = arg(c, this, given); err != nil {
				return failedWith(c, err)
			}
		}
		v, err := give(fn.Call(in))
		if err != nil {
			return failedWith(c, err)
		}
		return v
	}
}

// returned gives what a function of Go has returned.
func (s *binding) returned(c *value.Ctx, r any, err error) Value {
	if err == nil {
		var v Value
		if v, err = s.e.give(r); err == nil {
			return v
		}
	}
	return failedWith(c, err)
}

// failedWith turns the error of a Go function into the script's: an *Error as
// it is, any other as a runtime error with its text, which scripts can catch.
func failedWith(c *value.Ctx, err error) Value {
	var e *Error
	if errors.As(err, &e) {
		copied := *e
		return c.Fail(&copied)
	}
	return c.Fail(&Error{Kind: value.ErrorRuntime, Value: value.Str(err.Error()), Cause: err})
}
