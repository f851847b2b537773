// Package testcable lays TCP connections that tests can cut and hold up.
package testcable

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// Cable is a TCP connection to an address that can be cut and held up.
type Cable struct {
	listener net.Listener

	mu    sync.Mutex
	to    string
	cut   bool
	conns map[net.Conn]bool
	held  chan struct{} // closed when nothing is held up any more; nil: nothing is
	trap  []byte        // holds up what has this in it, and all after that; nil: nothing
	fell  chan struct{} // closed when that has come
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
		c.Release()
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
		to := c.end()
		far, err := net.Dial("tcp", to)
		if err != nil || !c.keep(to, near, far) {
			near.Close()
			if err == nil {
				far.Close()
			}
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			wg.Go(func() {
				c.carry(way[0], way[1])
				near.Close()
				far.Close()
			})
		}
	}
}

// carry brings what comes at one end to the other, until either breaks.
func (c *Cable) carry(to, from net.Conn) {
	for buf := make([]byte, 32<<10); ; {
		n, err := from.Read(buf)
		c.wait(buf[:n])
		if _, broken := to.Write(buf[:n]); broken != nil || err != nil {
			return
		}
	}
}

// wait waits as long as data is held up.
func (c *Cable) wait(data []byte) {
	c.mu.Lock()
	if c.trap != nil && bytes.Contains(data, c.trap) {
		c.held, c.trap = make(chan struct{}), nil
		close(c.fell)
	}
	held := c.held
	c.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (c *Cable) end() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.to
}

func (c *Cable) keep(to string, conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut || c.to != to {
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

// Lead breaks what is there, and has what comes lead to another address.
func (c *Cable) Lead(to string) {
	c.Sever()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to, c.cut = to, false
}

// HoldFrom keeps back the next that has text in it, and from then on all that
// goes either way, until Release: then it arrives, however late, even where its
// sender is gone. The channel is closed when it has come to that.
func (c *Cable) HoldFrom(text string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trap, c.fell = []byte(text), make(chan struct{})
	return c.fell
}

// Release lets go what is held up.
func (c *Cable) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trap = nil; c.held != nil {
		close(c.held)
		c.held = nil
	}
}
