package work

import (
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
)

// lookEvery is the time between two looks at what jobs of one context wait for, where
// many wait: 300 a second cost some two percent of a processor, and however many a
// context has, nobody else's wait for theirs.
const lookEvery = time.Second / 300

// lookTurns hands out the instants of looks. It is safe for concurrent use.
type lookTurns struct {
	mu   sync.Mutex
	last map[board.Space]time.Time // the turn that was handed out last
}

// maxLookTurns is how many contexts are remembered before those are forgotten whose
// last turn is over.
const maxLookTurns = 1000

// next is the first turn of a context that nobody has, now or later.
func (t *lookTurns) next(space board.Space, now time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[board.Space]time.Time{}
	}
	if len(t.last) >= maxLookTurns {
		for s, at := range t.last {
			if at.Before(now) {
				delete(t.last, s)
			}
		}
	}
	turn := now
	if after := t.last[space].Add(lookEvery); after.After(now) {
		turn = after
	}
	t.last[space] = turn
	return turn
}
