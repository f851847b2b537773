package membus

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
)

const scheme = "mem"

// Bus is one node's end of a [Network].
type Bus struct {
	net  *Network
	name string
	gone chan struct{} // closed by Close
	held map[*parcel]bool
}

var _ bus.Bus = (*Bus)(nil)

// Scheme returns "mem".
func (b *Bus) Scheme() string { return scheme }

// Self is "mem:" and the name given to [Network.Join].
func (b *Bus) Self() domain.Address { return address(b.name) }

// Durability is memory: the network ends with the test.
func (b *Bus) Durability() board.Durability { return board.DurableMemory }

// Send puts the parcel on its way; see [Config] for what may become of it.
func (b *Bus) Send(ctx context.Context, to domain.Address, body []byte) error {
	name, ok := strings.CutPrefix(string(to), scheme+":")
	switch {
	case !ok || !validName(name):
		return domain.Invalidf("address %q: want mem:<name>", to)
	case len(body) == 0:
		return domain.Invalidf("parcel is empty")
	case len(body) > bus.MaxParcel:
		return domain.Invalidf("parcel has %d bytes, the limit is %d", len(body), bus.MaxParcel)
	case ctx.Err() != nil:
		return ctx.Err()
	case b.closed():
		return errClosed
	}
	return b.net.send(b.name, name, body)
}

// Receive waits for the next parcel.
func (b *Bus) Receive(ctx context.Context) (bus.Parcel, error) {
	for {
		if err := ctx.Err(); err != nil {
			return bus.Parcel{}, err
		}
		p, next, changed, err := b.take()
		if err != nil {
			return bus.Parcel{}, err
		}
		if p != nil {
			return b.parcel(p), nil
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-due:
		case <-changed:
		case <-b.gone:
		case <-ctx.Done():
		}
	}
}

// take looks once. Without a parcel it says when the next arrives and gives
// what is closed when another may have.
func (b *Bus) take() (p *parcel, next time.Time, changed <-chan struct{}, err error) {
	n := b.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if b.closed() {
		return nil, next, nil, errClosed
	}
	p, next = n.box(b.name).take(time.Now(), func(from string) bool { return n.cut[link{from, b.name}] })
	if p != nil {
		b.held[p] = true
	}
	return p, next, n.changed, nil
}

func (b *Bus) parcel(p *parcel) bus.Parcel {
	// A copy: the parcel may come again, and the caller may write to its own.
	return bus.Parcel{From: address(p.from), Body: bytes.Clone(p.body), Done: func(context.Context) error {
		b.net.mu.Lock()
		defer b.net.mu.Unlock()
		delete(b.held, p)
		return nil
	}}
}

// Close ends the bus. What it had received and not done with waits for the
// node's next one.
func (b *Bus) Close() error {
	n := b.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if b.closed() {
		return nil
	}
	close(b.gone)
	for _, p := range slices.SortedFunc(maps.Keys(b.held), byNumber) {
		n.box(b.name).insert(p)
	}
	clear(b.held)
	n.wake()
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

var errClosed = domain.Unavailablef("bus is closed")

func address(name string) domain.Address { return domain.Address(scheme + ":" + name) }

func validName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
