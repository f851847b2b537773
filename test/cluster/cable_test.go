package cluster

import (
	"io"
	"net"
	"sync"
	"testing"
)

// cable is a TCP connection to an address that can be cut.
type cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func lay(t *testing.T, to string) *cable {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: ln, to: to, conns: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() { c.serve(&all) })
	t.Cleanup(func() {
		ln.Close()
		c.sever()
		all.Wait()
	})
	return c
}

func (c *cable) address() string { return c.listener.Addr().String() }

func (c *cable) serve(all *sync.WaitGroup) {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		all.Go(func() { c.carry(near) })
	}
}

// carry joins a connection with one to the other end, until either breaks.
func (c *cable) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	if !c.keep(near, far) {
		return
	}
	defer c.drop(near, far)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			near.Close()
			far.Close()
		})
	}
	both.Wait()
}

func (c *cable) keep(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return false
	}
	for _, conn := range conns {
		c.conns[conn] = true
	}
	return true
}

func (c *cable) drop(conns ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		delete(c.conns, conn)
	}
}

// sever breaks what is there and lets nothing new through until mend.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for conn := range c.conns {
		conn.Close()
	}
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}
