package memstream

import (
	"context"
	"sort"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// reader is one owner's hold of a durable consumer.
type reader struct {
	l    *Log
	s    *store
	c    stream.Consumer
	gone chan struct{} // closed by Close

	// Guarded by the broker's lock.
	pos   uint64   // up to where it was read
	read  []uint64 // sequences that were read and are not done
	taken bool     // another owner has it
}

// Read opens a durable consumer for its owner.
func (l *Log) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	c, err := c.Filled()
	if err != nil {
		return nil, err
	}
	var r *reader
	err = l.with(ctx, c.Stream, func(s *store) error {
		if s.queues[c.Durable] != nil {
			return domain.Invalidf("consumer %s of %s is shared by workers: it cannot be read in order", c.Durable, c.Stream)
		}
		if err := stream.ValidatePosition(c, s.last); err != nil {
			return err
		}
		if before := s.readers[c.Durable]; before != nil {
			before.taken = true
		}
		r = &reader{l: l, s: s, c: c, pos: c.After, gone: make(chan struct{})}
		s.readers[c.Durable] = r
		l.b.wake()
		return nil
	})
	if err != nil {
		return nil, err // not r: a nil *reader is no nil Reader
	}
	return r, nil
}

// held says whether it is still ours. The caller holds the lock.
func (r *reader) held() error {
	switch {
	case r.taken:
		return domain.Conflictf("consumer %s of %s: another owner has opened it", r.c.Durable, r.c.Stream)
	case r.s.readers[r.c.Durable] != r:
		return errDropped(r.c.Durable)
	}
	return nil
}

// Next returns the next messages in order.
func (r *reader) Next(ctx context.Context, most int) (list []stream.Message, err error) {
	if err := stream.ValidateMost(most); err != nil {
		return nil, err
	}
	err = r.l.b.wait(ctx, r.gone, func(time.Time) (bool, error) {
		if err := r.l.next(r.gone); err != nil {
			return false, err
		}
		if err := r.held(); err != nil {
			return false, err
		}
		for _, m := range r.s.from(r.pos + 1) {
			if len(list) == most || len(r.read) >= r.c.MaxInFlight {
				break
			}
			r.pos = m.Seq
			if stream.Matches(r.c.Subjects, m.Subject) {
				list = append(list, clone(m))
				r.read = append(r.read, m.Seq)
			}
		}
		return len(list) > 0, nil
	})
	return list, err
}

// Done frees what is dealt with. Nothing else hangs on it here: the owner keeps
// its position.
func (r *reader) Done(ctx context.Context, seq uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := r.l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := sort.Search(len(r.read), func(i int) bool { return r.read[i] > seq }); n > 0 {
		r.read = r.read[n:]
		b.wake()
	}
	if err := r.usable(); err != nil {
		return err
	}
	_, err := b.ack()
	return err
}

// usable says whether a call makes sense. The caller holds the lock.
func (r *reader) usable() error {
	if closed(r.gone) {
		return errClosed
	}
	if err := r.l.open(); err != nil {
		return err
	}
	return r.held()
}

// Pending counts what was not read.
func (r *reader) Pending(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b := r.l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := r.usable(); err != nil {
		return 0, err
	}
	return r.s.count(r.c.Subjects, r.pos+1), nil
}

// Close ends the reader. The consumer stays for the next owner.
func (r *reader) Close() error {
	b := r.l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if !closed(r.gone) {
		close(r.gone)
	}
	return nil
}
