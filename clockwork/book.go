package clockwork

import (
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// sweepRest is how soon a sweep looks again when all that is due is in
	// hand or rests.
	sweepRest = 50 * time.Millisecond
	// restMin and restMax bound the rest after a failure; it doubles.
	restMin = time.Second
	restMax = 15 * time.Second
	// bookMin is the size from which on a book is cleared of what is over.
	bookMin = 1024
)

// book keeps account of what a sweep has in hand, and of what must rest
// before it is handled again: what failed, and what is due still although it
// was handled, because the handler thought that somebody else was first. So
// neither keeps the sweep or the processor from other work.
type book struct {
	handlers errgroup.Group

	mu      sync.Mutex
	entries map[point]entry
	clearAt int // entries at which what is over is cleared
}

// entry is one thing that came due.
type entry struct {
	inHand   bool
	until    time.Time // rests until then
	failures int
}

func newBook() *book {
	b := &book{entries: map[point]entry{}, clearAt: bookMin}
	b.handlers.SetLimit(sweepHandlers)
	return b
}

// wait waits for all handlers. They never fail.
func (b *book) wait() { _ = b.handlers.Wait() }

// begin takes p in hand, unless it is, or rests.
func (b *book) begin(p point, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[p]
	if e.inHand || now.Before(e.until) {
		return false
	}
	b.clear(now)
	e.inHand = true
	b.entries[p] = e
	return true
}

// end lets go of p and returns how long it rests now.
func (b *book) end(p point, err error, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[p]
	rest := restMin
	if err != nil {
		rest = min(restMin<<min(e.failures, 10), restMax)
		e.failures++
	}
	e.inHand, e.until = false, now.Add(rest)
	b.entries[p] = e
	return rest
}

// clear forgets what has rested, now and then: so an entry costs about one
// look. What is due still after that begins as if it had never failed.
func (b *book) clear(now time.Time) {
	if len(b.entries) < b.clearAt {
		return
	}
	for p, e := range b.entries {
		if !e.inHand && now.After(e.until) {
			delete(b.entries, p)
		}
	}
	b.clearAt = max(bookMin, 2*len(b.entries))
}
