package etcdboard

import (
	"container/list"
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/turn"
)

// claimStep is how many items one transaction leases at most for one caller:
// each takes two writes. A claim for more goes on with the next.
const claimStep = 40

// Claim implements [board.Board].
func (b *Board) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	if err := ask.Check(); err != nil {
		return nil, err
	}
	if ask.Wait <= 0 {
		// What others have pushed up to now counts.
		if err := b.fresh(ctx); err != nil {
			return nil, err
		}
	}
	b.charge(&ask)
	out, err := b.claimStep(ctx, ask)
	for err == nil && len(out) > 0 && len(out) < ask.Max {
		rest := ask
		rest.Max, rest.Wait = ask.Max-len(out), 0
		more, err := b.claimStep(ctx, rest)
		if err != nil || len(more) == 0 {
			break // what there is is leased: it is not lost for an error
		}
		out = append(out, more...)
	}
	return out, err
}

// charge moves the turns of this node on.
func (b *Board) charge(ask *board.Ask) {
	if len(ask.Charges) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range ask.Queues {
		if g := b.mirror.groups[q.Group()]; g != nil {
			g.Charge(ask.Charges)
		}
	}
}

// waiter is one Claim that may wait. It stands in the line of each of its groups.
type waiter struct {
	request
	ask    board.Ask
	got    []board.Claimed
	quit   bool // its caller waits no longer; guarded by Board.mu
	again  bool // nothing was got, but only because there was too much to drop
	places []place
}

type place struct {
	g    *group
	elem *list.Element
}

// waiters is a first-come-first-served line of waiting claims.
type waiters struct{ list.List }

// claimStep leases what one transaction can.
func (b *Board) claimStep(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	ask.Max = min(ask.Max, claimStep)
	w := &waiter{request: newRequest(ctx), ask: ask}
	w.judge = func(t *tx) bool { return b.judgeClaim(t, w) }
	w.greedy, w.leave = true, w.leaveLines
	if err := b.submit(&w.request); err != nil {
		return nil, err
	}
	var timeout <-chan time.Time
	if ask.Wait > 0 {
		timer := time.NewTimer(ask.Wait)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-w.done:
		if w.again && w.err == nil {
			return b.claimStep(ctx, ask)
		}
		return w.taken()
	case <-timeout:
		return b.giveUp(w, nil)
	case <-ctx.Done():
		return b.giveUp(w, ctx.Err())
	}
}

// judgeClaim serves a claim, or puts it in line.
func (b *Board) judgeClaim(t *tx, w *waiter) bool {
	t.cut = false
	w.got = t.claim(&w.ask)
	w.again = t.cut && len(w.got) == 0
	if len(w.got) > 0 || w.again || w.ask.Wait <= 0 || w.quit || b.closed {
		return true
	}
	if w.waits = true; w.places == nil {
		for _, q := range w.ask.Queues {
			g := t.m.group(q.Group())
			w.places = append(w.places, place{g, g.waiters.PushBack(w)})
		}
	}
	return false
}

func (w *waiter) leaveLines() {
	for _, p := range w.places {
		p.g.waiters.Remove(p.elem)
	}
	w.places = nil
}

// giveUp ends the waiting. What is being leased in this moment is waited for:
// it would be lost until its lease runs out.
func (b *Board) giveUp(w *waiter, err error) ([]board.Claimed, error) {
	b.mu.Lock()
	w.quit = true
	if !w.flying && !w.dead {
		w.got = nil // of a transaction that was lost
		w.abandon(err)
	}
	b.mu.Unlock()
	<-w.done // at once, unless it is flying
	if got, _ := w.taken(); len(got) > 0 {
		return got, nil
	}
	return nil, err
}

// taken is what a claim has got. Of a transaction that failed that is nothing:
// what it would have leased may be anybody's.
func (w *waiter) taken() ([]board.Claimed, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.got, nil
}

// given is a turn that was given for a transaction which is not done yet. Its
// lease is counted by hand until the mirror has it.
type given struct {
	turn  *turn.Turn
	group string
}

// claim takes what there is, from the space whose turn it is, into the layer.
func (t *tx) claim(ask *board.Ask) (out []board.Claimed) {
	for _, q := range ask.Queues {
		g := t.m.groups[q.Group()]
		if g == nil {
			continue
		}
		_ = g.Take(ask.Max-len(out), 1, func(tu *turn.Turn, _ int) (int, error) { // take has no errors
			if !t.another() {
				return 0, nil
			}
			c, ok := t.takeOne(tu, q, ask)
			if !ok {
				return 0, nil
			}
			out = append(out, c)
			tu.Space.Hold(tu.CapGroup())
			t.given = append(t.given, given{tu, tu.CapGroup()})
			return 1, nil
		})
		if len(out) == ask.Max {
			break
		}
	}
	return out
}

// another reports whether one more item certainly fits: it may change its
// record, its lease, the list, a segment and the count under a cap.
func (t *tx) another() bool {
	writes, reads := t.most()
	ok := len(t.kept.writes)+len(t.layer.writes)+5 <= writes &&
		len(t.kept.reads)+len(t.layer.reads) <= reads-8 &&
		t.bytes+t.layer.size() <= maxBytes/2
	t.cut = t.cut || !ok
	return ok
}

// takeOne leases the next item of a space that can be leased, and drops what
// cannot.
func (t *tx) takeOne(tu *turn.Turn, q board.Queue, ask *board.Ask) (board.Claimed, bool) {
	space := tu.Space.ID
	if !ask.Wants(space) {
		return board.Claimed{}, false
	}
	for t.another() {
		key := tu.Oldest(&ask.Aging, q.Lists, func(list string) (int64, bool) { return t.queued(name{space, list}, ask) })
		if key == "" {
			break
		}
		n := name{space, key}
		h, err := t.lookup(n, kindList)
		if err != nil || h == nil {
			break
		}
		item, _ := t.popRight(n, h)
		if record := (name{space, board.Named(key, item)}); t.claimable(record, ask.Skip) {
			t.bound(space)
			return t.grantClaim(record, tu.CapGroup(), ask), true
		}
	}
	for _, key := range q.Lists {
		if !tu.Has(key) {
			continue
		}
		n := name{space, key}
		h, err := t.lookup(n, kindList)
		for err == nil && h != nil {
			if !t.another() {
				return board.Claimed{}, false // much to drop: the rest comes with the next transaction
			}
			item, _ := t.popRight(n, h)
			record := name{space, board.Named(key, item)}
			if t.claimable(record, ask.Skip) {
				t.bound(space)
				return t.grantClaim(record, tu.CapGroup(), ask), true
			}
			// Popping may have made another copy of the head.
			h, err = t.lookup(n, kindList)
		}
	}
	return board.Claimed{}, false
}

// queued is when the next item of a queue was queued. Nothing rests on that.
func (t *tx) queued(n name, ask *board.Ask) (ms int64, some bool) {
	h, _ := t.peek(n.in(roomHead)).(*head)
	if !h.there() || h.kind != kindList {
		return 0, false
	}
	s, _ := t.peek(n.segmentKey(h.hi)).(*segment)
	if s == nil || len(s.items) == 0 {
		return t.now, true
	}
	record := name{n.space, board.Named(n.key, s.items[len(s.items)-1])}
	r, _ := t.peek(record.in(roomHead)).(*head)
	if !r.there() || r.kind != kindRecord {
		return t.now, true
	}
	return ask.Aging.Queued(t.now, r.fields.Get), true
}

// bound makes the claim depend on the space's limits; where there are any, it
// depends on every other claim there too, so that a cap holds.
func (t *tx) bound(space board.Space) {
	if t.head(name{space, board.LimitsKey}) == nil {
		return
	}
	t.get(heldKey(space))
	t.put(heldKey(space), mark{})
}

// claimable reports whether an item can be leased, or is to be dropped: it is
// leased, is to be skipped, or names no record.
func (t *tx) claimable(n name, skip board.Match) bool {
	if n.key == "" || t.lease(n) != nil {
		return false
	}
	h, err := t.lookup(n, kindRecord)
	return err == nil && (h == nil || !skip.Matches(h.fields))
}

func (t *tx) grantClaim(n name, group string, ask *board.Ask) board.Claimed {
	h, _ := t.own(n, kindRecord) // claimable: a record or nothing
	for _, f := range ask.Mark {
		h.set(f.Name, f.Value)
	}
	for _, f := range ask.Stamped(t.now) {
		h.set(f.Name, f.Value)
	}
	l := t.grant(n, h, ask.Owner, group, ask.Lease)
	return board.Claimed{Space: n.space, Item: n.key, Token: l.token, Until: t.m.instant(t.tick + l.ttl), Record: h.clone().fields}
}

// grant leases a record to owner with a new token and writes that on it.
// An attempt that is not a number counts as 0.
func (t *tx) grant(n name, h *head, owner, group string, ttl time.Duration) *lease {
	token, _ := strconv.ParseInt(h.fields.Get(board.FieldAttempt), 10, 64)
	token++
	h.set(board.FieldAttempt, strconv.FormatInt(token, 10))
	h.set(board.FieldOwner, owner)
	if group != "" {
		h.set(board.FieldQueue, group)
	}
	t.get(n.in(roomLease)) // nobody else may lease it meanwhile
	return t.hold(n, lease{owner: owner, token: token, group: group}, ttl)
}

// hold writes a lease that holds for a time from now on.
func (t *tx) hold(n name, l lease, ttl time.Duration) *lease {
	l.ttl = ttl.Milliseconds()
	l.until = t.tick + l.ttl
	t.put(n.in(roomLease), &l)
	return &l
}
