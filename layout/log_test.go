package layout_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/layout"
)

func TestALineOfALogIsOneLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"plain text", "a\tb é 漢 👩\u200d", "a\tb é 漢 👩\u200d"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38:5:208mx\x1b[m", "\x1b[1;31mred\x1b[0m \x1b[38:5:208mx\x1b[m"},
		{"ends of lines", "a\nb\rc\vd\fe\u0085f\u2028g\u2029h", "a b c d e f g h"},
		{"what moves a terminal", "a\x1b[2Jb\x1b]0;t\x07\x1bcd\u009b1A\b", "abd 1A "},
		{"a link, of which the text stays", "\x1b]8;;http://a/\x1b\\b\x1b]8;;\x1b\\", "b"},
		{"a string over the end of a line", "\x1b]0;a\nb\a", " ]0;a b "},
		{"what is no colour", "a\x1b[>4;2mb", "ab"},
		{"a sequence that has no end", "\x1b[31", " [31"},
		{"a sequence that is too long", "\x1b[" + strings.Repeat("1", 100) + "m", " [" + strings.Repeat("1", 100) + "m"},
		{"bytes that are no text", "a\x00b\xffc\x7f", "a b\ufffdc "},
	} {
		if got := layout.LogText(c.line); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
