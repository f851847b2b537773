package budget

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// address is an IPv4 address, or the /64 of an IPv6 address; the zero one is
// that of connections that have none, or whose address many share.
type address = netip.Prefix

// seats are the connections that there are.
type seats struct {
	mu         sync.Mutex
	local      int
	localQuiet list.List // of *Seat at local sockets that have not signed in, oldest first
	known      int
	strange    list.List // of *Seat over TCP that have not signed in, oldest first
	perAddress map[address]*holder
	perActor   map[domain.ActorID]int
}

// holder is what one address has.
type holder struct {
	all     int
	strange list.List // of *Seat, oldest first
}

// Seat is one connection's place.
type Seat struct {
	b     *Budget
	conn  net.Conn
	from  address
	local bool

	// Guarded by seats.mu:
	actor        domain.ActorID
	left         bool
	here, theirs *list.Element // among all strangers, and among those of its address
}

// Local reports whether it is a connection of a local socket.
func (s *Seat) Local() bool { return s.local }

// address is where the connection comes from; the zero one where that does not count.
func (s *Seat) address() address {
	if s == nil {
		return address{}
	}
	return s.from
}

// Share is what the connection's callers take from.
func (s *Seat) Share() *Share {
	if s.local {
		return s.b.Local
	}
	return s.b.Remote
}

// Sit gives a connection a place among the strangers.
//
// Errors: [domain.ErrExhausted] when its address has all it may have, signed in;
// [domain.ErrUnavailable] when local sockets have.
func (b *Budget) Sit(conn net.Conn) (*Seat, error) {
	s := &Seat{b: b, conn: conn}
	if _, s.local = conn.(*net.UnixConn); !s.local {
		s.from = b.addressOf(conn.RemoteAddr())
	}
	t := &b.seats
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.local {
		if t.local >= b.cfg.Local {
			b.refuse(local, "local socket")
			if t.localQuiet.Len() == 0 {
				return nil, domain.Unavailablef("%d connections are at the local socket, the limit; end some, or try again later", t.local)
			}
			t.localQuiet.Front().Value.(*Seat).showOut()
		}
		t.local++
		s.here = t.localQuiet.PushBack(s)
		return s, nil
	}
	from := t.perAddress[s.from]
	if s.from.IsValid() && from != nil && from.all >= b.cfg.PerAddress {
		b.refuse(addresses, s.from.String())
		if from.strange.Len() == 0 {
			return nil, domain.Exhaustedf("%d connections come from %s, the limit; end some, or try again later", from.all, s.from)
		}
		from.strange.Front().Value.(*Seat).showOut()
	}
	if t.strange.Len() >= b.cfg.Strangers {
		out := b.seats.mostStrangers()
		b.refuse(strangers, out.from.String())
		out.showOut()
	}
	s.add()
	return s, nil
}

// add counts the seat among the strangers. The caller holds the lock.
func (s *Seat) add() {
	t := &s.b.seats
	from := t.perAddress[s.from]
	if from == nil {
		from = &holder{}
		t.perAddress[s.from] = from
	}
	from.all++
	s.here, s.theirs = t.strange.PushBack(s), from.strange.PushBack(s)
}

// mostStrangers is the oldest stranger of the address that has most of them.
func (t *seats) mostStrangers() *Seat {
	var most *holder
	for _, h := range t.perAddress { // as many as strangers and connections: the bound of both
		if most == nil || h.strange.Len() > most.strange.Len() {
			most = h
		}
	}
	return most.strange.Front().Value.(*Seat)
}

// showOut closes a stranger's connection. The caller holds the lock.
func (s *Seat) showOut() {
	s.forget()
	raw := s.conn
	if t, ok := raw.(*tls.Conn); ok {
		raw = t.NetConn() // to close TLS properly would wait for the other end
	}
	raw.Close()
}

// forget takes the seat out of all counts. The caller holds the lock.
func (s *Seat) forget() {
	if s.left {
		return
	}
	s.left = true
	t := &s.b.seats
	if s.local {
		t.local--
		if s.here != nil {
			t.localQuiet.Remove(s.here)
			s.here = nil
		}
		return
	}
	from := t.perAddress[s.from]
	if s.here != nil {
		t.strange.Remove(s.here)
		from.strange.Remove(s.theirs)
		s.here, s.theirs = nil, nil
	} else {
		t.known--
		t.less(s.actor)
	}
	if from.all--; from.all == 0 {
		delete(t.perAddress, s.from)
	}
}

func (t *seats) less(actor domain.ActorID) {
	if t.perActor[actor]--; t.perActor[actor] == 0 {
		delete(t.perActor, actor)
	}
}

// SignIn says whose the connection is. Of several, one after the other, it is
// the first one's: a connection is one actor's or a proxy's.
//
// Errors: [domain.ErrExhausted] when the actor has as many as it may;
// [domain.ErrUnavailable] when the node has, or when the connection was closed
// to make room.
func (s *Seat) SignIn(actor domain.ActorID) error {
	if s == nil {
		return nil
	}
	t := &s.b.seats
	t.mu.Lock()
	defer t.mu.Unlock()
	switch c := s.b.cfg; {
	case s.left:
		return domain.Unavailablef("the connection was closed to make room for others; connect again")
	case s.here == nil:
		return nil
	case s.local:
		t.localQuiet.Remove(s.here)
		s.here = nil
		return nil
	case t.perActor[actor] >= c.PerActor:
		s.b.refuse(actors, "actor:"+strconv.FormatUint(uint64(actor), 10))
		return domain.Exhaustedf("actor %d has %d connections, the limit; end some, or use those there are for more than one request", actor, t.perActor[actor])
	case t.known >= c.Connections-c.Strangers:
		s.b.refuse(connections, "all")
		return domain.Unavailablef("all %d connections of this node are taken; try again later", t.known)
	}
	t.strange.Remove(s.here)
	t.perAddress[s.from].strange.Remove(s.theirs)
	s.here, s.theirs, s.actor = nil, nil, actor
	t.known++
	t.perActor[actor]++
	return nil
}

// SignOut makes the connection a stranger's again, the newest of them.
func (s *Seat) SignOut() {
	t := &s.b.seats
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.left || s.here != nil {
		return
	}
	if s.local {
		s.here = t.localQuiet.PushBack(s)
		return
	}
	t.known--
	t.less(s.actor)
	s.actor = 0
	s.here, s.theirs = t.strange.PushBack(s), t.perAddress[s.from].strange.PushBack(s)
}

// Leave gives the place back. It may be called more than once.
func (s *Seat) Leave() {
	s.b.seats.mu.Lock()
	defer s.b.seats.mu.Unlock()
	s.forget()
}

// addressOf is the address that counts.
func (b *Budget) addressOf(a net.Addr) address {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return address{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	for _, shared := range b.cfg.Shared {
		if shared.Contains(ip) {
			return address{}
		}
	}
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.WithZone("").Prefix(bits) // the length fits
	return p
}
