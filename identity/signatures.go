package identity

import (
	"crypto/sha256"
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// Signatures remembers which messages a process has signed, or found to be
// signed by whom they name. Whether a key has signed some bytes never changes, so
// the same bytes, key and signature need no second look: a message between
// contexts of a board is checked where it arrives by the process that signed it,
// and one that a bus brings twice was looked at before. Nil remembers nothing.
//
// It is safe for concurrent use.
type Signatures struct {
	mu sync.Mutex
	// recent is what came last; when it is full it takes the place of before,
	// which is forgotten.
	recent, before map[[sha256.Size]byte]struct{}
}

// signaturesRoom is how many signatures are remembered, twice over: 0.5 MiB.
const signaturesRoom = 8192

// nameOf names what was signed, by whom, and with which signature. The last two have
// one length each, so the three are told apart.
func nameOf(m *domain.Message, body []byte) [sha256.Size]byte {
	h := sha256.New()
	_, _ = h.Write([]byte(m.Pubkey + m.Signature)) // a hash never fails
	_, _ = h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

func (s *Signatures) knows(name [sha256.Size]byte) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, recent := s.recent[name]
	_, before := s.before[name]
	return recent || before
}

func (s *Signatures) note(name [sha256.Size]byte) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= signaturesRoom {
		s.recent, s.before = make(map[[sha256.Size]byte]struct{}), s.recent
	}
	s.recent[name] = struct{}{}
}
