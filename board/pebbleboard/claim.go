package pebbleboard

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/turn"
)

// claimer is one Claim, which may be waiting in the lines of its groups.
type claimer struct {
	ask   board.Ask
	got   []board.Claimed
	err   error
	r     *request
	lines []*group
}

// Claim implements [board.Board].
func (b *Board) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	if err := ask.Check(); err != nil {
		return nil, err
	}
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	w := &claimer{ask: ask}
	w.r = newRequest()
	w.r.claim = w
	b.post(w.r)
	if ask.Wait <= 0 {
		if err := b.wait(ctx, w.r); err != nil {
			return nil, err
		}
		return w.got, w.err
	}
	return b.waitClaim(ctx, w)
}

// waitClaim waits for items. One that gives up tells the committer so, and
// takes what it was given in the last moment: nothing leased is lost.
func (b *Board) waitClaim(ctx context.Context, w *claimer) ([]board.Claimed, error) {
	timer := time.NewTimer(w.ask.Wait)
	defer timer.Stop()
	var cause error
	select {
	case <-w.r.done:
		return w.got, w.err
	case <-timer.C:
	case <-ctx.Done():
		cause = ctx.Err()
	case <-b.closing:
		cause = errClosed()
	case <-b.down:
		return nil, b.failure()
	}
	b.post(&request{call: func(c *committer) error { return c.giveUp(w) }})
	select {
	case <-w.r.done:
		if len(w.got) > 0 || w.err != nil {
			return w.got, w.err
		}
		return nil, cause
	case <-b.down:
		return nil, b.failure()
	}
}

func (c *committer) giveUp(w *claimer) error {
	if w.lines != nil {
		w.leave()
		c.answerSoon(w.r)
	}
	return nil
}

func (w *claimer) leave() {
	for _, g := range w.lines {
		g.waiters = slices.DeleteFunc(g.waiters, func(o *claimer) bool { return o == w })
	}
	w.lines = nil
}

// serveClaim answers a claim, or has it wait.
func (c *committer) serveClaim(w *claimer) {
	for _, q := range w.ask.Queues {
		if g := c.groups[q.Group()]; g != nil {
			g.Charge(w.ask.Charges)
		}
	}
	w.got, w.err = c.claim(&w.ask)
	if len(w.got) > 0 || w.err != nil || w.ask.Wait <= 0 {
		c.answerClaim(w)
		return
	}
	for _, q := range w.ask.Queues {
		if g := c.group(q.Group()); !slices.Contains(w.lines, g) {
			g.waiters = append(g.waiters, w)
			w.lines = append(w.lines, g)
		}
	}
}

// answerClaim answers one that has waited long enough.
func (c *committer) answerClaim(w *claimer) {
	if w.ask.Firm && len(w.got) > 0 {
		c.late = append(c.late, w.r)
	} else {
		c.answerSoon(w.r)
	}
}

// claimLog is what one Claim leaves on disk instead of writing every record:
// who claimed what, and what it marked. It goes when all is released.
type claimLog struct {
	no      uint64
	left    int // leases of it that have not ended
	written bool
	body    []byte
	items   int
}

// claiming is one Claim at work.
type claiming struct {
	ask   *board.Ask
	marks []board.Field // ask.Mark and ask.Stamp
	log   *claimLog
	out   []board.Claimed
	slab  []board.Field // room for the records handed out
}

// claim takes what there is.
func (c *committer) claim(ask *board.Ask) ([]board.Claimed, error) {
	k := claiming{ask: ask, marks: ask.Mark}
	if len(ask.Stamp) > 0 {
		k.marks = slices.Concat(ask.Mark, ask.Stamped(c.now))
	}
	var err error
	for _, q := range ask.Queues {
		if g := c.groups[q.Group()]; g != nil {
			err = c.takeTurns(&k, g, q)
		}
		if len(k.out) == ask.Max || err != nil {
			break
		}
	}
	if k.log != nil && k.log.left > 0 {
		c.logs = append(c.logs, k.log)
	}
	if len(k.out) > 0 {
		err = nil // what was taken is the claimer's; the next claim meets the error again
	}
	return k.out, err
}

// turnItems is how many items one space gives in a turn, of n that are asked
// for: more than one so that a large claim does not touch every space's queue.
func turnItems(n int) int { return max(1, n/16) }

// takeTurns takes items from the spaces whose turn it is.
func (c *committer) takeTurns(k *claiming, g *group, q board.Queue) error {
	return g.Take(k.ask.Max-len(k.out), turnItems(k.ask.Max), func(t *turn.Turn, n int) (int, error) {
		return c.takeFrom(k, t, q, n)
	})
}

// takeFrom leases up to n items of one space, and drops what cannot be leased.
func (c *committer) takeFrom(k *claiming, t *turn.Turn, q board.Queue, n int) (got int, err error) {
	if !k.ask.Wants(t.Space.ID) {
		return 0, nil
	}
	for got < n {
		name := t.Oldest(&k.ask.Aging, q.Lists, func(list string) (int64, bool) { return c.queuedAt(t.Space.ID, list, k.ask) })
		if name == "" {
			break
		}
		o, err := c.settled(t.Space.ID, name)
		if err != nil {
			return got, err
		}
		more, err := c.takeFromList(k, t, o, 1, 1)
		if got += more; err != nil {
			return got, err
		}
	}
	if got == n {
		return got, nil
	}
	for _, name := range q.Lists {
		if !t.Has(name) {
			continue
		}
		o, err := c.settled(t.Space.ID, name)
		if err != nil {
			return got, err
		}
		if o.kind != kindList { // its time has just run out
			c.account(t.Space.ID, name, false)
			continue
		}
		more, err := c.takeFromList(k, t, o, n-got, math.MaxInt)
		if got += more; got == n || err != nil {
			return got, err
		}
	}
	return got, nil
}

// queuedAt is when the next item of a queue was queued. What cannot be read has only
// come now: who takes it meets the error.
func (c *committer) queuedAt(s board.Space, list string, ask *board.Ask) (ms int64, some bool) {
	queue, err := c.settled(s, list)
	if err != nil || queue.kind != kindList {
		return 0, false
	}
	if c.fill(queue.list) != nil {
		return c.now, true
	}
	item := board.Named(list, queue.list.window.at(queue.list.window.n-1))
	if item == "" {
		return c.now, true
	}
	o, err := c.claimed(s, item)
	if err != nil || o.kind != kindRecord {
		return c.now, true
	}
	return ask.Aging.Queued(c.now, func(name string) string {
		v, err := c.field(o, name)
		if err != nil {
			return ""
		}
		return v
	}), true
}

// takeFromList leases up to n items of a list, of as many as are to be tried.
func (c *committer) takeFromList(k *claiming, t *turn.Turn, o *object, n, tries int) (got int, err error) {
	l, before := o.list, o.list.len()
	for ; got < n && tries > 0 && l.len() > 0 && err == nil; tries-- {
		var leased bool
		leased, err = c.takeItem(k, t, o)
		if leased {
			got++
		}
	}
	if l.len() < before {
		c.mark(o)
		c.tell(o.id)
	}
	if l.len() == 0 {
		c.gone = append(c.gone, l.leave())
		o.kind, o.list, o.expires = kindNone, nil, 0
		c.account(t.Space.ID, o.id.name, false)
		return got, err
	}
	c.fetchAhead(o)
	return got, err
}

// takeItem takes the next item off a queue, and leases it if it can be leased.
func (c *committer) takeItem(k *claiming, t *turn.Turn, queue *object) (leased bool, err error) {
	l := queue.list
	if err := c.fill(l); err != nil {
		return false, err
	}
	item := board.Named(queue.id.name, l.window.at(l.window.n-1))
	o, err := c.claimable(t.Space.ID, item, k.ask.Skip)
	if err != nil {
		return false, err
	}
	if o != nil {
		if err := c.lease(k, t, o); err != nil {
			return false, err
		}
	}
	l.pop()
	return o != nil, nil
}

// claimable returns the record to lease, or nil when the item is to be
// dropped: it is leased, is to be skipped, or names no record.
func (c *committer) claimable(s board.Space, item string, skip board.Match) (*object, error) {
	if item == "" {
		return nil, nil
	}
	o, err := c.claimed(s, item)
	if err != nil || o.lease != nil || o.check(kindRecord) != nil {
		return nil, err
	}
	if skip.Field == "" {
		return o, nil
	}
	v, err := c.field(o, skip.Field)
	if err != nil || slices.Contains(skip.Values, v) {
		return nil, err
	}
	return o, nil
}

// lease leases a record. It is not written: the claim log says it all, unless
// the group writes the record anyway or there is none yet.
func (c *committer) lease(k *claiming, t *turn.Turn, o *object) error {
	fresh := o.kind == kindNone
	rec, err := c.copyRecord(k, o)
	if err != nil {
		return err
	}
	token, _ := strconv.ParseInt(rec.Get(board.FieldAttempt), 10, 64)
	l := &lease{
		o: o, owner: k.ask.Owner, token: token + 1, until: c.tick + k.ask.Lease.Milliseconds(),
		group: t.CapGroup(), marks: k.marks, at: absent,
	}
	rec = l.overlay(rec)
	o.kind, o.lease, o.overlaid = kindRecord, l, true
	c.hold(l)
	if fresh || o.dirty == c.no {
		if !o.open {
			o.fields, o.open = c.fieldBuf(), true
		}
		o.setAll(rec)
		c.mark(o)
	} else if c.closeFields(o); o.open { // a large one stays open
		o.setAll(rec)
		c.hotter = append(c.hotter, o)
	} else {
		c.hotter = append(c.hotter, o)
	}
	c.logClaim(k, l)
	c.tell(o.id)
	k.out = append(k.out, board.Claimed{Space: o.id.space, Item: o.id.name, Token: l.token, Until: time.Now().Add(k.ask.Lease), Record: rec})
	return nil
}

// copyRecord returns the record's fields in room of the claimer's own.
func (c *committer) copyRecord(k *claiming, o *object) (rec board.Record, err error) {
	const room = 32
	if cap(k.slab)-len(k.slab) < room {
		k.slab = make([]board.Field, 0, room*min(16, k.ask.Max-len(k.out)))
	}
	base := len(k.slab)
	dst := k.slab[base:base:cap(k.slab)]
	if o.open {
		dst = append(dst, o.fields...)
	} else if dst, err = decodeFields(dst, o.body); err != nil {
		return nil, c.b.readError(err)
	}
	if size := len(dst) + len(k.marks) + 3; size <= cap(dst) && cap(dst) == cap(k.slab)-base {
		k.slab = k.slab[:base+size]
		dst = dst[:len(dst):size]
	}
	return dst, nil
}

// logClaim enters a lease into the log of its claim.
func (c *committer) logClaim(k *claiming, l *lease) {
	if k.log == nil {
		k.log = &claimLog{no: c.number()}
		b := appendText(nil, l.owner)
		k.log.body = appendFields(b, l.marks)
	}
	log := k.log
	l.log = log
	log.left++
	log.items++
	log.body = binary.AppendUvarint(log.body, uint64(l.o.id.space))
	log.body = appendText(log.body, l.o.id.name)
	log.body = appendText(log.body, l.group)
	log.body = binary.AppendVarint(log.body, l.token)
}

// writeLogs writes the logs of the group's claims, and removes those of which
// nothing is held any more.
func (c *committer) writeLogs() {
	for _, log := range c.logs {
		if log.left > 0 {
			c.keyBuf = binary.BigEndian.AppendUint64(append(c.keyBuf[:0], nsClaims), log.no)
			c.valBuf = binary.AppendUvarint(c.valBuf[:0], c.no)
			c.valBuf = append(c.valBuf, log.body...)
			c.set(c.keyBuf, c.valBuf)
			log.written = true
		}
		log.body = nil
	}
	c.logs = c.logs[:0]
	for _, no := range c.deadLogs {
		c.keyBuf = binary.BigEndian.AppendUint64(append(c.keyBuf[:0], nsClaims), no)
		c.fatal(c.batch.SingleDelete(c.keyBuf, nil))
	}
	c.deadLogs = c.deadLogs[:0]
}
