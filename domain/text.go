package domain

import (
	"strings"
	"unicode"
)

// PlainText is s, which others wrote, in UTF-8 without characters that act, and
// at most n bytes of it: it breaks no list, no log and no terminal.
func PlainText(s string, n int) string {
	return strings.Map(func(r rune) rune {
		if Acts(r) {
			return '?'
		}
		return r
	}, CutText(s, n))
}

// Acts reports whether a character does something to what shows it instead of
// standing there: it moves a terminal's cursor, ends a line, begins an escape
// sequence, turns the direction of what follows, or cannot be seen at all.
// Joiners, without which some scripts and emoji cannot be written, do not count.
func Acts(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200c, 0x200d
	switch {
	case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r == zeroWidthNonJoiner, r == zeroWidthJoiner:
		return false
	}
	return unicode.Is(unicode.Cf, r)
}

// CutText is at most n bytes of s, cut at a whole character.
func CutText(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
