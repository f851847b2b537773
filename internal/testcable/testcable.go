// Package testcable lays TCP connections that tests can cut.
package testcable

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Cable is a TCP connection to an address that can be cut.
type Cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// Lay lays a cable to an address. It ends with the test.
func Lay(t testing.TB, to string) *Cable {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cable{listener: ln, to: to, conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() { c.serve(&wg) })
	t.Cleanup(func() {
		ln.Close()
		c.Sever()
		wg.Wait()
	})
	return c
}

// Address is where it begins.
func (c *Cable) Address() string { return c.listener.Addr().String() }

func (c *Cable) serve(wg *sync.WaitGroup) {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		if err != nil || !c.keep(near, far) {
			near.Close()
			if err == nil {
				far.Close()
			}
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			wg.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				near.Close()
				far.Close()
			})
		}
	}
}

func (c *Cable) keep(conns ...net.Conn) bool {
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

// Sever breaks what is there and lets nothing new through until Mend.
func (c *Cable) Sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for conn := range c.conns {
		conn.Close()
	}
	clear(c.conns)
}

// Mend lets connections through again.
func (c *Cable) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}
