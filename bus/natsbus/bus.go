package natsbus

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// MaxInFlight bounds the parcels that were sent and have no answer yet; further
// callers of Send wait.
const MaxInFlight = 256

// Bus is one node's end of a NATS server or cluster.
type Bus struct {
	key    string // ours, in hex
	log    *slog.Logger
	limits limits
	synced bool
	next   string // where to ask for parcels

	wire     *natslink.Wire
	host     *host // the embedded server; nil with an external one
	inFlight chan struct{}
	parcels  chan bus.Parcel
	durable  atomic.Pointer[board.Durability]

	closing sync.Once
	gone    chan struct{} // closed by Close
	stop    context.CancelFunc
	pulled  chan struct{} // closed when the pull loop has ended

	looked sync.Once // at who we are to an external server

	mu   sync.Mutex
	held map[*held]bool // received and not done with
}

var _ bus.Bus = (*Bus)(nil)

// Open starts the embedded server, or connects to an external one. It does not
// wait for one that is away: until it is there, Send says unavailable.
//
// Errors: [domain.ErrInvalid], those of [domain.FileErrorf],
// [domain.ErrConflict] for a folder that another process has, and
// [domain.ErrUnavailable] for what the embedded server cannot do: listen,
// mostly.
func Open(ctx context.Context, cfg Config) (*Bus, error) {
	cfg = cfg.filled()
	external, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	if !validKey(cfg.Node) {
		return nil, domain.Invalidf("node %q: want its public key, 64 lower-case hex digits", cfg.Node)
	}
	b := &Bus{
		key:      cfg.Node,
		log:      cfg.Logger,
		limits:   cfg.limits(),
		inFlight: make(chan struct{}, MaxInFlight),
		parcels:  make(chan bus.Parcel),
		gone:     make(chan struct{}),
		pulled:   make(chan struct{}),
		held:     map[*held]bool{},
	}
	b.next = "$JS.API.CONSUMER.MSG.NEXT." + mailbox(b.key) + "." + consumerName
	if external == nil {
		if b.host, err = startHost(ctx, b.key, cfg); err != nil {
			return nil, err
		}
		b.wire, b.synced = b.host.own, cfg.SyncAlways
	} else {
		if cfg.Listen != "" || cfg.LeafListen != "" || len(cfg.Leafs) > 0 {
			return nil, domain.Invalidf("with an external NATS server there is none of our own to listen or to link to other sites")
		}
		b.limits.replicas = external.replicas
		if b.wire, err = external.dial(cfg.Link, b.key, b.log); err != nil {
			return nil, err
		}
	}
	least := board.DurableMemory
	b.durable.Store(&least)
	if b.wire.Life().Err() == nil {
		// A start that goes well is ready when Open returns. One that does not
		// is gone on with by the pull loop, which says why.
		_ = b.look(ctx)
	}
	run, stop := context.WithCancel(context.Background())
	b.stop = stop
	go b.pull(run)
	return b, nil
}

// Scheme returns "nats".
func (b *Bus) Scheme() string { return scheme }

// Self is "nats:" and the node's public key.
func (b *Bus) Self() domain.Address { return Address(b.key) }

// Durability is what a parcel survives in a mailbox; see the package's text. It
// is memory as long as no server was reached.
func (b *Bus) Durability() board.Durability { return *b.durable.Load() }

// Send has a parcel put into its addressee's mailbox. It waits for the answer
// of the server that keeps it, ten seconds at most.
func (b *Bus) Send(ctx context.Context, to domain.Address, body []byte) error {
	key, err := keyOf(to)
	switch {
	case err != nil:
		return err
	case len(body) == 0:
		return domain.Invalidf("parcel is empty")
	case len(body) > bus.MaxParcel:
		return domain.Invalidf("parcel has %d bytes, the limit is %d", len(body), bus.MaxParcel)
	}
	select {
	case b.inFlight <- struct{}{}:
		defer func() { <-b.inFlight }()
	case <-ctx.Done():
		return ctx.Err()
	case <-b.gone:
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	subject := sendSubject(key, b.key)
	if key == b.key {
		subject = parcelSubject(key, key) // its own mailbox: no need to go out
	}
	answer, err := b.wire.Request(ctx, &nats.Msg{Subject: subject, Data: body})
	if err == nil {
		err = refusal(answer)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case b.closed():
		return errClosed
	case errors.Is(err, nats.ErrMaxPayload):
		return domain.Unavailablef("send parcel to %s: the NATS server takes no messages of %d bytes; set its max_payload to %d", to, len(body), MaxPayload)
	case errors.Is(err, nats.ErrDisconnected):
		return errAway
	}
	return domain.Unavailablef("send parcel to %s: %s", to, natslink.Words(err))
}

// refusal is what a stream's answer says is wrong.
func refusal(answer *nats.Msg) error {
	var said struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &said); err != nil {
		return errors.New("the answer was not of a mailbox")
	}
	if said.Error != nil {
		return errors.New(said.Error.Description)
	}
	return nil
}

// Receive waits for the next parcel.
func (b *Bus) Receive(ctx context.Context) (bus.Parcel, error) {
	if err := ctx.Err(); err != nil {
		return bus.Parcel{}, err
	}
	if b.closed() {
		return bus.Parcel{}, errClosed
	}
	select {
	case p := <-b.parcels:
		return p, nil
	case <-ctx.Done():
		return bus.Parcel{}, ctx.Err()
	case <-b.gone:
		return bus.Parcel{}, errClosed
	}
}

// Refresh has the embedded server ask for its peers again: who is no longer one
// is disconnected, and links reach who has become one.
func (b *Bus) Refresh() {
	if b.host != nil && !b.closed() {
		b.host.refresh()
	}
}

// Listening says where the embedded server takes nodes and sites, "" for
// nowhere.
func (b *Bus) Listening() (nodes, sites string) {
	if b.host == nil {
		return "", ""
	}
	return b.host.listening()
}

// Link is how a link of ours to another site stands.
type Link struct {
	Host string // with its port
	// To is the name of the site, or the key of the node there; "" where the link
	// says neither: its log-in is good at each node that it could lead to.
	To string
	Up bool
}

// Links are those of Config.Leafs, in that order.
func (b *Bus) Links() []Link {
	if b.host == nil || b.closed() {
		return nil
	}
	return b.host.links()
}

// Close ends the bus, and the embedded server with it. What was received and
// not done with comes again: at once where there is a server to tell, else when
// it starts anew.
func (b *Bus) Close() error {
	b.closing.Do(func() {
		close(b.gone)
		b.stop()
		<-b.pulled
		b.release()
		if b.host != nil {
			b.host.close()
		} else {
			b.wire.Close()
		}
	})
	return nil
}

func (b *Bus) closed() bool {
	select {
	case <-b.gone:
		return true
	default:
		return false
	}
}

// held is a parcel that was received.
type held struct {
	bus *Bus
	msg *nats.Msg
}

func (b *Bus) hold(m *nats.Msg) *held {
	h := &held{b, m}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[h] = true
	return h
}

// done acknowledges. It does not wait for the server: an acknowledgement that
// gets lost is a parcel that comes again.
func (h *held) done(context.Context) error {
	h.bus.mu.Lock()
	defer h.bus.mu.Unlock()
	if !h.bus.held[h] {
		return nil
	}
	delete(h.bus.held, h)
	if err := h.msg.Respond([]byte("+ACK")); err != nil {
		return domain.Unavailablef("acknowledge parcel: %s", natslink.Words(err))
	}
	return nil
}

// release gives back what is held.
func (b *Bus) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for h := range b.held {
		_ = h.msg.Respond([]byte("-NAK"))
	}
	clear(b.held)
}
