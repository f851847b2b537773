// Package recent is what drivers of a board share of Changed: which spaces were
// changed last, in order. It starts no goroutines.
package recent

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"github.com/ramet-run/ramet/board"
)

// Spaces are the spaces that were changed since the board was opened, each once. To
// note a change and to tell of one cost the same however many spaces there are. It
// is safe for concurrent use; New makes one.
type Spaces struct {
	life string // tells the marks of this life of a board from those of others

	mu    sync.Mutex
	n     int64 // changes noted
	known map[board.Space]*entry
	// newest is the space that was changed last; from each a chain leads to the one
	// changed before it.
	newest *entry
}

// entry is one space in the chain.
type entry struct {
	space        board.Space
	n            int64 // the number of its last change
	older, newer *entry
}

// New returns one that knows of no change.
func New() *Spaces { return &Spaces{life: rand.Text(), known: map[board.Space]*entry{}} }

// Note says that something has changed in a space. Space 0 is no context's: it is
// left out.
func (s *Spaces) Note(space board.Space) {
	if space == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if s.newest != nil && s.newest.space == space { // most often by far
		s.newest.n = s.n
		return
	}
	e := s.known[space]
	if e == nil {
		e = &entry{space: space}
		s.known[space] = e
	}
	s.unlink(e)
	e.n, e.older, e.newer = s.n, s.newest, nil
	if s.newest != nil {
		s.newest.newer = e
	}
	s.newest = e
}

func (s *Spaces) unlink(e *entry) {
	if e.newer != nil {
		e.newer.older = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	}
}

// Since returns the spaces that were changed since an earlier call returned next: all
// of them, for all that is known, where that was another life's.
func (s *Spaces) Since(mark string) board.Changes {
	life, number, _ := strings.Cut(mark, ":")
	after, err := strconv.ParseInt(number, 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := board.Changes{Next: s.life + ":" + strconv.FormatInt(s.n, 10)}
	if life != s.life || err != nil {
		c.All = true
		return c
	}
	for e := s.newest; e != nil && e.n > after; e = e.older {
		c.Spaces = append(c.Spaces, e.space)
	}
	return c
}
