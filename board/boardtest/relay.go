package boardtest

import (
	"net"
	"sync"
	"testing"
)

// Relay is a way to a server by TCP that a test can spoil.
type Relay struct {
	listener net.Listener
	to       string
	ends     sync.WaitGroup

	mu    sync.Mutex
	shut  bool
	mute  bool
	deaf  bool
	lost  chan struct{}         // closed with the first that is lost; nil: nothing is to be
	conns map[net.Conn]net.Conn // from the client, and to the server
}

// NewRelay opens a way to a server. It ends with the test.
func NewRelay(t testing.TB, to string) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{listener: l, to: to, conns: map[net.Conn]net.Conn{}}
	r.ends.Go(r.serve)
	t.Cleanup(func() {
		l.Close()
		r.Cut()
		r.ends.Wait()
	})
	return r
}

// Addr is where the way begins.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Cut ends all connections, and refuses new ones until Mend.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
	r.reset()
}

// Reset ends all connections.
func (r *Relay) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset()
}

// Mute loses all that the server says, until Mend: what the client asks for is
// done, and not answered. The channel is closed when something was lost.
func (r *Relay) Mute() <-chan struct{} { return r.lose(&r.mute) }

// Deafen loses all that the client says, until Mend, like Mute.
func (r *Relay) Deafen() <-chan struct{} { return r.lose(&r.deaf) }

func (r *Relay) lose(what *bool) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	*what = true
	r.lost = make(chan struct{})
	return r.lost
}

// Mend lets everything through again, by new connections.
func (r *Relay) Mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut, r.mute, r.deaf, r.lost = false, false, false, nil
	r.reset()
}

func (r *Relay) reset() {
	for c, s := range r.conns {
		c.Close()
		s.Close()
	}
	clear(r.conns)
}

func (r *Relay) serve() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", r.to)
		if err != nil || !r.join(c, s) {
			c.Close()
			if err == nil {
				s.Close()
			}
		}
	}
}

func (r *Relay) join(c, s net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return false
	}
	r.conns[c] = s
	r.ends.Go(func() { r.carry(s, c, &r.deaf) })
	r.ends.Go(func() { r.carry(c, s, &r.mute) })
	return true
}

// carry brings what comes to the other end, unless it is to be lost.
func (r *Relay) carry(to, from net.Conn, lose *bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		r.mu.Lock()
		lost := *lose
		if lost && n > 0 && r.lost != nil {
			close(r.lost)
			r.lost = nil
		}
		r.mu.Unlock()
		if !lost {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
