package value

import (
	"math"
	"strings"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// String is a text. Texts never change, but a String that only one place holds
// may grow at its end.
type String struct {
	header
	s string
	// buf, when not nil, is the memory behind s with room to grow.
	buf []byte
	// whole is the size in bytes of the text whose memory s lies in, 0 where
	// that is s alone.
	whole int
	// count is what has been counted so far: the bytes in the high half, the
	// characters in them in the low half. Atomic, because a text that is shared
	// may be looked at by several runs.
	count atomic.Uint64
}

// Str makes a string.
func Str(s string) Value {
	return Value{&(&String{header: header{kind: StringKind}, s: s}).header, 0}
}

// Text makes a string of b, which it owns.
func Text(b []byte) Value { return Str(unsafe.String(unsafe.SliceData(b), len(b))) }

// TextBytes is what the text of a string takes, with the room it has to grow.
func (v Value) TextBytes() int {
	s := v.str()
	return max(len(s.s), cap(s.buf))
}

// Constant makes a string that is never changed in place: a literal of a script.
func Constant(s string) Value {
	c := &String{header: header{kind: StringKind, shared: true}, s: s}
	c.setCount(len(s), utf8.RuneCountInString(s))
	return Value{&c.header, 0}
}

func (s *String) setCount(bytes, chars int) { s.count.Store(uint64(bytes)<<32 | uint64(chars)) }

// Chars counts the characters of a string. The count is remembered, so that it
// costs only what has been added since the last time.
func (v Value) Chars() int {
	s := v.str()
	if len(s.s) > math.MaxUint32 {
		return utf8.RuneCountInString(s.s)
	}
	c := s.count.Load()
	counted, chars := int(c>>32), int(uint32(c))
	if counted != len(s.s) {
		chars += utf8.RuneCountInString(s.s[counted:])
		s.setCount(len(s.s), chars)
	}
	return chars
}

// IsASCII reports that every character of the string is one byte.
func (v Value) IsASCII() bool { return v.Chars() == len(v.str().s) }

// AppendString adds text to the string at p, in place where only p holds it.
func AppendString(p *Value, text string) {
	s := p.str()
	if len(text) == 0 {
		return
	}
	if s.shared {
		grown := &String{header: header{kind: StringKind}}
		grown.count.Store(s.count.Load())
		grown.buf = make([]byte, 0, (len(s.s)+len(text))*2)
		grown.buf = append(append(grown.buf, s.s...), text...)
		grown.s = unsafe.String(unsafe.SliceData(grown.buf), len(grown.buf))
		*p = Value{&grown.header, p.n}
		return
	}
	if !p.GrowsInPlace() {
		s.buf = append(make([]byte, 0, (len(s.s)+len(text))*2), s.s...)
	}
	// Bytes up to len(s.s) are never written again, so texts taken from here stay true.
	s.buf = append(s.buf, text...)
	s.s = unsafe.String(unsafe.SliceData(s.buf), len(s.buf))
}

// GrowsInPlace reports that AppendString need not copy what the string has.
func (v Value) GrowsInPlace() bool {
	s := v.str()
	return !s.shared && s.buf != nil && len(s.buf) == len(s.s)
}

// Concat makes the string a + b.
func Concat(a, b string) Value { return Str(a + b) }

// CharAt gives the character at index i (0..Chars-1).
func (v Value) CharAt(i int) rune {
	s := v.str().s
	if v.IsASCII() {
		return rune(s[i])
	}
	for _, r := range s {
		if i == 0 {
			return r
		}
		i--
	}
	return utf8.RuneError
}

// Substring gives the characters from index i up to j (0 <= i <= j <= Chars), in
// the memory of v: who makes a value of it uses [Value.Part].
func (v Value) Substring(i, j int) string {
	s := v.str().s
	if v.IsASCII() {
		return s[i:j]
	}
	from := ByteOffset(s, i)
	return s[from : from+ByteOffset(s[from:], j-i)]
}

// Part makes a string of part, which lies in the memory of v's text: of a copy
// where that memory is large and part less than half of it, so that no text
// keeps much more alive than it is.
func (v Value) Part(part string) Value {
	whole := max(v.str().whole, len(v.str().s))
	if whole <= largeText {
		return Str(part)
	}
	if len(part) < whole/2 {
		return Str(strings.Clone(part))
	}
	out := Str(part)
	out.str().whole = whole
	return out
}

// Popped gives the string without its last character, which has size bytes.
func (v Value) Popped(size int) Value {
	chars, s := v.Chars()-1, v.AsString()
	out := v.Part(s[:len(s)-size])
	out.str().setCount(len(s)-size, chars)
	return out
}

// largeText is the size in bytes from which on small parts of a text do not share its memory.
const largeText = 4096

// ByteOffset gives the offset of character n in s, len(s) when it has fewer.
func ByteOffset(s string, n int) int {
	for at := range s {
		if n == 0 {
			return at
		}
		n--
	}
	return len(s)
}
