package myceliumtest

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/identity"
)

// Config says how a daemon is started. The zero Config is one for a test.
type Config struct {
	// Key is the private key, 32 bytes. Default: a new one.
	Key []byte
	// API, RPC and Link are where it listens. Default: 127.0.0.1:0, and no
	// listening for links.
	API, RPC, Link string
	// Peers are the endpoints it links with: tcp://127.0.0.1:9651.
	Peers []string
}

// Daemon is one stand-in of a Mycelium daemon.
type Daemon struct {
	network *Network
	config  Config
	key     string // public
	address netip.Addr
	prefix  netip.Prefix

	// node is the lock of the real daemon: who has put a value in has it. Those
	// who wait get it in the order in which they came.
	node chan struct{}

	// Guarded by the network's mutex:
	life     *life // nil while it is stopped
	links    []*link
	inbox    []inbound
	arrived  chan struct{} // closed, and replaced, when something came
	outbox   map[string]*outbound
	awaited  map[string]chan inbound // by id, who waits for a reply
	topics   topics
	peers    []*peer
	requests []string
}

// life is one time between start and stop.
type life struct {
	started  time.Time
	ctx      context.Context
	cancel   context.CancelFunc
	servers  []*http.Server
	listener net.Listener // for links; nil without
	running  sync.WaitGroup
}

// Open starts a daemon that lives until [Daemon.Stop].
func (n *Network) Open(c Config) (*Daemon, error) {
	c.API, c.RPC = cmp.Or(c.API, "127.0.0.1:0"), cmp.Or(c.RPC, "127.0.0.1:0")
	if c.Key == nil {
		c.Key = make([]byte, 32)
		rand.Read(c.Key) // never fails
	}
	private, err := ecdh.X25519().NewPrivateKey(c.Key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	d := &Daemon{network: n, config: c, key: hex.EncodeToString(private.PublicKey().Bytes()), node: make(chan struct{}, 1)}
	if d.address, err = identity.MyceliumAddress(d.key); err != nil {
		return nil, err
	}
	d.prefix = network64(d.address)
	for _, endpoint := range c.Peers {
		if err := d.addPeer(endpoint); err != nil {
			return nil, err
		}
	}
	return d, d.Start()
}

// URL is where its HTTP API is: http://127.0.0.1:8989.
func (d *Daemon) URL() string { return "http://" + d.config.API }

// RPC is where its JSON-RPC API is.
func (d *Daemon) RPC() string { return "http://" + d.config.RPC }

// Endpoint is what others link with; tcp://127.0.0.1:9651.
func (d *Daemon) Endpoint() string { return "tcp://" + d.config.Link }

// Key is its public key, 64 hex digits.
func (d *Daemon) Key() string { return d.key }

// Address is its address in 400::/7.
func (d *Daemon) Address() netip.Addr { return d.address }

// Inbox is how many messages wait to be popped.
func (d *Daemon) Inbox() int {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	return len(d.inbox)
}

// Requests lists the calls to the HTTP API that got the daemon's lock since the
// last time it was asked: "GET /api/v1/messages?timeout=1". At most the newest
// 10,000.
func (d *Daemon) Requests() []string {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	list := d.requests
	d.requests = nil
	return list
}

// Start starts it again after [Daemon.Stop], with its key and its ports, and
// without any message: they lie in memory only.
func (d *Daemon) Start() error {
	api, err := net.Listen("tcp", d.config.API)
	if err != nil {
		return err
	}
	rpc, err := net.Listen("tcp", d.config.RPC)
	if err != nil {
		api.Close()
		return err
	}
	l := &life{started: time.Now()}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if d.config.Link != "" {
		if l.listener, err = net.Listen("tcp", d.config.Link); err != nil {
			api.Close()
			rpc.Close()
			return err
		}
	}

	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.daemons, d) { // the first time: it keeps its ports
		n.daemons = append(n.daemons, d)
		d.config.API, d.config.RPC = api.Addr().String(), rpc.Addr().String()
		if l.listener != nil {
			d.config.Link = l.listener.Addr().String()
		}
	}
	d.life = l
	d.inbox, d.outbox, d.awaited = nil, map[string]*outbound{}, map[string]chan inbound{}
	d.arrived, d.topics = make(chan struct{}), topics{accept: true, rules: map[string]*topicRule{}}
	for _, p := range d.peers {
		d.dial(l, p)
	}
	if l.listener != nil {
		l.running.Go(func() { d.acceptLinks(l) })
	}
	l.serve(api, d.alive(l, d.api()))
	l.serve(rpc, d.alive(l, d.jsonrpc()))
	n.retransmit()
	return nil
}

func (l *life) serve(on net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return l.ctx }}
	l.servers = append(l.servers, s)
	l.running.Go(func() { s.Serve(on) })
}

// alive lets a handler run only while its daemon does, so that Stop can wait
// for it.
func (d *Daemon) alive(l *life, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.network.mu.Lock()
		if d.life != l {
			d.network.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		l.running.Add(1)
		d.network.mu.Unlock()
		defer l.running.Done()
		h.ServeHTTP(w, r)
	})
}

// Stop ends it as SIGKILL would: connections break, messages are gone. Stopping
// it again does nothing.
func (d *Daemon) Stop() {
	n := d.network
	n.mu.Lock()
	l := d.life
	d.life = nil
	if l != nil {
		l.cancel()
		for _, s := range l.servers {
			s.Close()
		}
		if l.listener != nil {
			l.listener.Close()
		}
	}
	n.mu.Unlock()
	if l != nil {
		l.running.Wait()
	}
}

func (d *Daemon) running() bool { return d.life != nil }

// lock takes the lock of the daemon, or reports that the client has gone.
func (d *Daemon) lock(ctx context.Context) bool {
	select {
	case d.node <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *Daemon) unlock() { <-d.node }
