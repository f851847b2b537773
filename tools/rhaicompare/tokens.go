package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokens cuts a script into pieces that read the same when joined: words, numbers, strings, comments, symbols, each with
// the blanks before it. It never fails: broken scripts are cut somehow.
func tokens(src string) []string {
	var list []string
	for src != "" {
		blank := len(src) - len(strings.TrimLeftFunc(src, unicode.IsSpace))
		n := blank + tokenLength(src[blank:])
		list = append(list, src[:n])
		src = src[n:]
	}
	return list
}

var symbols = []string{
	"**=", "<<=", ">>=", "..=", "===", "!==",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=", ">=", "<<", ">>", "**", "&&", "||", "??", "?.", "?[",
	"=>", "::", "..", "#{", "//", "/*",
}

func tokenLength(s string) int {
	if s == "" {
		return 0
	}
	switch c := s[0]; {
	case c == '"' || c == '\'' || c == '`':
		return quotedLength(s, c)
	case isWord(c):
		return len(s) - len(strings.TrimLeftFunc(s, func(r rune) bool { return r < utf8.RuneSelf && isWord(byte(r)) }))
	case strings.HasPrefix(s, "//"):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n
		}
		return len(s)
	}
	for _, symbol := range symbols {
		if strings.HasPrefix(s, symbol) {
			return len(symbol)
		}
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quotedLength takes a back-tick string with its interpolations as one token.
func quotedLength(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote != '`':
			i++
		case quote == '`' && strings.HasPrefix(s[i:], "${"):
			i += interpolationLength(s[i:]) - 1
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

// interpolationLength is the length of `${...}` with the braces and strings within.
func interpolationLength(s string) int {
	depth := 0
	for i := 1; i < len(s); {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '#':
			if strings.HasPrefix(s[i:], "#{") {
				depth++
				i++
			}
		}
		i += max(tokenLength(s[i:]), 1)
	}
	return len(s)
}
