package domain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

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
