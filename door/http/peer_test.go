package http

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// Inside the package: a test cannot easily be somebody else.
func TestWhoMayUseTheSocket(t *testing.T) {
	for _, p := range []peer{{uid: ownUID()}, {uid: 0}} {
		if err := p.check(); err != nil {
			t.Errorf("uid %d: got %v", p.uid, err)
		}
	}
	if err := (peer{uid: ownUID() + 12345}).check(); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("another user: got %v", err)
	}
	if err := (peer{err: errors.New("no credentials")}).check(); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("nobody knows who: got %v", err)
	}
}
