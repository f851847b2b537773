package console

// Inside the package: pages have what it makes within much else.

import (
	"strings"
	"testing"
)

func TestANSI(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"plain text", "hello", "hello"},
		{"a colour and its end", "\x1b[32mok\x1b[0m done", "<ansi-2>ok<> done"},
		{"a bold colour", "\x1b[1;31mno\x1b[22myes", "<ansi-1 bold>no<ansi-1>yes"},
		{"one of 256 colours is the nearest of eight", "\x1b[38;5;208mx\x1b[38;5;21my\x1b[38;5;9mz", "<ansi-3>x<ansi-4>y<ansi-1>z"},
		{"and so is one of all", "\x1b[38;2;10;200;30mx\x1b[38:2:255:0:0my", "<ansi-2>x<ansi-1>y"},
		{"a ground is passed over, and what follows is not", "\x1b[48;5;1;32mx\x1b[48;2;1;1;1;1my", "<ansi-2>x<ansi-2 bold>y"},
		{"turned, struck and underlined", "\x1b[7mx\x1b[27;9my\x1b[29;4mz\x1b[24mw", "<turned>x<struck>y<under>z<>w"},
		{"moving the cursor is left out", "a\x1b[2Jb\x1b[10;10Hc", "abc"},
		{"a title is left out", "a\x1b]0;evil\x07b\x1b]2;evil\x1b\\c", "abc"},
		{"of a link its text stays", "\x1b]8;;http://a/\x1b\\b\x1b]8;;\x1b\\", "b"},
		{"a device's string is left out", "a\x1bPq#0\x1b\\b", "ab"},
		{"a sequence of one character is left out", "a\x1b7b\x1b(Bc\x1bcd", "abcd"},
		{"a string without an end is text", "\x1b]0;evil", "?]0;evil"},
		{"no string is as long as that", "\x1b]" + strings.Repeat("1", 3000) + "\a", "?]" + strings.Repeat("1", 3000) + "?"},
		{"a sequence without an end is text", "\x1b[31", "?[31"},
		{"no sequence is as long as that", "\x1b[" + strings.Repeat("1", 100) + "m", "?[" + strings.Repeat("1", 100) + "m"},
		{"direction is not turned", "a\u202eb", "a?b"},
		{"what is no UTF-8", "a\xffb", "a?b"},
		{"a tab stays", "a\tb", "a\tb"},
	} {
		var got strings.Builder
		for i, s := range ansi(c.line) {
			if s.Class != "" || i > 0 {
				got.WriteString("<" + s.Class + ">")
			}
			got.WriteString(s.Text)
		}
		if got.String() != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got.String(), c.want)
		}
	}
}
