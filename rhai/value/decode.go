package value

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// This file fills Go variables of known types with values.

// To makes a T of v. Ints and floats become each other where nothing is lost;
// () is the zero T, or nil; a struct takes from a map what it has fields for. An
// object of a registered type fits that type and a pointer to it: both get a copy.
//
// Errors: *[ConvertError] for what does not fit; others for data that leads back
// to itself, and for more than ten million values.
func To[T any](v Value) (T, error) {
	var out T
	err := Decode(v, &out)
	return out, err
}

// Decode is [To] for a variable that target points to.
//
// Errors: as [To]; for a target that is no pointer to a variable.
func Decode(v Value, target any) error {
	p := reflect.ValueOf(target)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("convert value: the target is a %T, not a pointer to a variable", target)
	}
	return decode(v, p.Elem(), 0, newBudget())
}

// ConvertError tells what did not fit where.
type ConvertError struct {
	Path string // .name and [index] of the value inside the whole
	Got  string // the value's type
	Want reflect.Type
}

func (e *ConvertError) Error() string {
	at := ""
	if e.Path != "" {
		at = " at " + e.Path
	}
	return fmt.Sprintf("convert value%s: %s does not fit %s", at, e.Got, e.Want)
}

// within puts the place of a part before the place of an error inside it.
func within(place string, err error) error {
	if e, ok := err.(*ConvertError); ok {
		e.Path = place + e.Path
	}
	return err
}

func decode(v Value, out reflect.Value, depth int, left *int) error {
	if depth > mostNested {
		return errNested
	}
	if *left--; *left < 0 {
		return errMany
	}
	v = v.Flatten()
	if v.IsNone() {
		v = Unit
	}
	no := &ConvertError{Got: v.TypeName(), Want: out.Type()}
	if out.Type() == valueType {
		out.Set(reflect.ValueOf(v.Keep()))
		return nil
	}
	if v.IsUnit() {
		out.SetZero()
		return nil
	}
	if whole := reflect.ValueOf(asHeld(v)); whole.IsValid() {
		if v.Is(CustomKind) && whole.Kind() == reflect.Pointer && !whole.IsNil() && whole.Type().Elem() == out.Type() {
			whole = whole.Elem()
		}
		if whole.Type().AssignableTo(out.Type()) {
			out.Set(whole)
			return nil
		}
	}
	if out.Kind() == reflect.Pointer {
		if out.IsNil() {
			out.Set(reflect.New(out.Type().Elem()))
		}
		return decode(v, out.Elem(), depth+1, left)
	}
	if v.Is(StringKind) && out.CanAddr() {
		if text, ok := out.Addr().Interface().(encoding.TextUnmarshaler); ok {
			return text.UnmarshalText([]byte(v.AsString()))
		}
	}
	switch out.Kind() {
	case reflect.Interface:
		x := reflect.ValueOf(toGo(v, depth, left))
		if *left < 0 {
			return errMany
		}
		if x.IsValid() && x.Type().AssignableTo(out.Type()) {
			out.Set(x)
			return nil
		}
	case reflect.Bool:
		if v.Is(BoolKind) {
			out.SetBool(v.AsBool())
			return nil
		}
	case reflect.String:
		switch v.Kind() {
		case StringKind, CharKind:
			out.SetString(v.Display())
			return nil
		}
	case reflect.Slice, reflect.Array:
		return decodeList(v, out, no, depth, left)
	case reflect.Map:
		return decodeMap(v, out, no, depth, left)
	case reflect.Struct:
		if v.Is(MapKind) {
			return decodeStruct(v.AsMap(), out, depth, left)
		}
	default:
		if decodeNumber(v, out) {
			return nil
		}
	}
	return no
}

// decodeNumber sets a number, where the value is one that fits.
func decodeNumber(v Value, out reflect.Value) bool {
	switch kind := out.Kind(); kind {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.Is(CharKind) && kind == reflect.Int32 { // where a rune may stand
			out.SetInt(int64(v.AsChar()))
			return true
		}
		n, ok := wholeNumber(v)
		if ok = ok && !out.OverflowInt(n); ok {
			out.SetInt(n)
		}
		return ok
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		n, ok := wholeNumber(v)
		if ok = ok && n >= 0 && !out.OverflowUint(uint64(n)); ok {
			out.SetUint(uint64(n))
		}
		return ok
	case reflect.Float32, reflect.Float64:
		switch {
		case v.Is(FloatKind):
			out.SetFloat(v.AsFloat())
			return true
		case v.Is(IntKind) && int64(float64(v.AsInt())) == v.AsInt():
			out.SetFloat(float64(v.AsInt()))
			return true
		}
	}
	return false
}

// asHeld gives times and objects of the host as they are, else nil.
func asHeld(v Value) any {
	switch v.Kind() {
	case TimeKind, CustomKind:
		return toGo(v, 0, newBudget())
	}
	return nil
}

// wholeNumber gives an int, or a float without a fraction.
func wholeNumber(v Value) (int64, bool) {
	switch v.Kind() {
	case IntKind:
		return v.AsInt(), true
	case FloatKind:
		f := v.AsFloat()
		return int64(f), f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64
	}
	return 0, false
}

func decodeList(v Value, out reflect.Value, no *ConvertError, depth int, left *int) error {
	var items []Value
	switch {
	case v.Is(ArrayKind):
		items = v.AsArray().Items
	case v.Is(BlobKind):
		if out.Kind() == reflect.Slice && out.Type().Elem().Kind() == reflect.Uint8 {
			out.SetBytes(append([]byte{}, v.AsBlob().Bytes...))
			return nil
		}
		for _, b := range v.AsBlob().Bytes {
			items = append(items, Int(int64(b)))
		}
	default:
		return no
	}
	switch {
	case out.Kind() == reflect.Slice:
		out.Set(reflect.MakeSlice(out.Type(), len(items), len(items)))
	case out.Len() != len(items):
		return no
	}
	for i, item := range items {
		if err := decode(item, out.Index(i), depth+1, left); err != nil {
			return within("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

func decodeMap(v Value, out reflect.Value, no *ConvertError, depth int, left *int) error {
	t := out.Type()
	if !v.Is(MapKind) || t.Key().Kind() != reflect.String {
		return no
	}
	out.Set(reflect.MakeMapWithSize(t, v.AsMap().Len()))
	for _, e := range v.AsMap().Entries() {
		item := reflect.New(t.Elem()).Elem()
		if err := decode(e.Value, item, depth+1, left); err != nil {
			return within("."+e.Key, err)
		}
		out.SetMapIndex(reflect.ValueOf(e.Key).Convert(t.Key()), item)
	}
	return nil
}

func decodeStruct(m *Map, out reflect.Value, depth int, left *int) error {
	for _, f := range fieldsOf(out.Type()) {
		v := m.Get(f.name)
		if v.IsNone() {
			continue
		}
		at := out
		for _, i := range f.index {
			if at.Kind() == reflect.Pointer {
				if at.IsNil() && !at.CanSet() {
					return &ConvertError{"." + f.name, v.TypeName(), at.Type()}
				}
				if at.IsNil() {
					at.Set(reflect.New(at.Type().Elem()))
				}
				at = at.Elem()
			}
			at = at.Field(i)
		}
		if err := decode(v, at, depth+1, left); err != nil {
			return within("."+f.name, err)
		}
	}
	return nil
}

// field is a field of a struct that scripts see.
type field struct {
	name                string
	index               []int
	omitEmpty, omitZero bool
}

func (f *field) omit(v reflect.Value) bool {
	if f.omitZero && v.IsZero() {
		return true
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

var fieldCache sync.Map // reflect.Type to []field

// fieldsOf lists the fields of a struct as their json tags say. Fields of
// embedded structs without a name of their own stand among them.
func fieldsOf(t reflect.Type) []field {
	if list, ok := fieldCache.Load(t); ok {
		return list.([]field)
	}
	var list []field
	for _, sf := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if !sf.IsExported() || name == "-" && options == "" || sf.Anonymous && name == "" && isStruct(sf.Type) || inNamed(t, sf) {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		list = append(list, field{name, sf.Index,
			strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero")})
	}
	fieldCache.Store(t, list)
	return list
}

// inNamed reports that a field belongs to an embedded struct with a name of its own.
func inNamed(t reflect.Type, sf reflect.StructField) bool {
	for n := 1; n < len(sf.Index); n++ {
		if name, _, _ := strings.Cut(t.FieldByIndex(sf.Index[:n]).Tag.Get("json"), ","); name != "" {
			return true
		}
	}
	return false
}

func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}
