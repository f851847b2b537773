package etcdboard

import (
	"context"
	"time"
)

// request is what one caller wants done in a transaction.
type request struct {
	ctx context.Context
	// judge judges it against the mirror into the layer, which is then kept.
	// It is called anew when the transaction was lost to another. It reports
	// whether the request is answered then; else it waits in line.
	judge  func(t *tx) bool
	greedy bool          // it takes what it can get: it wants room in the transaction
	single bool          // it goes alone: in company it was refused
	waits  bool          // it has stood in a line for a group: what it wants came later
	began  time.Time     // when it was first looked at
	flying bool          // part of the transaction in progress; guarded by Board.mu
	dead   bool          // its caller has given up; guarded by Board.mu
	leave  func()        // takes it out of the lines it stands in; nil: out of none
	err    error         // what kept it from being done; read after done
	done   chan struct{} // closed when it is answered
}

func newRequest(ctx context.Context) request {
	return request{ctx: ctx, done: make(chan struct{})}
}

// abandon answers it, and sees to it that nobody takes it up again. It wants
// Board.mu.
func (r *request) abandon(err error) {
	if r.leave != nil {
		r.leave()
	}
	r.dead, r.err = true, err
	close(r.done)
}

// wait waits for the answer. A request whose caller has left may or may not be
// done.
func (r *request) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// submit puts requests into the queue, in order.
func (b *Board) submit(rs ...*request) error {
	for _, r := range rs {
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed()
	}
	if b.gone != nil {
		return b.gone
	}
	b.queue = append(b.queue, rs...)
	b.poke()
	return nil
}

// doAll submits requests and waits for all. It returns the first error.
func (b *Board) doAll(ctx context.Context, rs ...*request) error {
	if err := b.submit(rs...); err != nil {
		return err
	}
	var first error
	for _, r := range rs {
		if err := r.wait(ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// poke wakes the committer.
func (b *Board) poke() {
	select {
	case b.work <- struct{}{}:
	default:
	}
}
