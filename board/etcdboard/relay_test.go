package etcdboard_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is a way to a server that can be cut.
type link struct {
	addr string
	to   string

	mu     sync.Mutex
	broken bool
	conns  []net.Conn
}

func relay(t *testing.T, to string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{addr: l.Addr().String(), to: to}
	t.Cleanup(func() { l.Close(); k.cut() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.join(c)
		}
	}()
	return k
}

func (k *link) join(c net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, err := net.Dial("tcp", k.to)
	if err != nil || k.broken {
		c.Close()
		if err == nil {
			s.Close()
		}
		return
	}
	k.conns = append(k.conns, c, s)
	go func() { io.Copy(c, s); c.Close() }()
	go func() { io.Copy(s, c); s.Close() }()
}

// cut ends all connections, and refuses new ones until mend.
func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = true
	for _, c := range k.conns {
		c.Close()
	}
	k.conns = nil
}

func (k *link) mend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = false
}
