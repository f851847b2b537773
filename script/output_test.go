package script_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/script"
)

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		name   string
		writes []string
		want   string
	}{
		{"all of little", []string{"ab", "c"}, "abc"},
		{"the end of much", []string{"0123456789", "abcdefghijk"}, "defghijk"},
		{"the end of many", strings.Split(strings.Repeat("x", 100)+"abcdefgh", ""), "abcdefgh"},
		{"a character cut at the beginning is left out", []string{"aaaaΩbcdefgh"[3:], "i"}, "bcdefghi"},
		{"bytes that are no text become U+FFFD", []string{"a\xffb"}, "a\uFFFDb"},
		{"a run of such bytes becomes one", []string{"a\xff\xff\xff\xff\xff\xff\xff"}, "a\uFFFD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tail := script.NewTail(8)
			for _, w := range tt.writes {
				if n, err := tail.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("write: got %d, %v", n, err)
				}
			}
			if got := tail.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func split(writes ...string) []string {
	got := []string{}
	lines := script.NewLines(func(line []byte) { got = append(got, string(line)) })
	for _, w := range writes {
		_, _ = lines.Write([]byte(w))
	}
	lines.Flush()
	return got
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", script.MaxLineBytes)
	for _, tt := range []struct {
		name   string
		writes []string
		want   []string
	}{
		{"lines may come in pieces", []string{"a", "b\nc\n", "\nd"}, []string{"ab", "c", "", "d"}},
		{"carriage returns at the end go", []string{"a\r\nb\rc\r", "\n"}, []string{"a", "b\rc"}},
		{"a line of just the limit is whole", []string{long + "\n"}, []string{long}},
		{"a longer one is cut", []string{long + "yz\n"}, []string{long, "yz"}},
		{"a cut goes between characters", []string{long[1:] + "Ωz\n"}, []string{long[1:], "Ωz"}},
		{"bytes that are no text become U+FFFD", []string{"a\xffb\n"}, []string{"a\uFFFDb"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, split(tt.writes...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\r\n\xff", 2)
	f.Add(strings.Repeat("Ω", script.MaxLineBytes), 7)
	f.Fuzz(func(t *testing.T, text string, at int) {
		whole := split(text)
		for _, line := range whole {
			// A replacement takes three bytes where there was one.
			if len(line) > 3*script.MaxLineBytes || !utf8.ValidString(line) || strings.Contains(line, "\n") {
				t.Fatalf("got line %q", line)
			}
		}
		if at >= 0 && at < len(text) {
			if diff := cmp.Diff(whole, split(text[:at], text[at:])); diff != "" {
				t.Fatalf("cut at %d: %s", at, diff)
			}
		}
	})
}
