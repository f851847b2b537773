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
	// count is what has been counted so far: the bytes in the high half, the
	// characters in them in the low half. Atomic, because a text that is shared
	// may be looked at by several runs.
	count atomic.Uint64
}

// Str makes a string.
func Str(s string) Value {
	return Value{&(&String{header: header{kind: StringKind}, s: s}).header, 0}
}

// Counted is [Str] for a text whose characters have been counted.
func Counted(s string, chars int) Value {
	c := &String{header: header{kind: StringKind}, s: s}
	c.setCount(len(s), chars)
	return Value{&c.header, 0}
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

// Substring gives the characters from index i up to j (0 <= i <= j <= Chars).
// A small part of a large text is a text of its own, which does not keep the
// large one alive.
func (v Value) Substring(i, j int) string {
	s := v.str().s
	part := ""
	if v.IsASCII() {
		part = s[i:j]
	} else {
		from := ByteOffset(s, i)
		part = s[from : from+ByteOffset(s[from:], j-i)]
	}
	return Unpin(part, s)
}

// Unpin gives part, which lies in the memory of whole: a copy where a small
// part would keep a large text alive.
func Unpin(part, whole string) string {
	if len(whole) > largeText && len(part) < len(whole)/4 {
		return strings.Clone(part)
	}
	return part
}

// largeText is the size in bytes from which on parts of a text do not share its memory.
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
