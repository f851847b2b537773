package identity

import (
	"crypto/sha256"

	"github.com/ramet-run/ramet/domain"
)

// Signatures remembers which messages a process has signed, or found to be
// signed by whom they name. Whether a key has signed some bytes never changes, so
// the same bytes, key and signature need no second look: a message between
// contexts of a board is checked where it arrives by the process that signed it,
// and one that a bus brings twice was looked at before. Nil remembers nothing.
//
// It is safe for concurrent use.
type Signatures struct{ memory memory[struct{}] }

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
	_, known := s.memory.get(name)
	return known
}

func (s *Signatures) note(name [sha256.Size]byte) {
	if s != nil {
		s.memory.note(name, struct{}{})
	}
}
