package membus

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// MaxWaiting bounds the parcels that wait for one node; the oldest go.
const MaxWaiting = 10_000

// holdBack is how much later at most a parcel comes that others overtake,
// beyond Config.Delay.
const holdBack = 100 * time.Millisecond

// Config says how bad a network is. The zero value is a perfect one.
type Config struct {
	// Seed decides everything that is left to chance.
	Seed uint64
	// Loss is the chance, 0..1, that a parcel is taken and never arrives.
	Loss float64
	// Double is the chance that it arrives twice.
	Double float64
	// Unsure is the chance that Send says unavailable though it is on its way.
	Unsure float64
	// Delay is how long a parcel travels at most. Alone it keeps the order of
	// what goes from one node to another.
	Delay time.Duration
	// Reorder is the chance that a parcel is held back, by up to Delay and
	// 100 ms, while later ones pass.
	Reorder float64
}

// Network joins the buses of one test.
type Network struct {
	mu    sync.Mutex
	cfg   Config
	links map[link]*chance
	cut   map[link]bool // of both directions
	boxes map[string]*mailbox
	// changed is closed and made anew when something may have come to lie
	// ready for somebody.
	changed chan struct{}
}

// link is the way from one node to another.
type link struct{ from, to string }

// chance is what is left to chance on one link.
type chance struct {
	rand *rand.Rand
	last time.Time // when the latest parcel in order arrives
}

// New returns a network without nodes.
func New(cfg Config) *Network {
	return &Network{
		cfg:     cfg,
		links:   map[link]*chance{},
		cut:     map[link]bool{},
		boxes:   map[string]*mailbox{},
		changed: make(chan struct{}),
	}
}

// Join returns the bus of the node of that name, with the address
// "mem:<name>". A name is 1..64 lower-case letters, digits and dashes; another
// is a mistake of the test's and panics. Several buses of one name are several
// processes of one node: each parcel goes to one of them.
func (n *Network) Join(name string) *Bus {
	if !validName(name) {
		panic("membus: bad name " + name)
	}
	return &Bus{net: n, name: name, gone: make(chan struct{}), held: map[*parcel]bool{}}
}

// Cut parts two nodes: Send between them says unavailable, and what is on its
// way stays there until [Network.Heal].
func (n *Network) Cut(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[link{a, b}], n.cut[link{b, a}] = true, true
}

// Heal takes back every cut.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	n.wake()
}

// Calm ends loss, doubling, delay and reordering for what is sent from now on,
// and takes back every cut: after it, everything arrives.
func (n *Network) Calm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cfg = Config{Seed: n.cfg.Seed}
	clear(n.cut)
	n.wake()
}

// send puts a parcel on its way.
func (n *Network) send(from, to string, body []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := link{from, to}
	if n.cut[l] {
		return domain.Unavailablef("%s cannot be reached from %s", to, from)
	}
	c := n.chance(l)
	// Always the same draws, so that one outcome does not shift the next.
	lost, twice, unsure := c.rand.Float64(), c.rand.Float64(), c.rand.Float64()
	first, second := n.arrival(c), n.arrival(c)
	if lost >= n.cfg.Loss {
		n.box(to).put(first, from, body)
		if twice < n.cfg.Double {
			n.box(to).put(second, from, body)
		}
		n.wake()
	}
	if unsure < n.cfg.Unsure {
		return domain.Unavailablef("the way from %s to %s broke", from, to)
	}
	return nil
}

// arrival draws when a parcel sent now arrives.
func (n *Network) arrival(c *chance) time.Time {
	travel, late := c.rand.Float64(), c.rand.Float64()
	held := c.rand.Float64() < n.cfg.Reorder
	at := time.Now().Add(time.Duration(travel * float64(n.cfg.Delay)))
	if held {
		return at.Add(time.Duration(late * float64(n.cfg.Delay+holdBack)))
	}
	if at.Before(c.last) {
		at = c.last
	}
	c.last = at
	return at
}

func (n *Network) chance(l link) *chance {
	c := n.links[l]
	if c == nil {
		h := fnv.New64a()
		h.Write([]byte(l.from + " " + l.to))
		c = &chance{rand: rand.New(rand.NewPCG(n.cfg.Seed, h.Sum64()))}
		n.links[l] = c
	}
	return c
}

func (n *Network) box(name string) *mailbox {
	b := n.boxes[name]
	if b == nil {
		b = &mailbox{}
		n.boxes[name] = b
	}
	return b
}

// wake has everybody who waits look again.
func (n *Network) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}
