package value

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// This file makes values of Go's and Go's of values.
//
//	()          nil
//	bool        bool
//	int         int64       from all integers; a uint64 beyond becomes a float
//	float       float64
//	char        string      there is no telling a rune from an int32
//	string      string      also of types that marshal to text
//	array       []any       from all slices and arrays
//	map         map[string]any   from maps with string keys and structs (json tags)
//	blob        []byte
//	timestamp   time.Time   from time.Time
//	Fn          string      its name
//	others      string      as displayed
//	object      its data, copied by its type's Clone: a *T for a T that was registered;
//	            from T and *T where it is known, see Types.FromGo

// mostNested is how deep Go's data may nest: deeper ones are taken for cycles.
const mostNested = 1000

// mostConverted is how many values one conversion makes: shared structure can
// be small and yet have no end when each place gets data of its own.
const mostConverted = 10_000_000

var (
	errNested = errors.New("convert value: nested too deep, or a cycle")
	errMany   = errors.New("convert value: more than 10000000 values")
)

// FromGo makes a value of x, which is copied. It knows no types of the host:
// see [Types.FromGo].
//
// Errors: for channels, functions and complex numbers, map keys that are no
// strings, and data that leads back to itself.
func FromGo(x any) (Value, error) { return Types(nil).FromGo(x) }

// From is [FromGo] for a known type.
//
// Errors: as [FromGo].
func From[T any](x T) (Value, error) { return Types(nil).fromGo(reflect.ValueOf(&x).Elem(), 0) }

var (
	valueType = reflect.TypeFor[Value]()
	timeType  = reflect.TypeFor[time.Time]()
)

func (ts Types) fromGo(x reflect.Value, depth int) (Value, error) {
	if depth > mostNested {
		return Value{}, errNested
	}
	if !x.IsValid() {
		return Unit, nil
	}
	switch x.Type() {
	case valueType:
		if v := x.Interface().(Value); !v.IsNone() {
			return v.Keep(), nil
		}
		return Unit, nil
	case timeType:
		return NewTime(x.Interface().(time.Time)), nil
	}
	if t := ts.Of(x.Type()); t != nil {
		return t.holding(x), nil
	}
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if x.IsNil() {
			return Unit, nil
		}
	}
	switch special := x.Interface().(type) {
	case json.Number:
		return ReadJSON(special.String())
	case json.RawMessage:
		return ReadJSON(string(special))
	case encoding.TextMarshaler:
		text, err := special.MarshalText()
		return Str(string(text)), err
	}
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		return ts.fromGo(x.Elem(), depth+1)
	case reflect.Bool:
		return Bool(x.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int(x.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if u := x.Uint(); u > math.MaxInt64 {
			return Float(float64(u)), nil
		}
		return Int(int64(x.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return Float(x.Float()), nil
	case reflect.String:
		return Str(x.String()), nil
	case reflect.Slice:
		if x.Type().Elem().Kind() == reflect.Uint8 {
			return NewBlob(append([]byte(nil), x.Bytes()...)), nil
		}
		return ts.listFromGo(x, depth)
	case reflect.Array:
		return ts.listFromGo(x, depth)
	case reflect.Map:
		return ts.mapFromGo(x, depth)
	case reflect.Struct:
		return ts.structFromGo(x, depth)
	}
	return Value{}, fmt.Errorf("convert value: a %s has no form in a script", x.Type())
}

func (ts Types) listFromGo(x reflect.Value, depth int) (Value, error) {
	items := make([]Value, x.Len())
	for i := range items {
		v, err := ts.fromGo(x.Index(i), depth+1)
		if err != nil {
			return Value{}, err
		}
		items[i] = v
	}
	return NewArray(items), nil
}

func (ts Types) mapFromGo(x reflect.Value, depth int) (Value, error) {
	if x.Type().Key().Kind() != reflect.String {
		return Value{}, fmt.Errorf("convert value: the keys of a %s are no strings", x.Type())
	}
	m := newMap(x.Len())
	for each := x.MapRange(); each.Next(); {
		v, err := ts.fromGo(each.Value(), depth+1)
		if err != nil {
			return Value{}, err
		}
		m.Set(each.Key().String(), v)
	}
	return Value{&m.header, 0}, nil
}

func (ts Types) structFromGo(x reflect.Value, depth int) (Value, error) {
	fields := fieldsOf(x.Type())
	m := newMap(len(fields))
	for _, f := range fields {
		at, err := x.FieldByIndexErr(f.index)
		if err != nil { // a nil pointer to an embedded struct
			continue
		}
		if f.omit(at) {
			continue
		}
		v, err := ts.fromGo(at, depth+1)
		if err != nil {
			return Value{}, err
		}
		m.Set(f.name, v)
	}
	return Value{&m.header, 0}, nil
}

// ToGo makes Go data of v, nothing of which is shared with it but host objects
// whose type has no Clone. Beyond a depth of 1000, and after ten million values, it is nil.
func ToGo(v Value) any { return toGo(v, 0, newBudget()) }

// newBudget counts down the values that a conversion may still make.
func newBudget() *int {
	n := mostConverted
	return &n
}

func toGo(v Value, depth int, left *int) any {
	if *left--; depth > mostNested || *left < 0 {
		return nil
	}
	switch v = v.Flatten(); v.Kind() {
	case None, UnitKind:
		return nil
	case BoolKind:
		return v.AsBool()
	case IntKind:
		return v.AsInt()
	case FloatKind:
		return v.AsFloat()
	case ArrayKind:
		items := v.AsArray().Items
		if len(items) > *left {
			*left = 0
			return nil
		}
		list := make([]any, len(items))
		for i, item := range items {
			list[i] = toGo(item, depth+1, left)
		}
		return list
	case MapKind:
		if v.AsMap().Len() > *left {
			*left = 0
			return nil
		}
		m := make(map[string]any, v.AsMap().Len())
		for _, e := range v.AsMap().entries {
			m[e.Key] = toGo(e.Value, depth+1, left)
		}
		return m
	case BlobKind:
		return append([]byte{}, v.AsBlob().Bytes...)
	case FnKind:
		return v.AsFn().Name
	case TimeKind:
		return v.AsTime().T
	case CustomKind:
		return v.AsCustom().Copied()
	}
	return v.Display()
}
