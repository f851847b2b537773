package domain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestServedCircleValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		circle domain.ServedCircle
		want   string // part of the error; "" is valid
	}{
		{"a word", domain.ServedCircle{Name: "friends", Context: 1}, ""},
		{"a public key", domain.ServedCircle{Name: strings.Repeat("02ab", 16) + "ff", Context: 1}, ""},
		{"the longest", domain.ServedCircle{Name: strings.Repeat("x", 200), Context: 1}, ""},
		{"a longer one", domain.ServedCircle{Name: strings.Repeat("x", 201), Context: 1}, "200"},
		{"no name", domain.ServedCircle{Context: 1}, `circle ""`},
		{"a dash first", domain.ServedCircle{Name: "-x", Context: 1}, "first"},
		{"a space", domain.ServedCircle{Name: "a b", Context: 1}, "circle"},
		{"the node's own space", domain.ServedCircle{Name: "friends"}, "context 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.circle.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
