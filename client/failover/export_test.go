package failover

import (
	"context"
	"net"
	"net/http"

	"github.com/ramet-run/ramet/client"
)

// DialBy has the nodes of a configuration be reached otherwise than by a network.
func DialBy(cfg client.Config, dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	cfg.HTTP.Transport.(*inTurn).http.(*http.Transport).DialContext = dial
}

// Through has requests be made by another transport.
func Through(cfg client.Config, by http.RoundTripper) { cfg.HTTP.Transport.(*inTurn).http = by }
