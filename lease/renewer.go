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

// Config says whose leases a [Renewer] keeps and how.
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

// Renewer has the leases of what is in hand, and renews them together.
type Renewer[W Work] struct {
	cfg     Config[W]
	terms   terms
	failing bool // the last call of Keep's

	mu   sync.Mutex
	held map[ref]W
}

// NewRenewer returns one that has no leases.
func NewRenewer[W Work](cfg Config[W]) *Renewer[W] {
	r := &Renewer[W]{cfg: cfg, terms: terms{length: cfg.Length, lost: cfg.Lost}, held: map[ref]W{}}
	if !cfg.Guarded {
		r.terms.margin = cfg.Length/6 + cfg.Length/20 // a round, and one call of it
	}
	return r
}

// Begin makes w the work on what was leased at an instant: under ctx, which ends
// with the lease.
func (r *Renewer[W]) Begin(ctx context.Context, w W, c board.Claimed, at time.Time) {
	i := w.Leased()
	i.Claimed, i.Begun, i.cfg = c, at, &r.terms
	i.until = at.Add(r.cfg.Length)
	if !c.Until.IsZero() {
		// The rest of the lease is measured from now, not read off the clock, which
		// somebody may set.
		i.until = at.Add(min(c.Until.Sub(at), r.cfg.Length))
	}
	i.life, i.stop = context.WithCancelCause(ctx)
	i.Ctx = i.life
	if r.cfg.Context != nil {
		i.Ctx = r.cfg.Context(i.life, i.Look)
	}
}

// Add keeps the leases of some work from now on. Work on the same item that is here
// from before is stopped: it goes on, but the lease is another's.
func (r *Renewer[W]) Add(list ...W) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range list {
		at := w.Leased().ref()
		if old, there := r.held[at]; there && old != w {
			old.Leased().Stop(r.cfg.Lost)
		}
		r.held[at] = w
	}
}

// Remove ends that.
func (r *Renewer[W]) Remove(w W) {
	w.Leased().Stop(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := w.Leased().ref(); r.held[at] == w { // or later work on the item has come here, whose lease must be renewed
		delete(r.held, at)
	}
}

// Find returns the work on an item, if it is in hand.
func (r *Renewer[W]) Find(space board.Space, item string) (w W, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, found = r.held[ref{space, item}]
	return w, found
}

// All is what is in hand.
func (r *Renewer[W]) All() []W {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]W, 0, len(r.held))
	for _, w := range r.held {
		list = append(list, w)
	}
	return list
}

// Keep renews leases until ctx ends: each a third of its length after the last time.
// What is lost or cancelled is stopped, and what could not be renewed in time (the
// board is away): another node may begin it soon. A process that was held up itself
// asks first: what it has still goes on.
func (r *Renewer[W]) Keep(ctx context.Context) {
	tick := time.NewTicker(r.cfg.Length / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.round(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// round renews what is due, what has least time first.
func (r *Renewer[W]) round(ctx context.Context) {
	for part := range slices.Chunk(r.due(time.Now()), board.MaxOps) {
		r.renew(ctx, part)
		for _, w := range part {
			w.Leased().Look()
		}
	}
}

// due is the work whose lease is to be renewed, that with least time first.
func (r *Renewer[W]) due(now time.Time) []W {
	list := slices.DeleteFunc(r.All(), func(w W) bool {
		i := w.Leased()
		return i.left(now) > r.cfg.Length*2/3 || r.cfg.Abandons && errors.Is(context.Cause(i.life), r.cfg.Lost)
	})
	slices.SortFunc(list, func(v, w W) int { return cmp.Compare(v.Leased().left(now), w.Leased().left(now)) })
	return list
}

func (r *Renewer[W]) renew(ctx context.Context, list []W) {
	held := make([]board.Held, len(list))
	for i, w := range list {
		held[i] = w.Leased().held()
	}
	asked := time.Now()
	call, cancel := context.WithTimeout(ctx, r.patience(list[0].Leased().left(asked)))
	defer cancel()
	answers, err := r.cfg.Board.Extend(call, r.cfg.Owner, r.cfg.Length, held)
	if err != nil {
		level := slog.LevelWarn // once, not each time that it is asked again
		if r.failing || ctx.Err() != nil {
			level = slog.LevelDebug
		}
		r.failing = true
		r.cfg.Log.Log(ctx, level, "leases not renewed; it is tried again", r.cfg.What, len(list), "err", err)
		return
	}
	r.failing = false
	for i, w := range list {
		switch answers[i] {
		case board.Lost:
			w.Leased().Stop(r.cfg.Lost)
			continue
		case board.Cancelled:
			if r.cfg.Cancelled != nil {
				w.Leased().Stop(r.cfg.Cancelled)
			}
		}
		w.Leased().renewed(asked.Add(r.cfg.Length))
		if r.cfg.Renewed != nil {
			r.cfg.Renewed(call, w)
		}
	}
}

// patience is how long an answer is waited for, where so much is left of a lease. It
// is bounded, so that a board that hangs does not hide that leases run out: time is
// left to ask again, and to stop what has least.
func (r *Renewer[W]) patience(left time.Duration) time.Duration {
	d := max(left/2, r.cfg.Length/20)
	if r.cfg.Guarded {
		return d
	}
	return min(d, r.cfg.Length/6)
}
