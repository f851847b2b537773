package natsstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/stream"
)

// patience is how long a call waits for a server that is away. A cluster
// chooses a leader in that time.
const patience = 3 * time.Second

// Log is the streams on a NATS server or cluster.
type Log struct {
	cfg     Config
	host    *host // the embedded server; nil with an external one
	wire    *natslink.Wire
	js      jetstream.JetStream
	durable board.Durability
	// replicated: some of what is asked is answered by replicas that may be
	// behind.
	replicated bool
	publishers map[domain.StreamName]*publisher
	origins    map[domain.StreamName]*origin
	others     atomic.Pointer[strange] // see remade
	goneOn     atomic.Bool             // another node has gone on with streams that have less
	latched    atomic.Pointer[error]   // why the embedded server can write nothing

	closing sync.Once
	gone    chan struct{} // closed by Close
	run     context.Context
	stop    context.CancelFunc
	loops   sync.WaitGroup // the publishers, and who watches the disk
}

var (
	_ stream.Log  = (*Log)(nil)
	_ stream.Told = (*Log)(nil)
)

// Open starts the embedded server or connects to an external one, and makes
// sure that the streams are there and as they must be. It waits ten seconds for
// a server that is away.
//
// Errors: [domain.ErrInvalid] for a configuration, or a stream that is there,
// which would lose messages; [domain.ErrNotFound] for a stream that is not there
// and may not be made; those of [domain.FileErrorf]; [domain.ErrForbidden] for a
// server that does not let us in; [domain.ErrConflict] for a folder that another
// process has; [domain.ErrUnavailable].
func Open(ctx context.Context, cfg Config) (_ *Log, err error) {
	cfg = cfg.filled()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, gone: make(chan struct{}), publishers: map[domain.StreamName]*publisher{}, origins: map[domain.StreamName]*origin{}}
	l.run, l.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	if err := l.connect(); err != nil {
		return nil, err
	}
	if l.js, err = jetstream.New(l.wire.Conn); err != nil {
		return nil, domain.Invalidf("NATS streams: %v", err)
	}
	if err := l.arrive(ctx); err != nil {
		return nil, err
	}
	if err := l.checkRights(ctx); err != nil {
		return nil, err
	}
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	if l.host != nil {
		l.loops.Go(l.watchDisk)
	} else {
		l.loops.Go(l.watch)
	}
	return l, nil
}

// arrive waits for the first connection.
func (l *Log) arrive(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < natslink.AnswerTime; {
		life, err := l.wire.Await(ctx, natslink.AnswerTime/50)
		if err != nil || life.Err() == nil {
			return err
		}
		// Of a node that has just been made, the other may not know yet.
		if l.wire.Refused() && (l.cfg.KeyOf == "" || time.Since(began) > natslink.AnswerTime/2) {
			return domain.Forbiddenf("NATS server of the streams refuses this node's user, token or credentials")
		}
	}
	return errAway
}

func (l *Log) connect() (err error) {
	if !l.cfg.embedded() {
		l.wire, err = dial(l.cfg)
		return err
	}
	if l.host, err = startHost(l.cfg); err != nil {
		return err
	}
	l.wire, err = l.host.dial(l.cfg)
	return err
}

// Listening says where the embedded server takes other programs, "" for
// nowhere.
func (l *Log) Listening() string {
	if l.host == nil || l.cfg.Listen == "" {
		return ""
	}
	return l.host.server.Addr().String()
}

// Durability is what a message survives that was published; see the package's
// text.
func (l *Log) Durability() board.Durability { return l.durable }

// Lost says what was given up of files of the embedded server that were damaged.
func (l *Log) Lost() []string {
	if l.host == nil {
		return nil
	}
	return l.host.lost
}

// Close ends the log, its readers and queues, and the embedded server.
func (l *Log) Close() error {
	l.closing.Do(func() {
		close(l.gone)
		l.stop()
		l.loops.Wait()
		if l.wire != nil {
			l.wire.Close()
		}
		if l.host != nil {
			l.host.close()
		}
	})
	return nil
}

func (l *Log) closed() bool { return isClosed(l.gone) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// keep does something that the server answers, again while the server is away
// and has done nothing, for [patience].
func (l *Log) keep(ctx context.Context, what string, do func(ctx context.Context) error) error {
	deadline := time.Now().Add(patience)
	for tries := 0; ; tries++ {
		if l.closed() {
			return errClosed
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		life, err := l.wire.Await(ctx, time.Until(deadline))
		if err != nil {
			return err
		}
		if life.Err() != nil {
			return l.translate(ctx, what, nats.ErrDisconnected)
		}
		err = limited(ctx, life, do)
		if err == nil || !passing(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return l.translate(ctx, what, err)
		}
		l.pause(ctx, min(tries, 2))
	}
}

// limited calls do for as long as a server may take to answer, and this
// connection to it lives.
func limited(ctx, life context.Context, do func(context.Context) error) error {
	asked, cancel := context.WithTimeout(ctx, natslink.AnswerTime)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	err := do(asked)
	if errors.Is(err, context.Canceled) && life.Err() != nil && ctx.Err() == nil {
		return nats.ErrDisconnected
	}
	return err
}

// trying is how often a call was tried in vain.
type trying struct {
	l     *Log
	tries int
	since time.Time
}

func (l *Log) trying() *trying { return &trying{l: l} }

// again waits a little before the next try.
//
// Errors: [domain.ErrUnavailable] after [patience].
func (t *trying) again(ctx context.Context) error {
	if t.tries++; t.tries == 1 {
		t.since = time.Now()
		return nil // the first at once
	}
	if time.Since(t.since) > patience {
		return errAway
	}
	t.l.pause(ctx, min(t.tries-2, 2))
	return nil
}

// pause waits a little after so many vain tries: 50 ms to 0.8 s, and by chance
// half of it.
func (l *Log) pause(ctx context.Context, tries int) {
	t := time.NewTimer(natslink.Pause(min(tries, 4)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-l.gone:
	}
}
