package pebbleboard

import (
	"container/heap"
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// lease is one owner's hold on one item. It lives in memory: that it was
// there is seen at the next start from a claim log and the record's header.
type lease struct {
	o     *object
	owner string
	token int64
	until int64  // a tick; see clock
	group string // CapGroup it counts to; "" for an occupied item
	marks []board.Field
	log   *claimLog
	at    int  // place in the heap; absent: not there
	asked bool // counted and kept in memory
}

const absent = -1

// overlay writes on fields what a claim writes on the record.
func (l *lease) overlay(fields []board.Field) []board.Field {
	for _, f := range l.marks {
		fields = put(fields, f.Name, f.Value)
	}
	fields = put(fields, board.FieldAttempt, strconv.FormatInt(l.token, 10))
	fields = put(fields, board.FieldOwner, l.owner)
	if l.group != "" {
		fields = put(fields, board.FieldQueue, l.group)
	}
	return fields
}

func put(fields []board.Field, name, value string) []board.Field {
	for i := range fields {
		if fields[i].Name == name {
			fields[i].Value = value
			return fields
		}
	}
	return append(fields, board.Field{Name: name, Value: value})
}

func (l *lease) public(k *clock) board.Lease {
	return board.Lease{Space: l.o.id.space, Item: l.o.id.name, Owner: l.owner, Token: l.token, Until: k.instant(l.until)}
}

// revive makes the lease of an item that was leased in an earlier life. It
// has run out, unless its owner lives elsewhere. Claimed ones are counted at open; one of Occupy only exists
// once somebody asks.
func (c *committer) revive(o *object) error {
	fields, err := decodeFields(nil, o.body)
	if err != nil {
		return err
	}
	r := board.Record(fields)
	token, _ := strconv.ParseInt(r.Get(board.FieldAttempt), 10, 64)
	owner := text(r.Get(board.FieldOwner))
	o.lease = &lease{o: o, owner: owner, token: token, until: c.b.heldUntil(owner), at: absent}
	if !o.disk.occupied {
		o.lease.group = text(r.Get(board.FieldQueue))
	}
	return nil
}

// hold makes a new lease count.
func (c *committer) hold(l *lease) {
	l.asked = true
	if l.group == "" {
		return
	}
	c.spaceOf(l.o.id.space).Hold(l.group)
	heap.Push(&c.lapses, l)
	c.lapseMoved(l.until)
}

// dropLease makes a lease that has ended count no more.
func (c *committer) dropLease(l *lease) {
	if !l.asked {
		return
	}
	l.asked = false
	l.o.cool = c.no
	if l.group == "" {
		return
	}
	c.spaceOf(l.o.id.space).Release(l.group)
	heap.Remove(&c.lapses, l.at)
	if g := l.log; g != nil {
		if g.left--; g.left == 0 && g.written {
			c.deadLogs = append(c.deadLogs, g.no)
		}
		l.log = nil
	}
}

func (c *committer) moveLease(l *lease, until int64) {
	if !l.asked {
		c.pin(l)
	}
	l.until = until
	if l.at != absent {
		heap.Fix(&c.lapses, l.at)
		c.lapseMoved(until)
	}
}

// pin keeps an occupied item from an earlier life in memory from now on.
func (c *committer) pin(l *lease) {
	l.asked = true
	c.objects[l.o.id] = l.o
	c.touch(l.o)
}

// lapseMoved wakes who waits for leases to run out when one does earlier.
func (c *committer) lapseMoved(until int64) {
	if c.lapseWake != nil && until < c.lapseNext {
		close(c.lapseWake)
		c.lapseWake = nil
	}
}

// lapseHeap orders claimed leases by when they run out.
type lapseHeap []*lease

func (h lapseHeap) Len() int           { return len(h) }
func (h lapseHeap) Less(i, j int) bool { return h[i].until < h[j].until }
func (h lapseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *lapseHeap) Push(x any) {
	l := x.(*lease)
	l.at = len(*h)
	*h = append(*h, l)
}

func (h *lapseHeap) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	l.at = absent
	return l
}

// first returns up to limit leases that have run out, longest ago first, and
// at which tick the next does (math.MaxInt64: none is left).
func (h lapseHeap) first(k *clock, tick int64, limit int) (out []board.Lease, next int64) {
	if len(h) == 0 {
		return nil, math.MaxInt64
	}
	// A heap over places in the heap: its top is the next in order.
	todo := placeHeap{h: h, places: []int{0}}
	for len(todo.places) > 0 && len(out) < limit {
		i := todo.places[0]
		if h[i].until > tick {
			return out, h[i].until
		}
		out = append(out, h[i].public(k))
		heap.Pop(&todo)
		for k := 2*i + 1; k <= 2*i+2 && k < len(h); k++ {
			heap.Push(&todo, k)
		}
	}
	return out, math.MaxInt64
}

type placeHeap struct {
	h      lapseHeap
	places []int
}

func (p *placeHeap) Len() int           { return len(p.places) }
func (p *placeHeap) Less(i, j int) bool { return p.h[p.places[i]].until < p.h[p.places[j]].until }
func (p *placeHeap) Swap(i, j int)      { p.places[i], p.places[j] = p.places[j], p.places[i] }
func (p *placeHeap) Push(x any)         { p.places = append(p.places, x.(int)) }
func (p *placeHeap) Pop() any {
	last := len(p.places) - 1
	i := p.places[last]
	p.places = p.places[:last]
	return i
}

// Extend implements [board.Board].
func (b *Board) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	if err := board.CheckLease(ttl); err != nil {
		return nil, err
	}
	answers := make([]board.Answer, len(held))
	err := b.call(ctx, func(c *committer) (err error) {
		for i, h := range held {
			if answers[i], err = c.extend(h, owner, c.tick+ttl.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (c *committer) extend(h board.Held, owner string, until int64) (board.Answer, error) {
	o, err := c.object(h.Space, h.Item)
	if err != nil {
		return "", err
	}
	l := o.lease
	if l == nil || l.owner != owner || l.token != h.Token {
		return board.Lost, nil
	}
	c.moveLease(l, until)
	cancel, err := c.field(o, board.FieldCancel)
	if cancel != "" {
		return board.Cancelled, err
	}
	return board.Renewed, err
}

// Occupy implements [board.Board].
func (b *Board) Occupy(ctx context.Context, space board.Space, item, owner string, ttl time.Duration) (token int64, err error) {
	if err := board.CheckLease(ttl); err != nil {
		return 0, err
	}
	if owner == "" {
		return 0, domain.Invalidf("occupy %q without an owner", item)
	}
	if err := new(board.Batch).Delete(item).Check(); err != nil { // holds the key to its limits
		return 0, err
	}
	err = b.call(ctx, func(c *committer) (err error) {
		token, err = c.occupy(space, item, owner, c.tick+ttl.Milliseconds())
		return err
	})
	return token, err
}

func (c *committer) occupy(space board.Space, item, owner string, until int64) (int64, error) {
	o, err := c.object(space, item)
	if err != nil {
		return 0, err
	}
	if err := c.makeRecord(o); err != nil {
		return 0, err
	}
	switch l := o.lease; {
	case l == nil:
	case l.owner == owner:
		c.moveLease(l, until)
		return l.token, nil
	case l.until > c.tick:
		return 0, domain.Conflictf("%q is occupied by %s until %s", item, l.owner, c.b.clock.instant(l.until).Format(time.RFC3339))
	}
	c.change(o)
	c.unsetField(o, board.FieldQueue)
	attempt, err := c.field(o, board.FieldAttempt)
	if err != nil {
		return 0, err
	}
	token, _ := strconv.ParseInt(attempt, 10, 64)
	token++
	c.setField(o, board.Field{Name: board.FieldAttempt, Value: strconv.FormatInt(token, 10)})
	c.setField(o, board.Field{Name: board.FieldOwner, Value: owner})
	o.lease = &lease{o: o, owner: owner, token: token, until: until, at: absent}
	return token, nil
}

// Void implements [board.Board]. It looks through all that is in memory: it
// is called once in a node's life.
func (b *Board) Void(ctx context.Context, ownerPrefix string) error {
	return b.call(ctx, func(c *committer) error {
		for _, o := range c.objects {
			if l := o.lease; l != nil && l.until > c.tick && strings.HasPrefix(l.owner, ownerPrefix) {
				c.moveLease(l, c.tick)
			}
		}
		return nil
	})
}

// Expired implements [board.Board].
func (b *Board) Expired(ctx context.Context, limit int, wait time.Duration) ([]board.Lease, error) {
	if limit < 1 {
		return nil, domain.Invalidf("page of %d leases, want 1 or more", limit)
	}
	var out []board.Lease
	err := b.await(ctx, wait, func(int64) (l look, err error) {
		err = b.call(ctx, func(c *committer) error {
			var next int64
			out, next = c.lapses.first(&c.b.clock, c.tick, limit)
			if l.found = len(out) > 0; !l.found {
				l.in, l.wake = between(c.tick, next), c.waitLapse(next)
			}
			return nil
		})
		return l, err
	})
	return out, err
}

// waitLapse returns a channel that is closed when a lease will run out before
// next.
func (c *committer) waitLapse(next int64) <-chan struct{} {
	if c.lapseWake == nil {
		c.lapseWake, c.lapseNext = make(chan struct{}), next
	}
	c.lapseNext = max(c.lapseNext, next)
	return c.lapseWake
}

// LeaseOf implements [board.Board].
func (b *Board) LeaseOf(ctx context.Context, space board.Space, item string) (found board.Lease, ok bool, err error) {
	err = b.call(ctx, func(c *committer) error {
		o, err := c.object(space, item)
		if err != nil || o.lease == nil {
			return err
		}
		found, ok = o.lease.public(&c.b.clock), true
		return nil
	})
	return found, ok, err
}
