// Package testpipe is a listener within the process: its connections are pipes,
// which a bubble (testing/synctest) knows of, so that time may be of the test's
// making.
package testpipe

import (
	"net"
	"sync"
)

// Listener is a [net.Listener] without a network.
type Listener struct {
	conns chan net.Conn
	done  chan struct{} // closed by Close
	once  sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Listen returns one that is open.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Dial connects to whoever accepts.
//
// Errors: [net.ErrClosed].
func (l *Listener) Dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	return ours, l.Pass(theirs)
}

// Pass has a connection accepted that was made elsewhere; it is closed where the
// listener is.
//
// Errors: [net.ErrClosed].
func (l *Listener) Pass(c net.Conn) error {
	select {
	case l.conns <- c:
		return nil
	case <-l.done:
		c.Close()
		return net.ErrClosed
	}
}

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
