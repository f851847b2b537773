package value

import (
	"encoding"
	"reflect"
)

// This file holds Go types that scripts hold as objects of the host.

// Types are such types: T leads to its [Type], whose objects have a *T for data.
// A nil Types knows none.
type Types map[reflect.Type]*Type

// FromGo is [FromGo] where each T or *T of ts, however deep inside x, becomes
// an object of that type. It gets a copy, as its Clone makes one; without Clone
// it gets the pointer itself. A nil *T is ().
//
// Errors: as [FromGo].
func (ts Types) FromGo(x any) (Value, error) { return ts.fromGo(reflect.ValueOf(x), 0) }

// Of gives the type that scripts hold a t as, or what t points to; nil when there is none.
func (ts Types) Of(t reflect.Type) *Type {
	if len(ts) == 0 {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return ts[t]
}

// holding makes an object of x, a T or *T.
func (t *Type) holding(x reflect.Value) Value {
	p := x
	if x.Kind() != reflect.Pointer {
		p = reflect.New(x.Type())
		p.Elem().Set(x)
		if t.Assigned {
			return NewCustom(t, p.Interface())
		}
	} else if x.IsNil() {
		return Unit
	}
	return NewCustom(t, t.Copied(p.Interface()))
}

// Copied gives data for somebody else to hold: a copy as Clone makes it,
// without Clone data itself.
func (t *Type) Copied(data any) any {
	if t.Clone == nil {
		return data
	}
	return t.Clone(data)
}

// Copied is [Type.Copied] of the object's data.
func (c *Custom) Copied() any { return c.Type.Copied(c.Data) }

// Unfit gives the type within t, or t itself, that no value can ever be
// converted to (or, with from, that can never be converted to a value), nil when
// there is none: channels, functions, complex numbers, maps without string keys,
// interfaces with methods that nothing in ts has. seen gets all types looked at.
func (ts Types) Unfit(t reflect.Type, from bool, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] || t == valueType || t == timeType {
		return nil
	}
	seen[t] = true
	if ts.Of(t) != nil || speaksText(t, from) {
		return nil
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return t
	case reflect.Interface:
		if from || t.NumMethod() == 0 || ts.implement(t) {
			return nil
		}
		return t
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return ts.Unfit(t.Elem(), from, seen)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return t
		}
		return ts.Unfit(t.Elem(), from, seen)
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			// A script can leave a field alone; one that is given is always looked at.
			if x := ts.Unfit(t.FieldByIndex(f.index).Type, from, seen); x != nil && from {
				return x
			}
		}
	}
	return nil
}

// speaksText reports that a t is converted by way of its own text.
func speaksText(t reflect.Type, from bool) bool {
	if from {
		return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// implement reports that an object of the host, or a timestamp, can be an i.
func (ts Types) implement(i reflect.Type) bool {
	for t := range ts {
		if reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return timeType.Implements(i)
}
