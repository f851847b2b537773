package clockwork

import (
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
)

const (
	// sweepRest is how soon a sweep looks again when all that is due is taken or
	// rests; for each sweepWaiting that it read it is longer by as much.
	sweepRest = 50 * time.Millisecond
	// restMin and restMax bound the rest after a failure; it doubles.
	restMin = time.Second
	restMax = 15 * time.Second
	// backlogMin is the size from which on a backlog is cleared of what is over.
	backlogMin = 1024
)

// backlog keeps account of what a sweep has taken, and of what must rest before it
// is handled again: what failed, and what is due still although it was handled,
// because the handler thought that somebody else was first. So neither keeps the
// sweep or the processor from other work.
//
// What is taken waits for a handler, whose next is always of the context that has
// fewest in hand, and less than its share.
type backlog[T any] struct {
	share    int
	handle   func(*backlog[T], T)
	handlers sync.WaitGroup

	mu      sync.Mutex
	entries map[point]entry
	waiting map[board.Space][]T // oldest first, none empty
	wait    int                 // how many wait
	held    map[board.Space]int // how many are in hand
	busy    int                 // handlers
	closed  bool
	clearAt int // entries at which what is over is cleared
}

// entry is one thing that came due.
type entry struct {
	taken    bool
	until    time.Time // rests until then
	failures int
}

func newBacklog[T any](share int, handle func(*backlog[T], T)) *backlog[T] {
	return &backlog[T]{share: share, handle: handle, entries: map[point]entry{}, waiting: map[board.Space][]T{}, held: map[board.Space]int{}, clearAt: backlogMin}
}

// close forgets what waits, and waits for all handlers.
func (b *backlog[T]) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.handlers.Wait()
}

// taking is what becomes of something that is due.
type taking int

const (
	isTaken taking = iota
	isKnown        // it was taken before, or rests
	isLeft         // too much waits
)

// take has p wait for a handler. One more is begun where there is room for it.
func (b *backlog[T]) take(p point, it T, now time.Time) taking {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[p]
	switch {
	case e.taken || now.Before(e.until):
		return isKnown
	case b.wait >= sweepWaiting && len(b.waiting[p.space]) >= sweepHandlers: // others have room still
		return isLeft
	}
	b.clear(now)
	e.taken = true
	b.entries[p] = e
	b.waiting[p.space] = append(b.waiting[p.space], it)
	b.wait++
	if b.busy < sweepHandlers {
		b.busy++
		b.handlers.Go(func() {
			for it, ok := b.next(); ok; it, ok = b.next() {
				b.handle(b, it)
			}
		})
	}
	return isTaken
}

// next is what a handler has to do now. Where there is nothing, the handler ends:
// of what waits, contexts have as much in hand as they may.
func (b *backlog[T]) next() (it T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var space board.Space
	fewest := b.share
	for s := range b.waiting {
		if n := b.held[s]; n < fewest {
			space, fewest = s, n
		}
	}
	if fewest == b.share || b.closed {
		b.busy--
		return it, false
	}
	line := b.waiting[space]
	it = line[0]
	if b.waiting[space] = line[1:]; len(line) == 1 {
		delete(b.waiting, space)
	}
	b.wait--
	b.held[space]++
	return it, true
}

// end lets go of p and returns how long it rests now.
func (b *backlog[T]) end(p point, err error, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[p]
	rest := restMin
	if err != nil {
		rest = min(restMin<<min(e.failures, 10), restMax)
		e.failures++
	}
	e.taken, e.until = false, now.Add(rest)
	if b.held[p.space]--; b.held[p.space] == 0 {
		delete(b.held, p.space)
	}
	b.entries[p] = e
	return rest
}

// wake ends all rests, as what they were for may go well now.
func (b *backlog[T]) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, e := range b.entries {
		if !e.taken {
			delete(b.entries, p)
		}
	}
}

// clear forgets what has rested, now and then: so an entry costs about one
// look. What is due still after that begins as if it had never failed.
func (b *backlog[T]) clear(now time.Time) {
	if len(b.entries) < b.clearAt {
		return
	}
	for p, e := range b.entries {
		if !e.taken && now.After(e.until) {
			delete(b.entries, p)
		}
	}
	b.clearAt = max(backlogMin, 2*len(b.entries))
}
