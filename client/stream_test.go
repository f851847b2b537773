package client_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// A node that sends one event without end, in lines that are not long, takes no
// more of its client's memory than the longest event may.
func TestAnEventWithoutEndIsNotKept(t *testing.T) {
	line := "data: " + strings.Repeat("x", 1<<20) + "\n"
	c := open(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 4 * client.MaxEvent / len(line) {
			if _, err := fmt.Fprint(w, line); err != nil {
				return
			}
		}
		fmt.Fprint(w, "\n")
	})
	_, err := c.FollowLogs(context.Background(), 1, domain.JobKey{Caller: 1, ID: 7}, 0, func(domain.Log) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v, want that the event is too long", err)
	}
}

// Streams come from nodes that may be anybody's: no text breaks the reader, and
// none reads otherwise for the pieces in which it arrives.
func FuzzReadEvents(f *testing.F) {
	for _, seed := range []string{
		"event: log\nid: 0\ndata: {}\n\n", ": comment\n\n", "data\n\n", "data: a\ndata: b\r\n\n", "event:end\n", "\n\n\n", "id: 1\n\ndata:", "\x00: \xff\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(oneByte bool) (events []string, all int) {
			r := bytes.NewReader(text)
			take := func(name, id string, data []byte) error {
				events, all = append(events, fmt.Sprintf("%q %q %q", name, id, data)), all+len(name)+len(id)+len(data)
				return nil
			}
			var err error
			if oneByte {
				err = client.ReadEvents(iotest.OneByteReader(r), take)
			} else {
				err = client.ReadEvents(r, take)
			}
			if err != nil {
				t.Fatal(err)
			}
			return events, all
		}
		whole, all := read(false)
		if all > len(text) {
			t.Errorf("%d bytes of events in %d of text", all, len(text))
		}
		if pieces, _ := read(true); strings.Join(pieces, "\n") != strings.Join(whole, "\n") {
			t.Errorf("in pieces %q, as a whole %q", pieces, whole)
		}
	})
}
