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

// Of a batch that the node has not confirmed nobody knows how much is stored: that is
// said, and whether its lines can be published again.
func TestWhatMayBeStoredIsSaid(t *testing.T) {
	full := &api.Problem{Status: 500, Code: "internal", Detail: "events cannot be written"}
	named := strings.ReplaceAll(eventLines(2), `{"event_type"`, `{"event_id":"e","event_type"`)
	for _, c := range []struct {
		name, lines, want string
		args              []string
		refuse            func([]api.EventInput, int) *api.Problem
	}{
		{"some lines are stored, some may be", eventLines(1200), "-, lines 1001 to 1200: events cannot be written; of lines 1001 to 1200 any " +
			"may be stored already, or none; " +
			"200 of them have no event_id: published again, such a line may be stored twice, one with an event_id is not; " +
			"the events of the first 1000 lines are published: go on with --skip 1000", nil,
			func(b []api.EventInput, _ int) *api.Problem {
				if b[0].AggregateID == "1000" {
					return full
				}
				return nil
			}},
		{"all may be, and have ids", named, "-, lines 1 to 2: events cannot be written; of lines 1 to 2 any may be stored already, or none; " +
			"each has an event_id, so they can be published again: what is stored is not stored twice", nil,
			func([]api.EventInput, int) *api.Problem { return full }},
		{"refused when it may be stored", named, "-, lines 2 to 2: no right; of lines 2 to 2 any may be stored already, or none; " +
			"each has an event_id, so they can be published again: what is stored is not stored twice", []string{"--skip", "1"},
			func(_ []api.EventInput, try int) *api.Problem {
				if try == 1 {
					return &api.Problem{Status: 503, Code: "unavailable", Detail: "no answer"}
				}
				return &api.Problem{Status: 403, Code: "forbidden", Detail: "no right"}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := &eventNode{t: t, refuse: c.refuse}
			if got := n.publish(c.lines, c.args...); got.code == 0 || got.err != "ramet: "+c.want+"\n" {
				t.Errorf("got  %s\nwant %s", got.err, c.want)
			}
		})
	}
}
