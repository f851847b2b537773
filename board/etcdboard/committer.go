package etcdboard

import (
	"cmp"
	"context"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/domain"
)

// etcd allows 128 comparisons and 128 operations in a transaction
// (--max-txn-ops) and 1.5 MiB in a request (--max-request-bytes). Some are left
// for our own.
const (
	maxReads  = 120
	maxWrites = 100
	maxBytes  = 1 << 20
)

// maxAlone is how many writes of several callers go into a transaction of a
// node that has its turn.
const maxAlone = 1000

// tries is for how many times Config.Answer a request is tried that loses races.
const tries = 3

// commitLoop is the committer: it makes one transaction after the other of
// what callers want, until the board is closed and the queue empty.
func (b *Board) commitLoop() {
	defer b.end()
	for {
		if b.place != 0 {
			b.runAlone() // others wait for its turn to come and go
			continue
		}
		t, rs, ok := b.gather(false)
		if !ok {
			b.leave()
			return
		}
		if len(rs) == 0 && len(t.kept.writes) == 0 {
			select {
			case <-b.work:
			case <-b.closing.Done():
			}
			continue
		}
		b.run(t, rs)
	}
}

// gather judges as many requests as go into one transaction, first of those
// who wait for a claim. It returns false when the board is closed and nothing
// is left to do, or took too long.
func (b *Board) gather(alone bool) (*tx, []*request, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := newTx(b.mirror)
	t.alone = alone
	var rs []*request
	rs = b.gatherWaiters(t, rs)
	late := b.closed && time.Since(b.closedAt) > b.answer
	for len(b.queue) > 0 {
		r := b.queue[0]
		if r.dead || r.flying {
			b.pop() // given up, or served from its line just now
			continue
		}
		if err := r.ctx.Err(); err != nil || late {
			r.abandon(cmp.Or(err, errClosed()))
			b.pop()
			continue
		}
		if len(rs) > 0 && (r.single || r.greedy && !t.roomy()) {
			break
		}
		if r.began.IsZero() {
			r.began = time.Now()
		}
		answered := r.judge(t)
		if len(rs) > 0 && !t.fits() {
			t.discard() // no claim: those take only what fits
			break
		}
		t.keep()
		b.pop()
		if answered {
			r.flying = true
			rs = append(rs, r)
		}
		if t.large = !t.fits(); t.large || r.single {
			break
		}
	}
	return t, rs, len(rs) > 0 || len(t.kept.writes) > 0 || !b.closed
}

func (b *Board) pop() {
	b.queue[0] = nil
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
}

// gatherWaiters serves those who stand in line for groups that have got
// something.
func (b *Board) gatherWaiters(t *tx, rs []*request) []*request {
	for g := range b.fed {
		for el := g.waiters.Front(); el != nil && g.Any(); el = el.Next() {
			w := el.Value.(*waiter)
			if w.flying {
				continue // it stands in this line twice, or was served from another
			}
			if !t.roomy() {
				return rs
			}
			if w.judge(t) {
				w.flying = true
				rs = append(rs, &w.request)
			}
			t.keep()
		}
		delete(b.fed, g)
	}
	return rs
}

// roomy reports whether there is room for a claim of some items.
func (t *tx) roomy() bool {
	writes, reads := t.most()
	return len(t.kept.writes) < writes/2 && len(t.kept.reads) < reads/2 && t.bytes < maxBytes/2
}

// run makes the transaction, and answers those whose requests it has done. Who
// has lost a race stands in line for the next: so none is lost twice.
func (b *Board) run(t *tx, rs []*request) {
	crowded := b.crowded()
	if t.large || b.raced || crowded {
		b.settle(t, true)
		b.putBack(rs)
		if !crowded || !onlyWait(rs) || !b.letPass() {
			b.letBy = time.Time{}
			b.runAlone()
		}
		return
	}
	b.letBy = time.Time{}
	cmps := make([]clientv3.Cmp, 0, len(t.kept.reads)+2)
	cmps = append(cmps, b.emptyLine())
	for key, mod := range t.kept.reads {
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(b.prefix+key), "=", mod))
	}
	var what outcome
	var rev int64
	var err error
	switch {
	case len(t.kept.writes) > 0:
		what, rev, err = b.transact(cmps, b.ops(t))
	case len(t.kept.reads) > 0:
		what, rev, err = b.look(cmps)
	}
	b.conclude(t, rs, what, rev, err)
}

// shortWait is how long claims that wait let others in line go before them.
const shortWait = 5 * time.Millisecond

// onlyWait reports whether all of it is claims that wait already.
func onlyWait(rs []*request) bool {
	return !slices.ContainsFunc(rs, func(r *request) bool { return !r.waits })
}

// letPass waits for the line to become empty, for a short time in all. What is
// wanted by claims alone is often gone by then: all nodes hear of each item, and
// one takes it. It returns false when they have waited enough.
func (b *Board) letPass() bool {
	if b.letBy.IsZero() {
		b.letBy = time.Now().Add(shortWait)
	}
	b.mu.Lock()
	moved := b.moved.wait()
	b.mu.Unlock()
	left := time.Until(b.letBy)
	if left <= 0 || !b.crowded() {
		return left > 0
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-moved:
	case <-b.work:
	case <-timer.C:
	}
	return true
}

// crowded reports whether others stand in line.
func (b *Board) crowded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mirror.line.first != 0
}

// conclude does what follows from a transaction.
func (b *Board) conclude(t *tx, rs []*request, what outcome, rev int64, err error) {
	b.raced = what == lost
	switch {
	case what == won:
		for _, r := range rs {
			b.finish(r, nil)
		}
		_ = b.reach(context.Background(), rev) // the next is judged by what this one has made
		b.settle(t, false)
	case what == lost:
		b.settle(t, true)
		b.again(rs)
		_ = b.reach(context.Background(), rev)
	case what == refused && len(rs) > 1:
		// One may be to blame for all.
		b.settle(t, true)
		for _, r := range rs {
			r.single = true
		}
		b.putBack(rs)
	default:
		b.settle(t, true)
		for _, r := range rs {
			b.finish(r, err)
		}
	}
}

// finish answers a request that was part of a transaction.
func (b *Board) finish(r *request, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.flying = false
	r.abandon(err)
}

// again has requests tried again that lost a race, unless they have for too long.
func (b *Board) again(rs []*request) {
	keep := rs[:0]
	for _, r := range rs {
		if time.Since(r.began) < tries*b.answer {
			keep = append(keep, r)
			continue
		}
		b.finish(r, domain.Unavailablef("etcd at %s is busy: other nodes were first for %v", b.addr, tries*b.answer))
	}
	b.putBack(keep)
}

// putBack puts requests back to the front of the queue.
func (b *Board) putBack(rs []*request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range rs {
		r.flying = false
	}
	b.queue = append(rs, b.queue...)
}

// settle takes turns back when nothing came of them; else it only ends
// counting them by hand, because now the mirror does.
func (b *Board) settle(t *tx, undo bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range t.given {
		g.turn.Space.Release(g.group)
		if undo {
			g.turn.Undo(1)
		}
	}
	for _, g := range t.given {
		for _, name := range g.turn.Space.Unpark() {
			b.feed(b.mirror.groups[name])
		}
	}
	t.given = nil
}

// leave takes away what the board has for itself in etcd.
func (b *Board) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), b.answer/5)
	defer cancel()
	_, _ = b.client.Delete(ctx, b.idKey()) // or whoever opens a board does it a day later
}
