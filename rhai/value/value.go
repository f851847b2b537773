package value

import (
	"math"
	"unsafe"
)

// header is the first field of every object, and all there is of a scalar's.
type header struct {
	kind Kind
	// shared says that more than one place may hold the object, so that it
	// must be copied before it is changed. Never cleared.
	shared bool
	// tag of a scalar; objects carry theirs in the Value.
	tag int32
}

// The headers of untagged scalars.
var (
	unitHeader  = header{kind: UnitKind, shared: true}
	boolHeader  = header{kind: BoolKind, shared: true}
	intHeader   = header{kind: IntKind, shared: true}
	floatHeader = header{kind: FloatKind, shared: true}
	charHeader  = header{kind: CharKind, shared: true}
)

// Value is any value of the language. The zero Value is none.
type Value struct {
	h *header
	n uint64
}

// The constants.
var (
	Unit  = Value{&unitHeader, 0}
	True  = Value{&boolHeader, 1}
	False = Value{&boolHeader, 0}
)

// Int makes an int.
func Int(i int64) Value { return Value{&intHeader, uint64(i)} }

// Float makes a float.
func Float(f float64) Value { return Value{&floatHeader, math.Float64bits(f)} }

// Char makes a char.
func Char(r rune) Value { return Value{&charHeader, uint64(uint32(r))} }

// Bool makes a bool.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// Kind tells what v is; a Cell is told as such.
func (v Value) Kind() Kind {
	if v.h == nil {
		return None
	}
	return v.h.kind
}

// IsNone reports that v is no value: something went wrong or elsewhere.
func (v Value) IsNone() bool { return v.h == nil }

// Is reports whether v is of kind k.
func (v Value) Is(k Kind) bool { return v.h != nil && v.h.kind == k }

// IsUnit reports that v is ().
func (v Value) IsUnit() bool { return v.h != nil && v.h.kind == UnitKind }

// PlainInt reports that v is an int without a tag: a quick test for fast
// paths, which leave the rare tagged int to the slow one.
func (v Value) PlainInt() bool { return v.h == &intHeader }

// PlainFloat is PlainInt for floats.
func (v Value) PlainFloat() bool { return v.h == &floatHeader }

// PlainBool is PlainInt for bools.
func (v Value) PlainBool() bool { return v.h == &boolHeader }

// AsInt gives the int, which v must be.
func (v Value) AsInt() int64 { return int64(v.n) }

// AsFloat gives the float, which v must be.
func (v Value) AsFloat() float64 { return math.Float64frombits(v.n) }

// AsBool gives the bool, which v must be.
func (v Value) AsBool() bool { return v.n != 0 }

// AsChar gives the char, which v must be.
func (v Value) AsChar() rune { return rune(uint32(v.n)) }

// SetInt stores an int; it avoids writing the pointer where it stands already.
func (v *Value) SetInt(i int64) {
	if v.h != &intHeader {
		v.h = &intHeader
	}
	v.n = uint64(i)
}

// SetFloat stores a float in the same way.
func (v *Value) SetFloat(f float64) {
	if v.h != &floatHeader {
		v.h = &floatHeader
	}
	v.n = math.Float64bits(f)
}

// isScalar reports that the value's bits hold the value itself.
func (k Kind) isScalar() bool { return k <= CharKind }

// Tag gives the value's tag.
func (v Value) Tag() int32 {
	if v.h == nil {
		return 0
	}
	if v.h.kind.isScalar() {
		return v.h.tag
	}
	return int32(uint32(v.n))
}

// WithTag gives the same value with another tag.
func (v Value) WithTag(tag int32) Value {
	if !v.h.kind.isScalar() {
		return Value{v.h, uint64(uint32(tag))}
	}
	if tag == 0 {
		return v.Plain()
	}
	return Value{&header{kind: v.h.kind, shared: true, tag: tag}, v.n}
}

// Plain gives a scalar without its tag; other values as they are.
func (v Value) Plain() Value {
	switch v.Kind() {
	case UnitKind:
		return Unit
	case BoolKind:
		return Value{&boolHeader, v.n}
	case IntKind:
		return Value{&intHeader, v.n}
	case FloatKind:
		return Value{&floatHeader, v.n}
	case CharKind:
		return Value{&charHeader, v.n}
	}
	return v
}

// Keep marks v as held by more than one place and gives it back. It is called
// whenever a value that has a home already is put into another one.
func (v Value) Keep() Value {
	if h := v.h; h != nil && !h.shared {
		h.shared = true
	}
	return v
}

// Shared reports that v must be copied before it is changed.
func (v Value) Shared() bool { return v.h != nil && v.h.shared }

// Same reports that two values are the same scalar or the same object.
func (v Value) Same(w Value) bool { return v.h == w.h && v.n == w.n }

// Flatten gives the content of a cell, other values as they are.
func (v Value) Flatten() Value {
	if v.h != nil && v.h.kind == CellKind {
		return v.AsCell().V
	}
	return v
}

// TypeName is what type_of answers.
func (v Value) TypeName() string {
	switch v.Kind() {
	case CustomKind:
		return v.AsCustom().Type.Name
	case CellKind:
		return v.AsCell().V.TypeName()
	}
	return v.Kind().String()
}

// SignatureName is the type's name in the signatures of error messages.
func (v Value) SignatureName() string {
	if v.Kind() == StringKind {
		return StringKind.SignatureName()
	}
	return v.TypeName()
}

// Objects. Each cast is right because the header is the object's first field
// and the kind says which object it is.

// AsString gives the text of a string.
func (v Value) AsString() string { return v.str().s }

func (v Value) str() *String { return (*String)(unsafe.Pointer(v.h)) }

// AsArray gives the array for reading.
func (v Value) AsArray() *Array { return (*Array)(unsafe.Pointer(v.h)) }

// AsMap gives the map for reading.
func (v Value) AsMap() *Map { return (*Map)(unsafe.Pointer(v.h)) }

// AsBlob gives the blob for reading.
func (v Value) AsBlob() *Blob { return (*Blob)(unsafe.Pointer(v.h)) }

// AsFn gives the function pointer.
func (v Value) AsFn() *Fn { return (*Fn)(unsafe.Pointer(v.h)) }

// AsRange gives the range, which never changes.
func (v Value) AsRange() *Range { return (*Range)(unsafe.Pointer(v.h)) }

// AsTime gives the timestamp.
func (v Value) AsTime() *Time { return (*Time)(unsafe.Pointer(v.h)) }

// AsIter gives the iterator.
func (v Value) AsIter() *Iter { return (*Iter)(unsafe.Pointer(v.h)) }

// AsCell gives the cell.
func (v Value) AsCell() *Cell { return (*Cell)(unsafe.Pointer(v.h)) }

// AsCustom gives the host's object.
func (v Value) AsCustom() *Custom { return (*Custom)(unsafe.Pointer(v.h)) }

// Identity gives something that is equal for values of the same object only.
func (v Value) Identity() unsafe.Pointer { return unsafe.Pointer(v.h) }
