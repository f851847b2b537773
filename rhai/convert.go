package rhai

import (
	"encoding"
	"reflect"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file picks the conversions between the values of scripts and those of
// Go, once for each parameter and result of a function that is registered.

// FromGo makes a value of x as value.FromGo does, and objects of the registered
// types that are in it, of which each gets a copy.
//
// Errors: as value.FromGo.
func (e *Engine) FromGo(x any) (Value, error) { return e.types.FromGo(x) }

// taker turns a value that fits param into a Go value.
type taker[A any] struct {
	param value.Param
	take  func(Value) (A, error)
}

// takerOf picks the conversion for A. The common types convert without reflection.
func takerOf[A any](e *Engine) taker[A] {
	t := taker[A]{e.paramFor(reflect.TypeFor[A]()), func(v Value) (a A, err error) {
		if v.Is(value.CustomKind) {
			x := v.AsCustom()
			if own, ok := x.Data.(*A); ok && x.Type.Assigned {
				return *own, nil
			}
			switch own := x.Copied().(type) {
			case *A:
				return *own, nil
			case A:
				return own, nil
			}
		}
		err = value.Decode(v, &a)
		return a, err
	}}
	var zero A
	switch any(zero).(type) {
	case Value:
		t.take = as[A](func(v Value) Value { return v.Flatten().Keep() })
	case bool:
		t.take = as[A](func(v Value) bool { return v.AsBool() })
	case int64:
		t.take = as[A](func(v Value) int64 { return v.AsInt() })
	case int:
		if strconv.IntSize == 64 {
			t.take = as[A](func(v Value) int { return int(v.AsInt()) })
		}
	case float64:
		t.take = as[A](func(v Value) float64 { return v.AsFloat() })
	case string:
		t.take = as[A](func(v Value) string { return v.AsString() })
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
	return taker[reflect.Value]{e.paramFor(t), func(v Value) (reflect.Value, error) {
		x := reflect.New(t)
		err := value.Decode(v, x.Interface())
		return x.Elem(), err
	}}
}

// paramFor tells which values a parameter of type t takes.
func (e *Engine) paramFor(t reflect.Type) value.Param {
	object := t
	for object.Kind() == reflect.Pointer && object.Elem().Kind() == reflect.Pointer {
		object = object.Elem()
	}
	if custom := e.types.Of(object); custom != nil {
		return value.Param{Type: custom}
	}
	return value.Param{Kinds: kindsFor(t)}
}

func kindsFor(t reflect.Type) value.Kinds {
	switch t {
	case reflect.TypeFor[Value]():
		return value.AnyKind
	case reflect.TypeFor[time.Time]():
		return value.Of(value.TimeKind, value.StringKind)
	}
	var kinds value.Kinds
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		kinds = value.Of(value.StringKind)
	}
	switch t.Kind() {
	case reflect.Bool:
		return kinds | value.Of(value.BoolKind)
	case reflect.Int32: // rune
		return kinds | value.Of(value.IntKind, value.CharKind)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return kinds | value.Of(value.IntKind)
	case reflect.Float32, reflect.Float64:
		return kinds | value.Of(value.FloatKind)
	case reflect.String:
		return kinds | value.Of(value.StringKind)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
			return kinds | value.Of(value.BlobKind)
		}
		return kinds | value.Of(value.ArrayKind)
	case reflect.Map, reflect.Struct:
		return kinds | value.Of(value.MapKind)
	case reflect.Pointer:
		return kindsFor(t.Elem()) | value.Of(value.UnitKind)
	}
	return value.AnyKind
}

// give converts a result.
func (e *Engine) give(x any) (Value, error) {
	switch x := x.(type) {
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
	return e.types.FromGo(x)
}
