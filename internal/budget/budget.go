package budget

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/machine"
)

// someHost is a machine that says nothing of itself.
var someHost = host{files: 1024, memory: 2 << 30}

// here is the machine that the process runs on.
func here() host { return host{files: openFiles(), memory: machine.Memory(someHost.memory)} }

// Budget is what all doors of a node share. It is safe for concurrent use.
type Budget struct {
	cfg Config
	// Remote is for callers over TCP, Local for those at a local socket.
	Remote, Local *Share
	seats         seats
	refused       refused
	// Refusals counts what was refused, by what there was too much of.
	refusals [len(whats)]atomic.Int64
	log      *slog.Logger
	tell     rate.Sometimes
}

// Share is what those who come one way have.
type Share struct {
	Requests, Streams, Subscriptions, Bytes *Pool
	// Turns are those of what reads much to answer.
	Turns *Turns
}

// New returns a budget. Refusals are told to log, at most one line in ten
// seconds: who makes many must not fill the log, too.
func New(c Config, log *slog.Logger) *Budget {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Budget{cfg: c.on(here()), log: log, tell: rate.Sometimes{Interval: tellEvery}}
	b.seats = seats{perAddress: map[address]*holder{}, perActor: map[domain.ActorID]int{}}
	b.refused.until = map[address]time.Time{}
	c = b.cfg
	b.Remote = &Share{
		Requests:      b.pool(requests, int64(c.Requests), int64(c.RequestsPerActor)),
		Streams:       b.pool(streams, int64(c.Streams), int64(c.StreamsPerActor)),
		Subscriptions: b.pool(subscriptions, int64(c.Subscriptions), int64(c.SubscriptionsPerActor)),
		Bytes:         b.pool(bytes, c.Bytes, c.BytesPerActor),
		Turns:         &Turns{b: b},
	}
	local := func(what what, n int64) *Pool { n = max(n/localPart, 16); return b.pool(what, n, n) }
	b.Local = &Share{
		Requests: local(requests, int64(c.Requests)), Streams: local(streams, int64(c.Streams)),
		Subscriptions: local(subscriptions, int64(c.Subscriptions)), Bytes: local(bytes, max(c.Bytes, minBytes*4)),
		Turns: &Turns{b: b},
	}
	return b
}

// Config are the bounds that hold.
func (b *Budget) Config() Config { return b.cfg }

const tellEvery = 10 * time.Second

// what there is too much of.
type what int

const (
	connections what = iota
	strangers
	addresses
	actors
	local
	requests
	streams
	subscriptions
	bytes
	files
	unaccepted
	proofs
	waiting
)

// whats are the names in metrics and in the log.
var whats = [...]string{"connections", "strangers", "connections_per_address", "connections_per_actor", "local_connections",
	"requests", "streams", "subscriptions", "bytes", "files", "not_accepted", "refused_per_address", "waiting_per_actor"}

// refuse counts a refusal, and tells the log now and then.
func (b *Budget) refuse(w what, who string) {
	b.refusals[w].Add(1)
	b.tell.Do(func() {
		b.log.Warn("callers are refused: a bound of `doors` is reached", "of", whats[w], "who", who, "so_far", b.refusals[w].Load())
	})
}

// lost counts a connection that the machine did not give us, and tells the log now
// and then.
func (b *Budget) lost(err error) {
	b.refusals[unaccepted].Add(1)
	b.tell.Do(func() {
		b.log.Warn("connections are not accepted: the machine has no room for them", "err", err, "so_far", b.refusals[unaccepted].Load())
	})
}

// Refusals is how often something was refused since the start, by name.
func (b *Budget) Refusals() map[string]int64 {
	all := make(map[string]int64, len(whats))
	for w, name := range whats {
		all[name] = b.refusals[w].Load()
	}
	return all
}

// Used is what is held now, by name.
func (b *Budget) Used() map[string]int64 {
	all := map[string]int64{}
	for _, s := range []*Share{b.Remote, b.Local} {
		for _, p := range []*Pool{s.Requests, s.Streams, s.Subscriptions, s.Bytes} {
			all[whats[p.what]] += p.Used()
		}
	}
	b.seats.mu.Lock()
	defer b.seats.mu.Unlock()
	all[whats[connections]] = int64(b.seats.known + b.seats.strange.Len())
	all[whats[strangers]] = int64(b.seats.strange.Len())
	all[whats[local]] = int64(b.seats.local)
	return all
}

// Pool is an amount of one thing that actors share.
type Pool struct {
	b         *Budget
	what      what
	all, each int64

	mu   sync.Mutex
	used int64
	by   map[domain.ActorID]int64 // 0: all who have not signed in together
	from map[address]int64        // of that of 0, by where they call from
}

// strangersPart is what one address may hold of what strangers have together: they are one
// actor, whose part one of them could hold alone.
const strangersPart = 4

func (b *Budget) pool(what what, all, each int64) *Pool {
	return &Pool{b: b, what: what, all: all, each: min(each, all), by: map[domain.ActorID]int64{}, from: map[address]int64{}}
}

// Take takes n for an actor, or nothing.
//
// Errors: [domain.ErrExhausted] when the actor has its part already;
// [domain.ErrUnavailable] when there is no more for anybody.
func (p *Pool) Take(who domain.ActorID, n int64) error { return p.take(who, address{}, n) }

// take takes n for an actor; of strangers who come from an address that counts it is that one's, too.
//
// Errors: those of [Pool.Take]; also [domain.ErrExhausted] when the address has its part already.
func (p *Pool) take(who domain.ActorID, from address, n int64) error {
	counts := who == 0 && from.IsValid()
	most := max(p.each/strangersPart, 1)
	p.mu.Lock()
	mine, all, here := p.by[who]+n, p.used+n, p.from[from]+n
	full := counts && here > most
	if mine <= p.each && all <= p.all && !full {
		p.by[who], p.used = mine, all
		if counts {
			p.from[from] = here
		}
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	if full {
		p.b.refuse(p.what, from.String())
		return domain.Exhaustedf("%s would hold %d %s at once, its limit is %d; end some, or try again later", from, here, phrases[p.what], most)
	}
	p.b.refuse(p.what, domain.Actor{ID: who}.Key())
	if mine > p.each {
		return domain.Exhaustedf("actor %d would hold %d %s at once, its limit is %d; end some, or try again later", who, mine, phrases[p.what], p.each)
	}
	return domain.Unavailablef("all %d %s of this node are taken; try again later", p.all, phrases[p.what])
}

// phrases are the names in what callers read.
var phrases = map[what]string{requests: "requests", streams: "streams", subscriptions: "subscriptions", bytes: "bytes of large requests and answers"}

// Give gives back what was taken.
func (p *Pool) Give(who domain.ActorID, n int64) { p.give(who, address{}, n) }

func (p *Pool) give(who domain.ActorID, from address, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	if p.by[who] -= n; p.by[who] == 0 {
		delete(p.by, who)
	}
	if who != 0 || !from.IsValid() {
		return
	}
	if p.from[from] -= n; p.from[from] == 0 {
		delete(p.from, from)
	}
}

// Used is what is taken now.
func (p *Pool) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// Hold is an amount of one pool that grows and shrinks in one hand. Who may
// change; what is held then stays the former holder's until all is given back.
type Hold struct {
	Pool *Pool
	Who  domain.ActorID
	// From is the connection of a stranger, whose address has a part of its own; nil: it has none.
	From   *Seat
	holder domain.ActorID // of the n
	n      int64
}

// Resize makes it n; where there is not as much, it stays as it is.
//
// Errors: those of [Pool.Take].
func (h *Hold) Resize(n int64) error {
	if h.n == 0 {
		h.holder = h.Who
	}
	if n > h.n {
		if err := h.Pool.take(h.holder, h.From.address(), n-h.n); err != nil {
			return err
		}
	} else if n < h.n {
		h.Pool.give(h.holder, h.From.address(), h.n-n)
	}
	h.n = n
	return nil
}

// End gives all back.
func (h *Hold) End() { _ = h.Resize(0) } // less is never refused
