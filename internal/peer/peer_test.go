package peer

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// Inside the package: a test cannot easily be somebody else.
func TestWhoMayUseTheSocket(t *testing.T) {
	for _, p := range []Peer{{uid: ownUID()}, {uid: 0}} {
		if err := p.Check(); err != nil {
			t.Errorf("uid %d: got %v", p.uid, err)
		}
	}
	if err := (Peer{uid: ownUID() + 12345}).Check(); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("another user: got %v", err)
	}
	if err := (Peer{err: errors.New("no credentials")}).Check(); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("nobody knows who: got %v", err)
	}
}
