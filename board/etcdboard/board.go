package etcdboard

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/recent"
	"github.com/ramet-run/ramet/board/internal/watch"
	"github.com/ramet-run/ramet/domain"
)

// Board is a board on an etcd cluster.
type Board struct {
	client     *clientv3.Client
	prefix     string // of all our keys; ends with "/"
	name       string // tells this board from those of other nodes
	addr       string // for texts that people read
	answer     time.Duration
	limits     board.Limits
	durability board.Durability
	settled    bool   // there was a board at Open
	cluster    uint64 // etcd's id
	log        *slog.Logger

	closing context.Context // ends when the committer has come to its end
	end     context.CancelFunc
	loops   sync.WaitGroup
	work    chan struct{} // pokes the committer; buffered 1
	flights flights
	clocks  *clocks
	asked   chan struct{} // pokes the clock; buffered 1
	passing bool          // its clock has no say
	folder  string        // whose clock it is; "": nobody knows
	closer  sync.Once

	watchers watch.Watchers
	recent   *recent.Spaces

	// The committer's own.
	raced     bool      // the last transaction lost a race
	letBy     time.Time // until then claims that wait let others go before
	serial    uint64    // of the last transaction
	place     int64     // the revision that wrote our place in the line; 0: it has none
	last      int64     // the revision that wrote our id
	unsettled string    // id of a transaction of which nobody knows what came; "": of none

	mu       sync.Mutex
	closed   bool
	closedAt time.Time
	gone     error // etcd is no longer what the mirror is of
	born     int64 // the revision at which the board's head was made; 0: nothing is written yet
	written  int64 // the last revision at which it was written, as far as seen
	mirror   *mirror
	queue    []*request
	fed      map[*group]struct{} // groups that have something for those who wait
	moved    signal              // the mirror is at another revision
	turn     signal              // this board is the first in line, or stands in none
	alarmSet signal              // an alarm is now the earliest
	lapsed   signal              // a lease deadline is now the earliest
}

var _ board.Board = (*Board)(nil)

// Open connects to the cluster at a URL, etcd://[user:password@]host:2379[,host…][/prefix],
// or etcds:// with TLS, and reads the board into memory; [Config] and the
// package comment say more.
//
// Errors: [domain.ErrInvalid] for a URL that is none; [domain.ErrUnavailable] when no member can be reached
// or the password is refused.
func Open(ctx context.Context, url string, cfg Config) (*Board, error) {
	cfg = cfg.filled()
	clocks := newClocks()
	clocks.skew, clocks.silence, clocks.mute = cfg.skew, cfg.silence, cfg.Passing
	clocks.settle()
	opt, prefix, request, err := parse(url)
	if err != nil {
		return nil, err
	}
	b := &Board{
		prefix:  prefix,
		name:    rand.Text(),
		addr:    opt.Endpoints[0],
		answer:  cfg.Answer,
		limits:  board.Limits{Commit: request / 6 * 5, Whole: true}, // the rest is for what frames it
		log:     cfg.Logger.With("etcd", opt.Endpoints[0]),
		work:    make(chan struct{}, 1),
		clocks:  clocks,
		asked:   make(chan struct{}, 1),
		passing: cfg.Passing,
		folder:  cfg.Folder,
		mirror:  newMirror(clocks),
		recent:  recent.New(),
		fed:     map[*group]struct{}{},
	}
	b.mirror.longest = b.limits.Commit
	b.closing, b.end = context.WithCancel(context.Background())
	opt.DialTimeout = cfg.Answer
	if b.client, err = clientv3.New(opt); err != nil {
		defer b.end()
		return nil, b.translate(err)
	}
	if err := b.start(ctx); err != nil {
		b.end()
		b.client.Close()
		return nil, err
	}
	return b, nil
}

// start loads the mirror, starts the goroutines, and waits for the board's time.
func (b *Board) start(ctx context.Context) error {
	if err := b.begin(ctx); err != nil {
		return err
	}
	for key := range b.mirror.strange {
		if !b.settled {
			return domain.Invalidf("etcd key %q cannot be read: use another prefix for the board", b.prefix+key)
		}
	}
	b.clearIDs(ctx)
	b.loops.Go(b.followLoop)
	b.loops.Go(b.commitLoop)
	if !b.passing {
		b.loops.Go(b.clockLoop)
	}
	b.agree(ctx)
	b.loops.Go(b.reapLoop) // now: by a clock of which nobody knows whether it is right nothing is removed
	ctx, cancel := context.WithTimeout(ctx, b.patience())
	defer cancel()
	if err := b.recognise(ctx); err != nil {
		b.Close()
		return err
	}
	return nil
}

// patience bounds what a start asks etcd for.
func (b *Board) patience() time.Duration { return 15 * b.answer }

// begin looks at the cluster, and loads the mirror.
func (b *Board) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience())
	defer cancel()
	if err := b.survey(ctx); err != nil {
		return err
	}
	return b.load(ctx)
}

// survey asks the cluster how many members it has, which says what a commit
// survives. Where that is refused, the least is taken.
func (b *Board) survey(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	head, err := b.client.Get(ask, b.prefix+headName)
	if err != nil {
		return b.translate(err)
	}
	b.settled, b.cluster = len(head.Kvs) > 0, head.Header.ClusterId
	b.durability = board.DurableDisk
	list, err := b.client.MemberList(ask)
	if err != nil {
		b.log.Warn("the list of etcd's members cannot be read: durability is called disk", "err", b.translate(err))
		return nil
	}
	voters := 0
	for _, m := range list.Members {
		if !m.IsLearner {
			voters++
		}
	}
	if voters >= 3 {
		b.durability = board.DurableQuorum
	}
	return nil
}

// Limits implements [board.Board].
func (b *Board) Limits() board.Limits { return b.limits }

// Durability implements [board.Board]. It is what the cluster was at Open:
// quorum from three voting members on, else disk.
func (b *Board) Durability() board.Durability { return b.durability }

// Close implements [board.Board].
func (b *Board) Close() error {
	b.closer.Do(func() {
		b.mu.Lock()
		b.closed, b.closedAt = true, time.Now()
		for _, g := range b.mirror.groups {
			var waiting []*waiter
			for el := g.waiters.Front(); el != nil; el = el.Next() {
				waiting = append(waiting, el.Value.(*waiter))
			}
			for _, w := range waiting {
				if !w.flying && !w.dead {
					w.abandon(errClosed())
				}
			}
		}
		b.poke()
		b.mu.Unlock()
		b.loops.Wait()
		b.client.Close()
		b.watchers.End()
	})
	return nil
}

// alive refuses a call on a closed board, or whose context has ended.
func (b *Board) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed()
	}
	return b.gone
}

// signal wakes everybody who waits for a change. It is guarded by Board.mu.
type signal struct{ ch chan struct{} }

// wait returns a channel that the next fire closes.
func (s *signal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// until waits for a condition of the mirror, which is judged under the mutex.
//
// Errors: the context's own, [domain.ErrUnavailable] once closed.
func (b *Board) until(ctx context.Context, cond func() bool) error {
	for {
		b.mu.Lock()
		if cond() {
			b.mu.Unlock()
			return nil
		}
		moved := b.moved.wait()
		b.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return b.ended(ctx)
		case <-b.closing.Done():
			return errClosed()
		}
	}
}

// ended is why a wait ended with its context.
func (b *Board) ended(ctx context.Context) error {
	if b.closing.Err() != nil {
		return errClosed()
	}
	return ctx.Err()
}

// reach waits until the mirror is at a revision, for no longer than for any
// answer.
func (b *Board) reach(ctx context.Context, rev int64) error {
	late, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	err := b.until(late, func() bool { return b.mirror.rev >= rev })
	if err != nil && late.Err() != nil && ctx.Err() == nil {
		return domain.Unavailablef("etcd at %s does not tell what has changed", b.addr)
	}
	return err
}

// await calls look until it has something, at most for wait. Look runs under
// the mutex; it returns the instant, by clock, at which looking again is worth it.
func (b *Board) await(ctx context.Context, wait time.Duration, earlier *signal, clock func() int64, look func(now int64) (found bool, next int64)) error {
	if err := b.fresh(ctx); err != nil {
		return err
	}
	deadline := time.Now().Add(wait)
	for {
		b.mu.Lock()
		now := clock()
		found, next := look(now)
		changed := earlier.wait()
		b.mu.Unlock()
		left := time.Until(deadline)
		if found || left <= 0 {
			return nil
		}
		if next != never {
			left = min(left, millis(next-now))
		}
		if err := b.sleep(ctx, left, changed); err != nil {
			return err
		}
	}
}

// millis is so many milliseconds, which may be a great many.
func millis(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(2*time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

func (b *Board) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
		return b.ended(ctx)
	case <-b.closing.Done():
		return errClosed()
	}
	return nil
}

// feed notes that a group may have something for those who wait.
func (b *Board) feed(g *group) {
	if g != nil && g.waiters.Len() > 0 {
		b.fed[g] = struct{}{}
		b.poke()
	}
}

func errClosed() error { return domain.Unavailablef("board is closed") }
