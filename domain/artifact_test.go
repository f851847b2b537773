package domain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestMatchArtifact(t *testing.T) {
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
		if got := domain.MatchArtifact(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: got %v", c.pattern, c.name, got)
		}
	}
}

func TestValidateArtifacts(t *testing.T) {
	if err := domain.ValidateArtifacts([]string{"dist/**", "report.html", "日本/*.[ch]"}); err != nil {
		t.Error(err)
	}
	for _, p := range []string{"", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./a", "a//b", "a/", ".", `a\b`, "a\nb", "a\u202eb", "[a", "\xff",
		strings.Repeat("x", 1025)} {
		if err := domain.ValidateArtifacts([]string{p}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got %v", p, err)
		}
	}
	if err := domain.ValidateArtifacts(make([]string, 101)); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("101: got %v", err)
	}
}
