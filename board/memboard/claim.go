package memboard

import (
	"container/list"
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/turn"
)

// Claim implements [board.Board].
func (b *Board) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	if err := ask.Check(); err != nil {
		return nil, err
	}
	now, err := b.lock(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range ask.Queues {
		if g := b.groups[q.Group()]; g != nil {
			g.Charge(ask.Charges)
		}
	}
	got := b.claim(&ask, now)
	if len(got) > 0 || ask.Wait <= 0 {
		b.mu.Unlock()
		return got, nil
	}
	w := b.enqueue(&ask)
	b.mu.Unlock()

	timer := time.NewTimer(ask.Wait)
	defer timer.Stop()
	select {
	case got := <-w.got:
		return got, nil
	case <-timer.C:
		return b.giveUp(w), nil
	case <-ctx.Done():
		if got := b.giveUp(w); len(got) > 0 {
			return got, nil
		}
		return nil, ctx.Err()
	case <-b.done:
		if got := b.giveUp(w); len(got) > 0 {
			return got, nil
		}
		return nil, errClosed()
	}
}

// claim takes what there is.
func (b *Board) claim(ask *board.Ask, now int64) []board.Claimed {
	var out []board.Claimed
	for _, q := range ask.Queues {
		if g := b.groups[q.Group()]; g != nil {
			out = b.takeTurns(g, q, ask, now, out)
		}
		if len(out) == ask.Max {
			break
		}
	}
	return out
}

// takeTurns takes item by item from the space whose turn it is.
func (b *Board) takeTurns(g *group, q board.Queue, ask *board.Ask, now int64, out []board.Claimed) []board.Claimed {
	_ = g.Take(ask.Max-len(out), 1, func(t *turn.Turn, _ int) (int, error) { // take has no errors
		c, ok := b.takeOne(t, q, ask, now)
		if !ok {
			return 0, nil
		}
		out = append(out, c)
		return 1, nil
	})
	return out
}

// takeOne leases the next item of a space that can be leased, and drops what
// cannot.
func (b *Board) takeOne(t *turn.Turn, q board.Queue, ask *board.Ask, now int64) (board.Claimed, bool) {
	s := b.spaces[t.Space.ID]
	if !ask.Wants(s.id) {
		return board.Claimed{}, false
	}
	for {
		name := t.Oldest(&ask.Aging, q.Lists, func(list string) (int64, bool) { return s.queued(list, ask, now), true })
		if name == "" {
			break
		}
		item := board.Named(name, b.pop(s, name))
		if e := claimable(s, item, ask.Skip); e != nil {
			return b.lease(s, t.CapGroup(), item, e, ask, now), true
		}
	}
	for _, name := range q.Lists {
		for t.Has(name) {
			item := board.Named(name, b.pop(s, name))
			if e := claimable(s, item, ask.Skip); e != nil {
				return b.lease(s, t.CapGroup(), item, e, ask, now), true
			}
		}
	}
	return board.Claimed{}, false
}

// queued is when the next item of a queue that is not empty was queued.
func (s *space) queued(list string, ask *board.Ask, now int64) int64 {
	l := &s.entries[list].list
	e := s.entries[board.Named(list, l.at(l.n-1))]
	if e == nil || e.kind != board.KindRecord {
		return now
	}
	return ask.Aging.Queued(now, board.Record(e.rec.fields).Get)
}

// pop takes the rightmost item of a queue that is not empty.
func (b *Board) pop(s *space, list string) string {
	e := s.entries[list]
	item := e.list.popRight()
	if e.hollow() {
		b.moveExpiry(s, list, e, 0)
		s.take(list)
		b.account(s, list)
	}
	b.watchers.Tell(s.id, list)
	return item
}

// claimable returns the record to lease (an empty one when there is none
// yet), or nil when the item is to be dropped: it is leased, is to be skipped,
// or names no record.
func claimable(s *space, item string, skip board.Match) *entry {
	if item == "" || s.leases[item] != nil {
		return nil
	}
	e := s.entries[item]
	if e == nil {
		e = newEntry(board.KindRecord)
	}
	if e.kind != board.KindRecord || skip.Matches(e.rec.fields) {
		return nil
	}
	return e
}

func (b *Board) lease(s *space, capGroup, item string, e *entry, ask *board.Ask, now int64) board.Claimed {
	if s.entries[item] == nil {
		s.put(item, e)
	}
	for _, f := range ask.Mark {
		e.rec.set(f.Name, f.Value)
	}
	for _, f := range ask.Stamped(now) {
		e.rec.set(f.Name, f.Value)
	}
	l := b.grant(s, item, e, ask.Owner, capGroup, now+ask.Lease.Milliseconds())
	b.watchers.Tell(s.id, item)
	return board.Claimed{Space: s.id, Item: item, Token: l.token, Until: time.UnixMilli(l.until), Record: e.rec.copy()}
}

// waiters is a first-come-first-served line of waiting claims.
type waiters struct{ list.List }

// waiter is one waiting Claim. It stands in the line of each of its groups.
type waiter struct {
	ask    *board.Ask
	got    chan []board.Claimed // buffered 1: the server does not wait
	places []place
}

type place struct {
	g    *group
	elem *list.Element
}

func (b *Board) enqueue(ask *board.Ask) *waiter {
	w := &waiter{ask: ask, got: make(chan []board.Claimed, 1)}
	for _, q := range ask.Queues {
		g := b.group(q.Group())
		w.places = append(w.places, place{g, g.waiters.PushBack(w)})
	}
	return w
}

func (w *waiter) leave() {
	for _, p := range w.places {
		p.g.waiters.Remove(p.elem)
	}
	w.places = nil
}

// giveUp ends the waiting. What was served in the last moment is not lost.
func (b *Board) giveUp(w *waiter) []board.Claimed {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.leave()
	select {
	case got := <-w.got:
		return got
	default:
		return nil
	}
}

// serve gives what the group has to those who wait for it.
func (b *Board) serve(g *group, now int64) {
	if g == nil {
		return
	}
	for el := g.waiters.Front(); el != nil && g.Any(); {
		w := el.Value.(*waiter)
		el = el.Next()
		got := b.claim(w.ask, now)
		if len(got) == 0 {
			continue
		}
		// A waiter may stand in this line twice; its next place goes with it.
		for el != nil && el.Value.(*waiter) == w {
			el = el.Next()
		}
		w.leave()
		w.got <- got
	}
}
