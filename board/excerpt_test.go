package board_test

import (
	"testing"

	"github.com/ramet-run/ramet/board"
)

// TestAnExcerptShowsThatItIsOne: it ends at a word, within its bounds.
func TestAnExcerptShowsThatItIsOne(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"it all fits", 11, "it all fits"},
		{"jobs are gone, job:1:231 of context 1, ended", 30, "jobs are gone, job:1:231 …"},
		{"jobs are gone, job:1:231", 18, "jobs are gone …"},
		{"jobs are gone", 12, "jobs are …"},
		{"onelongword", 8, "onel …"},
		{"äöüäöüäöü", 9, "äö …"},
		{"a\x1b[2J b c d", 9, "a?[2J …"},
	} {
		if got := board.Excerpt(c.text, c.n); got != c.want || len(got) > c.n {
			t.Errorf("%q in %d: got %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
