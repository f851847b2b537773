package rhai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file registers Go functions and types. Fn0 to Fn3 and the functions on
// types pick the conversion of each argument once, when they are registered,
// and call without reflection; RegisterFunc takes any function and uses it.

// Fn0 registers a function without parameters.
func Fn0[R any](e *Engine, name string, f func() (R, error)) {
	give := e.giver(reflect.TypeFor[R]())
	e.registerHost(&value.Native{Name: name, Call: func(c *value.Ctx, _ *Value, _ []Value) Value {
		r, err := f()
		return returned(c, give, r, err)
	}})
}

// Fn1 registers a function of one parameter.
func Fn1[A, R any](e *Engine, name string, f func(A) (R, error)) {
	a, give := takerOf[A](e), e.giver(reflect.TypeFor[R]())
	e.registerHost(&value.Native{Name: name, Params: []value.Param{a.param}, Call: func(c *value.Ctx, this *Value, _ []Value) Value {
		x, err := a.take(*this)
		if err != nil {
			return failedWith(c, err)
		}
		r, err := f(x)
		return returned(c, give, r, err)
	}})
}

// Fn2 registers a function of two parameters. With the name of an operator it
// is that operator for these types.
func Fn2[A, B, R any](e *Engine, name string, f func(A, B) (R, error)) {
	a, b, give := takerOf[A](e), takerOf[B](e), e.giver(reflect.TypeFor[R]())
	e.registerHost(&value.Native{Name: name, Params: []value.Param{a.param, b.param}, Call: func(c *value.Ctx, this *Value, args []Value) Value {
		x, err1 := a.take(*this)
		y, err2 := b.take(args[0])
		if err := errors.Join(err1, err2); err != nil {
			return failedWith(c, err)
		}
		r, err := f(x, y)
		return returned(c, give, r, err)
	}})
}

// Fn3 registers a function of three parameters.
func Fn3[A, B, C, R any](e *Engine, name string, f func(A, B, C) (R, error)) {
	a, b, d, give := takerOf[A](e), takerOf[B](e), takerOf[C](e), e.giver(reflect.TypeFor[R]())
	e.registerHost(&value.Native{Name: name, Params: []value.Param{a.param, b.param, d.param}, Call: func(c *value.Ctx, this *Value, args []Value) Value {
		x, err1 := a.take(*this)
		y, err2 := b.take(args[0])
		z, err3 := d.take(args[1])
		if err := errors.Join(err1, err2, err3); err != nil {
			return failedWith(c, err)
		}
		r, err := f(x, y, z)
		return returned(c, give, r, err)
	}})
}

// RegisterFunc registers any Go function whose parameters are bool, integers,
// floats, string, rune (a char or an int), []byte, slices, maps, structs,
// registered types or Value, and which returns nothing, a value, an error, or
// both. A first parameter of type [context.Context] gets the context of the run,
// and is none of the script's. A pointer to a registered type leads to a copy: only methods change what
// they are called on.
//
// Errors: for anything that is not such a function, or takes what no script has: a channel, a function, a complex number.
func (e *Engine) RegisterFunc(name string, f any) error {
	fn := reflect.ValueOf(f)
	if fn.Kind() != reflect.Func || fn.IsNil() || fn.Type().IsVariadic() {
		return fmt.Errorf("register %q: %T is not a function of fixed arity", name, f)
	}
	t := fn.Type()
	first := 0 // parameter that a script gives
	if t.NumIn() > 0 && t.In(0) == reflect.TypeFor[context.Context]() {
		first = 1
	}
	takers := make([]taker[reflect.Value], t.NumIn()-first)
	params := make([]value.Param, len(takers))
	for i := range takers {
		switch in := t.In(first + i); in.Kind() {
		case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
			return fmt.Errorf("register %q: no script has a value for its parameter of type %s", name, in)
		}
		takers[i] = e.takerFor(t.In(first + i))
		params[i] = takers[i].param
	}
	failing := t.NumOut() > 0 && t.Out(t.NumOut()-1) == reflect.TypeFor[error]()
	results := t.NumOut()
	if failing {
		results--
	}
	if results > 1 {
		return fmt.Errorf("register %q: more than one result besides an error", name)
	}
	e.registerHost(&value.Native{Name: name, Params: params, Call: func(c *value.Ctx, this *Value, args []Value) Value {
		in := make([]reflect.Value, t.NumIn())
		if first > 0 {
			in[0] = reflect.ValueOf(c.Host.(*run).cancel)
		}
		for i := range takers {
			v := this
			if i > 0 {
				v = &args[i-1]
			}
			x, err := takers[i].take(*v)
			if err != nil {
				return c.Fail(&Error{Kind: value.ErrorMismatchDataType, Got: v.TypeName(), Want: t.In(first + i).String(), Cause: err})
			}
			in[first+i] = x
		}
		out := fn.Call(in)
		if failing {
			if err, _ := out[results].Interface().(error); err != nil {
				return failedWith(c, err)
			}
		}
		if results == 0 {
			return value.Unit
		}
		v, err := e.give(out[0].Interface())
		if err != nil {
			return failedWith(c, err)
		}
		return v
	}})
	return nil
}

// TypeOf is a Go type that scripts can hold. They hold a pointer to a copy of
// their own: a copied value is a copied T.
type TypeOf[T any] struct {
	e *Engine
	t *value.Type
}

// RegisterType makes T known under the name that type_of answers.
func RegisterType[T any](e *Engine, name string) TypeOf[T] {
	t := &value.Type{Name: name, Clone: func(data any) any {
		c := *data.(*T)
		return &c
	}}
	if e.types == nil {
		e.types = map[reflect.Type]*value.Type{}
	}
	e.types[reflect.TypeFor[T]()] = t
	return TypeOf[T]{e, t}
}

// Value makes a value of x.
func (t TypeOf[T]) Value(x T) Value { return value.NewCustom(t.t, &x) }

// Of gives the T that v holds.
func (t TypeOf[T]) Of(v Value) (*T, bool) {
	v = v.Flatten()
	if !v.Is(value.CustomKind) || v.AsCustom().Type != t.t {
		return nil, false
	}
	return v.AsCustom().Data.(*T), true
}

// CopyWith says how a T is copied when it holds what must not be shared.
func (t TypeOf[T]) CopyWith(f func(*T) T) TypeOf[T] {
	t.t.Clone = func(data any) any {
		c := f(data.(*T))
		return &c
	}
	return t
}

// ShowAs says how a T is printed.
func (t TypeOf[T]) ShowAs(f func(*T) string) TypeOf[T] {
	show := func(data any) string { return f(data.(*T)) }
	t.t.Display, t.t.Debug = show, show
	return t
}

// IterateBy lets scripts loop over a T.
func (t TypeOf[T]) IterateBy(f func(*T) iter.Seq[Value]) TypeOf[T] {
	t.t.Iterate = func(data any) (func() Value, func()) {
		next, stop := iter.Pull(f(data.(*T)))
		return func() Value {
			v, _ := next()
			return v
		}, stop
	}
	return t
}

func (t TypeOf[T]) param() value.Param { return value.Param{Type: t.t} }

func self[T any](this *Value) *T { return value.MutCustom(this).Data.(*T) }

// Property registers x.name. set may be nil: the property is read-only then.
func Property[T, P any](t TypeOf[T], name string, get func(*T) P, set func(*T, P)) {
	give, p := t.e.giver(reflect.TypeFor[P]()), takerOf[P](t.e)
	t.e.registerHost(&value.Native{Name: "get$" + name, Params: []value.Param{t.param()}, Call: func(c *value.Ctx, this *Value, _ []Value) Value {
		return returned(c, give, get(this.AsCustom().Data.(*T)), nil)
	}})
	if set != nil {
		t.e.registerHost(&value.Native{Name: "set$" + name, Params: []value.Param{t.param(), p.param}, Mutates: true,
			Call: func(c *value.Ctx, this *Value, args []Value) Value {
				x, err := p.take(args[0])
				if err != nil {
					return failedWith(c, err)
				}
				set(self[T](this), x)
				return value.Unit
			}})
	}
}

// Indexer registers x[i]. set may be nil.
func Indexer[T, I, P any](t TypeOf[T], get func(*T, I) (P, error), set func(*T, I, P) error) {
	give, index, p := t.e.giver(reflect.TypeFor[P]()), takerOf[I](t.e), takerOf[P](t.e)
	t.e.registerHost(&value.Native{Name: "index$get$", Params: []value.Param{t.param(), index.param},
		Call: func(c *value.Ctx, this *Value, args []Value) Value {
			i, err := index.take(args[0])
			if err != nil {
				return failedWith(c, err)
			}
			x, err := get(this.AsCustom().Data.(*T), i)
			return returned(c, give, x, err)
		}})
	if set != nil {
		t.e.registerHost(&value.Native{Name: "index$set$", Params: []value.Param{t.param(), index.param, p.param}, Mutates: true,
			Call: func(c *value.Ctx, this *Value, args []Value) Value {
				i, err1 := index.take(args[0])
				x, err2 := p.take(args[1])
				err := errors.Join(err1, err2)
				if err == nil {
					err = set(self[T](this), i, x)
				}
				if err != nil {
					return failedWith(c, err)
				}
				return value.Unit
			}})
	}
}

// Method0 registers x.name(), which may change x.
func Method0[T, R any](t TypeOf[T], name string, f func(*T) (R, error)) {
	give := t.e.giver(reflect.TypeFor[R]())
	t.e.registerHost(&value.Native{Name: name, Params: []value.Param{t.param()}, Mutates: true,
		Call: func(c *value.Ctx, this *Value, _ []Value) Value {
			r, err := f(self[T](this))
			return returned(c, give, r, err)
		}})
}

// Method1 registers x.name(a), which may change x.
func Method1[T, A, R any](t TypeOf[T], name string, f func(*T, A) (R, error)) {
	a, give := takerOf[A](t.e), t.e.giver(reflect.TypeFor[R]())
	t.e.registerHost(&value.Native{Name: name, Params: []value.Param{t.param(), a.param}, Mutates: true,
		Call: func(c *value.Ctx, this *Value, args []Value) Value {
			x, err := a.take(args[0])
			if err != nil {
				return failedWith(c, err)
			}
			r, err := f(self[T](this), x)
			return returned(c, give, r, err)
		}})
}

// Method2 registers x.name(a, b), which may change x.
func Method2[T, A, B, R any](t TypeOf[T], name string, f func(*T, A, B) (R, error)) {
	a, b, give := takerOf[A](t.e), takerOf[B](t.e), t.e.giver(reflect.TypeFor[R]())
	t.e.registerHost(&value.Native{Name: name, Params: []value.Param{t.param(), a.param, b.param}, Mutates: true,
		Call: func(c *value.Ctx, this *Value, args []Value) Value {
			x, err1 := a.take(args[0])
			y, err2 := b.take(args[1])
			if err := errors.Join(err1, err2); err != nil {
				return failedWith(c, err)
			}
			r, err := f(self[T](this), x, y)
			return returned(c, give, r, err)
		}})
}

// registerHost registers a function of the host's, whose panic is an error of
// the script.
func (e *Engine) registerHost(f *value.Native) {
	call := f.Call
	f.Call = func(c *value.Ctx, this *Value, args []Value) (v Value) {
		defer func() {
			if p := recover(); p != nil {
				v = c.Throw("function %s panicked: %v", f.Name, p)
			}
		}()
		return call(c, this, args)
	}
	e.Register(f)
}

// Nothing is the result of functions that give none.
type Nothing struct{}

// taker turns a value that fits param into a Go value.
type taker[A any] struct {
	param value.Param
	take  func(Value) (A, error)
}

// takerOf picks the conversion for A. The common types convert without reflection.
func takerOf[A any](e *Engine) taker[A] {
	t := taker[A]{}
	var zero A
	switch any(zero).(type) {
	case Value:
		t.param.Kinds = value.AnyKind
		t.take = as[A](func(v Value) Value { return v.Flatten().Keep() })
	case bool:
		t.param.Kinds = value.Of(value.BoolKind)
		t.take = as[A](func(v Value) bool { return v.AsBool() })
	case int64:
		t.param.Kinds = value.Of(value.IntKind)
		t.take = as[A](func(v Value) int64 { return v.AsInt() })
	case int:
		t.param.Kinds = value.Of(value.IntKind)
		t.take = as[A](func(v Value) int { return int(v.AsInt()) })
	case float64:
		t.param.Kinds = value.Of(value.FloatKind)
		t.take = as[A](func(v Value) float64 { return v.AsFloat() })
	case rune:
		t.param.Kinds = value.Of(value.CharKind)
		t.take = as[A](func(v Value) rune { return v.AsChar() })
	case string:
		t.param.Kinds = value.Of(value.StringKind)
		t.take = as[A](func(v Value) string { return v.AsString() })
	case []byte:
		t.param.Kinds = value.Of(value.BlobKind)
		t.take = as[A](func(v Value) []byte { return append([]byte(nil), v.AsBlob().Bytes...) })
	default:
		slow := e.takerFor(reflect.TypeFor[A]())
		t.param = slow.param
		t.take = func(v Value) (a A, err error) {
			x, err := slow.take(v)
			if err != nil {
				return a, err
			}
			a, _ = x.Interface().(A) // a nil interface stays its zero value
			return a, nil
		}
	}
	return t
}

// as makes a conversion to a type that is known to be A.
func as[A, B any](f func(Value) B) func(Value) (A, error) {
	typed := any(f).(func(Value) A)
	return func(v Value) (A, error) { return typed(v), nil }
}

// takerFor picks the conversion for a type that is known to reflection only.
func (e *Engine) takerFor(t reflect.Type) taker[reflect.Value] {
	out := taker[reflect.Value]{}
	base := t
	if t.Kind() == reflect.Pointer {
		base = t.Elem()
	}
	if custom := e.types[base]; custom != nil {
		out.param.Type = custom
		out.take = func(v Value) (reflect.Value, error) {
			data := v.AsCustom().Data
			if t.Kind() == reflect.Pointer && custom.Clone != nil {
				data = custom.Clone(data) // what a method may change, a function may not
			}
			x := reflect.ValueOf(data)
			if t.Kind() != reflect.Pointer {
				x = x.Elem()
			}
			return x, nil
		}
		return out
	}
	switch t.Kind() {
	case reflect.Bool:
		out.param.Kinds = value.Of(value.BoolKind)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		out.param.Kinds = value.Of(value.IntKind)
	case reflect.Int32: // rune
		out.param.Kinds = value.Of(value.IntKind, value.CharKind)
	case reflect.Float32, reflect.Float64:
		out.param.Kinds = value.Of(value.FloatKind)
	case reflect.String:
		out.param.Kinds = value.Of(value.StringKind)
	case reflect.Slice, reflect.Array:
		out.param.Kinds = value.Of(value.ArrayKind, value.BlobKind)
	case reflect.Map, reflect.Struct:
		out.param.Kinds = value.Of(value.MapKind)
	default:
		out.param.Kinds = value.AnyKind
	}
	if t == reflect.TypeFor[Value]() {
		out.param.Kinds = value.AnyKind
		out.take = func(v Value) (reflect.Value, error) { return reflect.ValueOf(v.Flatten().Keep()), nil }
		return out
	}
	out.take = func(v Value) (reflect.Value, error) {
		x := reflect.New(t)
		err := value.Decode(v, x.Interface())
		return x.Elem(), err
	}
	return out
}

// giver picks the conversion of a result.
func (e *Engine) giver(t reflect.Type) func(x any) (Value, error) {
	custom := e.types[t]
	if custom == nil && t.Kind() == reflect.Pointer {
		if custom = e.types[t.Elem()]; custom != nil {
			return func(x any) (Value, error) {
				if reflect.ValueOf(x).IsNil() {
					return value.Unit, nil
				}
				return value.NewCustom(custom, x), nil
			}
		}
	}
	if custom != nil {
		return func(x any) (Value, error) {
			p := reflect.New(t)
			p.Elem().Set(reflect.ValueOf(x))
			return value.NewCustom(custom, p.Interface()), nil
		}
	}
	return giveAny
}

// give converts a result whose type is known only now.
func (e *Engine) give(x any) (Value, error) {
	if x == nil {
		return value.Unit, nil
	}
	return e.giver(reflect.TypeOf(x))(x)
}

func giveAny(x any) (Value, error) {
	switch x := x.(type) {
	case Value:
		if x.IsNone() {
			return value.Unit, nil
		}
		return x, nil
	case Nothing:
		return value.Unit, nil
	case bool:
		return value.Bool(x), nil
	case int64:
		return value.Int(x), nil
	case int:
		return value.Int(int64(x)), nil
	case float64:
		return value.Float(x), nil
	case string:
		return value.Str(x), nil
	}
	return value.FromGo(x)
}

func returned[R any](c *value.Ctx, give func(any) (Value, error), r R, err error) Value {
	if err == nil {
		var v Value
		if v, err = give(r); err == nil {
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
