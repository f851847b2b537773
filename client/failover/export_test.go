package failover

import (
	"context"
	"net"

	"github.com/ramet-run/ramet/client"
)

// DialBy has the nodes of a configuration be reached otherwise than by a network.
func DialBy(cfg client.Config, dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	cfg.HTTP.Transport.(*inTurn).http.DialContext = dial
}
