package redisboard

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
)

// Board is a board on a Redis or Valkey server.
type Board struct {
	board.Plain
	client  rueidis.Client
	tenancy Tenancy
	name    string // tells this board's messages from those of others
	addr    string // for texts that people read
	log     *slog.Logger
	poll    time.Duration
	answer  time.Duration // how long a server is waited for
	leave   bool          // do not touch the server's configuration
	mayLose bool          // the server may throw keys away

	id        atomic.Pointer[string] // the board's that was opened; nil: not asked yet
	given     atomic.Int64           // how many numbers were given out of the board's counters, as far as heard
	databases atomic.Int64
	time      atomic.Pointer[reading] // the server's clock; nil: not heard yet
	skew      time.Duration           // of this machine's clock, in tests
	facts     atomic.Pointer[facts]

	closing context.Context // ends with Close
	end     context.CancelFunc
	life    sync.RWMutex // guards closed against calls.Add
	closed  bool
	calls   sync.WaitGroup // calls to the server in progress
	loops   sync.WaitGroup // the board's own goroutines

	events   sync.Mutex // held while the server is told which events we want
	flights  flights
	draws    draws
	line     line
	alarmSet signal // an earlier alarm was set
	lapsed   signal // leases were made to run out
	listener listener
	watches  watches
	touches  touches
	heard    heard
}

var _ board.Board = (*Board)(nil)

// Open connects to the server at a URL: redis://[user:password@]host:port/,
// rediss:// with TLS, or unix:///path/to/redis.sock; the parameter tenancy=db
// or tenancy=prefix goes before cfg.Tenancy. It looks whether the server can
// carry a board, and adds what it needs to its notify-keyspace-events.
//
// Errors: [domain.ErrInvalid] for a URL that is none, a server that is too
// old, a cluster, throws keys away when its memory is full, or has too few
// databases for the contexts on it, and a board that was made with the other tenancy; [domain.ErrUnavailable] when it cannot
// be reached or refuses the password.
func Open(ctx context.Context, url string, cfg Config) (*Board, error) {
	cfg = cfg.filled()
	opt, err := parse(url, &cfg)
	if err != nil {
		return nil, err
	}
	b := &Board{
		tenancy: cfg.Tenancy,
		name:    rand.Text(),
		addr:    addressOf(&opt),
		log:     cfg.Logger.With("redis", addressOf(&opt)),
		poll:    cfg.Poll,
		answer:  cfg.Answer,
		leave:   cfg.LeaveConfig,
		mayLose: cfg.MayLose,
		skew:    cfg.skew,
	}
	b.facts.Store(&facts{})
	b.closing, b.end = context.WithCancel(context.Background())
	b.draws.init()
	b.line.init()
	b.watches.init()
	b.touches.init()
	b.heard.lose()
	if b.client, err = rueidis.NewClient(opt); err != nil {
		err = b.translate(err)
		b.end()
		return nil, err
	}
	if err := b.start(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// addressOf is the server in texts that people read. Where Sentinels are asked for it, it
// is none of them: they may be well when it is not.
func addressOf(opt *rueidis.ClientOption) string {
	if opt.Sentinel.MasterSet == "" {
		return opt.InitAddress[0]
	}
	return fmt.Sprintf("%s (known to the Sentinels %s)", opt.Sentinel.MasterSet, strings.Join(opt.InitAddress, ","))
}

// start looks at the server, and starts the goroutines once the first
// subscription stands.
func (b *Board) start(ctx context.Context) error {
	if err := b.loaded(ctx); err != nil {
		return err
	}
	if err := b.survey(ctx); err != nil {
		return err
	}
	if err := b.mayStay(); err != nil {
		return err
	}
	if err := b.checkContexts(ctx); err != nil {
		return err
	}
	if err := b.identify(ctx); err != nil {
		return err
	}
	if err := b.readClock(ctx); err != nil {
		return err
	}
	up := make(chan error, 1)
	b.loops.Go(func() { b.listen(up) })
	select {
	case err := <-up:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	b.loops.Go(b.reconcileLoop)
	b.loops.Go(b.touchLoop)
	return nil
}

// begin marks a call to the server, unless the board is closed.
func (b *Board) begin() bool {
	b.life.RLock()
	defer b.life.RUnlock()
	if b.closed {
		return false
	}
	b.calls.Add(1)
	return true
}

// Close implements [board.Board].
func (b *Board) Close() error {
	b.life.Lock()
	if b.closed {
		b.life.Unlock()
		return nil
	}
	b.closed = true
	b.life.Unlock()
	b.calls.Wait()
	b.end()
	b.client.Close()
	b.loops.Wait()
	b.watches.endAll()
	return nil
}

// signal tells everybody who waits that something has changed.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// wait returns a channel that the next fire closes.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
