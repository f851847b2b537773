package memstream

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// queue is a durable consumer that workers share, guarded by the broker's lock.
type queue struct {
	s     *store
	cfg   stream.Shared
	next  uint64           // the first that nobody got yet
	hands map[uint64]*hand // what was given out and is not done with
}

// hand is a message that was given out.
type hand struct {
	deliveries int
	due        time.Time // when it comes again
	waits      bool      // it may come again at once
}

// expire gives up what was given out too often, and lets the rest come again.
func (q *queue) expire(now time.Time) (troubles []stream.Trouble) {
	for _, seq := range slices.Sorted(maps.Keys(q.hands)) {
		h := q.hands[seq]
		if h.waits || h.due.After(now) {
			continue
		}
		if h.deliveries >= q.cfg.MaxDeliver {
			troubles = append(troubles, q.trouble(seq, h, ""))
			delete(q.hands, seq)
			continue
		}
		h.waits = true
	}
	return troubles
}

// due is when the first of those in hands comes again, after now.
func (q *queue) due(now time.Time) (first time.Time) {
	for _, h := range q.hands {
		if !h.waits && h.due.After(now) && (first.IsZero() || h.due.Before(first)) {
			first = h.due
		}
	}
	return first
}

// forget lets go of what is no longer in the stream.
func (q *queue) forget() {
	for seq := range q.hands {
		if _, found := q.s.get(seq); !found {
			delete(q.hands, seq)
		}
	}
}

// take gives out up to most messages, those first that come again.
func (q *queue) take(l *Log, most int, now time.Time) (list []stream.Delivery) {
	b := l.b
	give := func(m stream.Message, h *hand) {
		h.deliveries++
		h.waits = false
		h.due = now.Add(q.cfg.AckWait)
		if b.chance(b.faults.Redeliver) {
			h.due = now.Add(time.Duration(b.rand.Int64N(int64(q.cfg.AckWait)/10 + 1)))
		}
		list = append(list, &delivery{l: l, q: q, m: m, deliveries: h.deliveries})
	}
	for _, seq := range slices.Sorted(maps.Keys(q.hands)) {
		if h := q.hands[seq]; h.waits && len(list) < most {
			m, _ := q.s.get(seq) // it is there: see forget
			give(m, h)
		}
	}
	for _, m := range q.s.from(q.next) {
		if len(list) == most || len(q.hands) >= q.cfg.MaxInFlight {
			break
		}
		q.next = m.Seq + 1
		if stream.Matches(q.cfg.Subjects, m.Subject) {
			h := &hand{}
			q.hands[m.Seq] = h
			give(clone(m), h)
		}
	}
	return list
}

func (q *queue) trouble(seq uint64, h *hand, reason string) stream.Trouble {
	return stream.Trouble{Stream: q.s.name, Consumer: q.cfg.Durable, Seq: seq, Deliveries: h.deliveries, Reason: reason}
}

// worker is one node's end of a queue.
type worker struct {
	l    *Log
	q    *queue
	gone chan struct{} // closed by Close
}

// Work opens a shared consumer. One that is there already gets the new
// settings.
func (l *Log) Work(ctx context.Context, c stream.Shared) (stream.Queue, error) {
	c, err := c.Filled()
	if err != nil {
		return nil, err
	}
	var w *worker
	err = l.with(ctx, c.Stream, func(s *store) error {
		if s.readers[c.Durable] != nil {
			return domain.Invalidf("consumer %s of %s is read in order by one owner: it cannot be shared", c.Durable, c.Stream)
		}
		q := s.queues[c.Durable]
		if q == nil {
			q = &queue{s: s, hands: map[uint64]*hand{}}
			s.queues[c.Durable] = q
		}
		q.cfg = c
		w = &worker{l: l, q: q, gone: make(chan struct{})}
		l.b.wake()
		return nil
	})
	if err != nil {
		return nil, err // not w: a nil *worker is no nil Queue
	}
	return w, nil
}

// usable says whether a call makes sense. The caller holds the lock.
func (w *worker) usable() error {
	if closed(w.gone) {
		return errClosed
	}
	if err := w.l.open(); err != nil {
		return err
	}
	if w.q.s.queues[w.q.cfg.Durable] != w.q {
		return errDropped(w.q.cfg.Durable)
	}
	return nil
}

// Next returns the next deliveries.
func (w *worker) Next(ctx context.Context, most int) (list []stream.Delivery, err error) {
	if err := stream.ValidateMost(most); err != nil {
		return nil, err
	}
	b := w.l.b
	err = b.wait(ctx, w.gone, func(now time.Time) (bool, error) {
		if err := w.l.next(w.gone); err != nil {
			return false, err
		}
		if err := w.usable(); err != nil {
			return false, err
		}
		list = w.q.take(w.l, most, now)
		if len(list) > 0 {
			b.wake() // those who wait must know when these come again
		}
		return len(list) > 0, nil
	})
	return list, err
}

// Pending counts what nobody got, and what is in hands.
func (w *worker) Pending(ctx context.Context) (pending, inFlight uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	b := w.l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, 0, err
	}
	b.expire(time.Now())
	return w.q.s.count(w.q.cfg.Subjects, w.q.next), uint64(len(w.q.hands)), nil
}

// Close ends this node's part in the work.
func (w *worker) Close() error {
	b := w.l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if !closed(w.gone) {
		close(w.gone)
	}
	return nil
}

// delivery is a message in a worker's hands. Like a broker, it lets a late
// worker end what another holds by now: whoever ends it had it.
type delivery struct {
	l          *Log
	q          *queue
	m          stream.Message
	deliveries int
}

func (d *delivery) Message() stream.Message { return d.m }
func (d *delivery) Deliveries() int         { return d.deliveries }

// Ack ends it.
func (d *delivery) Ack(ctx context.Context) error {
	return d.tell(ctx, func(*hand, time.Time) { delete(d.q.hands, d.m.Seq) })
}

// Nak gives it back.
func (d *delivery) Nak(ctx context.Context, delay time.Duration) error {
	return d.tell(ctx, func(h *hand, now time.Time) { h.due, h.waits = now.Add(max(delay, 0)), false })
}

// Progress keeps it.
func (d *delivery) Progress(ctx context.Context) error {
	return d.tell(ctx, func(h *hand, now time.Time) { h.due, h.waits = now.Add(d.q.cfg.AckWait), false })
}

// Term gives it up.
func (d *delivery) Term(ctx context.Context, reason string) error {
	return d.tell(ctx, func(h *hand, now time.Time) {
		t := d.q.trouble(d.m.Seq, h, stream.PlainReason(reason))
		delete(d.q.hands, d.m.Seq)
		d.l.b.stores[domain.WorkflowTroubles].putTrouble(t, now)
	})
}

// tell changes what the broker knows of it, if it is still in hands.
func (d *delivery) tell(ctx context.Context, change func(h *hand, now time.Time)) error {
	b := d.l.b
	if err := b.travel(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := d.l.open(); err != nil {
		return err
	}
	heard, err := b.ack()
	if h := d.q.hands[d.m.Seq]; heard && h != nil {
		now := time.Now()
		change(h, now)
		b.expire(now)
		b.wake()
	}
	return err
}
