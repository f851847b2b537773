package natslink

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
)

// AnswerTime is how long a server may take to answer. A stream of a cluster
// that is choosing a leader takes seconds.
const AnswerTime = 10 * time.Second

// Embedded is what a server in this process is called.
const Embedded = "embedded server"

// Wire is a connection to a server that comes back by itself.
type Wire struct {
	Conn *nats.Conn
	// Again holds one when the connection came back.
	Again chan struct{}

	log    *slog.Logger
	hosts  string
	closed chan struct{} // closed when the client has ended

	mu   sync.Mutex
	up   context.Context // ends when the connection breaks
	down context.CancelFunc
	back chan struct{} // closed when the connection is there

	denied atomic.Pointer[string]
}

// Dial connects, or begins to: a server that is away is tried for ever.
//
// Errors: [domain.ErrUnavailable], never for a server that is only away.
func Dial(servers, hosts string, log *slog.Logger, opts ...nats.Option) (*Wire, error) {
	w := &Wire{log: log, hosts: hosts, closed: make(chan struct{}), Again: make(chan struct{}, 1), back: make(chan struct{})}
	w.up, w.down = context.WithCancel(context.Background())
	w.down()
	opts = append([]nats.Option{
		nats.Name("ramet"),
		nats.Timeout(patience(hosts)),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(Pause),
		nats.IgnoreAuthErrorAbort(), // our key may become known later
		// What is published while there is no connection fails: who publishes
		// tries again, and must not believe that the server has it.
		nats.ReconnectBufSize(-1),
		nats.ConnectHandler(w.connected),
		nats.ReconnectHandler(w.connected),
		nats.DisconnectErrHandler(w.disconnected),
		nats.ClosedHandler(func(*nats.Conn) { close(w.closed) }),
		nats.ErrorHandler(w.complaint),
	}, opts...)
	nc, err := nats.Connect(servers, opts...)
	if err != nil {
		return nil, domain.Unavailablef("connect to NATS at %s: %s", hosts, Words(err))
	}
	w.Conn = nc
	if nc.IsConnected() {
		w.connected(nc)
	} else {
		log.Warn("NATS server cannot be reached yet", "hosts", hosts, "err", lastError(nc))
	}
	return w, nil
}

// patience is how long a server may take to greet. One elsewhere is asked again; one in this
// process is there, however busy the machine is, and nobody asks it twice.
func patience(hosts string) time.Duration {
	if hosts == Embedded {
		return time.Minute
	}
	return 2 * time.Second
}

// Pause is how long to wait after so many vain tries: 50 ms to 5 s.
func Pause(tries int) time.Duration {
	d := min(50*time.Millisecond<<min(tries, 10), 5*time.Second)
	return d/2 + rand.N(d/2)
}

// connected may be called twice for one connection: by the client, and by Dial.
func (w *Wire) connected(*nats.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.up.Err() == nil {
		return
	}
	w.up, w.down = context.WithCancel(context.Background())
	close(w.back)
	if w.hosts == Embedded {
		w.log.Debug("NATS connected", "hosts", w.hosts)
	} else {
		w.log.Info("NATS connected", "hosts", w.hosts)
	}
	select {
	case w.Again <- struct{}{}:
	default:
	}
}

func (w *Wire) disconnected(nc *nats.Conn, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.up.Err() == nil {
		w.back = make(chan struct{})
	}
	w.down()
	if !nc.IsClosed() {
		text := "the server closed the connection"
		if err != nil {
			text = Words(err)
		}
		w.log.Warn("NATS disconnected", "hosts", w.hosts, "err", text)
	}
}

func (w *Wire) complaint(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		text := err.Error()
		w.denied.Store(&text)
	}
	w.log.Warn("NATS complains", "hosts", w.hosts, "err", Words(err))
}

// Refused says whether the server does not let us in, as of the last try.
func (w *Wire) Refused() bool {
	err := w.Conn.LastError()
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked)
}

// Denied is what the server said last of a subject that we may not use, "" if it
// said nothing of the kind. It tells after the fact, and answers nothing.
func (w *Wire) Denied() string {
	if text := w.denied.Load(); text != nil {
		return *text
	}
	return ""
}

func lastError(nc *nats.Conn) string {
	if err := nc.LastError(); err != nil {
		return Words(err)
	}
	return ""
}

// Life ends when the connection that is there now breaks.
func (w *Wire) Life() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.up
}

// Await waits for a connection and returns its [Wire.Life]: one that has ended,
// if there was none for so long. The zero wait only looks.
//
// Errors: ctx's own.
func (w *Wire) Await(ctx context.Context, wait time.Duration) (context.Context, error) {
	w.mu.Lock()
	life, back := w.up, w.back
	w.mu.Unlock()
	if life.Err() == nil || wait <= 0 {
		return life, ctx.Err()
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case <-back:
	case <-over.C:
	case <-w.closed:
	case <-ctx.Done():
		return life, ctx.Err()
	}
	return w.Life(), nil
}

// Request publishes and waits for the answer, [AnswerTime] at most. It ends at
// once when the connection breaks.
//
// Errors: ctx's own; those of the client, which the caller translates.
func (w *Wire) Request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	life := w.Life()
	if life.Err() != nil {
		return nil, nats.ErrDisconnected
	}
	limited, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	answer, err := w.Conn.RequestMsgWithContext(limited, m)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case life.Err() != nil:
		return nil, nats.ErrDisconnected
	case errors.Is(err, context.DeadlineExceeded):
		return nil, nats.ErrTimeout
	}
	return nil, err
}

// Close ends the connection, and has what was published reach the server first
// where that takes no time.
func (w *Wire) Close() {
	if w.Conn.IsConnected() {
		_ = w.Conn.FlushTimeout(time.Second)
	}
	w.Conn.Close()
	<-w.closed
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down()
}
