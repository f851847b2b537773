package natsbus

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
)

// answerTime is how long a server may take to answer. A stream of a cluster
// that is choosing a leader takes seconds.
const answerTime = 10 * time.Second

// embedded is what a server in this process is called.
const embedded = "embedded server"

// wire is a connection to a server that comes back by itself.
type wire struct {
	nc     *nats.Conn
	log    *slog.Logger
	hosts  string
	closed chan struct{} // closed when the client has ended
	again  chan struct{} // holds one when the connection came back

	mu   sync.Mutex
	up   context.Context // ends when the connection breaks
	down context.CancelFunc
}

// dial connects, or begins to: a server that is away is tried for ever.
//
// Errors: [domain.ErrUnavailable], never for a server that is only away.
func dial(servers, hosts string, log *slog.Logger, opts ...nats.Option) (*wire, error) {
	w := &wire{log: log, hosts: hosts, closed: make(chan struct{}), again: make(chan struct{}, 1)}
	w.up, w.down = context.WithCancel(context.Background())
	w.down()
	opts = append([]nats.Option{
		nats.Name("ramet"),
		nats.Timeout(2 * time.Second),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(pause),
		nats.IgnoreAuthErrorAbort(), // our key may become known later
		// What is published while there is no connection fails: post pushes
		// again, and must not believe the bus has it.
		nats.ReconnectBufSize(-1),
		nats.ConnectHandler(w.connected),
		nats.ReconnectHandler(w.connected),
		nats.DisconnectErrHandler(w.disconnected),
		nats.ClosedHandler(func(*nats.Conn) { close(w.closed) }),
		nats.ErrorHandler(w.complaint),
	}, opts...)
	nc, err := nats.Connect(servers, opts...)
	if err != nil {
		return nil, domain.Unavailablef("connect to NATS at %s: %s", hosts, words(err))
	}
	w.nc = nc
	if nc.IsConnected() {
		w.connected(nc)
	} else {
		log.Warn("NATS server cannot be reached yet", "hosts", hosts, "error", lastError(nc))
	}
	return w, nil
}

// pause is how long to wait after so many vain tries: 50 ms to 5 s.
func pause(tries int) time.Duration {
	d := min(50*time.Millisecond<<min(tries, 10), 5*time.Second)
	return d/2 + rand.N(d/2)
}

// connected may be called twice for one connection: by the client, and by dial.
func (w *wire) connected(*nats.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.up.Err() == nil {
		return
	}
	w.up, w.down = context.WithCancel(context.Background())
	if w.hosts == embedded {
		w.log.Debug("NATS connected", "hosts", w.hosts)
	} else {
		w.log.Info("NATS connected", "hosts", w.hosts)
	}
	select {
	case w.again <- struct{}{}:
	default:
	}
}

func (w *wire) disconnected(nc *nats.Conn, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down()
	if !nc.IsClosed() {
		text := "the server closed the connection"
		if err != nil {
			text = words(err)
		}
		w.log.Warn("NATS disconnected", "hosts", w.hosts, "error", text)
	}
}

func (w *wire) complaint(_ *nats.Conn, _ *nats.Subscription, err error) {
	w.log.Warn("NATS complains", "hosts", w.hosts, "error", words(err))
}

func lastError(nc *nats.Conn) string {
	if err := nc.LastError(); err != nil {
		return words(err)
	}
	return ""
}

// life ends when the connection that is there now breaks.
func (w *wire) life() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.up
}

// request publishes and waits for the answer. It ends at once when the
// connection breaks.
//
// Errors: ctx's own; those of the client, which the caller translates.
func (w *wire) request(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	life := w.life()
	if life.Err() != nil {
		return nil, nats.ErrDisconnected
	}
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	m, err := w.nc.RequestMsgWithContext(limited, &nats.Msg{Subject: subject, Data: body})
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case life.Err() != nil:
		return nil, nats.ErrDisconnected
	case errors.Is(err, context.DeadlineExceeded):
		return nil, nats.ErrTimeout
	}
	return nil, err
}

// close ends the connection, and has what was published reach the server first
// where that takes no time.
func (w *wire) close() {
	if w.nc.IsConnected() {
		_ = w.nc.FlushTimeout(time.Second)
	}
	w.nc.Close()
	<-w.closed
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down()
}
