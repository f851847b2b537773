package value

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// This file writes JSON.

var errJSONSize = errors.New("write JSON: the value is too large or nested too deep")

// AppendJSON appends v as JSON in its shortest form, keys sorted: () as null,
// chars as strings, blobs as arrays of ints, a function pointer as its name, or
// an array of that and what it carries, other values as the name of their type.
// Floats keep a fraction; NaN and infinities are null. The same value has the same
// bytes in all versions: states of sagas and keys of objects are made of them.
//
// Errors: for more than 64 MiB of text or 16384 levels.
func AppendJSON(buf []byte, v Value) ([]byte, error) {
	w := jsonWriter{writer: writer{buf: buf}, limit: len(buf) + maxText}
	if !w.value(v, 0) {
		return buf, errJSONSize
	}
	return w.buf, nil
}

// RenderJSON is [AppendJSON] for what may be large, with exponents as the reference
// writes them for scripts: 1e+16.
//
// Errors: when pace ends it, too.
func RenderJSON(v Value, pace Pace) (string, error) {
	w := jsonWriter{writer: writer{pace: pace}, limit: maxText, plus: true}
	if !w.value(v, 0) {
		return "", errJSONSize
	}
	return w.String(), nil
}

// MarshalJSON renders v as [AppendJSON] does.
//
// Errors: as [AppendJSON].
func (v Value) MarshalJSON() ([]byte, error) { return AppendJSON(nil, v) }

type jsonWriter struct {
	writer
	limit int
	plus  bool // before exponents above zero
}

// value writes v; false means that it has become too large.
func (w *jsonWriter) value(v Value, depth int) bool {
	if depth > maxDepth || len(w.buf) > w.limit || !w.room(scalarText) {
		return false
	}
	switch v = v.Flatten(); v.Kind() {
	case None, UnitKind:
		w.buf = append(w.buf, "null"...)
	case BoolKind, IntKind:
		w.buf = AppendDisplay(w.buf, v)
	case FloatKind:
		w.buf = appendJSONFloat(w.buf, v.AsFloat(), w.plus)
	case CharKind, StringKind:
		w.json(v.Display())
	case ArrayKind:
		w.text("[")
		return w.items(v.AsArray().Items, 0, depth)
	case MapKind:
		return w.object(v.AsMap(), depth)
	case BlobKind:
		return w.bytes(v.AsBlob().Bytes)
	case FnKind:
		f := v.AsFn()
		if len(f.Curry) > 0 {
			w.text("[")
			w.json(f.Name)
			return w.items(f.Curry, 1, depth)
		}
		w.json(f.Name)
	default:
		w.json(foreignName(v))
	}
	return !w.stopped
}

// items writes the rest of a list that has so many items already.
func (w *jsonWriter) items(items []Value, before, depth int) bool {
	for i, item := range items {
		if before+i > 0 {
			w.text(",")
		}
		if !w.value(item, depth+1) {
			return false
		}
	}
	w.text("]")
	return !w.stopped
}

func (w *jsonWriter) bytes(b []byte) bool {
	w.text("[")
	for i, x := range b {
		if !w.room(4) || len(w.buf) > w.limit {
			return false
		}
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = strconv.AppendUint(w.buf, uint64(x), 10)
	}
	w.text("]")
	return !w.stopped
}

func (w *jsonWriter) object(m *Map, depth int) bool {
	w.text("{")
	for i, e := range m.Entries() {
		if i > 0 {
			w.text(",")
		}
		w.json(e.Key)
		w.text(":")
		if !w.value(e.Value, depth+1) {
			return false
		}
	}
	w.text("}")
	return !w.stopped
}

// foreignName is what stands for a value that JSON has no form for: the name
// of its type where the reference is written.
func foreignName(v Value) string {
	switch v.Kind() {
	case RangeKind:
		return "core::ops::range::Range<i64>"
	case RangeInclKind:
		return "core::ops::range::RangeInclusive<i64>"
	case TimeKind:
		return "std::time::Instant"
	case IterKind:
		return v.HostDebug()
	}
	return v.TypeName()
}

func appendJSONEscaped(buf []byte, s string, _ byte) []byte {
	const plain, hex = "\b\f\n\r\t\"\\", "0123456789abcdef"
	start := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		buf = append(append(buf, s[start:i]...), '\\')
		if at := bytes.IndexByte([]byte(plain), b); at >= 0 {
			buf = append(buf, `bfnrt"\`[at])
		} else {
			buf = append(buf, 'u', '0', '0', hex[b>>4], hex[b&15])
		}
		start = i + 1
	}
	return append(buf, s[start:]...)
}

// appendJSONFloat keeps a fraction, so that a float stays one; an exponent
// comes in from 1e16 up and below 1e-5.
func appendJSONFloat(buf []byte, f float64, plus bool) []byte {
	abs := math.Abs(f)
	switch {
	case f-f != 0: // NaN and infinity
		return append(buf, "null"...)
	case abs >= 1e16 || abs != 0 && abs < 1e-5:
		s := strconv.FormatFloat(f, 'e', -1, 64)
		e := bytes.IndexByte([]byte(s), 'e')
		n, _ := strconv.Atoi(s[e+1:])
		if buf = append(buf, s[:e+1]...); n > 0 && plus {
			buf = append(buf, '+')
		}
		return strconv.AppendInt(buf, int64(n), 10)
	}
	buf = strconv.AppendFloat(buf, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		buf = append(buf, ".0"...)
	}
	return buf
}
