package myceliumtest

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
)

// Faults is what may befall messages on their way. Shares are from 0 to 1.
type Faults struct {
	// Lose is the share that the receiver's daemon takes and forgets, as it
	// forgets all that it has when it is restarted.
	Lose float64 `json:"lose,omitzero"`
	// LoseAck is the share that arrives without the sender learning it: its
	// daemon ends with "aborted".
	LoseAck float64 `json:"lose_ack,omitzero"`
	// LoseAnswer is the share of pushes and pops that are done, but whose
	// answer does not reach the client: the connection breaks instead.
	LoseAnswer float64 `json:"lose_answer,omitzero"`
	// Double is the share that comes a second time, once it was popped.
	Double float64 `json:"double,omitzero"`
	// Reorder is the share that overtakes all that wait in the inbox.
	Reorder float64 `json:"reorder,omitzero"`
	// Delay is the most that a message takes, in wall time; each its own.
	Delay time.Duration `json:"delay_ns,omitzero"`
	// Seed makes the choices repeatable.
	Seed uint64 `json:"seed,omitzero"`
}

// Network is daemons that reach each other. It is safe for concurrent use.
type Network struct {
	mu      sync.Mutex // guards what follows, and the messages of the daemons
	daemons []*Daemon
	cut     map[[2]*Daemon]bool
	faults  Faults
	rng     *rand.Rand
	ahead   time.Duration // how far the clock was moved
}

// NewNetwork returns a network without daemons and without faults.
func NewNetwork() *Network {
	n := &Network{cut: map[[2]*Daemon]bool{}}
	n.SetFaults(Faults{})
	return n
}

// Start starts a daemon with a new key on free ports of the loopback
// interface. It ends with the test.
func (n *Network) Start(t testing.TB) *Daemon {
	t.Helper()
	d, err := n.Open(Config{})
	if err != nil {
		t.Fatalf("start a Mycelium daemon: %v", err)
	}
	t.Cleanup(d.Stop)
	return d
}

// SetFaults sets what befalls messages from now on.
func (n *Network) SetFaults(f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults, n.rng = f, rand.New(rand.NewPCG(f.Seed, 0))
}

// Cut ends the connection of two daemons. What they send each other waits.
func (n *Network) Cut(a, b *Daemon) { n.connect(a, b, false) }

// Heal makes two daemons reach each other again.
func (n *Network) Heal(a, b *Daemon) { n.connect(a, b, true) }

func (n *Network) connect(a, b *Daemon, up bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]*Daemon{a, b}], n.cut[[2]*Daemon{b, a}] = !up, !up
	n.retransmit()
}

// Advance moves the clock by which daemons give up and forget messages.
func (n *Network) Advance(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ahead += d
}

func (n *Network) now() time.Time { return time.Now().Add(n.ahead) }

// befalls draws whether something of this share happens.
func (n *Network) befalls(share float64) bool { return share > 0 && n.rng.Float64() < share }

// packet is what daemons send each other: a message, or what became of one.
type packet struct {
	Kind     packetKind
	ID       string
	Src, Dst netip.Addr
	SrcKey   string
	// Of a message:
	Reply   bool
	Topic   []byte
	Payload []byte
}

type packetKind byte

const (
	hello    packetKind = iota // who is at the other end of a link
	message                    // a whole message
	refused                    // no rule lets it in
	arrived                    // all but the last acknowledgement came
	received                   // its receiver's daemon has it
	read                       // somebody popped or peeked it
)

// network64 is the part of an address by which packets find their daemon.
func network64(a netip.Addr) netip.Prefix {
	p, err := a.Prefix(64)
	if err != nil {
		return netip.Prefix{} // IPv4: there is no way
	}
	return p
}

// carry brings a packet to its daemon and reports whether it is on its way: to
// one of this network, else to one at the other end of a link.
func (n *Network) carry(from *Daemon, p packet) bool {
	for _, to := range n.daemons {
		if to.running() && to.prefix == network64(p.Dst) && p.Dst.Is6() {
			if n.cut[[2]*Daemon{from, to}] {
				return false
			}
			n.arrive(to, p)
			return true
		}
	}
	for _, l := range from.links {
		if l.prefix == network64(p.Dst) {
			l.send(p)
			return true
		}
	}
	return false
}

// arrive gives a daemon a packet, with what befalls it.
func (n *Network) arrive(to *Daemon, p packet) {
	if p.Kind != message || n.faults.Delay == 0 {
		to.handle(p)
		return
	}
	time.AfterFunc(time.Duration(n.rng.Int64N(int64(n.faults.Delay)+1)), func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if to.running() {
			to.handle(p)
		}
	})
}

// retransmit tries again all that could not be sent.
func (n *Network) retransmit() {
	for _, d := range n.daemons {
		for _, o := range d.unsent() {
			d.transmit(o)
		}
	}
}

// find returns the daemon of this network that has an address.
func (n *Network) find(a netip.Addr) *Daemon {
	i := slices.IndexFunc(n.daemons, func(d *Daemon) bool { return d.running() && a.Is6() && d.prefix == network64(a) })
	if i < 0 {
		return nil
	}
	return n.daemons[i]
}
