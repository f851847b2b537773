package pebbleboard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// request is one call on its way through the committer. It has one of
// batches, claim and call.
type request struct {
	batches []board.Batch
	errs    []error // of batches, one each
	applied int     // how many batches are
	absent  []bool  // batches whose first guard's key was found absent beforehand
	since   uint64  // by a look at the store with at least this group in it
	claim   *claimer
	call    func(*committer) error

	err   error
	state atomic.Int32
	done  chan struct{} // receives once, when answered; nil: nobody waits
}

// States of a request: the committer takes it, or its caller gives it up.
const (
	waiting int32 = iota
	taken
	abandoned
)

func newRequest() *request { return &request{done: make(chan struct{}, 1)} }

// take begins with a request and reports whether its caller still wants it.
func (r *request) take() bool {
	return r.state.CompareAndSwap(waiting, taken) || r.state.Load() == taken
}

func (r *request) answer() {
	if r.done != nil {
		r.done <- struct{}{}
	}
}

// requests are those that wait for the committer.
type requests struct {
	mu     sync.Mutex
	list   []*request
	closed bool
	wake   chan struct{} // buffered 1
}

func (q *requests) post(r *request) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	q.list = append(q.list, r)
	first := len(q.list) == 1
	q.mu.Unlock()
	if first {
		q.signal()
	}
}

func (q *requests) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for requests and returns all of them; spare is room for the next
// ones. It returns false once the queue is closed and empty.
func (q *requests) take(spare []*request) ([]*request, bool) {
	for {
		q.mu.Lock()
		list, closed := q.list, q.closed
		if len(list) > 0 {
			q.list = spare
			q.mu.Unlock()
			return list, true
		}
		q.mu.Unlock()
		if closed {
			return nil, false
		}
		<-q.wake
	}
}

func (q *requests) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

func (b *Board) post(r *request) { b.queue.post(r) }

// wait waits for the answer. A call whose context ends before the committer
// has begun with it is given up, and was not applied.
func (b *Board) wait(ctx context.Context, r *request) error {
	select {
	case <-r.done:
		return r.err
	case <-b.down:
		return b.failure()
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(waiting, abandoned) {
		return ctx.Err()
	}
	select {
	case <-r.done:
		return r.err
	case <-b.down:
		return b.failure()
	}
}

// call runs f in the committer. What it changes is applied when call returns,
// not durable.
func (b *Board) call(ctx context.Context, f func(*committer) error) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.leave()
	r := newRequest()
	r.call = f
	b.post(r)
	return b.wait(ctx, r)
}

// Commit implements [board.Board].
func (b *Board) Commit(ctx context.Context, batch board.Batch) error {
	var errs [1]error
	if err := b.commitAll(ctx, []board.Batch{batch}, errs[:]); err != nil {
		return err
	}
	return errs[0]
}

// CommitEach implements [board.Board].
func (b *Board) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	if len(batches) == 0 {
		return errs
	}
	if err := b.commitAll(ctx, batches, errs); err != nil {
		// A new list: a committer that was at it when the board stopped may
		// still write into the other, and that it applied a batch is no answer.
		errs = make([]error, len(batches))
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

// commitAll checks the batches here, so that the committer need not, and has
// the good ones applied.
func (b *Board) commitAll(ctx context.Context, batches []board.Batch, errs []error) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.leave()
	r := newRequest()
	r.batches, r.errs = batches, errs
	for i := range batches {
		errs[i] = batches[i].Check()
	}
	b.lookAhead(r)
	b.post(r)
	return b.wait(ctx, r)
}

// enter begins a call. The caller calls leave when it is over.
//
// Errors: the context's own, [domain.ErrUnavailable] once closed or failed.
func (b *Board) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.users.Add(1) < 0 {
		b.leave()
		return errClosed()
	}
	if b.stopped() {
		b.leave()
		return b.failure()
	}
	return nil
}

// shut is taken off the number of users by Close.
const shut = -1 << 40

func (b *Board) leave() {
	if b.users.Add(-1) == shut {
		b.idleOnce.Do(func() { close(b.idle) })
	}
}

func errClosed() error { return domain.Unavailablef("board is closed") }

// look is what one look at the state found.
type look struct {
	found bool
	in    time.Duration   // look again after so long, at the latest
	wake  <-chan struct{} // closed when looking again is worth it before that
	end   func()          // ends the look, if not nil
}

// lookAgain bounds how long nobody looks at the clock: it may be set on meanwhile.
const lookAgain = 5 * time.Second

// between is the time from one instant, in milliseconds, to another, or lookAgain.
func between(now, then int64) time.Duration {
	if then-now >= lookAgain.Milliseconds() {
		return lookAgain
	}
	return time.Duration(max(then-now, 0)) * time.Millisecond
}

// await looks until something is found, at most for wait.
func (b *Board) await(ctx context.Context, wait time.Duration, f func(now int64) (look, error)) error {
	var deadline <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		deadline = t.C
	}
	for last := wait <= 0; ; {
		if err := b.enter(ctx); err != nil {
			return err
		}
		l, err := f(b.clock.now())
		b.leave()
		if err == nil && !l.found && !last {
			last, err = b.sleep(ctx, &l, deadline)
		} else {
			last = true
		}
		if l.end != nil {
			l.end()
		}
		if err != nil || last && (l.found || wait <= 0) {
			return err
		}
		if last { // one more look: something may have come with the deadline
			wait = 0
		}
	}
}

// sleep waits until looking again is worth it. It returns true at the deadline.
func (b *Board) sleep(ctx context.Context, l *look, deadline <-chan time.Time) (bool, error) {
	due := time.NewTimer(l.in)
	defer due.Stop()
	select {
	case <-due.C:
	case <-l.wake:
	case <-deadline:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-b.closing:
		return false, errClosed()
	case <-b.down:
		return false, b.failure()
	}
	return false, nil
}
