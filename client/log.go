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
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// maxEvent bounds one line of a stream: the last one holds a job with its
// script, each byte of which may be written as six.
const maxEvent = 16 << 20 // bytes

// Logs is a part of a job's log from line from on; limit 0 is the node's.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Logs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, limit int) (api.JobLogs, error) {
	q := url.Values{"from": {strconv.Itoa(from)}}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	var out api.JobLogs
	err := c.call(ctx, http.MethodGet, jobPath(tenant, key)+"/logs", q, nil, &out)
	return out, err
}

// FollowLogs calls line for each line of a job's log, from line number from
// on, and returns the job when it has ended. Each line comes once and in
// order, also over connections that break; it gives up when the node stays
// away for about half a minute.
//
// Errors: what line returns, [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Client) FollowLogs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from int, line func(domain.Log) error) (*domain.Job, error) {
	f := follower{client: c, path: jobPath(tenant, key) + "/logs", from: from, next: from, line: line}
	for {
		before := f.next
		err := f.once(ctx)
		switch {
		case f.job != nil:
			return f.job, nil
		case f.refused != nil:
			return nil, f.refused
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !errors.Is(err, domain.ErrUnavailable):
			return nil, err
		}
		if f.next > before {
			f.pauses.tries = 0
		}
		if !f.pauses.next(ctx) {
			return nil, cmp.Or(ctx.Err(), err)
		}
	}
}

// follower reads one job's log over as many connections as it takes.
type follower struct {
	client  *Client
	path    string
	from    int // where it began
	next    int // the line wanted next
	line    func(domain.Log) error
	pauses  pauses
	job     *domain.Job // set by the end
	refused error       // what line returned
}

// once reads one connection to its end.
func (f *follower) once(ctx context.Context) error {
	h := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	if f.next > f.from {
		h.Set("Last-Event-ID", strconv.Itoa(f.next-1))
	}
	resp, err := f.client.send(ctx, http.MethodGet, f.path, url.Values{"from": {strconv.Itoa(f.next)}}, nil, h)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if t := resp.Header.Get("Content-Type"); !strings.HasPrefix(t, "text/event-stream") {
		return fmt.Errorf("follow %s: %s answered %q, want text/event-stream", f.path, f.client.where, t)
	}
	f.pauses.met = true
	err = readEvents(bufio.NewReaderSize(resp.Body, 16<<10), f.event)
	switch {
	case f.job != nil || f.refused != nil:
		return nil
	case errors.Is(err, errBadEvent):
		return fmt.Errorf("follow %s: %w", f.path, err)
	case err == nil:
		return domain.Unavailablef("%s ended the log before the job ended", f.client.where)
	}
	return f.client.unreachable(ctx, err)
}

// errBadEvent means that the other end does not speak as we do: trying again
// would not help.
var errBadEvent = errors.New("unreadable event")

// errDone ends the reading of a connection.
var errDone = errors.New("done")

// event takes one event of the stream; unknown ones are for later versions.
func (f *follower) event(e event) error {
	switch e.name {
	case "log":
		var l domain.Log
		n, err := strconv.Atoi(e.id)
		if err == nil {
			err = json.Unmarshal(e.data, &l)
		}
		if err != nil {
			return fmt.Errorf("%w: log %q: %w", errBadEvent, e.id, err)
		}
		if n < f.next {
			return nil // seen before the connection broke
		}
		if err := f.line(l); err != nil {
			f.refused = err
			return errDone
		}
		f.next = n + 1
	case "end":
		var j domain.Job
		if err := json.Unmarshal(e.data, &j); err != nil {
			return fmt.Errorf("%w: end: %w", errBadEvent, err)
		}
		f.job = &j
		return errDone
	}
	return nil
}

// event is one server-sent event.
//
// Source: the HTML standard, "Server-sent events".
type event struct {
	name string
	id   string
	data []byte
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
			e.data = append(append(e.data, value...), '\n')
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: longer than %d bytes", errBadEvent, maxEvent)
	}
	return lines.Err()
}
