package grpceffect

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// link is a connection with the calls on it. The library has pauses of its own
// between tries to connect, during which calls fail at once; attempts have
// theirs already. So a connection that failed is left, and the next attempt
// makes a new one.
type link struct {
	*grpc.ClientConn
	users  int  // calls on it; under the provider's lock
	left   bool // no call is to begin on it; the last one closes it
	failed atomic.Bool
}

// Invoke is the connection's. What it answers says whether it can be used on.
func (l *link) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	err := l.ClientConn.Invoke(ctx, method, args, reply, opts...)
	l.look(ctx, err)
	return err
}

// look says by a call's error whether the connection failed. Its state alone
// does not: the library fails the calls that wait for a connection before it
// says that it could not be made.
func (l *link) look(ctx context.Context, err error) {
	switch {
	case err == nil:
	case ctx.Err() != nil: // it may be a connection to nobody
		l.failed.Store(true)
	case status.Code(err) == codes.Unavailable && l.GetState() != connectivity.Ready: // not an answer of the server
		l.failed.Store(true)
	}
}

// links are the provider's connections: one that is used, and those that calls
// are still on.
type links struct {
	mu      sync.Mutex
	current *link
	closed  bool
	dial    func() (*grpc.ClientConn, error)
	// closedAddress is the last answer of the egress rules, while they close
	// the address: the library makes texts of errors.
	closedAddress atomic.Pointer[effect.Refused]
}

// take gives a connection to a call.
func (l *links) take() (*link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, domain.Unavailablef("grpc: the effect was closed")
	}
	if c := l.current; c != nil && (c.failed.Load() || c.GetState() == connectivity.TransientFailure) {
		l.leave(c)
	}
	if l.current == nil {
		conn, err := l.dial()
		if err != nil {
			return nil, domain.Unavailablef("grpc: %s", plain(err))
		}
		l.current = &link{ClientConn: conn}
	}
	l.current.users++
	return l.current, nil
}

// give takes it back.
func (l *links) give(c *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.users--; c.left && c.users == 0 {
		c.Close()
	}
}

func (l *links) leave(c *link) {
	l.current, c.left = nil, true
	if c.users == 0 {
		c.Close()
	}
}

// close ends all; no call is in flight then.
func (l *links) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.current != nil {
		l.leave(l.current)
	}
}

// dialer is how connections of an effect are made.
func (p *Provider) dialer() (func() (*grpc.ClientConn, error), error) {
	creds := insecure.NewCredentials()
	if p.options.Security == securityTLS {
		host, _, _ := net.SplitHostPort(p.options.Address)
		cfg, err := p.options.TLS.Config(host)
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(cfg)
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := p.lent.Dialer.DialContext(ctx, "tcp", address)
		var no *effect.Refused
		errors.As(err, &no)
		p.closedAddress.Store(no)
		return conn, err
	}
	return func() (*grpc.ClientConn, error) {
		return grpc.NewClient("passthrough:///"+p.options.Address, // names are the dialer's to resolve
			grpc.WithTransportCredentials(creds), grpc.WithContextDialer(dial), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
			grpc.WithDisableRetry(), grpc.WithUserAgent("ramet"), grpc.WithIdleTimeout(idleTime))
	}, nil
}
