package identity

import (
	"crypto/sha256"
	"sync"
)

// memory remembers what was found out about texts, by their hashes, and forgets what was
// asked for longest ago, roughly. It is safe for concurrent use.
type memory[V any] struct {
	mu sync.Mutex
	// recent is what came last; when it is full it takes the place of before, which is
	// forgotten.
	recent, before map[[sha256.Size]byte]V
}

// memoryRoom is how much is remembered, twice over: of signatures 0.5 MiB.
const memoryRoom = 8192

func (m *memory[V]) get(name [sha256.Size]byte) (value V, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, known = m.recent[name]; known {
		return value, true
	}
	if value, known = m.before[name]; known {
		m.keep(name, value)
	}
	return value, known
}

func (m *memory[V]) note(name [sha256.Size]byte, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(name, value)
}

// keep is note; m.mu is held.
func (m *memory[V]) keep(name [sha256.Size]byte, value V) {
	if m.recent == nil || len(m.recent) >= memoryRoom {
		m.recent, m.before = make(map[[sha256.Size]byte]V), m.recent
	}
	m.recent[name] = value
}
