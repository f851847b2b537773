package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/door/cli"
)

// eventNode takes events, and refuses some.
type eventNode struct {
	t       *testing.T
	batches [][]api.EventInput
	refuse  func(batch []api.EventInput, try int) *api.Problem
}

func (n *eventNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Events []api.EventInput }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		n.t.Error(err)
	}
	n.batches = append(n.batches, in.Events)
	if n.refuse != nil {
		if p := n.refuse(in.Events, len(n.batches)); p != nil {
			answer(w, p.Status, p)
			return
		}
	}
	answer(w, 200, api.EventsPublished{IDs: make([]string, len(in.Events))})
}

func (n *eventNode) publish(lines string, args ...string) result {
	node := httptest.NewServer(n)
	defer node.Close()
	return ramet(n.t, cli.Hooks{}, lines, append([]string{"event", "publish", "--file", "-", "--node", node.URL}, args...)...)
}

func eventLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"event_type":"T","aggregate_type":"A","aggregate_id":"%d"}`+"\n", i)
	}
	return b.String()
}

func TestAFileOfEventsIsPublishedInBatches(t *testing.T) {
	n := &eventNode{t: t}
	if got := n.publish(eventLines(2500)); got.code != 0 || got.out != "2500 events are published\n" {
		t.Fatalf("got %+v", got)
	}
	ids, next := map[string]bool{}, 0
	for _, b := range n.batches {
		if len(b) > api.MaxEvents {
			t.Errorf("got a batch of %d", len(b))
		}
		for _, ev := range b {
			if ev.AggregateID != fmt.Sprint(next) || ev.ID == "" || ids[ev.ID] {
				t.Fatalf("event %d: got %+v", next, ev)
			}
			ids[ev.ID] = true
			next++
		}
	}
	if next != 2500 || len(n.batches) != 3 {
		t.Errorf("got %d events in %d batches", next, len(n.batches))
	}
}

// TestABatchThatMayBeStoredIsPublishedAgainUnderItsIDs: so that nothing is
// stored twice.
func TestABatchThatMayBeStoredIsPublishedAgainUnderItsIDs(t *testing.T) {
	n := &eventNode{t: t, refuse: func(_ []api.EventInput, try int) *api.Problem {
		if try == 1 {
			return &api.Problem{Status: 503, Code: "unavailable", Detail: "no route"}
		}
		return nil
	}}
	if got := n.publish(eventLines(3)); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	if len(n.batches) != 2 || n.batches[0][2].ID != n.batches[1][2].ID {
		t.Errorf("got %+v", n.batches)
	}
}

func TestWhatBreaksOffSaysWhereToGoOn(t *testing.T) {
	n := &eventNode{t: t, refuse: func(b []api.EventInput, _ int) *api.Problem {
		if b[0].AggregateID == "1000" {
			return &api.Problem{Status: 400, Code: "invalid", Detail: "events[3]: no"}
		}
		return nil
	}}
	got := n.publish(eventLines(1500))
	want := "ramet: -, lines 1001 to 1500: events[3]: no; the events of the first 1000 lines are published: go on with --skip 1000\n"
	if got.code != 2 || got.err != want {
		t.Errorf("got %+v, want %s", got, want)
	}
	n.refuse = nil
	n.batches = nil
	if got := n.publish(eventLines(1500), "--skip", "1000"); got.code != 0 || got.out != "500 events are published\n" || n.batches[0][0].AggregateID != "1000" {
		t.Errorf("got %+v", got)
	}
}
