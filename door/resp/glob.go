package resp

import "strings"

// glob reports whether s fits a pattern of Redis: * any text, ? any byte,
// [a-c] [^a] one of some, \x the byte x. The work is at most len(pattern) times
// len(s): a pattern of many stars cannot hold the node up.
//
// Source: stringmatchlen of Redis.
func glob(pattern, s string) bool {
	p, i := 0, 0
	star, mark := -1, 0 // where to go on when what follows the last * does not fit
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, i
			p++
			continue
		}
		if n, fits := globOne(pattern[p:], s[i]); fits {
			p += n
			i++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// globOne matches one byte with what the pattern begins with, and says how long
// that is.
func globOne(pattern string, c byte) (n int, fits bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return globSet(pattern, c)
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// globSet matches a byte with a set in brackets. One that is not closed goes to
// the pattern's end.
func globSet(pattern string, c byte) (n int, fits bool) {
	i := 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	for ; i < len(pattern) && pattern[i] != ']'; i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			fits = fits || pattern[i] == c
		case i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']':
			lo, hi := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			fits = fits || lo <= c && c <= hi
			i += 2
		default:
			fits = fits || pattern[i] == c
		}
	}
	return min(i+1, len(pattern)), fits != not
}

// literal is what every text begins with that fits the pattern.
func literal(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}
