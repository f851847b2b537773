package clockwork

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
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
	ended    chan struct{} // has an entry after something has ended

	mu      sync.Mutex
	entries map[point]entry
	held    map[board.Space]int // how many are in hand
	clearAt int                 // entries at which what is over is cleared
}

// entry is one thing that came due.
type entry struct {
	inHand   bool
	until    time.Time // rests until then
	failures int
}

func newBook() *book {
	b := &book{entries: map[point]entry{}, held: map[board.Space]int{}, ended: make(chan struct{}, 1), clearAt: bookMin}
	b.handlers.SetLimit(sweepHandlers)
	return b
}

// wait waits for all handlers. They never fail.
func (b *book) wait() { _ = b.handlers.Wait() }

// oneEnds waits until something has ended that was in hand, for some time at most.
func (b *book) oneEnds(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-b.ended:
	case <-ctx.Done():
	}
}

// beginning is what becomes of something that is due.
type beginning int

const (
	isBegun beginning = iota
	isBusy            // it is in hand, or rests
	isOver            // its context has as many in hand as it may
)

// begin takes p in hand, unless it is, or rests, or others go first.
func (b *book) begin(p point, now time.Time) beginning {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[p]
	switch {
	case e.inHand || now.Before(e.until):
		return isBusy
	case b.held[p.space] >= sweepShare:
		return isOver
	}
	b.clear(now)
	e.inHand = true
	b.entries[p] = e
	b.held[p.space]++
	return isBegun
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
	if b.held[p.space]--; b.held[p.space] == 0 {
		delete(b.held, p.space)
	}
	select {
	case b.ended <- struct{}{}:
	default:
	}
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
