package domain

import "strings"

// PlainText is s, which others wrote, in UTF-8 without control characters, and
// at most n bytes of it: it breaks no list, no log and no terminal.
func PlainText(s string, n int) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, CutText(s, n))
}

// CutText is at most n bytes of s, cut at a whole character.
func CutText(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
