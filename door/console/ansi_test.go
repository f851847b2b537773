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
		{"256 colours are passed over", "\x1b[38;5;208mx", "x"},
		{"moving the cursor is left out", "a\x1b[2Jb\x1b[10;10Hc", "abc"},
		{"a title is text", "\x1b]0;evil\x07", "?]0;evil?"},
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
