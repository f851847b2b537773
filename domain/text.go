package domain

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// LogText is one line of a log, whoever said it: no character in it ends a line, moves what
// shows it, or begins an escape sequence but one that chooses colours, as many programs write.
// A space stands for each other control character but a tab; what is no UTF-8 is U+FFFD.
func LogText(line string) string {
	if !slices.ContainsFunc([]byte(line), func(b byte) bool { return b < ' ' || b >= 0x7f }) {
		return line // most lines by far
	}
	var text strings.Builder
	for len(line) > 0 {
		if n := colourSequence(line); n > 0 {
			text.WriteString(line[:n])
			line = line[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) {
			r = ' '
		}
		text.WriteRune(r)
	}
	return text.String()
}

// maxColourSequence bounds a sequence that is taken for one of colours, in bytes.
const maxColourSequence = 64

// colourSequence is how long a sequence is with which a text begins and that chooses colours; 0
// where it begins with none.
//
// Source: ECMA-48, 8.3.117 (SGR).
func colourSequence(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	params := text[2:min(len(text), maxColourSequence)]
	end := strings.IndexFunc(params, func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' })
	if end < 0 || params[end] != 'm' {
		return 0
	}
	return 2 + end + 1
}

// CutText is at most n bytes of s, cut at a whole character.
func CutText(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
