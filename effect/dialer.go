package effect

import (
	"context"
	"errors"
	"net"

	"github.com/ramet-run/ramet/egress"
)

// Dialer opens the connections of providers, to where the egress rules allow it.
type Dialer struct{ by *egress.Dialer }

// NewDialer returns a dialer by rules.
func NewDialer(rules egress.Rules) *Dialer { return &Dialer{egress.NewDialer(rules)} }

// DialContext is that of [egress.Dialer].
//
// Errors: a *[Refused] for what is closed, which stays so however often one
// asks; those of net.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.by.DialContext(ctx, network, address)
	var closed *egress.Closed
	if errors.As(err, &closed) {
		return nil, Refusedf("%s", closed.Text)
	}
	return conn, err
}
