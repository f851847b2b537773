package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
)

// Item is an item in hand. What an engine knows of its work has it embedded.
type Item struct {
	Claimed board.Claimed
	// Begun is when it came into our hand.
	Begun time.Time
	// Ctx ends when the work is to stop; its cause says why. It is the work's own.
	Ctx context.Context

	life context.Context // Ctx, without what an engine adds to it
	stop context.CancelCauseFunc
	cfg  *terms

	mu    sync.Mutex
	until time.Time // when the lease runs out
}

// terms are those of the leases of a Renewer.
type terms struct {
	length time.Duration
	margin time.Duration // how long before its end a lease is given up
	lost   error
}

// Leased is the item itself; see [Work].
func (i *Item) Leased() *Item { return i }

// Stop ends the work's context. The first cause counts. An item that no Renewer has
// of this process has nobody to be stopped.
func (i *Item) Stop(cause error) {
	if i.stop != nil {
		i.stop(cause)
	}
}

// Look stops the work if its lease has run out, or is about to.
func (i *Item) Look() {
	if i.left(time.Now()) < i.cfg.margin {
		i.Stop(i.cfg.lost)
	}
}

// left is the time that the lease still has.
func (i *Item) left(now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.until.Sub(now)
}

func (i *Item) renewed(until time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.until = until
}

func (i *Item) held() board.Held {
	return board.Held{Space: i.Claimed.Space, Item: i.Claimed.Item, Token: i.Claimed.Token}
}

func (i *Item) ref() ref { return ref{i.Claimed.Space, i.Claimed.Item} }

// ref names an item across contexts.
type ref struct {
	space board.Space
	item  string
}

// IsGone reports whether a commit was refused because the lease that guards it is
// no longer the committer's.
func IsGone(err error) bool {
	var g *board.GuardError
	return errors.As(err, &g) && g.Guard.Kind == board.GuardHeld
}
