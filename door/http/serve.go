package http

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log"
	"log/slog"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/peer"
)

const (
	headerTime = 10 * time.Second // to send the header: slow clients hold a connection
	bodyTime   = time.Minute      // to send header and body
	idleTime   = 2 * time.Minute
	closeTime  = 5 * time.Second // for calls in progress when the door closes
	maxHeader  = 32 << 10        // bytes
	// Of one connection of HTTP/2: requests at once, and bytes that have arrived
	// and that nobody has asked for yet.
	maxConcurrent = 100
	maxReceived   = 256 << 10
)

// Serve answers on ln until ctx ends. Then streams are told to come back
// later, calls in progress get a few seconds, and it returns.
func (d *Door) Serve(ctx context.Context, ln net.Listener) error {
	closing, close := context.WithCancel(context.Background())
	defer close()
	seated := d.budget.Listen(ln, refuse)
	srv := &nethttp.Server{
		Handler: d, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(logWriter{d.log}, "", 0),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), closingKey{}, closing)
		},
		HTTP2: &nethttp.HTTP2Config{MaxConcurrentStreams: maxConcurrent, MaxReceiveBufferPerConnection: maxReceived, MaxReceiveBufferPerStream: maxReceived},
		ConnState: func(c net.Conn, state nethttp.ConnState) {
			if state == nethttp.StateClosed || state == nethttp.StateHijacked {
				seated.Gone(c)
			}
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx = context.WithValue(ctx, seatKey{}, seated.Seat(c))
			if local, ok := c.(*net.UnixConn); ok {
				return withPeer(ctx, peer.Of(local))
			}
			return ctx
		},
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(seated) }()
	select {
	case err := <-done:
		return domain.Unavailablef("the HTTP door closed: %v", err)
	case <-ctx.Done():
	}
	close()
	rest, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := srv.Shutdown(rest); err != nil {
		srv.Close()
	}
	<-done
	return nil
}

// logWriter takes what net/http has to say: broken handshakes, for example.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Debug("http server", "text", string(b))
	return len(b), nil
}

// ListenTCP listens on an address, with TLS where cert and key (PEM files) are
// given.
//
// Errors: those of [domain.FileErrorf]; [domain.ErrInvalid] for files that are
// no pair; [domain.ErrUnavailable].
func ListenTCP(address, cert, key string) (net.Listener, error) {
	if (cert == "") != (key == "") {
		return nil, domain.Invalidf("TLS needs a certificate and its key: give both or none")
	}
	var pair tls.Certificate
	if cert != "" {
		var err error
		if pair, err = tls.LoadX509KeyPair(cert, key); err != nil {
			return nil, domain.FileErrorf(err, "TLS certificate %q with key %q: %v", cert, key, err)
		}
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, domain.Unavailablef("listen: %v", err)
	}
	if cert != "" {
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	}
	return ln, nil
}

// ListenSocket listens on a local socket that only its owner can open. What a
// dead node left there is removed. What must be there before anybody can
// connect is made by first, which is called when the place is free; nil makes
// nothing. A socket that is deleted while it is listened at is made anew, which
// log says.
//
// Errors: [domain.ErrConflict] when somebody answers there already;
// [domain.ErrUnavailable]; those of first.
func ListenSocket(path string, log *slog.Logger, first func() error) (net.Listener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, domain.Conflictf("a node answers at %s already; stop it, or choose another data folder", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, domain.Conflictf("%s is in the way of the local socket, and is no socket", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, domain.Unavailablef("remove the old local socket: %v", err)
	}
	if first != nil {
		if err := first(); err != nil {
			return nil, err
		}
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, domain.Unavailablef("look at the folder of the local socket: %v", err)
	}
	socket := &socketListener{path: path, log: log, folder: folder, every: socketEvery}
	if err := socket.listen(); err != nil {
		folder.Close()
		return nil, err
	}
	return socket, nil
}

// socketEvery is how often it is looked whether a local socket is still where it was made.
const socketEvery = 2 * time.Second

// socketListener removes its socket when it is closed, and nobody else's: where the
// data folder was moved, another node may listen at the path by then. One that was deleted is made
// anew: nobody could reach the node any more, and nothing would say so.
type socketListener struct {
	path   string
	log    *slog.Logger
	folder *os.File      // where it lies; open, so that no other folder looks like it
	every  time.Duration // [socketEvery]

	mu     sync.Mutex
	at     *net.UnixListener
	made   fs.FileInfo // the socket
	closed bool
}

// listen makes the socket.
//
// Errors: [domain.ErrUnavailable].
func (l *socketListener) listen() error {
	at, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.path, Net: "unix"})
	if err != nil {
		return domain.Unavailablef("listen on the local socket: %v", err)
	}
	at.SetUnlinkOnClose(false) // that would remove whatever lies there by then
	made, err := os.Lstat(l.path)
	if err != nil {
		at.Close()
		return domain.Unavailablef("look at the local socket: %v", err)
	}
	l.at, l.made = at, made
	// The folder is 0700 and the peer is checked; this is for those who look.
	if err := os.Chmod(l.path, 0o600); err != nil {
		l.end()
		return domain.Unavailablef("protect the local socket: %v", err)
	}
	return nil
}

// Accept waits for the next connection, and looks after the socket meanwhile.
func (l *socketListener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		at := l.at
		err := at.SetDeadline(time.Now().Add(l.every))
		l.mu.Unlock()
		if err != nil {
			return nil, err
		}
		c, err := at.Accept()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
		l.keep()
	}
}

// keep makes the socket anew where it was deleted. Where its folder was moved it is none of this node's any more.
func (l *socketListener) keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := os.Lstat(l.path); l.closed || !errors.Is(err, fs.ErrNotExist) {
		return
	}
	was, err := l.folder.Stat()
	if is, err2 := os.Stat(filepath.Dir(l.path)); err != nil || err2 != nil || !os.SameFile(was, is) {
		return
	}
	old := l.at
	if err := l.listen(); err != nil {
		l.at = old // it is tried again
		l.log.Error("the local socket was deleted, and cannot be made anew", "socket", l.path, "err", err)
		return
	}
	old.Close()
	l.log.Warn("the local socket was deleted while the node ran; it was made anew", "socket", l.path)
}

// Addr is where it listens.
func (l *socketListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close removes the socket first: as long as this one answers, no other node takes its place.
func (l *socketListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // what was removed may be another's the next time, and look the same
		return net.ErrClosed
	}
	l.closed = true
	l.folder.Close()
	return l.end()
}

func (l *socketListener) end() error {
	if is, err := os.Lstat(l.path); err == nil && os.SameFile(l.made, is) {
		os.Remove(l.path)
	}
	return l.at.Close()
}
