package http_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/internal/budget"
)

// stream opens one as an actor.
func (r *rig) stream(as domain.ActorID, path string, header ...string) *bufio.Reader {
	r.Helper()
	resp := r.request(as, "GET", path, "", append(header, "Accept", "text/event-stream")...)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		r.Fatalf("%s: got %d %s", path, resp.StatusCode, text)
	}
	return bufio.NewReader(resp.Body)
}

// next reads one event ("id event data"), or a comment (": text").
func (r *rig) next(b *bufio.Reader) string {
	r.Helper()
	var parts []string
	for {
		line, err := b.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return "EOF"
		}
		if err != nil {
			r.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return strings.Join(parts, " ")
		}
		for _, name := range []string{"id: ", "event: ", "data: "} {
			line = strings.TrimPrefix(line, name)
		}
		parts = append(parts, line)
	}
}

// until reads events, without comments, up to one that begins so.
func (r *rig) until(b *bufio.Reader, begins string) (all []string) {
	r.Helper()
	for {
		e := r.next(b)
		if !strings.HasPrefix(e, ":") {
			all = append(all, e)
		}
		if strings.HasPrefix(e, begins) {
			return all
		}
		if e == "EOF" {
			r.Fatalf("the stream ended before %q; got %q", begins, all)
		}
	}
}

func TestLogsAreFollowedAndTakenUpAgain(t *testing.T) {
	r := newRig(t)
	r.submit(1, "say one\nsay two\ngate\nsay three")
	b := r.stream(reader, "/v1/contexts/7/jobs/10/1/logs")
	first := r.until(b, "1 log")
	if len(first) != 2 || !strings.HasPrefix(first[0], "0 log") || !strings.Contains(first[0], `"line":"one"`) {
		t.Errorf("got %q", first)
	}
	close(r.script.gate)
	rest := r.until(b, "end")
	if len(rest) != 2 || !strings.Contains(rest[0], `"line":"three"`) || !strings.Contains(rest[1], `"status":"finished"`) {
		t.Errorf("got %q", rest)
	}
	if e := r.next(b); e != "EOF" {
		t.Errorf("behind the end: got %q", e)
	}
	again := r.until(r.stream(reader, "/v1/contexts/7/jobs/10/1/logs", "Last-Event-ID", "1"), "end")
	if len(again) != 2 || !strings.HasPrefix(again[0], "2 log") {
		t.Errorf("taken up behind line 1: got %q", again)
	}
	from := r.until(r.stream(reader, "/v1/contexts/7/jobs/10/1/logs?from=1"), "end")
	if len(from) != 3 || !strings.HasPrefix(from[0], "1 log") {
		t.Errorf("from line 1: got %q", from)
	}
	r.want(400, reader, "GET", "/v1/contexts/7/jobs/10/1/logs", "", "Last-Event-ID", "x", "Accept", "text/event-stream")
}

func TestWaitingIsAStreamToo(t *testing.T) {
	r := newRig(t)
	r.submit(1, "gate")
	b := r.stream(reader, "/v1/contexts/7/jobs/10/1/wait")
	if e := r.until(b, "job "); strings.Contains(e[0], `"status":"finished"`) {
		t.Errorf("got %q", e)
	}
	close(r.script.gate)
	if e := r.until(b, "end"); !strings.Contains(e[0], `"status":"finished"`) {
		t.Errorf("got %q", e)
	}
}

func TestStreamsThatCannotBeginAnswerWithAStatus(t *testing.T) {
	r := newRig(t, func(c *http.Config) { c.Budget = budget.New(budget.Config{Streams: 1}, nil) })
	r.want(404, reader, "GET", "/v1/contexts/7/jobs/10/9/logs", "", "Accept", "text/event-stream")
	r.want(404, reader, "GET", "/v1/contexts/7/jobs/10/9/wait", "", "Accept", "text/event-stream")
	r.want(403, stranger, "GET", "/v1/contexts/7/jobs/10/9/logs", "", "Accept", "text/event-stream")
	r.submit(1, "say x\nhang")
	r.until(r.stream(reader, "/v1/contexts/7/jobs/10/1/logs"), "0 log")
	if got := r.want(429, reader, "GET", "/v1/contexts/7/jobs/10/1/logs", "", "Accept", "text/event-stream"); !strings.Contains(got, "exhausted") {
		t.Errorf("got %s", got)
	}
}

func TestASilentStreamIsKeptOpen(t *testing.T) {
	r := newRig(t, func(c *http.Config) { c.Heartbeat = 10 * time.Millisecond })
	r.submit(1, "hang")
	b := r.stream(reader, "/v1/contexts/7/jobs/10/1/logs")
	for range 3 {
		if e := r.next(b); !strings.HasPrefix(e, ":") {
			t.Errorf("got %q, want a comment", e)
		}
	}
}

func TestALongLogComesWhole(t *testing.T) {
	r := newRig(t)
	const lines = 3000
	r.submit(1, strings.Repeat("say "+strings.Repeat("x", 100)+"\n", lines))
	r.wait(1)
	events := r.until(r.stream(reader, "/v1/contexts/7/jobs/10/1/logs"), "end")
	if len(events) != lines+1 {
		t.Fatalf("got %d events", len(events))
	}
	for i, e := range events[:lines] {
		if !strings.HasPrefix(e, fmt.Sprintf("%d log", i)) {
			t.Fatalf("event %d: got %.40q", i, e)
		}
	}
}

func TestAClosingDoorSendsStreamsAway(t *testing.T) {
	r := newRig(t)
	ln, err := http.ListenTCP("127.0.0.1:0", "", "")
	if err != nil {
		t.Fatal(err)
	}
	stop := r.serve(ln)
	r.submit(1, "say x\nhang")
	req, err := nethttp.NewRequestWithContext(t.Context(), "GET", "http://"+ln.Addr().String()+"/v1/contexts/7/jobs/10/1/logs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = nethttp.Header{"Authorization": {"Bearer " + r.token(reader)}, "Accept": {"text/event-stream"}}
	resp, err := nethttp.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b := bufio.NewReader(resp.Body)
	r.until(b, "0 log")
	stop()
	last := r.until(b, "error")
	if !slices.ContainsFunc(last, func(e string) bool { return strings.Contains(e, `"code":"unavailable"`) }) {
		t.Errorf("got %q", last)
	}
}
