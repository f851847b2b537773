package rhai

import (
	"cmp"
	"reflect"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file registers functions of Go. Fn0 to Fn4 pick the conversion of each
// argument once, when they are registered, and call without reflection;
// RegisterFunc takes any function and calls it by reflection. What parameters
// and results may be is said at RegisterFunc and holds for all of them.

// Fn0 registers a function without parameters.
//
// It panics, as Fn1 to Fn4 do, where RegisterFunc would give an error.
func Fn0[R any](e *Engine, name string, f func() (R, error)) {
	s := e.binding(name)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, _ *Value, _ []Value) Value {
		r, err := f()
		return s.returned(c, r, err)
	})
}

// Fn1 registers a function of one parameter.
func Fn1[A, R any](e *Engine, name string, f func(A) (R, error)) {
	s := e.binding(name)
	a := param[A](s)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err := a(c, this, args)
		if err != nil {
			return failedWith(c, err)
		}
		r, err := f(x)
		return s.returned(c, r, err)
	})
}

// Fn2 registers a function of two parameters. With the name of an operator it
// is that operator for these types.
func Fn2[A, B, R any](e *Engine, name string, f func(A, B) (R, error)) {
	s := e.binding(name)
	a, b := param[A](s), param[B](s)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err1 := a(c, this, args)
		y, err2 := b(c, this, args)
		if err := cmp.Or(err1, err2); err != nil {
			return failedWith(c, err)
		}
		r, err := f(x, y)
		return s.returned(c, r, err)
	})
}

// Fn3 registers a function of three parameters.
func Fn3[A, B, C, R any](e *Engine, name string, f func(A, B, C) (R, error)) {
	s := e.binding(name)
	a, b, d := param[A](s), param[B](s), param[C](s)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err1 := a(c, this, args)
		y, err2 := b(c, this, args)
		z, err3 := d(c, this, args)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return failedWith(c, err)
		}
		r, err := f(x, y, z)
		return s.returned(c, r, err)
	})
}

// Fn4 registers a function of four parameters.
func Fn4[A, B, C, D, R any](e *Engine, name string, f func(A, B, C, D) (R, error)) {
	s := e.binding(name)
	a, b, d, g := param[A](s), param[B](s), param[C](s), param[D](s)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err1 := a(c, this, args)
		y, err2 := b(c, this, args)
		z, err3 := d(c, this, args)
		u, err4 := g(c, this, args)
		if err := cmp.Or(err1, err2, err3, err4); err != nil {
			return failedWith(c, err)
		}
		r, err := f(x, y, z, u)
		return s.returned(c, r, err)
	})
}

// RegisterFunc registers any function of Go under name, which scripts call as
// name(a, b) and a.name(b), or write as the operator that it is.
//
// A parameter takes these values of scripts:
//
//	bool                   bool
//	integers               int, within the range of the type
//	rune (int32)           char or int
//	floats                 float; an int is not made one
//	string                 string
//	[]byte                 blob
//	slices, arrays         array
//	maps with string keys  map
//	structs                map, by the json tags of the fields
//	time.Time              timestamp, or a string as in RFC 3339
//	with UnmarshalText     string too
//	registered type T, *T  an object of that type, as a copy; never ()
//	other pointers         what they point to; () is nil
//	any                    anything, as value.ToGo gives it
//	Value                  anything, as it is
//
// A first parameter of type [context.Context] is none of the script's: it gets
// the context of the run, which ends with it. A variadic function takes up to
// 16 arguments for its last parameter. A value that has the kind which is told
// here and does not fit the type ends the call with an error of kind
// ErrorMismatchDataType.
//
// The function returns nothing, which is (), or a value, or an error, or a
// value and an error. Values become what value.FromGo makes of them, objects of
// registered types wherever they are. An error becomes one of the script, which
// try catches with its text for a value; an *[Error] is passed on as it is. A
// panic becomes an error of the script too.
//
// A function of the same name and the same kinds of parameters is replaced; one
// of others stands beside it.
//
// Errors: for anything that is no such function, or that no script could ever
// call or get an answer from (it has a channel, a function, a complex number, a
// map without string keys, an interface that nothing registered satisfies, a
// context that is not its first parameter), and for a name that belongs to the
// language.
func (e *Engine) RegisterFunc(name string, f any) error { return e.binding(name).reflected(f) }
