package http_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/stream/memstream"
)

func TestARequestHasTheNameThatItsCallerGivesIt(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name, id string
		taken    bool
	}{
		{"a UUID", "3f2a1c9e-1b1f-4f6e-9a54-0d6b7b7c0a11", true},
		{"one of AWS", "Root=1-67891233-abcdef012345678912345678", true},
		{"the longest", strings.Repeat("x", 128), true},
		{"one that is too long", strings.Repeat("x", 129), false},
		{"one with a space", "a b", false},
		{"one that would break a log", `a" level=ERROR`, false},
		{"one that is not ASCII", "ä", false},
		{"none", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp := r.request(admin, "GET", "/v1/info", "", http.IDHeader, c.id)
			if got := resp.Header.Values(http.IDHeader); len(got) != 1 || (got[0] == c.id) != c.taken || got[0] == "" {
				t.Errorf("got %q, taken over: want %v", got, c.taken)
			}
		})
	}
	if got := r.want(404, admin, "GET", "/v1/contexts/7/jobs/10/99", "", http.IDHeader, "order-4711"); !strings.Contains(got, `"request_id":"order-4711"`) {
		t.Errorf("a problem: got %s", got)
	}
	if !strings.Contains(r.log.String(), "status=404 request_id=order-4711") {
		t.Errorf("it is not in the log: %s", r.log)
	}
}

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + trace + "-00f067aa0ba902b7-01"
)

func TestWhatIsSubmittedBelongsToTheTraceOfItsRequest(t *testing.T) {
	r := newRig(t)
	const jobs = "/v1/contexts/7/jobs"
	for i, c := range []struct{ name, header, body, want string }{
		{"a job", parent, "", trace},
		{"a job that names another", parent, `"trace_id":"mine",`, "mine"},
		{"a later version, which may have more", "01-" + trace + "-00f067aa0ba902b7-01-what-comes", "", trace},
		{"one with more than it may have", parent + "-x", "", ""},
		{"a version that is none", "ff-" + trace + "-00f067aa0ba902b7-01", "", ""},
		{"no trace", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "", ""},
		{"no span", "00-" + trace + "-" + strings.Repeat("0", 16) + "-01", "", ""},
		{"capitals", strings.ToUpper(parent), "", ""},
		{"no such header", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := domain.JobID(i + 101)
			r.want(200, admin, "POST", jobs, fmt.Sprintf(`{%s"id":%d,"script":"x","script_type":"lines"}`, c.body, id), "traceparent", c.header)
			if j := r.wait(id); j.TraceID != c.want {
				t.Errorf("got trace_id %q, want %q", j.TraceID, c.want)
			}
		})
	}
	// Sent again in another trace it is the same job still.
	again := "00-" + strings.Repeat("a", 32) + "-00f067aa0ba902b7-01"
	if got := r.want(200, admin, "POST", jobs, `{"id":101,"script":"x","script_type":"lines"}`, "traceparent", again); !strings.Contains(got, `"existing":true`) {
		t.Errorf("got %s", got)
	}
	r.want(200, admin, "POST", "/v1/contexts/7/flows", `{"jobs":[{"id":1,"script":"x","script_type":"lines"}]}`, "traceparent", parent)
	if got := r.want(200, admin, "GET", jobs+"/10/1", ""); !strings.Contains(got, `"trace_id":"`+trace+`"`) {
		t.Errorf("a flow's job: got %s", got)
	}
	if !strings.Contains(r.log.String(), "trace_id="+trace) {
		t.Error("the trace is not in the log")
	}
}

func TestEventsBelongToTheTraceOfTheirRequest(t *testing.T) {
	log := memstream.Open()
	r := newRigOf(t, func(p *service.Parts) {
		p.Sagas = saga.New(p.Keys.(board.Board), log, saga.Config{Names: p.Directory.(saga.Names)})
	})
	r.want(200, admin, "POST", "/v1/contexts/7/events", `{"events":[
		{"event_type":"Came","aggregate_type":"Guest","aggregate_id":"1","metadata":{"door":"front"}},
		{"event_type":"Came","aggregate_type":"Guest","aggregate_id":"2","metadata":{"trace_id":"mine"}}]}`, "traceparent", parent)
	stored, err := log.Scan(t.Context(), domain.AggregateEvents, nil, 0, 10)
	if err != nil || len(stored) != 2 {
		t.Fatalf("got %d events, %v", len(stored), err)
	}
	for i, want := range []string{`"door":"front","trace_id":"` + trace + `"`, `"trace_id":"mine"`} {
		if !strings.Contains(string(stored[i].Data), want) {
			t.Errorf("got %s, want %s", stored[i].Data, want)
		}
	}
}
