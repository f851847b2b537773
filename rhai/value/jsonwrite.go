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
// Floats keep a fraction; NaN and infinities are null.
//
// Errors: for more than 64 MiB of text or 16384 levels.
func AppendJSON(buf []byte, v Value) ([]byte, error) { return appendJSON(buf, v, nil) }

// RenderJSON is [AppendJSON] for what may be large.
//
// Errors: when pace ends it, too.
func RenderJSON(v Value, pace Pace) (string, error) {
	buf, err := appendJSON(nil, v, pace)
	return string(buf), err
}

func appendJSON(buf []byte, v Value, pace Pace) ([]byte, error) {
	w := jsonWriter{buf: buf, limit: len(buf) + maxText, pace: pace, askAt: len(buf) + paceBytes}
	if !w.value(v, 0) {
		return buf, errJSONSize
	}
	return w.buf, nil
}

// MarshalJSON renders v as [AppendJSON] does.
func (v Value) MarshalJSON() ([]byte, error) { return AppendJSON(nil, v) }

type jsonWriter struct {
	buf   []byte
	limit int
	// pace, when not nil, is asked when askAt bytes have been written.
	pace  Pace
	askAt int
}

// value writes v; false means that it has become too large.
func (w *jsonWriter) value(v Value, depth int) bool {
	if depth > maxDepth || len(w.buf) > w.limit {
		return false
	}
	if w.pace != nil && len(w.buf) >= w.askAt {
		w.askAt = len(w.buf) + paceBytes
		if !w.pace(len(w.buf)) {
			return false
		}
	}
	switch v = v.Flatten(); v.Kind() {
	case None, UnitKind:
		w.buf = append(w.buf, "null"...)
	case BoolKind, IntKind:
		w.buf = AppendDisplay(w.buf, v)
	case FloatKind:
		w.buf = appendJSONFloat(w.buf, v.AsFloat())
	case CharKind, StringKind:
		w.buf = appendJSONText(w.buf, v.Display())
	case ArrayKind:
		return w.list(v.AsArray().Items, depth)
	case MapKind:
		return w.object(v.AsMap(), depth)
	case BlobKind:
		items := make([]Value, len(v.AsBlob().Bytes))
		for i, b := range v.AsBlob().Bytes {
			items[i] = Int(int64(b))
		}
		return w.list(items, depth)
	case FnKind:
		f := v.AsFn()
		if len(f.Curry) > 0 {
			return w.list(append([]Value{Str(f.Name)}, f.Curry...), depth)
		}
		w.buf = appendJSONText(w.buf, f.Name)
	default:
		w.buf = appendJSONText(w.buf, foreignName(v))
	}
	return true
}

func (w *jsonWriter) list(items []Value, depth int) bool {
	w.buf = append(w.buf, '[')
	for i, item := range items {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if !w.value(item, depth+1) {
			return false
		}
	}
	w.buf = append(w.buf, ']')
	return true
}

func (w *jsonWriter) object(m *Map, depth int) bool {
	w.buf = append(w.buf, '{')
	for i, e := range m.Entries() {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(appendJSONText(w.buf, e.Key), ':')
		if !w.value(e.Value, depth+1) {
			return false
		}
	}
	w.buf = append(w.buf, '}')
	return true
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

func appendJSONText(buf []byte, s string) []byte {
	const plain, hex = "\b\f\n\r\t\"\\", "0123456789abcdef"
	buf = append(buf, '"')
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
	return append(append(buf, s[start:]...), '"')
}

// appendJSONFloat keeps a fraction, so that a float stays one; an exponent
// comes in from 1e16 up and below 1e-5.
func appendJSONFloat(buf []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case f-f != 0: // NaN and infinity
		return append(buf, "null"...)
	case abs >= 1e16 || abs != 0 && abs < 1e-5:
		s := strconv.FormatFloat(f, 'e', -1, 64)
		e := bytes.IndexByte([]byte(s), 'e')
		n, _ := strconv.Atoi(s[e+1:])
		return strconv.AppendInt(append(buf, s[:e+1]...), int64(n), 10)
	}
	buf = strconv.AppendFloat(buf, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		buf = append(buf, ".0"...)
	}
	return buf
}
