package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Closed is the error of a connection that the rules do not allow.
type Closed struct {
	// Text says for the operator what was to be reached. It is not for who named
	// the address: it tells what a name resolves to here.
	Text string
}

func closedf(format string, args ...any) *Closed { return &Closed{fmt.Sprintf(format, args...)} }

func (e *Closed) Error() string { return e.Text }

// Unwrap makes it a [domain.ErrForbidden].
func (e *Closed) Unwrap() error { return domain.ErrForbidden }

// dialTime bounds the making of one connection.
const dialTime = 10 * time.Second

// Dialer opens connections to where the rules allow it. It is safe for
// concurrent use.
type Dialer struct {
	rules atomic.Pointer[Rules]
}

// NewDialer returns a dialer by rules.
func NewDialer(rules Rules) *Dialer {
	d := &Dialer{}
	d.Use(rules)
	return d
}

// Use makes other rules hold from the next connection on.
func (d *Dialer) Use(rules Rules) { d.rules.Store(&rules) }

// DialContext connects to "host:port", or to a path where network is "unix".
// Give it the name, not an address that you found out: a rule may be for the
// name.
//
// Errors: a *[Closed]; those of net.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	rules := d.rules.Load()
	if strings.HasPrefix(network, "unix") {
		if !rules.AllowsUnix(address) {
			return nil, closedf("egress to unix:%s is closed: the operator may list it under egress in the config file", domain.PlainText(address, 300))
		}
		return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, address)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, closedf("address %q: want host:port", domain.PlainText(address, 300))
	}
	nd := net.Dialer{Timeout: dialTime, ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil || !rules.Allows(host, to) {
			return closedf("egress to %s (%s) is closed: the operator may list it under egress in the config file", resolved, domain.PlainText(host, 300))
		}
		return nil
	}}
	return nd.DialContext(ctx, network, address)
}
