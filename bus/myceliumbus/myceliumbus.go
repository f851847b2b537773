package myceliumbus

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/address"
)

const (
	scheme = "mycelium"

	defaultAPI   = "http://127.0.0.1:8989"
	defaultTopic = "ramet.parcel"
	// maxTopic is Mycelium's own limit, in bytes.
	maxTopic = 255

	// openTime is how long Open waits for a daemon that starts at the same time.
	openTime = 10 * time.Second
	// closeTime is how long Close lets the poller finish what it asked: a call
	// that is cut could have popped a parcel.
	closeTime = 2 * time.Second
)

// Config is what else a bus can be told. The zero Config is good.
type Config struct {
	// Logger hears of a daemon that is away, and that it is back. Default: none.
	Logger *slog.Logger
}

// Bus is a node's end of a Mycelium network. It is safe for concurrent use.
type Bus struct {
	daemon *daemon
	self   domain.Address
	log    *slog.Logger
	reach  reach

	// Between Receive and the poller; see poll.go.
	waiting atomic.Int64
	wake    chan struct{} // holds a value when there is a reason to look
	parcels chan bus.Parcel

	once   sync.Once
	closed chan struct{} // closed by Close
	ended  chan struct{} // closed by the poller
	life   context.Context
	cancel context.CancelFunc
}

var _ bus.Bus = (*Bus)(nil)

var errClosed = domain.Unavailablef("mycelium bus is closed")

// Open opens the bus of the daemon at where:
//
//	mycelium:http://127.0.0.1:8989
//	mycelium:http://127.0.0.1:8989/?topic=ramet.parcel
//
// with that port and topic when they are left out. Nodes that are to reach each
// other have the same topic. A daemon that does not answer yet is waited for,
// for up to 10 s.
//
// Errors: [domain.ErrInvalid] for an address of another form;
// [domain.ErrUnavailable] when no daemon answers there; the context's own.
func Open(ctx context.Context, where string, cfg Config) (*Bus, error) {
	api, topic, err := parse(where)
	if err != nil {
		return nil, err
	}
	b := &Bus{
		daemon: newDaemon(api, topic), log: cfg.Logger, reach: reach{first: map[string]probe{}},
		wake: make(chan struct{}, 1), parcels: make(chan bus.Parcel),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if !loopback(api.Hostname()) {
		b.log.Warn("the Mycelium daemon is not on the loopback interface: its API has no password and no TLS, so whoever reaches it can send as this "+
			"node and take its parcels",
			"api", b.daemon.api)
	}
	key, err := b.find(ctx)
	if err != nil {
		b.daemon.close()
		return nil, err
	}
	b.self = addressOf(key)
	b.life, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go b.poll()
	return b, nil
}

// find asks the daemon for its key until it answers.
func (b *Bus) find(ctx context.Context) (string, error) {
	patience, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	for pause, said := minPause, false; ; pause = min(2*pause, maxPause) {
		key, err := b.daemon.key(patience)
		switch {
		case err == nil:
			return key, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case patience.Err() != nil:
			return "", domain.Unavailablef("mycelium daemon at %s: no answer for %v", b.daemon.api, openTime)
		case !said:
			b.log.Warn("Mycelium daemon does not answer; waiting for it", "api", b.daemon.api, "err", err)
			said = true
		}
		select {
		case <-time.After(pause):
		case <-patience.Done():
		}
	}
}

// parse reads the URL of a bus.
func parse(where string) (*url.URL, string, error) {
	text, ok := strings.CutPrefix(where, scheme+":")
	if !ok {
		return nil, "", domain.Invalidf("bus %q: want mycelium:http://127.0.0.1:8989", domain.HideURL(where))
	}
	if text == "" {
		text = defaultAPI
	}
	u, query, err := address.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, "", domain.Invalidf("bus: want mycelium:http://HOST:PORT, with /?topic=NAME if it is not %s", defaultTopic)
	}
	topic := defaultTopic
	if query.Has("topic") {
		topic = query.Get("topic")
		query.Del("topic")
	}
	switch {
	case len(query) > 0:
		return nil, "", domain.Invalidf("bus %q: topic is the only option", domain.HideURL(where))
	case topic == "" || len(topic) > maxTopic:
		return nil, "", domain.Invalidf("bus %q: want a topic of 1 to %d bytes", domain.HideURL(where), maxTopic)
	}
	u.Path, u.RawQuery, u.ForceQuery = "", "", false
	return u, topic, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func addressOf(key string) domain.Address { return domain.Address(scheme + ":" + key) }

// Scheme returns "mycelium".
func (b *Bus) Scheme() string { return scheme }

// Self is "mycelium:" and the key of the daemon.
func (b *Bus) Self() domain.Address { return b.self }

// Durability is memory: a daemon keeps nothing on disk.
func (b *Bus) Durability() board.Durability { return board.DurableMemory }

// Send gives a parcel to the daemon. Where theirs has not answered for a while
// it is refused as unavailable: our daemon is trying already, and would only
// keep one more.
func (b *Bus) Send(ctx context.Context, to domain.Address, body []byte) error {
	key, ok := strings.CutPrefix(string(to), scheme+":")
	switch {
	case !ok || !isKey(key):
		return domain.Invalidf("address %q: want mycelium:<64 lower-case hex digits>", to)
	case len(body) == 0:
		return domain.Invalidf("parcel is empty")
	case len(body) > bus.MaxParcel:
		return domain.Invalidf("parcel has %d bytes, the limit is %d", len(body), bus.MaxParcel)
	case ctx.Err() != nil:
		return ctx.Err()
	case b.isClosed():
		return errClosed
	}
	if err := b.answers(ctx, key); err != nil {
		return err
	}
	id, err := b.daemon.push(ctx, key, body)
	if err != nil {
		return err
	}
	b.reach.pushed(key, id, time.Now())
	b.nudge() // an answer may follow soon
	return nil
}

// Close ends the bus. A parcel that was popped at that moment is lost.
func (b *Bus) Close() error {
	b.once.Do(func() {
		close(b.closed)
		defer time.AfterFunc(closeTime, b.cancel).Stop()
		<-b.ended
		b.cancel()
		b.daemon.close()
	})
	return nil
}

func (b *Bus) isClosed() bool {
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}

// maxID bounds the ids of messages: they have 16 digits.
const maxID = 64

// isID reports whether s may be the id of a message: it is kept, and stands in a
// path.
func isID(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= maxID
}

// isKey reports whether s is a key as daemons write it.
func isKey(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

// bare is an error without the URL, which says nothing new.
func bare(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return err
}
