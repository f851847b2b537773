package http_test

import (
	"context"
	"net"
	nethttp "net/http"
	"regexp"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/testwait"
)

func TestCallersAreToldWhatIsLeftToThem(t *testing.T) {
	r, b := bounded(t, budget.Config{RequestsPerActor: 2, StreamsPerActor: 5, Bytes: 1 << 20, BytesPerActor: 1 << 19})
	r.submit(1, "gate")
	const job = "/v1/contexts/7/jobs/10/1"
	want := func(resp *nethttp.Response, status int, policy, left string) {
		t.Helper()
		if h := resp.Header; resp.StatusCode != status || h.Get("RateLimit-Policy") != policy || h.Get("RateLimit") != left {
			t.Errorf("got %s %q %q, want %d %q %q", resp.Status, h.Get("RateLimit-Policy"), h.Get("RateLimit"), status, policy, left)
		}
	}
	const policy = `"requests_per_actor";q=2;qu="concurrent-requests", "bytes_per_actor";q=524288;qu="content-bytes"`
	want(r.request(admin, "GET", job, ""), 200, policy, `"requests_per_actor";r=1, "bytes_per_actor";r=524288`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		req, err := nethttp.NewRequestWithContext(ctx, "GET", r.server.URL+job+"/wait", nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+r.token(admin))
		if resp, err := r.server.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	testwait.Until(t, "one waits", func() bool { return b.Used()["requests"] == 1 })
	want(r.request(admin, "GET", job, ""), 200, policy, `"requests_per_actor";r=0, "bytes_per_actor";r=524288`)
	want(r.request(reader, "GET", job, ""), 200, policy, `"requests_per_actor";r=1, "bytes_per_actor";r=524288`)
	want(r.request(admin, "GET", job+"/logs", "", "Accept", "text/event-stream"), 200,
		`"streams_per_actor";q=5;qu="concurrent-requests", "bytes_per_actor";q=524288;qu="content-bytes"`,
		`"streams_per_actor";r=4, "bytes_per_actor";r=524288`)
	cancel()
	<-waiting
}

func TestStrangersAreToldHowOftenTheyMayBeWrong(t *testing.T) {
	r, _ := bounded(t, budget.Config{Refused: 1})
	ln := r.listen()
	for _, c := range []struct {
		name, header, left string
		status             int
	}{
		{"without a token", "X-None: 1", `^"refused_per_address";r=1$`, 401},
		{"a wrong one", "Authorization: Bearer x.y.z", `^"refused_per_address";r=0;t=\d+$`, 401},
		{"another", "Authorization: Bearer x.y.z", `^"refused_per_address";r=0;t=\d+$`, 429},
	} {
		resp, err := r.over(r.dial(ln, "127.0.0.2"), 0, "GET", "/v1/contexts", "", c.header)
		if err != nil {
			t.Fatal(err)
		}
		if h := resp.Header; resp.StatusCode != c.status || h.Get("RateLimit-Policy") != `"refused_per_address";q=1;w=60` ||
			!regexp.MustCompile(c.left).MatchString(h.Get("RateLimit")) {
			t.Errorf("%s: got %s %q %q", c.name, resp.Status, h.Get("RateLimit-Policy"), h.Get("RateLimit"))
		}
	}
	// At the local socket nothing of it is counted.
	local, err := net.Dial("unix", r.listenSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	resp, err := r.over(local, domain.ActorID(0), "GET", "/v1/contexts", "")
	if err != nil || resp.Header.Get("RateLimit") != "" {
		t.Errorf("got %v, %v", resp, err)
	}
}
