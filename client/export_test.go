package client

import (
	"bufio"
	"context"
	"io"

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
