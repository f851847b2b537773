package resp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/peer"
)

// Access decides who may do what.
type Access interface {
	CheckIn(ctx context.Context, ask identity.Ask) (domain.Tenant, error)
}

// Config says how the door stands.
type Config struct {
	// Board is what lies behind it. Required.
	Board Board
	// Access decides who may do what. Required.
	Access Access
	// Node is the node's name: what tokens must be for. Required.
	Node string
	// Actor looks up who a token names: Registry.KnownActor. Required.
	Actor func(ctx context.Context, id domain.ActorID) (domain.Actor, error)
	// Version is the program's, for INFO.
	Version string
	// Writable returns an error while the node may take nothing in. Default: it
	// always may.
	Writable func() error
	// MaxClients bounds the connections. Default: 1000.
	MaxClients int
	// Memory bounds in bytes what large commands and answers of all clients
	// hold. Default: 256 MiB.
	Memory int64
	// Logger takes what went wrong. Default: none.
	Logger *slog.Logger
	// Audit takes refused tokens. Default: none.
	Audit identity.Recorder
}

// Door is the Redis door of one node.
type Door struct {
	cfg      Config
	verifier identity.Verifier
	log      *slog.Logger
	memory   budget
	began    time.Time

	// ctx is what is done for clients under; it ends with Serve.
	ctx  context.Context
	stop context.CancelFunc
	// closing is closed when clients are to be told good-bye.
	closing chan struct{}
	serving sync.WaitGroup // clients
	wg      sync.WaitGroup // what goes on beside them

	hub     *hub
	cursors *cursors

	lastID    atomic.Int64
	strangers atomic.Int64 // who have not said who they are
	commands  atomic.Int64

	mu      sync.Mutex
	clients map[*client]struct{}
	desks   map[board.Space]*desk
}

// New returns the door. Serve it once.
func New(cfg Config) *Door {
	cfg.MaxClients = cmp.Or(cfg.MaxClients, defaultClients)
	cfg.Memory = cmp.Or(cfg.Memory, defaultMemory)
	if cfg.Writable == nil {
		cfg.Writable = func() error { return nil }
	}
	cfg.Audit = cmp.Or[identity.Recorder](cfg.Audit, identity.Discard{})
	d := &Door{cfg: cfg, verifier: identity.Verifier{Node: cfg.Node, Actor: cfg.Actor},
		log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), began: time.Now(), closing: make(chan struct{}),
		clients: map[*client]struct{}{}, desks: map[board.Space]*desk{}, cursors: newCursors()}
	d.memory.left.Store(cfg.Memory)
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.hub = newHub(d)
	return d
}

// Serve answers on ln until ctx ends. Then those who wait are told so, commands
// in progress get a few seconds, and it returns.
func (d *Door) Serve(ctx context.Context, ln net.Listener) error {
	ended := context.AfterFunc(ctx, func() {
		close(d.closing)
		ln.Close()
	})
	defer ended()
	err := d.accept(ctx, ln)
	if ctx.Err() == nil {
		close(d.closing)
		ln.Close()
	}
	d.end()
	return err
}

// accept takes connections until the listener is closed.
func (d *Door) accept(ctx context.Context, ln net.Listener) error {
	for pause := time.Millisecond; ; {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			pause = time.Millisecond
			d.welcome(conn)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return domain.Unavailablef("the RESP door closed: %v", err)
		default: // too many open files, for example
			d.log.Warn("connection not accepted", "err", err)
			time.Sleep(pause)
			pause = min(2*pause, time.Second)
		}
	}
}

// welcome begins to serve a connection, if there is room.
func (d *Door) welcome(conn net.Conn) {
	c := newClient(d, conn)
	d.mu.Lock()
	// Strangers have a tenth of the room: they cannot keep those out who belong
	// here.
	full := len(d.clients) >= d.cfg.MaxClients || c.actor == 0 && d.strangers.Load() >= int64(max(10, d.cfg.MaxClients/10))
	if !full {
		d.clients[c] = struct{}{}
		if c.actor == 0 {
			d.strangers.Add(1)
		}
	}
	d.mu.Unlock()
	if full {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte("-ERR max number of clients reached\r\n")) // it is told, or not
		conn.Close()
		return
	}
	d.serving.Go(func() {
		c.serve()
		d.mu.Lock()
		delete(d.clients, c)
		d.mu.Unlock()
	})
}

// end waits for commands in progress, a few seconds.
func (d *Door) end() {
	d.each(func(c *client) { c.wakeUp() })
	late := time.AfterFunc(closeTime, func() {
		d.stop()
		d.each(func(c *client) { c.conn.Close() })
	})
	d.serving.Wait()
	late.Stop()
	d.stop()
	d.wg.Wait()
}

// each calls f for every client.
func (d *Door) each(f func(*client)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.clients {
		f(c)
	}
}

// desk is the desk of a space.
func (d *Door) desk(space board.Space) *desk {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.desks[space]
	if k == nil {
		k = &desk{door: d, space: space, sheet: newSheet(d.ctx, d.cfg.Board, space), waiting: map[string][]*waiter{}}
		k.watch.wanted = map[string]int{}
		d.desks[space] = k
	}
	return k
}

// localPeer says who is at the other end, if the connection is local.
func localPeer(conn net.Conn) (p peer.Peer, local bool) {
	u, local := conn.(*net.UnixConn)
	if !local {
		return p, false
	}
	return peer.Of(u), true
}
