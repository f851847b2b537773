package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file scans strings, characters and back-tick texts.

// scanString reads "...".
func (s *scanner) scanString(t *token) {
	src := s.src
	multi := 0
plain: // most strings are a slice of the source
	for i := s.off + 1; i < len(src) && s.o.MaxString <= 0; i++ {
		switch c := src[i]; {
		case c == '"':
			if i+1 < len(src) && src[i+1] == '"' {
				break plain
			}
			t.kind, t.str = tString, src[s.off+1:i]
			s.off = i + 1
			s.base += multi
			return
		case c == '\\' || c == '\n' || c == '\r':
			break plain
		case c >= utf8.RuneSelf && !utf8.RuneStart(c):
			multi++
		}
	}
	s.off++
	q := quoted{s: s, end: '"', start: t.pos, tokenPos: t.pos, escapes: true, continues: true}
	s.take(t, &q)
}

// scanChar reads '.'.
func (s *scanner) scanChar(t *token) {
	s.off++
	if s.peekAt(0) == '\'' {
		s.fail(t, badChar(""), t.pos)
		return
	}
	q := quoted{s: s, end: '\'', start: t.pos, tokenPos: t.pos, escapes: true}
	if !s.take(t, &q) {
		return
	}
	r, n := utf8.DecodeRuneInString(t.str)
	if n == 0 || n < len(t.str) {
		s.fail(t, badChar(t.str), t.pos)
		return
	}
	t.kind, t.num = tChar, int64(r)
}

// scanTemplate reads `...` up to its end or the first ${. With again set it
// goes on after the } of an interpolation.
func (s *scanner) scanTemplate(t *token, again bool) {
	pos := s.last()
	if !again {
		s.off++
		pos = s.last()
		// A line break right after the opening is not part of the text.
		switch {
		case s.peekAt(0) == '\r':
			s.off++
			if s.peekAt(0) == '\n' {
				s.off++
			}
			s.newline()
			pos = s.last()
		case s.peekAt(0) == '\n':
			s.off++
			s.newline()
			pos = s.last()
		}
	}
	q := quoted{s: s, end: '`', start: pos, tokenPos: t.pos, interpolates: true}
	if again {
		q.tokenPos = Pos{}
	}
	s.take(t, &q)
	if again && t.kind != tError {
		t.pos = q.tokenPos
	}
}

// take reads the text that q describes into t.
func (s *scanner) take(t *token, q *quoted) bool {
	if why, pos, ok := q.read(); !ok {
		s.fail(t, why, pos)
		return false
	}
	t.str = q.out.String()
	t.kind = tString
	if q.interpolated {
		t.kind = tInterpolated
	}
	return true
}

// quoted reads the inside of a string, a character or a template.
type quoted struct {
	s     *scanner
	end   byte
	start Pos
	// tokenPos is the token's place. A later part of a template begins without
	// one and gets that of its first character.
	tokenPos Pos

	escapes, continues, interpolates bool

	out          strings.Builder
	interpolated bool
}

// read collects the text.
func (q *quoted) read() (problem, Pos, bool) {
	s := q.s
	escaped := false
	skipUntil := int32(0)
	for {
		if s.off >= len(s.src) {
			if q.escapes && !(q.continues && escaped) {
				return openString(), q.start, false
			}
			if why, pos, ok := q.finish(); !ok {
				return why, pos, false
			}
			return openString(), q.tokenPos, false
		}
		c := s.rune()
		pos := s.last()
		if q.interpolates {
			switch {
			case c == '$' && s.peekAt(0) == '{':
				q.interpolated = true
				return q.finish()
			case c == '\\' && s.peekAt(0) == '$' && s.peekAt(1) == '{':
				s.off++
				s.base++ // the reference does not count the $
				c = '$'
			}
		}
		if q.tooLong() {
			return tooLarge("Length of string", s.o.MaxString), q.start, false
		}
		if c == rune(q.end) && !escaped {
			if s.peekAt(0) != q.end {
				return q.finish()
			}
			s.off++
			pos = s.last()
		}
		if q.tokenPos.IsZero() {
			q.tokenPos = pos
		}
		switch {
		case c == '\r' && s.peekAt(0) == '\n':
		case c == '\\' && q.escapes && !escaped:
			escaped = true
		case c == '\n' && !q.escapes:
			s.newline()
			q.out.WriteByte('\n')
		case c == '\n' && q.continues && escaped:
			escaped = false
			s.newline()
			skipUntil = q.start.Col + 1
		case c == '\n':
			return openString(), q.start, false
		case escaped:
			escaped = false
			if why, ok := q.escape(c); !ok {
				return why, s.last(), false
			}
		case unicode.IsSpace(c) && pos.Col < skipUntil:
		default:
			q.out.WriteRune(c)
			skipUntil = 0
		}
	}
}

func (q *quoted) tooLong() bool {
	limit := q.s.o.MaxString
	return limit > 0 && q.out.Len() > limit
}

func (q *quoted) finish() (problem, Pos, bool) {
	if q.tooLong() {
		return tooLarge("Length of string", q.s.o.MaxString), q.start, false
	}
	return problem{}, Pos{}, true
}

// escape writes what \c stands for.
func (q *quoted) escape(c rune) (problem, bool) {
	digits := 0
	switch c {
	case 'r':
		q.out.WriteByte('\r')
	case 'n':
		q.out.WriteByte('\n')
	case 't':
		q.out.WriteByte('\t')
	case '\\':
		q.out.WriteByte('\\')
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case rune(q.end):
		q.out.WriteByte(q.end)
	default:
		return badEscape("\\" + string(c)), false
	}
	if digits == 0 {
		return problem{}, true
	}
	sequence := "\\" + string(c)
	value := uint32(0)
	for range digits {
		if q.s.off >= len(q.s.src) {
			return badEscape(sequence), false
		}
		d := q.s.rune()
		sequence += string(d)
		v := hexValue(d)
		if v < 0 {
			return badEscape(sequence), false
		}
		value = value*16 + uint32(v)
	}
	if value > unicode.MaxRune || !utf8.ValidRune(rune(value)) {
		return badEscape(sequence), false
	}
	q.out.WriteRune(rune(value))
	return problem{}, true
}

func hexValue(c rune) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// scanRawString reads #"..."#, with as many # as it starts with.
func (s *scanner) scanRawString(t *token) {
	hashes := 0
	for s.peekAt(0) == '#' {
		s.off++
		hashes++
	}
	switch {
	case s.off >= len(s.src):
		s.fail(t, openString(), t.pos)
		return
	case s.src[s.off] != '"':
		// The place is that of the first #.
		r, _ := utf8.DecodeRuneInString(s.src[s.off:])
		s.fail(t, unexpected(string(r)), t.pos)
		return
	}
	s.off++
	start := s.off
	pending, seen := -1, 0 // the quote that may end the text, and the # after it
	for s.off < len(s.src) {
		c := s.src[s.off]
		switch {
		case c == '"':
			pending, seen = s.off, 0
			s.off++
		case c == '#' && pending >= 0:
			s.off++
			if seen++; seen == hashes {
				t.kind, t.str = tString, s.src[start:pending]
				return
			}
		case c == '\n' && pending < 0:
			s.off++
			s.newline()
		default: // quirk: a line break after a quote is not counted as one
			pending = -1
			s.rune()
		}
		end := s.off
		if pending >= 0 {
			end = pending
		}
		if limit := s.o.MaxString; limit > 0 && end-start > limit {
			s.fail(t, tooLarge("Length of string", limit), t.pos)
			return
		}
	}
	s.fail(t, openString(), t.pos)
}
