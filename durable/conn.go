package durable

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// Conn is the channel of a process that its node has given the path of a socket. It
// connects with the first request, and has one under way at a time.
type Conn struct {
	path string

	mu      sync.Mutex
	conn    net.Conn // nil: not yet
	answers *bufio.Reader
	asked   int64
}

var _ Channel = (*Conn)(nil)

// Dial returns the channel at the path that $RAMET_CHANNEL has.
func Dial(path string) *Conn { return &Conn{path: path} }

// maxPath is what fits into the address of a socket everywhere.
const maxPath = 100

func (c *Conn) open() (err error) {
	path := c.path
	if len(path) > maxPath { // by its folder, as it was made
		folder, err := os.Open(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer folder.Close()
		path = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path))
	}
	if c.conn, err = net.Dial("unix", path); err != nil {
		return fmt.Errorf("reach the job's node: %w", err)
	}
	c.answers = bufio.NewReader(c.conn)
	return nil
}

// Do asks the node. The end of ctx does not end it: the node ends the process.
//
// Errors: as those of [Channel]; others where the node cannot be reached.
func (c *Conn) Do(_ context.Context, r Request) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		if err := c.open(); err != nil {
			return Answer{}, err
		}
	}
	c.asked++
	r.ID = c.asked
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return Answer{}, domain.Invalidf("%s %q: %v", r.Do, r.Name, err)
	}
	if _, err := c.conn.Write(line.Bytes()); err != nil {
		return Answer{}, fmt.Errorf("speak with the job's node: %w", err)
	}
	text, err := c.answers.ReadBytes('\n')
	if err != nil {
		return Answer{}, fmt.Errorf("hear from the job's node: %w", err)
	}
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("the node's answer cannot be read: %w", err)
	}
	if a.Error != nil {
		return Answer{}, a.Error.err()
	}
	return a, nil
}

// Close ends the connection, and with it the steps that were begun over it.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// Ended waits until the node has ended the connection, as it does when it ends the process.
func (c *Conn) Ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_, _ = io.Copy(io.Discard, c.answers)
	}
}

// err is the error that was put into these words.
func (e *Error) err() error {
	switch e.Kind {
	case "drift":
		return fmt.Errorf("%w: %s", ErrDrift, e.Text)
	case "lost":
		return ErrLost
	case "invalid":
		return domain.Invalidf("%s", e.Text)
	case "limit":
		return domain.Limitf("%s", e.Text)
	case "conflict":
		return domain.Conflictf("%s", e.Text)
	case "unavailable":
		return domain.Unavailablef("%s", e.Text)
	}
	return errors.New(e.Text)
}
