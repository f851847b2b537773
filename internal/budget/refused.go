package budget

import (
	"fmt"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// refused keeps how often the proofs of an address were not believed: each is
// looked up, checked and written down, so who sends many has the node work and
// fills the audit log.
type refused struct {
	mu sync.Mutex
	// until is when the refusals of an address are paid off: each costs it a while,
	// and one that has run a minute ahead is not looked at.
	until map[address]time.Time
}

// Refusals of an address are paid off within refusedTime; maxRefused bounds for how
// many addresses that is known.
const (
	refusedTime = time.Minute
	maxRefused  = 10_000
)

// TooOften says that an address has shown too much that was not believed. It is a
// [domain.ErrExhausted].
type TooOften struct {
	From string
	// After is when it may try again.
	After time.Duration
}

func (e *TooOften) Error() string {
	return fmt.Sprintf("%s has sent too many tokens that were not good; try again in %d seconds", e.From, int(e.After.Seconds()))
}

// Unwrap is the kind.
func (e *TooOften) Unwrap() error { return domain.ErrExhausted }

// MayTry reports whether a connection may prove whose it is. One that has may
// go on whatever others of its address do, and so may those at local sockets and
// those whose address many share.
//
// Errors: a *[TooOften].
func (s *Seat) MayTry() error {
	if s == nil || s.local || !s.from.IsValid() || s.signedIn() {
		return nil
	}
	t := &s.b.refused
	t.mu.Lock()
	defer t.mu.Unlock()
	ahead := max(time.Until(t.until[s.from]), 0) // of who is not known it would be that of the year 1
	if over := ahead + s.b.refusalCost() - refusedTime; over > 0 {
		s.b.refuse(proofs, s.from.String())
		return &TooOften{s.from.String(), (over + time.Second - 1).Truncate(time.Second)}
	}
	return nil
}

// Refused counts a proof that was not believed.
func (s *Seat) Refused() {
	if s == nil || s.local || !s.from.IsValid() {
		return
	}
	now := time.Now()
	t := &s.b.refused
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.until[s.from]; !known && len(t.until) >= maxRefused {
		t.forget(now)
	}
	from := now
	if until := t.until[s.from]; until.After(now) {
		from = until
	}
	t.until[s.from] = from.Add(s.b.refusalCost())
}

// forget makes room: those that are paid off go, and where that is nobody, the one
// that is closest to it. The caller holds the lock.
func (t *refused) forget(now time.Time) {
	var first address
	for from, until := range t.until {
		if !until.After(now) {
			delete(t.until, from)
		} else if old, known := t.until[first]; !known || until.Before(old) {
			first = from
		}
	}
	if len(t.until) >= maxRefused {
		delete(t.until, first)
	}
}

// refusalCost is how long one refusal counts.
func (b *Budget) refusalCost() time.Duration { return refusedTime / time.Duration(b.cfg.Refused) }

func (s *Seat) signedIn() bool {
	s.b.seats.mu.Lock()
	defer s.b.seats.mu.Unlock()
	return !s.left && s.here == nil
}
