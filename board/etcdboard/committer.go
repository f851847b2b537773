package etcdboard

import (
	"context"
	"math/rand/v2"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcd allows 128 comparisons and 128 operations in a transaction
// (--max-txn-ops) and 1.5 MiB in a request (--max-request-bytes). Some are left
// for our own.
const (
	maxReads  = 120
	maxWrites = 100
	maxBytes  = 1 << 20
)

// patience is how many races with other nodes a request may lose before it is
// done under the gate, where none can be lost.
const patience = 6

// commitLoop is the committer: it makes one transaction after the other of
// what callers want, until the board is closed and the queue empty.
func (b *Board) commitLoop() {
	defer b.end()
	for {
		t, rs, ok := b.gather()
		if !ok {
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
// is left to do.
func (b *Board) gather() (*tx, []*request, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := newTx(b.mirror)
	var rs []*request
	rs = b.gatherWaiters(t, rs)
	for len(b.queue) > 0 {
		r := b.queue[0]
		if r.dead || r.flying {
			b.pop() // given up, or served from its line just now
			continue
		}
		if err := r.ctx.Err(); err != nil {
			r.abandon(err)
			b.pop()
			continue
		}
		if len(rs) > 0 && r.greedy && !t.roomy() {
			break
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
		t.gate = t.gate || r.lost >= patience
		if !t.fits() {
			t.gate = true
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
	return len(t.kept.writes) < maxWrites/2 && len(t.kept.reads) < maxReads/2 && t.bytes < maxBytes/2
}

// run makes the transaction, and answers those whose requests it has done.
func (b *Board) run(t *tx, rs []*request) {
	if t.gate {
		b.runAlone(t, rs)
		return
	}
	won, rev, err := b.transact(t)
	b.conclude(t, rs, won, rev, err)
}

// conclude does what follows from a transaction.
func (b *Board) conclude(t *tx, rs []*request, won bool, rev int64, err error) {
	switch {
	case err != nil:
		b.settle(t, true)
		for _, r := range rs {
			b.finish(r, err)
		}
	case won:
		for _, r := range rs {
			b.finish(r, nil)
		}
		// The next is judged by what this one has made.
		_ = b.reach(b.closing, rev)
		b.settle(t, false)
		b.races = 0
	default:
		b.settle(t, true)
		b.putBack(rs)
		_ = b.reach(b.closing, rev)
		b.pause()
	}
}

// finish answers a request that was part of a transaction.
func (b *Board) finish(r *request, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.flying = false
	r.abandon(err)
}

// putBack puts requests that lost a race back to the front of the queue.
func (b *Board) putBack(rs []*request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range rs {
		r.flying = false
		r.lost++
	}
	b.queue = append(rs, b.queue...)
}

// pause waits a little after a lost race, longer after many: nodes that want
// the same thing must not run into each other again and again.
func (b *Board) pause() {
	b.races = min(b.races+1, 5)
	d := time.Duration(rand.Int64N(int64(500*time.Microsecond) << b.races))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.closing.Done():
	}
	b.awaitGate()
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

// transact makes one transaction of what was kept. It reports whether nothing
// of what was read had changed, and the revision at which that was seen.
func (b *Board) transact(t *tx) (won bool, rev int64, err error) {
	if len(t.kept.writes) == 0 && len(t.kept.reads) == 0 {
		return true, 0, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	cmps := make([]clientv3.Cmp, 0, len(t.kept.reads)+1)
	cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(b.prefix+gateName), "=", 0))
	for key, mod := range t.kept.reads {
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(b.prefix+key), "=", mod))
	}
	resp, err := b.client.Txn(ctx).If(cmps...).Then(b.ops(t)...).Else(b.getHead()).Commit()
	if err != nil {
		return false, 0, b.translate(err)
	}
	if resp.Succeeded && len(t.kept.writes) > 0 {
		return true, resp.Header.Revision, nil
	}
	return resp.Succeeded, headRevision(resp), nil
}

// ops are the writes, and that of the head; without any, a read of the head,
// or else etcd would compare with what may be old.
func (b *Board) ops(t *tx) []clientv3.Op {
	if len(t.kept.writes) == 0 {
		return []clientv3.Op{b.getHead()}
	}
	ops := make([]clientv3.Op, 0, len(t.kept.writes)+1)
	for key, v := range t.kept.writes {
		if v == nil {
			ops = append(ops, clientv3.OpDelete(b.prefix+key))
		} else {
			ops = append(ops, clientv3.OpPut(b.prefix+key, string(encode(v))))
		}
	}
	return append(ops, b.putHead())
}

func (b *Board) getHead() clientv3.Op { return clientv3.OpGet(b.prefix + headName) }
func (b *Board) putHead() clientv3.Op { return clientv3.OpPut(b.prefix+headName, b.name) }

// headRevision is the revision of the last transaction of any node, as a
// response with a read of the head has it.
func headRevision(resp *clientv3.TxnResponse) int64 {
	for _, r := range resp.Responses {
		if get := r.GetResponseRange(); get != nil && len(get.Kvs) > 0 {
			return get.Kvs[0].ModRevision
		}
	}
	return 0
}
