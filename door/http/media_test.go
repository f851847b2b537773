package http_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestAnswersAreInAFormThatTheCallerTakes(t *testing.T) {
	r := newRig(t)
	r.submit(1, "say hello")
	r.wait(1)
	const job = "/v1/contexts/7/jobs/10/1"
	for _, c := range []struct {
		name, path, accept, want string
		status                   int
	}{
		{"nothing said", job, "", "application/json", 200},
		{"JSON", job, "application/json", "application/json", 200},
		{"JSON, with what we do not know", job, `application/json;v="1";q=0.1`, "application/json", 200},
		{"anything", job, "*/*", "application/json", 200},
		{"any application", job, "text/html, application/*;q=0.1", "application/json", 200},
		{"a browser's", job, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json", 200},
		{"pages only", job, "text/html", `Accept \"text/html\": job.show answers with application/json"`, 406},
		{"anything but JSON", job, "application/json;q=0, */*", "job.show answers with", 406},
		{"problems only", job, "application/problem+json", "job.show answers with", 406},
		{"events of what has none", job, "text/event-stream", "job.show answers with", 406},
		{"no form at all", job, "json", "job.show answers with", 406},
		{"a problem for who takes none", job + "9", "application/json", "does not exist", 404},
		{"events", job + "/wait", "text/event-stream", "text/event-stream", 200},
		{"events as gladly", job + "/wait", "application/json, text/event-stream", "text/event-stream", 200},
		{"events if need be", job + "/wait", "application/json, text/event-stream;q=0.5", "application/json", 200},
		{"no events", job + "/wait", "text/event-stream;q=0, */*", "application/json", 200},
		{"pages of what has events", job + "/wait", "text/html", "job.wait answers with application/json or text/event-stream", 406},
		{"the health, to whom it may concern", "/health", "text/plain", "application/json", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.status != 200 {
				if got := r.want(c.status, reader, "GET", c.path, "", "Accept", c.accept); !strings.Contains(got, c.want) {
					t.Errorf("got %s, want %s", got, c.want)
				}
				return
			}
			resp := r.request(reader, "GET", c.path, "", "Accept", c.accept)
			if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != c.want {
				t.Errorf("got %s %q, want %q: %s", resp.Status, got, c.want, text(t, resp.Body))
			}
		})
	}
}

func TestBodiesAreInAFormThatWeTake(t *testing.T) {
	r := newRig(t)
	const jobs = "/v1/contexts/7/jobs"
	const job = `{"id":1,"script":"hang","script_type":"lines"}`
	for _, c := range []struct {
		as           domain.ActorID
		path, body   string
		header, want string
		status       int
	}{
		{admin, jobs, job, "application/json", `"key"`, 200},
		{admin, jobs, job, "Application/JSON; charset=UTF-8", `"key"`, 200},
		{admin, jobs, job, "", `"key"`, 200},
		{admin, jobs, job, "application/x-www-form-urlencoded", `want application/json, in UTF-8; curl sends this for -d`, 415},
		{admin, jobs, job, "text/plain", "want application/json", 415},
		{admin, jobs, job, "application/json; charset=latin1", "in UTF-8", 415},
		{admin, jobs, job, "application/vnd.api+json", "want application/json", 415},
		{admin, jobs, job, "application/json; charset", "want application/json", 415},
		{admin, jobs + "/10/1/cancel", "{}", "text/plain", "want application/json", 415},
		{admin, jobs + "/10/1/cancel", "", "text/plain", `"id":1`, 200}, // of no body it says nothing
		{stranger, jobs, job, "text/plain", "may not", 403},
	} {
		if got := r.want(c.status, c.as, "POST", c.path, c.body, "Content-Type", c.header); !strings.Contains(got, c.want) {
			t.Errorf("%s as %q: got %s, want %s", c.path, c.header, got, c.want)
		}
	}
	if got := r.request(admin, "POST", jobs, job, "Content-Type", "text/plain").Header.Get("Accept"); got != "application/json" {
		t.Errorf("got Accept %q", got)
	}
}
