package resp

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/internal/budget"
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
	// Tokens says who a token names. Required.
	Tokens *identity.Tokens
	// Cookie is what proves at a local socket that the operator calls. Default:
	// nothing does, and a token is needed there, too.
	Cookie cookie.Cookie
	// NamedCallers refuses workers tasks of circles that name no caller, and
	// ReplyExpiry is how long a reply waits for the client of one that is refused.
	// Default: they are handed out; 5 minutes.
	NamedCallers bool
	ReplyExpiry  time.Duration
	// Version is the program's, for INFO.
	Version string
	// Writable returns an error while the node may take nothing in. Default: it
	// always may.
	Writable func() error
	// Intake returns an error while the node takes nothing new in; what ends what runs is
	// still written. Default: it always does.
	Intake func() error
	// Room is asked for each job and flow that a client begins, and returns an error while
	// a context may have no more. Default: it may.
	Room func(ctx context.Context, tenant domain.TenantID) error
	// Budget bounds what clients hold; the other doors of the node have the same.
	// Default: one of its own.
	Budget *budget.Budget
	// Logger takes what went wrong. Default: none.
	Logger *slog.Logger
	// Audit takes refused tokens. Default: none.
	Audit identity.Recorder
	// Answered is told how long commands took that a client sent together, with the commit of
	// what they wrote, and whether one of them waited for something to come. It must be
	// quick. Default: nobody.
	Answered func(took time.Duration, waited bool)
}

// Door is the Redis door of one node.
type Door struct {
	cfg   Config
	log   *slog.Logger
	began time.Time

	// ctx is what is done for clients under; it ends with Serve.
	ctx  context.Context
	stop context.CancelFunc
	// closing is closed when clients are to be told good-bye.
	closing chan struct{}
	serving sync.WaitGroup // clients
	wg      sync.WaitGroup // what goes on beside them

	hub     *hub
	cursors *cursors
	steps   int // that a command looks for a pattern

	lastID   atomic.Int64
	commands atomic.Int64
	// counts are those of each command; nil stands for what is none. failed are answers that
	// are errors.
	counts map[*command]*atomic.Int64
	failed atomic.Int64

	mu      sync.Mutex
	clients map[*client]struct{}
	desks   map[board.Space]*desk
}

// New returns the door. Serve it once.
func New(cfg Config) *Door {
	if cfg.Writable == nil {
		cfg.Writable = func() error { return nil }
	}
	if cfg.Room == nil {
		cfg.Room = func(context.Context, domain.TenantID) error { return nil }
	}
	if cfg.Intake == nil {
		cfg.Intake = func() error { return nil }
	}
	cfg.Audit = cmp.Or[identity.Recorder](cfg.Audit, identity.Discard{})
	d := &Door{cfg: cfg,
		log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), began: time.Now(), closing: make(chan struct{}),
		clients: map[*client]struct{}{}, desks: map[board.Space]*desk{}, cursors: newCursors(), steps: maxSteps}
	if d.cfg.Budget == nil {
		d.cfg.Budget = budget.New(budget.Config{}, d.log)
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.hub = newHub(d)
	d.counts = map[*command]*atomic.Int64{nil: {}}
	for _, spec := range commands {
		d.counts[spec] = &atomic.Int64{}
	}
	return d
}

// Counts are how many commands have come, by name, those that were sent at all; "other" are
// what is none. Failed is how many answers were errors.
func (d *Door) Counts() (by map[string]int64, failed int64) {
	by = map[string]int64{}
	for spec, count := range d.counts {
		name := "other"
		if spec != nil {
			name = spec.name
		}
		if n := count.Load(); n > 0 {
			by[name] = n
		}
	}
	return by, d.failed.Load()
}

// Serve answers on ln until ctx ends. Then those who wait are told so, commands
// in progress get a few seconds, and it returns.
func (d *Door) Serve(ctx context.Context, ln net.Listener) error {
	ended := context.AfterFunc(ctx, func() {
		close(d.closing)
		ln.Close()
	})
	defer ended()
	err := d.accept(ctx, d.cfg.Budget.Listen(ln, refuse))
	if ctx.Err() == nil {
		close(d.closing)
		ln.Close()
	}
	d.end()
	return err
}

// accept takes connections until the listener is closed.
func (d *Door) accept(ctx context.Context, ln *budget.Listener) error {
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			d.welcome(ln, conn)
		case ctx.Err() != nil:
			return nil
		default:
			return domain.Unavailablef("the RESP door closed: %v", err)
		}
	}
}

// welcome begins to serve a connection.
func (d *Door) welcome(ln *budget.Listener, conn net.Conn) {
	c := newClient(d, conn, ln.Seat(conn))
	d.mu.Lock()
	d.clients[c] = struct{}{}
	d.mu.Unlock()
	d.serving.Go(func() {
		defer ln.Gone(conn)
		c.serve()
		d.mu.Lock()
		delete(d.clients, c)
		d.mu.Unlock()
	})
}

// refuse tells a connection that there is no room for it: in Redis' words, which
// clients know, and in ours.
func refuse(conn net.Conn, why error) {
	if _, hidden := conn.(*tls.Conn); hidden {
		return // a handshake is what there is no room for
	}
	// It is told, or it is not.
	_, _ = conn.Write([]byte("-ERR max number of clients reached: " + why.Error() + "\r\n"))
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
		k = &desk{door: d, space: space, sheet: newSheet(d.ctx, d.cfg.Board, space), waiting: map[string][]*waiter{}, stored: newStored(d.cfg.Budget.Config().Stored),
			reading: semaphore.NewWeighted(readsAtOnce)}
		k.watch.wanted = map[string]int{}
		d.desks[space] = k
	}
	return k
}
