package client

import (
	"bufio"
	"context"
	"io"
	"net"

	"github.com/ramet-run/ramet/api"
)

// Try does an operation as its example has it.
func Try(ctx context.Context, c *Client, o *api.Operation) error {
	var result any
	_, err := c.do(ctx, o, o.Example, &result)
	return err
}

// RetryAfter is exported for tests.
var RetryAfter = retryAfter

// MaxEvent is exported for tests.
const MaxEvent = maxEvent

// ReadEvents reads a stream of events.
func ReadEvents(r io.Reader, take func(name, id string, data []byte) error) error {
	return readEvents(bufio.NewReader(r), func(e event) error { return take(e.name, e.id, e.data) })
}

// Dialled is a client whose node is reached otherwise than by a network.
func Dialled(dial func() net.Conn) (*Client, error) {
	c, err := New(Config{URL: "http://node.test"})
	if err == nil {
		c.http.Transport.(*watched).http.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial(), nil }
	}
	return c, err
}

// PeerOf is exported for tests.
var PeerOf = peerOf
