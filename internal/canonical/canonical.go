// Package canonical writes messages, and what is in them, as JSON: in the canonical
// form of RFC 8785 what is signed of a message, and what travels, and in the order
// of its fields what lies in its record.
//
// The rule is encoding/json, and after it the library for that form. Together
// they write a message six times over, and parse it once: they were a sixth of
// what a message cost. So a message is written straight into the form, in one
// pass; one with something in it for which that would take more thought goes the
// long way. A test holds the two against each other.
//
// The package has no goroutines.
package canonical

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"github.com/ramet-run/ramet/domain"
)

// Of is v in canonical form: a message, or a list or a struct that one has.
//
// Errors: [domain.ErrInvalid] where it has none.
func Of(v any) ([]byte, error) {
	w := writer{b: make([]byte, 0, 1024), fits: true, sorted: true}
	if w.value(reflect.Indirect(reflect.ValueOf(v))); w.fits {
		return w.b, nil
	}
	return longWay(v)
}

// Declared is v with its names in the order of its fields, as encoding/json writes
// it without escapes for HTML. ok is false where that would take more thought.
func Declared(v any) (text []byte, ok bool) {
	w := writer{b: make([]byte, 0, 512), fits: true}
	w.value(reflect.Indirect(reflect.ValueOf(v)))
	return w.b, w.fits
}

// longWay is the rule of the form.
func longWay(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, domain.Invalidf("it cannot be written as JSON: %v", err)
	}
	body, err := jcs.Transform(text.Bytes())
	if err != nil {
		return nil, domain.Invalidf("it has no canonical form: %v", err)
	}
	return body, nil
}

// writer writes values in canonical form, as long as fits is true.
type writer struct {
	b      []byte
	fits   bool
	sorted bool // the names of fields
}

// exact is the largest number that every reader of JSON has exactly; what is
// larger the form rounds.
const exact = 1<<53 - 1

func (w *writer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		w.text(v.String())
	case reflect.Bool:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		w.fits = w.fits && -exact <= n && n <= exact
		w.b = strconv.AppendInt(w.b, n, 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := v.Uint()
		w.fits = w.fits && n <= exact
		w.b = strconv.AppendUint(w.b, n, 10)
	case reflect.Pointer:
		if v.IsNil() {
			w.b = append(w.b, "null"...)
			return
		}
		w.value(v.Elem())
	case reflect.Slice: // an empty one too where there is none: [domain.List], [domain.Job.MarshalJSON]
		if v.Type().Elem().Kind() == reflect.Uint8 { // bytes, or JSON as it is
			w.fits = false
			return
		}
		w.b = append(w.b, '[')
		for i := range v.Len() {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			if e := v.Index(i); e.Kind() == reflect.Map && e.IsNil() {
				w.b = append(w.b, "null"...) // as encoding/json has it
			} else {
				w.value(e)
			}
		}
		w.b = append(w.b, ']')
	case reflect.Map:
		w.object(v)
	case reflect.Struct:
		w.fields(v)
	default:
		w.fits = false
	}
}

// object writes a map, an empty one too where there is none. Names stand in the
// order of UTF-16, which is that of bytes while all are ASCII.
func (w *writer) object(v reflect.Value) {
	if v.Len() == 0 {
		w.b = append(w.b, "{}"...)
		return
	}
	names := v.MapKeys()
	for _, name := range names {
		if name.Kind() != reflect.String || !ascii(name.String()) {
			w.fits = false
			return
		}
	}
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for i, name := range names {
		w.b = append(w.b, "{,"[min(i, 1)])
		w.text(name.String())
		w.b = append(w.b, ':')
		w.value(v.MapIndex(name))
	}
	w.b = append(w.b, '}')
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (w *writer) fields(v reflect.Value) {
	before := byte('{')
	for _, f := range fieldsOf(v.Type(), w.sorted) {
		value := v.Field(f.index)
		if f.omitzero && value.IsZero() {
			continue
		}
		w.b = append(append(w.b, before), f.name...)
		w.value(value)
		before = ','
	}
	if before == '{' {
		w.b = append(w.b, '{')
	}
	w.b = append(w.b, '}')
}

// field is one of a type's fields that JSON has.
type field struct {
	index    int
	name     string // in quotes, with the colon
	omitzero bool
}

// fieldLists are the fields of types by fieldOrder.
var fieldLists sync.Map

type fieldOrder struct {
	of     reflect.Type
	sorted bool
}

func fieldsOf(t reflect.Type, sorted bool) []field {
	if known, found := fieldLists.Load(fieldOrder{t, sorted}); found {
		return known.([]field)
	}
	var list []field
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "-" {
			list = append(list, field{i, `"` + name + `":`, options == "omitzero"})
		}
	}
	if sorted {
		slices.SortFunc(list, func(a, b field) int { return strings.Compare(a.name, b.name) })
	}
	fieldLists.Store(fieldOrder{t, sorted}, list)
	return list
}

// text writes a string: only what must be is escaped, and what is no UTF-8 is
// the sign for that.
func (w *writer) text(s string) {
	w.b = append(w.b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				w.b = append(append(w.b, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		i++
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		w.b = append(w.b, s[from:i-1]...)
		from = i
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			w.b = append(w.b, '\\', `"\bfnrt`[at])
		} else {
			const hex = "0123456789abcdef"
			w.b = append(w.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	w.b = append(append(w.b, s[from:]...), '"')
}
