package value

import (
	"bytes"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// This file renders floats and quoted text as the reference's language does.

// Floats beyond these are displayed with an exponent. The reference keeps the
// thresholds as 32-bit floats, hence the odd values.
const (
	mostNatural  = float64(float32(1e13))
	leastNatural = float64(float32(1e-13))
)

// appendFloat appends f as print shows it.
func appendFloat(buf []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case f == 0:
		return append(buf, "0.0"...)
	case math.IsNaN(f) || math.IsInf(f, 0):
		return appendOdd(buf, f)
	case abs > mostNatural || abs < leastNatural:
		return appendExponent(buf, f)
	}
	buf = strconv.AppendFloat(buf, f, 'f', -1, 64)
	if abs == math.Trunc(abs) {
		buf = append(buf, ".0"...)
	}
	return buf
}

// appendDebugFloat appends f as debug shows it.
func appendDebugFloat(buf []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return appendOdd(buf, f)
	case abs >= 1e16 || abs != 0 && abs < 1e-4:
		return appendExponent(buf, f)
	}
	buf = strconv.AppendFloat(buf, f, 'f', -1, 64)
	if abs == math.Trunc(abs) {
		buf = append(buf, ".0"...)
	}
	return buf
}

func appendOdd(buf []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(buf, "inf"...)
	case math.IsInf(f, -1):
		return append(buf, "-inf"...)
	}
	return append(buf, "NaN"...)
}

// appendExponent appends 1.5e-7: no plus sign, no leading zeros.
func appendExponent(buf []byte, f float64) []byte {
	var tmp [32]byte
	s := strconv.AppendFloat(tmp[:0], f, 'e', -1, 64)
	e := bytes.IndexByte(s, 'e')
	buf = append(buf, s[:e+1]...)
	if s[e+1] == '-' {
		buf = append(buf, '-')
	}
	return append(buf, bytes.TrimLeft(s[e+2:], "0")...)
}

// appendEscaped appends s with escapes for all that does not print.
func appendEscaped(buf []byte, s string, quote byte) []byte {
	start := 0 // of what prints as it is
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != 0x7f && c != quote && c != '\\' {
				i++
				continue
			}
			buf = append(buf, s[start:i]...)
			buf = appendEscape(buf, rune(c))
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsPrint(r) || extendsGrapheme(r) {
			buf = append(buf, s[start:i]...)
			buf = appendEscape(buf, r)
			start = i + size
		}
		i += size
	}
	return append(buf, s[start:]...)
}

func appendEscape(buf []byte, r rune) []byte {
	switch r {
	case '\n':
		return append(buf, `\n`...)
	case '\r':
		return append(buf, `\r`...)
	case '\t':
		return append(buf, `\t`...)
	case 0:
		return append(buf, `\0`...)
	case '\\', '"', '\'':
		return append(buf, '\\', byte(r))
	}
	buf = append(buf, `\u{`...)
	buf = strconv.AppendInt(buf, int64(r), 16)
	return append(buf, '}')
}

// extendsGrapheme reports that r joins the character before it, so that it
// cannot be read when it stands alone.
func extendsGrapheme(r rune) bool {
	return r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Other_Grapheme_Extend)
}
