package client

import (
	"bufio"
	"io"
)

// MaxEvent is exported for tests.
const MaxEvent = maxEvent

// ReadEvents reads a stream of events.
func ReadEvents(r io.Reader, take func(name, id string, data []byte) error) error {
	return readEvents(bufio.NewReader(r), func(e event) error { return take(e.name, e.id, e.data) })
}
