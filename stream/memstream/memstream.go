package memstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// Broker holds the streams.
type Broker struct {
	mu     sync.Mutex
	stores map[domain.StreamName]*store
	faults Faults
	rand   *rand.Rand
	// changed is closed and made anew when something may have come for somebody
	// who waits.
	changed chan struct{}
}

// New returns a broker whose streams are empty.
func New() *Broker {
	b := &Broker{stores: map[domain.StreamName]*store{}, changed: make(chan struct{})}
	for _, name := range domain.StreamNames {
		b.stores[name] = newStore(name)
	}
	b.Fault(Faults{})
	return b
}

// Log returns what one node has of the broker.
func (b *Broker) Log() *Log { return &Log{b: b, gone: make(chan struct{})} }

// wake has all who wait look again. The caller holds the lock.
func (b *Broker) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Log is one node's way to a [Broker].
type Log struct {
	b    *Broker
	gone chan struct{} // closed by Close
}

var _ stream.Log = (*Log)(nil)

// Open returns the log of a broker that nobody else has.
func Open() *Log { return New().Log() }

// open says whether a call may begin. The caller holds the lock.
func (l *Log) open() error {
	switch {
	case closed(l.gone):
		return errClosed
	case l.b.faults.Away:
		return errAway
	}
	return nil
}

// Publish stores messages; see [Faults] for what may become of it.
func (l *Log) Publish(ctx context.Context, messages ...stream.Message) error {
	if err := stream.ValidatePublish(messages); err != nil {
		return err
	}
	if err := l.b.travel(ctx); err != nil {
		return err
	}
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := l.open(); err != nil {
		return err
	}
	if b.chance(b.faults.Refuse) {
		return errAway
	}
	var err error
	if len(messages) > 0 && b.chance(b.faults.Unsure) {
		messages, err = messages[:1+b.rand.IntN(len(messages))], errUnsure
	}
	now := time.Now()
	for _, m := range messages {
		s := b.stores[m.Stream]
		s.put(m, now)
		if m.ID == "" && b.chance(b.faults.Double) {
			s.put(m, now)
		}
	}
	b.wake()
	return err
}

// Scan returns messages from a sequence on.
func (l *Log) Scan(ctx context.Context, name domain.StreamName, subjects []string, from uint64, limit int) ([]stream.Message, error) {
	if err := stream.ValidateFilters(subjects); err != nil {
		return nil, err
	}
	if err := stream.ValidateMost(limit); err != nil {
		return nil, err
	}
	var list []stream.Message
	err := l.with(ctx, name, func(s *store) error {
		for _, m := range s.from(from) {
			if len(list) == limit {
				break
			}
			if stream.Matches(subjects, m.Subject) {
				list = append(list, clone(m))
			}
		}
		return nil
	})
	return list, err
}

// Count is how many messages match behind a sequence.
func (l *Log) Count(ctx context.Context, name domain.StreamName, subjects []string, after uint64) (n uint64, err error) {
	if err := stream.ValidateFilters(subjects); err != nil {
		return 0, err
	}
	err = l.with(ctx, name, func(s *store) error {
		n = s.count(subjects, after+1)
		return nil
	})
	return n, err
}

// Stats says what a stream holds.
func (l *Log) Stats(ctx context.Context, name domain.StreamName) (st stream.Stats, err error) {
	err = l.with(ctx, name, func(s *store) error {
		st = s.stats()
		return nil
	})
	return st, err
}

// Check reports whether messages can be stored.
func (l *Log) Check(ctx context.Context, streams ...domain.StreamName) error {
	if len(streams) == 0 {
		streams = domain.StreamNames
	}
	for _, name := range streams {
		if _, err := l.Stats(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Drop forgets a durable consumer.
func (l *Log) Drop(ctx context.Context, name domain.StreamName, durable string) error {
	if err := stream.ValidateDurable(durable); err != nil {
		return err
	}
	return l.with(ctx, name, func(s *store) error {
		delete(s.readers, durable)
		delete(s.queues, durable)
		l.b.wake()
		return nil
	})
}

// Acked is up to where a shared consumer has ended all.
func (l *Log) Acked(ctx context.Context, name domain.StreamName, durable string) (seq, waiting uint64, there bool, err error) {
	if err := stream.ValidateDurable(durable); err != nil {
		return 0, 0, false, err
	}
	err = l.with(ctx, name, func(s *store) error {
		q := s.queues[durable]
		if q == nil {
			return nil
		}
		seq, there = max(q.next, 1)-1, true
		waiting = s.count(q.cfg.Subjects, q.next) + uint64(len(q.hands))
		for held := range q.hands {
			seq = min(seq, held-1)
		}
		return nil
	})
	return seq, waiting, there, err
}

// Trim deletes messages up to a sequence.
func (l *Log) Trim(ctx context.Context, name domain.StreamName, subject string, seq uint64) error {
	if subject != "" {
		if err := stream.ValidateFilters([]string{subject}); err != nil {
			return err
		}
	}
	return l.with(ctx, name, func(s *store) error {
		s.trim(subject, seq)
		return nil
	})
}

// with does something with a stream as it is now.
func (l *Log) with(ctx context.Context, name domain.StreamName, do func(*store) error) error {
	if err := stream.ValidateStream(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := l.open(); err != nil {
		return err
	}
	b.expire(time.Now())
	return do(b.stores[name])
}

// Durability is memory: the streams end with the process.
func (l *Log) Durability() board.Durability { return board.DurableMemory }

// Close ends the log, its readers and queues. What they had in their hands
// comes again when its time is over.
func (l *Log) Close() error {
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if !closed(l.gone) {
		close(l.gone)
		b.wake()
	}
	return nil
}

// expire gives up the hold of all workers whose time is over, and says when the
// next one's is. The caller holds the lock.
func (b *Broker) expire(now time.Time) (next time.Time) {
	for _, name := range domain.StreamNames { // in order: chance must find the same each time
		s := b.stores[name]
		for _, t := range s.expire(now) {
			b.stores[domain.WorkflowTroubles].putTrouble(t, now)
		}
		for _, q := range s.queues {
			if due := q.due(now); !due.IsZero() && (next.IsZero() || due.Before(next)) {
				next = due
			}
		}
	}
	return next
}

// wait looks until there is something, an error, or ctx ends. look is called
// with the lock held.
func (b *Broker) wait(ctx context.Context, gone <-chan struct{}, look func(now time.Time) (bool, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.mu.Lock()
		now := time.Now()
		next := b.expire(now)
		found, err := look(now)
		changed := b.changed
		b.mu.Unlock()
		if found || err != nil {
			return err
		}
		var due <-chan time.Time
		var timer *time.Timer
		if !next.IsZero() {
			timer = time.NewTimer(max(next.Sub(now), 0))
			due = timer.C
		}
		select {
		case <-due:
		case <-changed:
		case <-gone:
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// next throws the die for a Next. The caller holds the lock.
func (l *Log) next(gone <-chan struct{}) error {
	if closed(gone) {
		return errClosed
	}
	if err := l.open(); err != nil {
		return err
	}
	if l.b.chance(l.b.faults.Fail) {
		return errAway
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func errDropped(durable string) error {
	return domain.Unavailablef("consumer %s was dropped: open it again", durable)
}
