package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// maxEvent bounds one event of a stream: the last one holds a job with its
// script, each byte of which may be written as six.
const maxEvent = 16 << 20 // bytes

// errBadEvent means that the other end does not speak as we do: trying again
// would not help.
var errBadEvent = errors.New("unreadable event")

var errLongEvent = fmt.Errorf("%w: longer than %d bytes", errBadEvent, maxEvent)

// errDone ends a stream: what it tells of has ended.
var errDone = errors.New("done")

// stream follows one thing to its end, over as many connections as it takes.
type stream struct {
	client *Client
	path   string
	query  url.Values // of the next connection
	of     string     // what it tells of, for errors: "job", "flow"

	// take takes one event, and passes over those it does not know: they are
	// for later versions. errDone is the end, an error that wraps errBadEvent
	// says that the event cannot be read, and any other is the caller's own,
	// which ends the stream as well.
	take func(event) error

	pauses pauses
	lastID string // of the event taken last
	ended  bool
	err    error // the caller's own
}

// wentOn says that the stream has told something new, under an id if it has
// one: the node may then stay away anew for as long as at first.
func (s *stream) wentOn(id string) { s.pauses.tries, s.lastID = 0, id }

// follow reads until the end; it gives up when the node stays away for about
// half a minute.
//
// Errors: the caller's own, [domain.ErrNotFound], [domain.ErrUnavailable].
func (s *stream) follow(ctx context.Context) error {
	s.pauses.met = s.client.retry > 0 // then what may be asked twice is, also where no node has answered yet
	for {
		err := s.once(ctx)
		switch {
		case s.ended:
			return s.err
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, domain.ErrUnavailable):
			return err
		}
		if !s.pauses.next(ctx) {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// once reads one connection to its end.
func (s *stream) once(ctx context.Context) error {
	h := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	if s.lastID != "" {
		h.Set("Last-Event-ID", s.lastID)
	}
	resp, err := s.client.send(ctx, false, http.MethodGet, s.path, s.query, nil, h)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if t := resp.Header.Get("Content-Type"); !strings.HasPrefix(t, "text/event-stream") {
		return fmt.Errorf("follow %s: %s answered %q, want text/event-stream", s.path, s.client.where, t)
	}
	s.pauses.met = true
	err = readEvents(bufio.NewReaderSize(resp.Body, 16<<10), s.event)
	switch {
	case s.ended:
		return nil
	case errors.Is(err, errBadEvent):
		return fmt.Errorf("follow %s: %w", s.path, err)
	case err == nil:
		return domain.Unavailablef("%s ended the stream before the %s ended", s.client.where, s.of)
	}
	return s.client.unreachable(ctx, false, err)
}

// event takes one event, and notes whether it was the last.
func (s *stream) event(e event) error {
	err := s.take(e)
	if err == nil || errors.Is(err, errBadEvent) {
		return err
	}
	s.ended = true
	if !errors.Is(err, errDone) {
		s.err = err
	}
	return errDone
}

// event is one server-sent event.
//
// Source: the HTML standard, "Server-sent events".
type event struct {
	name string
	id   string
	data []byte
}

// into reads what an event tells of.
func (e event) into(v any) error {
	if err := json.Unmarshal(e.data, v); err != nil {
		return fmt.Errorf("%w: %s %q: %w", errBadEvent, e.name, e.id, err)
	}
	return nil
}

// readEvents calls take for each event until the stream ends (nil), breaks, or
// take returns an error.
func readEvents(r *bufio.Reader, take func(event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	var e event
	for lines.Scan() {
		text := lines.Bytes()
		if len(text) == 0 {
			if e.name != "" || e.data != nil {
				e.data = bytes.TrimSuffix(e.data, []byte("\n"))
				if err := take(e); err != nil {
					return err
				}
			}
			e = event{}
			continue
		}
		name, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) { // "" is a comment
		case "event":
			e.name = string(value)
		case "id":
			e.id = string(value)
		case "data":
			// Of many lines too: a node that is none could send them for ever.
			if len(e.data)+len(value) > maxEvent {
				return errLongEvent
			}
			e.data = append(append(e.data, value...), '\n')
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errLongEvent
	}
	return lines.Err()
}
