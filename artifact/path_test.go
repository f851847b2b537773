package artifact_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/artifact"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"report.html", "report.html", true},
		{"report.html", "sub/report.html", false},
		{"dist", "dist/a", true},
		{"dist", "dist/deep/a", true},
		{"dist", "distant", false},
		{"dist/**", "dist/deep/a", true},
		{"dist/*", "dist/a", true},
		{"dist/*.txt", "dist/deep/a.txt", false},
		{"**/*.txt", "a.txt", true},
		{"**/*.txt", "b/c/a.txt", true},
		{"**/*.txt", "b/c/a.html", false},
		{"a/**/b/*.x", "a/b/1.x", true},
		{"a/**/b/*.x", "a/1/2/b/1.x", true},
		{"a/**/b/*.x", "a/1/2/1.x", false},
		{"[ab]?", "a1", true},
		{"**/" + strings.Repeat("**/a/", 100) + "b", strings.Repeat("a/", 500) + "c", false}, // at once
	} {
		if got := artifact.Match(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: got %v", c.pattern, c.name, got)
		}
	}
}
