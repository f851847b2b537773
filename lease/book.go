package lease

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
)

// Work is what an engine does with an item under its lease.
type Work interface {
	comparable
	// Leased is the item that it is about: [Item] embedded has it.
	Leased() *Item
}

// Config says whose leases a [Book] keeps and how.
type Config[W Work] struct {
	Board board.Board
	// Owner is written on leases. It differs for each life of the process.
	Owner string
	// Length is for how long a lease holds unless it is renewed. Required.
	Length time.Duration
	// Guarded says that it does no harm when another is at the same work for a moment:
	// all that it changes are commits that its lease guards, or that two may make. Then
	// it goes on until its lease has run out. Default: it is stopped a fifth of the
	// length before.
	Guarded bool
	// Abandons says that work whose lease is lost leaves it as it is: then it is not
	// renewed any more, so that another may have the item when it has run out.
	// Default: the work puts the item back itself, and has the lease until then.
	Abandons bool
	// Lost and Cancelled are the causes with which work is stopped: its lease is gone,
	// or could not be renewed in time; a person wants it stopped. Required, but for
	// Cancelled where nobody does.
	Lost, Cancelled error
	// Context adds to the context of an item that whoever works on it is to call look
	// right before it begins. Default: nothing.
	Context func(ctx context.Context, look func()) context.Context
	// Renewed is told of each renewal, within the time of the call. Default: nobody.
	Renewed func(ctx context.Context, w W)
	// What is what the items are, in the log: jobs.
	What string
	Log  *slog.Logger
}

// Book has the leases of what is in hand, and renews them together.
type Book[W Work] struct {
	cfg     Config[W]
	terms   terms
	failing bool // the last call of Keep's

	mu   sync.Mutex
	held map[place]W
}

// NewBook returns a book that is empty.
func NewBook[W Work](cfg Config[W]) *Book[W] {
	b := &Book[W]{cfg: cfg, terms: terms{length: cfg.Length, lost: cfg.Lost}, held: map[place]W{}}
	if !cfg.Guarded {
		b.terms.margin = cfg.Length/6 + cfg.Length/20 // a round, and one call of it
	}
	return b
}

// Begin makes w the work on what was leased at an instant: under ctx, which ends
// with the lease.
func (b *Book[W]) Begin(ctx context.Context, w W, c board.Claimed, at time.Time) {
	i := w.Leased()
	i.Claimed, i.Begun, i.cfg = c, at, &b.terms
	i.until = at.Add(b.cfg.Length)
	if !c.Until.IsZero() {
		// The rest of the lease is measured from now, not read off the clock, which
		// somebody may set.
		i.until = at.Add(min(c.Until.Sub(at), b.cfg.Length))
	}
	i.life, i.stop = context.WithCancelCause(ctx)
	i.Ctx = i.life
	if b.cfg.Context != nil {
		i.Ctx = b.cfg.Context(i.life, i.Look)
	}
}

// Add keeps the leases of some work from now on. Work on the same item that is here
// from before is stopped: it goes on, but the lease is another's.
func (b *Book[W]) Add(list ...W) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range list {
		at := w.Leased().place()
		if old, there := b.held[at]; there && old != w {
			old.Leased().Stop(b.cfg.Lost)
		}
		b.held[at] = w
	}
}

// Remove ends that.
func (b *Book[W]) Remove(w W) {
	w.Leased().Stop(nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := w.Leased().place(); b.held[at] == w { // or later work on the item has come here, whose lease must be renewed
		delete(b.held, at)
	}
}

// Find returns the work on an item, if it is in hand.
func (b *Book[W]) Find(space board.Space, item string) (w W, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, found = b.held[place{space, item}]
	return w, found
}

// All is what is in hand.
func (b *Book[W]) All() []W {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]W, 0, len(b.held))
	for _, w := range b.held {
		list = append(list, w)
	}
	return list
}

// Keep renews leases until ctx ends: each a third of its length after the last time.
// What is lost or cancelled is stopped, and what could not be renewed in time (the
// board is away): another node may begin it soon. A process that was held up itself
// asks first: what it has still goes on.
func (b *Book[W]) Keep(ctx context.Context) {
	tick := time.NewTicker(b.cfg.Length / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.round(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// round renews what is due, what has least time first.
func (b *Book[W]) round(ctx context.Context) {
	for part := range slices.Chunk(b.due(time.Now()), board.MaxOps) {
		b.renew(ctx, part)
		for _, w := range part {
			w.Leased().Look()
		}
	}
}

// due is the work whose lease is to be renewed, that with least time first.
func (b *Book[W]) due(now time.Time) []W {
	list := slices.DeleteFunc(b.All(), func(w W) bool {
		i := w.Leased()
		return i.left(now) > b.cfg.Length*2/3 || b.cfg.Abandons && errors.Is(context.Cause(i.life), b.cfg.Lost)
	})
	slices.SortFunc(list, func(v, w W) int { return cmp.Compare(v.Leased().left(now), w.Leased().left(now)) })
	return list
}

func (b *Book[W]) renew(ctx context.Context, list []W) {
	held := make([]board.Held, len(list))
	for i, w := range list {
		held[i] = w.Leased().held()
	}
	asked := time.Now()
	call, cancel := context.WithTimeout(ctx, b.patience(list[0].Leased().left(asked)))
	defer cancel()
	answers, err := b.cfg.Board.Extend(call, b.cfg.Owner, b.cfg.Length, held)
	if err != nil {
		level := slog.LevelWarn // once, not each time that it is asked again
		if b.failing || ctx.Err() != nil {
			level = slog.LevelDebug
		}
		b.failing = true
		b.cfg.Log.Log(ctx, level, "leases not renewed; it is tried again", b.cfg.What, len(list), "err", err)
		return
	}
	b.failing = false
	for i, w := range list {
		switch answers[i] {
		case board.Lost:
			w.Leased().Stop(b.cfg.Lost)
			continue
		case board.Cancelled:
			if b.cfg.Cancelled != nil {
				w.Leased().Stop(b.cfg.Cancelled)
			}
		}
		w.Leased().renewed(asked.Add(b.cfg.Length))
		if b.cfg.Renewed != nil {
			b.cfg.Renewed(call, w)
		}
	}
}

// patience is how long an answer is waited for, where so much is left of a lease. It
// is bounded, so that a board that hangs does not hide that leases run out: time is
// left to ask again, and to stop what has least.
func (b *Book[W]) patience(left time.Duration) time.Duration {
	d := max(left/2, b.cfg.Length/20)
	if b.cfg.Guarded {
		return d
	}
	return min(d, b.cfg.Length/6)
}
