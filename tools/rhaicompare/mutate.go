package main

import (
	"math/rand/v2"
	"strings"
)

// strays are tokens that a broken script gets where they do not belong.
var strays = []string{
	"(", ")", "[", "]", "{", "}", "#{", ",", ";", ":", "::", ".", "..", "..=", "=>", "=", "==", "+", "-", "*", "**", "!", "&&", "|", "||",
	"??", "?.", "?[", "+=", "let", "const", "if", "else", "switch", "while", "loop", "do", "until", "for", "in", "fn", "return", "break",
	"continue", "throw", "try", "catch", "import", "export", "as", "private", "this", "global", "_", "x", "1", "1.5", "0x", "1_", "'a'", "''",
	"\"s\"", "\"", "`", "/*", "*/", "()", "@", "#", "$", "~", "\\", "é", "var", "static", "null", "===", "->", "<-", ":=", "++", "--", "!in",
	"true", "call", "Fn", "eval", "print", "1e", "0b12", "99999999999999999999", "#\"", "\"\\q\"", "...", "|>", "!.", "goto", "is_def_var",
}

// breakProgram edits one to three tokens of a script: one is taken out, doubled, exchanged with another or replaced by
// a stray one, or the script ends early. Most results do not parse any more.
func breakProgram(r *rand.Rand, src string) string {
	list := tokens(src)
	for range 1 + r.IntN(3) {
		if len(list) < 2 {
			break
		}
		i, j := r.IntN(len(list)), r.IntN(len(list))
		switch r.IntN(8) {
		case 0, 1:
			list = append(list[:i:i], list[i+1:]...)
		case 2:
			list = append(list[:i+1:i+1], list[i:]...)
		case 3:
			list[i], list[j] = list[j], list[i]
		case 4, 5:
			list[i] = " " + strays[r.IntN(len(strays))]
		case 6:
			list = append(list[:i:i], append([]string{" " + strays[r.IntN(len(strays))]}, list[i:]...)...)
		case 7:
			// Ends early, in a quarter of the cases within the token.
			last := list[i]
			list = list[:i]
			if r.IntN(4) == 0 {
				list = append(list, last[:r.IntN(len(last)+1)])
			}
		}
	}
	// Cutting a string at a byte may leave half a character; both sides read only whole ones.
	return strings.ToValidUTF8(strings.Join(list, ""), "?")
}
