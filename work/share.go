package work

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file keeps one context from holding all slots of a script type: a job
// may run for a month, and whoever holds the last slot decides when others go on.

// bound is how many slots one context may hold: all, as long as there is no
// other, else all but one. With a single slot there is nothing to keep free.
func (l *claimer) bound() int {
	switch {
	case l.perContext > 0:
		return l.perContext
	case l.slots > 1 && l.several():
		return l.slots - 1
	}
	return l.slots
}

func (l *claimer) several() bool { return l.r.cfg.Several != nil && l.r.cfg.Several() }

// share has a claim pass over the contexts that hold as much as they may, and
// says how many items it may bring so that no other comes to hold more: they may
// all be of one context. 0 is that there are too many to pass over. The caller
// holds the mutex.
func (l *claimer) share(ask *board.Ask, n int) int {
	if bound := l.bound(); bound < l.slots {
		n = min(n, bound)
		for space, u := range l.held {
			if u.slots >= bound {
				ask.Except = append(ask.Except, space)
			} else {
				n = min(n, bound-u.slots)
			}
		}
	}
	if len(ask.Except) > board.MaxExcept {
		return 0
	}
	return n
}

// occupy counts what was claimed. The caller holds the mutex.
func (l *claimer) occupy(claimed []board.Claimed) {
	if len(claimed) == 0 {
		return
	}
	now := time.Now()
	for _, c := range claimed {
		u := l.held[c.Space]
		if u == nil {
			u = &use{since: now}
			l.held[c.Space] = u
		}
		u.begin(now)
	}
}

// leave gives back the slot of a run that has ended. A claim that waits and passes
// over its context begins anew.
func (l *claimer) leave(space board.Space) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	u, bound := l.held[space], l.bound()
	if u.slots >= bound && bound < l.slots && l.interrupt != nil {
		l.interrupt()
	}
	if u.change(-1, now); u.slots == 0 && (u.time < turnTime || !l.several()) {
		delete(l.held, space)
	}
}

// Limits of what a runner says of those who hold its slots.
const (
	maxHolders    = 100 // contexts, those with most slots
	maxHolderJobs = 10  // jobs of each, those that have run longest
)

// Uses says for each script type how many slots there are, how many one context
// may hold, and who holds them now.
func (r *Runner) Uses() map[domain.ScriptType]domain.SlotUse {
	uses := map[domain.ScriptType]domain.SlotUse{}
	holders := map[*claimer]map[board.Space]*domain.Holder{}
	for _, l := range r.claimers {
		l.mu.Lock()
		uses[l.typ] = domain.SlotUse{Slots: l.slots, PerContext: min(l.bound(), l.slots)}
		l.mu.Unlock()
		holders[l] = map[board.Space]*domain.Holder{}
	}
	for _, x := range r.items.All() {
		space := x.Claimed.Space
		h := holders[x.claimer][space]
		if h == nil {
			h = &domain.Holder{Context: domain.TenantID(space)}
			holders[x.claimer][space] = h
		}
		h.Slots++
		h.Jobs = append(h.Jobs, domain.HeldJob{Key: x.key.String(), SinceMs: x.Begun.UnixMilli()})
	}
	for l, by := range holders {
		use := uses[l.typ]
		for _, h := range by {
			use.Taken += h.Slots
			slices.SortFunc(h.Jobs, func(a, b domain.HeldJob) int {
				return cmp.Or(cmp.Compare(a.SinceMs, b.SinceMs), cmp.Compare(a.Key, b.Key))
			})
			h.Jobs = h.Jobs[:min(len(h.Jobs), maxHolderJobs)]
		}
		list := slices.SortedFunc(maps.Values(by), func(a, b *domain.Holder) int {
			return cmp.Or(cmp.Compare(b.Slots, a.Slots), cmp.Compare(a.Context, b.Context))
		})
		for _, h := range list[:min(len(list), maxHolders)] {
			use.Holders = append(use.Holders, *h)
		}
		uses[l.typ] = use
	}
	return uses
}
