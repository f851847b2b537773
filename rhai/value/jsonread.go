package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// This file reads JSON as strictly as RFC 8259 says. For writing see jsonwrite.go.

// mostJSONDepth is how deep arrays and objects may nest, as in the reference.
const mostJSONDepth = 127

// ReadJSON reads one JSON value. null becomes (), numbers that are ints ints,
// others floats; of equal keys the last wins.
//
// Errors: *JSONError.
func ReadJSON(s string) (Value, error) { return readJSON(jsonReader{s: s}) }

// ReadLooseJSON reads what others take for JSON, too: a number that is too large is infinite, and half of a
// surrogate pair is U+FFFD. It is for what has been stored already, which nobody can send again.
//
// Errors: *JSONError.
func ReadLooseJSON(s string) (Value, error) { return readJSON(jsonReader{s: s, loose: true}) }

func readJSON(r jsonReader) (Value, error) {
	v := r.value()
	if r.err == nil && r.skip() {
		r.failNext("trailing characters")
	}
	if r.err != nil {
		return Value{}, r.err
	}
	return v, nil
}

// JSONError tells what is wrong with a JSON text, and where: at a column
// counted in bytes from 1, where 0 is the line break before.
type JSONError struct {
	Text         string
	Line, Column int
}

func (e *JSONError) Error() string {
	return fmt.Sprintf("%s at line %d column %d", e.Text, e.Line, e.Column)
}

// jsonReader reads s from place at on. After an error it returns at once.
type jsonReader struct {
	s     string
	at    int
	depth int
	loose bool // see [ReadLooseJSON]
	err   error
}

// fail records an error found in the byte read last.
func (r *jsonReader) fail(text string) Value { return r.failAt(text, r.at) }

// failNext records an error found in the byte to be read next.
func (r *jsonReader) failNext(text string) Value {
	return r.failAt(text, min(r.at+1, len(r.s)))
}

func (r *jsonReader) failAt(text string, at int) Value {
	if r.err == nil {
		e := &JSONError{Text: text, Line: 1}
		for i := range at {
			e.Column++
			if r.s[i] == '\n' {
				e.Line, e.Column = e.Line+1, 0
			}
		}
		r.err = e
	}
	return Value{}
}

// skip skips white-space and reports whether something follows.
func (r *jsonReader) skip() bool {
	for r.at < len(r.s) {
		switch r.s[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return true
		}
	}
	return false
}

// peek gives the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.at < len(r.s) {
		return r.s[r.at]
	}
	return 0
}

func (r *jsonReader) value() Value {
	if !r.skip() {
		return r.failNext("EOF while parsing a value")
	}
	switch b := r.s[r.at]; b {
	case 'n':
		return r.word("null", Unit)
	case 't':
		return r.word("true", True)
	case 'f':
		return r.word("false", False)
	case '"':
		return Str(r.text())
	case '[', '{':
		if r.depth++; r.depth > mostJSONDepth {
			return r.failNext("recursion limit exceeded")
		}
		defer func() { r.depth-- }()
		r.at++
		if b == '[' {
			return r.array()
		}
		return r.object()
	default:
		if b == '-' || b >= '0' && b <= '9' {
			return r.number()
		}
	}
	return r.failNext("expected value")
}

func (r *jsonReader) word(word string, v Value) Value {
	for i := range len(word) {
		if r.at == len(r.s) {
			return r.fail("EOF while parsing a value")
		}
		r.at++
		if r.s[r.at-1] != word[i] {
			return r.fail("expected ident")
		}
	}
	return v
}

func (r *jsonReader) array() Value {
	var items []Value
	for r.next(']', len(items) == 0, "a list", "expected `,` or `]`") {
		v := r.value()
		if r.err != nil {
			return v
		}
		items = append(items, v)
	}
	if r.err != nil {
		return Value{}
	}
	return NewArray(items)
}

func (r *jsonReader) object() Value {
	v := NewMap(0)
	m, first := v.AsMap(), true
	for r.next('}', first, "an object", "expected `,` or `}`") {
		first = false
		if r.peek() != '"' {
			return r.failNext("key must be a string")
		}
		key := r.text()
		if r.err != nil {
			return Value{}
		}
		if !r.skip() {
			return r.failNext("EOF while parsing an object")
		}
		if r.peek() != ':' {
			return r.failNext("expected `:`")
		}
		r.at++
		item := r.value()
		if r.err != nil {
			return Value{}
		}
		m.Set(key, item)
	}
	if r.err != nil {
		return Value{}
	}
	return v
}

// next goes to the next item of a list, after its comma. False: the list has
// ended, or there was an error.
func (r *jsonReader) next(end byte, first bool, what, expected string) bool {
	if !r.skip() {
		r.failNext("EOF while parsing " + what)
		return false
	}
	if r.peek() == end {
		r.at++
		return false
	}
	if first {
		return true
	}
	if r.peek() != ',' {
		r.failNext(expected)
		return false
	}
	r.at++
	if !r.skip() {
		r.failNext("EOF while parsing a value")
		return false
	}
	if r.peek() == end {
		r.failNext("trailing comma")
		return false
	}
	return true
}

func (r *jsonReader) number() Value {
	start := r.at
	if r.peek() == '-' {
		r.at++
	}
	if !r.digit() {
		return Value{}
	}
	if r.s[r.at-1] == '0' {
		if b := r.peek(); b >= '0' && b <= '9' {
			return r.failNext("invalid number")
		}
	}
	r.digits()
	whole := true
	if r.peek() == '.' {
		whole = false
		r.at++
		if b := r.peek(); b < '0' || b > '9' {
			if r.at == len(r.s) {
				return r.fail("EOF while parsing a value")
			}
			return r.failNext("invalid number")
		}
		r.digits()
	}
	if b := r.peek(); b == 'e' || b == 'E' {
		whole = false
		r.at++
		if b := r.peek(); b == '+' || b == '-' {
			r.at++
		}
		if !r.digit() {
			return Value{}
		}
		r.digits()
	}
	text := r.s[start:r.at]
	if whole && text != "-0" {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Int(i)
		}
	}
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsInf(f, 0) && !r.loose {
		return r.fail("number out of range")
	}
	return Float(f)
}

// digit reads one digit.
func (r *jsonReader) digit() bool {
	if r.at == len(r.s) {
		r.fail("EOF while parsing a value")
		return false
	}
	r.at++
	if b := r.s[r.at-1]; b < '0' || b > '9' {
		r.fail("invalid number")
		return false
	}
	return true
}

// digits reads all digits that follow.
func (r *jsonReader) digits() {
	for b := r.peek(); b >= '0' && b <= '9'; b = r.peek() {
		r.at++
	}
}

const openText = "EOF while parsing a string"

// text reads a string from its opening quote on.
func (r *jsonReader) text() string {
	r.at++
	start := r.at
	for r.at < len(r.s) && r.s[r.at] != '\\' && r.s[r.at] >= ' ' {
		if r.s[r.at] == '"' {
			r.at++
			return r.s[start : r.at-1]
		}
		r.at++
	}
	buf := []byte(r.s[start:r.at])
	for r.at < len(r.s) {
		b := r.s[r.at]
		r.at++
		switch {
		case b == '"':
			return string(buf)
		case b == '\\':
			buf = r.escape(buf)
		case b < ' ':
			r.fail(`control character (\u0000-\u001F) found while parsing a string`)
		default:
			buf = append(buf, b)
		}
		if r.err != nil {
			return ""
		}
	}
	r.fail(openText)
	return ""
}

// escape reads what follows a backslash.
func (r *jsonReader) escape(buf []byte) []byte {
	if r.at == len(r.s) {
		r.fail(openText)
		return buf
	}
	b := r.s[r.at]
	r.at++
	switch b {
	case '"', '\\', '/':
		return append(buf, b)
	case 'b':
		return append(buf, '\b')
	case 'f':
		return append(buf, '\f')
	case 'n':
		return append(buf, '\n')
	case 'r':
		return append(buf, '\r')
	case 't':
		return append(buf, '\t')
	case 'u':
		return utf8.AppendRune(buf, r.unicode())
	}
	r.fail("invalid escape")
	return buf
}

// unicode reads the digits of a \u escape, and the second one of a pair.
func (r *jsonReader) unicode() rune {
	const lone = "lone leading surrogate in hex escape"
	n := r.hex()
	if r.err != nil || !utf16.IsSurrogate(n) {
		return n
	}
	if r.loose && (n >= 0xdc00 || !r.lowFollows()) {
		return utf8.RuneError
	}
	if n >= 0xdc00 {
		r.fail(lone)
		return 0
	}
	for _, want := range []byte(`\u`) {
		if r.at == len(r.s) {
			r.fail(openText)
			return 0
		}
		r.at++
		if r.s[r.at-1] != want {
			r.fail("unexpected end of hex escape")
			return 0
		}
	}
	low := r.hex()
	if r.err == nil && (low < 0xdc00 || low > 0xdfff) {
		r.fail(lone)
	}
	return utf16.DecodeRune(n, low)
}

// lowFollows reports whether the second one of a pair is next.
func (r *jsonReader) lowFollows() bool {
	next := r.s[r.at:min(r.at+4, len(r.s))]
	return len(next) == 4 && next[:2] == `\u` && next[2]|0x20 == 'd' && strings.IndexByte("cdef", next[3]|0x20) >= 0
}

func (r *jsonReader) hex() rune {
	if len(r.s)-r.at < 4 {
		r.at = len(r.s)
		r.fail(openText)
		return 0
	}
	r.at += 4
	n := rune(0)
	for i := r.at - 4; i < r.at; i++ {
		d, err := strconv.ParseUint(r.s[i:i+1], 16, 8)
		if err != nil {
			r.fail("invalid escape")
			return 0
		}
		n = n<<4 | rune(d)
	}
	return n
}

// UnmarshalJSON reads v from JSON.
func (v *Value) UnmarshalJSON(data []byte) error {
	w, err := ReadJSON(string(data))
	if err == nil {
		*v = w
	}
	return err
}
