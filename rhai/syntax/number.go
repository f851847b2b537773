package syntax

import (
	"math"
	"strconv"
	"strings"
)

// This file scans and spells numbers.

// scanNumber reads a number, with its sign when negative is set.
func (s *scanner) scanNumber(t *token, negative bool) {
	src, start := s.src, s.off
	if negative {
		start++
	}
	// Most numbers are short and plain.
	end, value := start, int64(0)
	for end < len(src) && isDigit(src[end]) {
		value = value*10 + int64(src[end]-'0')
		end++
	}
	if end-start < 19 && (end == len(src) || plainEnd(src[end])) {
		if negative {
			value = -value
		}
		s.off, t.kind, t.num = end, tInt, value
		return
	}
	s.off = start
	text, radix := s.digits()
	if negative {
		text = "-" + text
	}
	if radix != 0 {
		// The sign, if any, spoils the number: so it is in the reference.
		text = text[2:]
		if v, err := strconv.ParseUint(text, radix, 64); err == nil {
			t.kind, t.num = tInt, int64(v)
			return
		}
	} else {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			t.kind, t.num = tInt, v
			return
		}
		v, err := strconv.ParseFloat(text, 64)
		if err == nil || math.IsInf(v, 0) {
			t.kind, t.float = tFloat, v
			return
		}
	}
	s.fail(t, badNumber(text), t.pos)
}

// plainEnd tells that c cannot continue a decimal integer.
func plainEnd(c byte) bool {
	switch c {
	case '_', '.', 'e', 'E', 'x', 'X', 'o', 'O', 'b', 'B':
		return false
	}
	return true
}

// digits passes a number and gives it without separators, and its base if
// that is written. A point belongs to it unless a name or a second point
// follows, so that 1.abs() is a call and 1..2 a range.
func (s *scanner) digits() (string, int) {
	var text strings.Builder
	first := s.src[s.off]
	radix, point, exponent := 0, false, false
	for ; s.off < len(s.src); s.off++ {
		c := s.src[s.off]
		switch {
		case c == '_' && text.Len() > 0:
		case isRadixDigit(c, radix):
			text.WriteByte(c)
		case c == '.' && !point && radix == 0:
			next := s.peekAt(1)
			switch {
			case isDigit(next):
				text.WriteByte('.')
			case next == '_' || next == '.' || isLetter(next) || s.off+1 >= len(s.src):
				return text.String(), radix
			default:
				text.WriteString(".0")
			}
			point = true
		case (c == 'e' || c == 'E') && !exponent && radix == 0:
			next := s.peekAt(1)
			if !isDigit(next) && next != '+' && next != '-' {
				return text.String(), radix
			}
			text.WriteByte('e')
			if !isDigit(next) {
				text.WriteByte(next)
				s.off++
			}
			exponent, point = true, true
		case first == '0' && text.Len() == 1 && baseOf(c) != 0:
			text.WriteByte(c)
			radix = baseOf(c)
		default:
			return text.String(), radix
		}
	}
	return text.String(), radix
}

func baseOf(c byte) int {
	switch c {
	case 'x', 'X':
		return 16
	case 'o', 'O':
		return 8
	case 'b', 'B':
		return 2
	}
	return 0
}

func isRadixDigit(c byte, radix int) bool {
	switch radix {
	case 16:
		return isDigit(c) || (c|0x20 >= 'a' && c|0x20 <= 'f')
	case 8:
		return c >= '0' && c <= '7'
	case 2:
		return c == '0' || c == '1'
	}
	return isDigit(c)
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// formatFloat spells f as the language displays it.
func formatFloat(f float64) string {
	// The bounds are single precision numbers in the reference.
	const high, low = float64(float32(1e13)), float64(float32(1e-13))
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == 0:
		return "0.0"
	case abs > high || abs < low:
		return exponentForm(f)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// exponentForm spells f as 1.5e-14: no plus sign, no leading zeros.
func exponentForm(f float64) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "e" + sign + strings.TrimLeft(exponent[1:], "0")
}
