package value

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// String is a text. Texts never change, but a String that only one place holds
// may grow at its end.
type String struct {
	header
	front bool
	s     string
	// buf, when not nil, is the memory of s with room to grow: behind it, or
	// before it where front says so.
	buf []byte
	// whole is the size in bytes of the text whose memory s lies in, 0 where
	// that is s alone.
	whole int
	// count is what has been counted so far: the bytes in the high half, the
	// characters in them in the low half. Atomic, because a text that is shared
	// may be looked at by several runs.
	count atomic.Uint64
	// seen is a place that has been looked at, of a text with characters of
	// several bytes: its offset in the high half, the number of the character
	// in the low half. Who goes through a text looks next near to it.
	seen atomic.Uint64
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
		s.buf, s.front = append(make([]byte, 0, (len(s.s)+len(text))*2), s.s...), false
	}
	// Bytes up to len(s.s) are never written again, so texts taken from here stay true.
	s.buf = append(s.buf, text...)
	s.s = unsafe.String(unsafe.SliceData(s.buf), len(s.buf))
}

// GrowsInPlace reports that AppendString need not copy what the string has.
func (v Value) GrowsInPlace() bool {
	s := v.str()
	return !s.shared && !s.front && s.buf != nil && len(s.buf) == len(s.s)
}

// PrependString puts text before the string at p, in place where only p holds it.
func PrependString(p *Value, text string) {
	s := p.str()
	if !p.GrowsAtFront(len(text)) {
		all := make([]byte, 2*(len(s.s)+len(text)))
		at := len(all) - len(s.s)
		copy(all[at:], s.s)
		grown := &String{header: header{kind: StringKind}, s: unsafe.String(unsafe.SliceData(all[at:]), len(s.s)), buf: all, front: true}
		grown.count.Store(s.count.Load())
		*p = Value{&grown.header, p.n}
		s = grown
	}
	c := s.count.Load()
	counted, chars := int(c>>32), int(uint32(c))
	// Bytes of s are never written again, so texts taken from here stay true.
	at := len(s.buf) - len(s.s) - len(text)
	copy(s.buf[at:], text)
	if counted == len(s.s) && counted+len(text) <= math.MaxUint32 {
		s.setCount(counted+len(text), chars+utf8.RuneCountInString(text))
	} else {
		s.setCount(0, 0)
	}
	s.seen.Store(0)
	s.s = unsafe.String(unsafe.SliceData(s.buf[at:]), len(s.buf)-at)
}

// GrowsAtFront reports that PrependString need not copy what the string has to add n bytes.
func (v Value) GrowsAtFront(n int) bool {
	s := v.str()
	return !s.shared && s.front && len(s.buf)-len(s.s) >= n
}

// Concat makes the string a + b.
func Concat(a, b string) Value { return Str(a + b) }

// CharAt gives the character at index i (0..Chars-1).
func (v Value) CharAt(i int) rune {
	s := v.str().s
	if v.IsASCII() {
		return rune(s[i])
	}
	r, _ := utf8.DecodeRuneInString(s[v.offset(i):])
	return r
}

// offset is ByteOffset, from the place that was looked at last where that is not behind.
func (v Value) offset(i int) int {
	s := v.str()
	from, at := 0, i
	if seen := s.seen.Load(); int(uint32(seen)) <= i {
		from, at = int(seen>>32), i-int(uint32(seen))
	}
	from += ByteOffset(s.s[from:], at)
	if len(s.s) <= math.MaxUint32 && i <= math.MaxUint32 && from < len(s.s) {
		s.seen.Store(uint64(from)<<32 | uint64(i))
	}
	return from
}

// Substring gives the characters from index i up to j (0 <= i <= j <= Chars), in
// the memory of v: who makes a value of it uses [Value.Part].
func (v Value) Substring(i, j int) string {
	s := v.str().s
	if v.IsASCII() {
		return s[i:j]
	}
	from := v.offset(i)
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
	at := 0
	// Eight bytes at a time: those that begin a character do not look like 10xxxxxx.
	for n >= 8 && len(s)-at >= 8 {
		w := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s[at:]), 8))
		n -= 8 - bits.OnesCount64(w>>7&^(w>>6)&0x0101010101010101)
		at += 8
	}
	for at < len(s) && !utf8.RuneStart(s[at]) { // of a character that has been counted
		at++
	}
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}
