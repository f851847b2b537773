package domain_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestWhatActs(t *testing.T) {
	for _, r := range "\x00\a\b\t\n\r\x1b\x7f\u0085\u009b\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\U000e0041" {
		if !domain.Acts(r) {
			t.Errorf("%U does nothing?", r)
		}
	}
	for _, r := range "aé ñ→…█א漢\u200c\u200d\ufe0f\u00a0\ufffd👩" {
		if domain.Acts(r) {
			t.Errorf("%U (%c) acts?", r, r)
		}
	}
	if got := domain.PlainText("a\x1b[2J\u202eb\u200dé", 100); got != "a?[2J?b\u200dé" {
		t.Errorf("got %q", got)
	}
}

func TestALineOfALogIsOneLine(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"plain text", "a\tb é 漢 👩\u200d", "a\tb é 漢 👩\u200d"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38:5:208mx\x1b[m", "\x1b[1;31mred\x1b[0m \x1b[38:5:208mx\x1b[m"},
		{"ends of lines", "a\nb\rc\vd\fe\u0085f\u2028g\u2029h", "a b c d e f g h"},
		{"what moves a terminal", "a\x1b[2Jb\x1b]0;t\x07\x1bcd\u009b1A\b", "a [2Jb ]0;t  cd 1A "},
		{"a sequence that has no end", "\x1b[31", " [31"},
		{"a sequence that is too long", "\x1b[" + strings.Repeat("1", 100) + "m", " [" + strings.Repeat("1", 100) + "m"},
		{"bytes that are no text", "a\x00b\xffc\x7f", "a b\ufffdc "},
	} {
		if got := domain.LogText(c.line); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
