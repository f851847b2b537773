package memboard

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/recent"
	"github.com/ramet-run/ramet/board/internal/sorted"
	"github.com/ramet-run/ramet/board/internal/watch"
	"github.com/ramet-run/ramet/domain"
)

// Board is a board in memory.
type Board struct {
	board.Plain
	done     chan struct{} // closed by Close
	watchers watch.Watchers
	recent   *recent.Spaces

	mu       sync.Mutex
	closed   bool
	spaces   map[board.Space]*space
	groups   map[string]*group
	alarms   sorted.Set[moment]
	lapses   sorted.Set[moment] // deadlines of claimed leases
	expiries sorted.Set[moment]

	alarmSet   signal // an alarm is now the earliest
	lapseMoved signal // a lease deadline is now the earliest
	expiry     *time.Timer
	expiryAt   int64 // what the timer is set to; 0: not at all
}

var _ board.Board = (*Board)(nil)

// Open returns an empty board.
func Open() *Board {
	return &Board{
		done:     make(chan struct{}),
		recent:   recent.New(),
		spaces:   map[board.Space]*space{},
		groups:   map[string]*group{},
		alarms:   sorted.Set[moment]{Compare: compareMoments},
		lapses:   sorted.Set[moment]{Compare: compareMoments},
		expiries: sorted.Set[moment]{Compare: compareMoments},
	}
}

// Durability implements [board.Board].
func (b *Board) Durability() board.Durability { return board.DurableMemory }

// Close implements [board.Board]. What the board held is gone.
func (b *Board) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	close(b.done)
	if b.expiry != nil {
		b.expiry.Stop()
	}
	b.watchers.End()
	return nil
}

func errClosed() error { return domain.Unavailablef("board is closed") }

// lock begins a call: it takes the mutex, removes what has expired, and tells
// the time. The caller unlocks when err is nil.
//
// Errors: the context's own, [domain.ErrUnavailable] once closed.
func (b *Board) lock(ctx context.Context) (now int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, errClosed()
	}
	now = time.Now().UnixMilli()
	b.expire(now)
	return now, nil
}

// space returns the space, making it when nothing was ever written to it.
func (b *Board) space(id board.Space) *space {
	s := b.spaces[id]
	if s == nil {
		s = newSpace(id)
		b.spaces[id] = s
	}
	return s
}

// expire removes what has come to its end, and sets the timer for the next.
func (b *Board) expire(now int64) {
	for {
		m, ok := b.expiries.First()
		if !ok || m.at > now {
			break
		}
		t := tx{b: b, s: b.space(m.space), now: now}
		t.remove(m.name)
		t.settle()
	}
	b.armExpiry(now)
}

func (b *Board) armExpiry(now int64) {
	m, ok := b.expiries.First()
	if !ok || b.expiryAt != 0 && b.expiryAt <= m.at {
		return // nothing to wait for, or the timer goes off early enough
	}
	b.expiryAt = m.at
	d := time.Duration(m.at-now) * time.Millisecond
	if b.expiry == nil {
		b.expiry = time.AfterFunc(d, b.expireNow)
		return
	}
	b.expiry.Reset(d)
}

func (b *Board) expireNow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expiryAt = 0
	if !b.closed {
		b.expire(time.Now().UnixMilli())
	}
}

// signal wakes everybody who waits for a change. It is guarded by Board.mu.
type signal struct{ ch chan struct{} }

// wait returns a channel that the next fire closes.
func (s *signal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// await calls look until it has something, at most for wait. Look runs under
// the mutex; it returns the moment at which looking again is worth it (0:
// none is known) and what tells that an earlier one has come up.
func (b *Board) await(ctx context.Context, wait time.Duration, look func(now int64) (found bool, next int64, changed *signal)) error {
	var deadline <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		deadline = t.C
	}
	for last := wait <= 0; ; {
		now, err := b.lock(ctx)
		if err != nil {
			return err
		}
		found, next, changed := look(now)
		if found || last {
			b.mu.Unlock()
			return nil
		}
		wake := changed.wait()
		b.mu.Unlock()
		if last, err = b.sleep(ctx, next, wake, deadline); err != nil {
			return err
		}
	}
}

// sleep waits for one of an instant, a signal, the deadline (then it returns
// true), the context's end or the board's.
func (b *Board) sleep(ctx context.Context, until int64, wake <-chan struct{}, deadline <-chan time.Time) (bool, error) {
	var due <-chan time.Time
	if until != 0 {
		t := time.NewTimer(time.Until(time.UnixMilli(until)))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-due:
	case <-wake:
	case <-deadline:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-b.done:
		return false, errClosed()
	}
	return false, nil
}
