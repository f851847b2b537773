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
// nothing.
//
// Errors: [domain.ErrConflict] when somebody answers there already;
// [domain.ErrUnavailable]; those of first.
func ListenSocket(path string, first func() error) (net.Listener, error) {
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
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, domain.Unavailablef("listen on the local socket: %v", err)
	}
	ln.SetUnlinkOnClose(false) // that would remove whatever lies there by then
	made, err := os.Lstat(path)
	if err != nil {
		ln.Close()
		return nil, domain.Unavailablef("look at the local socket: %v", err)
	}
	socket := &socketListener{UnixListener: ln, path: path, made: made}
	// The folder is 0700 and the peer is checked; this is for those who look.
	if err := os.Chmod(path, 0o600); err != nil {
		socket.Close()
		return nil, domain.Unavailablef("protect the local socket: %v", err)
	}
	return socket, nil
}

// socketListener removes its socket when it is closed, and nobody else's: where the
// data folder was moved, another node may listen at the path by then.
type socketListener struct {
	*net.UnixListener
	path   string
	made   fs.FileInfo
	remove sync.Once // what was removed may be another's the next time, and look the same
}

// Close removes the socket first: as long as this one answers, no other node takes its place.
func (l *socketListener) Close() error {
	l.remove.Do(func() {
		if is, err := os.Lstat(l.path); err == nil && os.SameFile(l.made, is) {
			os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}
