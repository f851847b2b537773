package failover_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/client/failover"
	"github.com/ramet-run/ramet/domain"
)

// BenchmarkRequest is what a request costs by a client of one node, and by one of two.
func BenchmarkRequest(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(well))
	defer s.Close()
	token := func(context.Context) (string, error) { return "x", nil }
	two, err := failover.Config(failover.Node{URL: s.URL, Token: token}, failover.Node{URL: "http://127.0.0.1:1", Token: token})
	if err != nil {
		b.Fatal(err)
	}
	for name, cfg := range map[string]client.Config{"one": {URL: s.URL, Token: token}, "two": two} {
		b.Run(name, func(b *testing.B) {
			c, err := client.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Job(b.Context(), 1, domain.JobKey{Caller: 1, ID: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// held is a transport that answers when it is told to.
type held struct{ asked, may chan struct{} }

func (h held) RoundTrip(r *http.Request) (*http.Response, error) {
	h.asked <- struct{}{}
	<-h.may
	return still{}.RoundTrip(r)
}

// TestARequestBringsNoGoroutineOfItsOwn: one that looks after it costs more than all the rest of the choice.
func TestARequestBringsNoGoroutineOfItsOwn(t *testing.T) {
	token := func(context.Context) (string, error) { return "x", nil }
	cfg, err := failover.Config(failover.Node{URL: "http://a", Token: token}, failover.Node{URL: "http://b", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	h := held{make(chan struct{}), make(chan struct{})}
	failover.Through(cfg, h)
	before, n := runtime.NumGoroutine(), 100
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a/x", nil)
			if answer, err := cfg.HTTP.Transport.RoundTrip(r); err != nil || answer.Body.Close() != nil {
				t.Error(err)
			}
		})
		<-h.asked
	}
	if got := runtime.NumGoroutine() - before; got > n+n/2 {
		t.Errorf("%d requests that wait have %d goroutines", n, got)
	}
	close(h.may)
	all.Wait()
}

// still is a transport that answers at once.
type still struct{}

func (still) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// BenchmarkRoundTrip is what the choice of a node costs itself.
func BenchmarkRoundTrip(b *testing.B) {
	token := func(context.Context) (string, error) { return "x", nil }
	cfg, err := failover.Config(failover.Node{URL: "http://a", Token: token}, failover.Node{URL: "http://b", Token: token})
	if err != nil {
		b.Fatal(err)
	}
	failover.Through(cfg, still{})
	for name, by := range map[string]http.RoundTripper{"none": still{}, "chosen": cfg.HTTP.Transport} {
		b.Run(name, func(b *testing.B) {
			r, _ := http.NewRequestWithContext(b.Context(), "GET", "http://a/x", nil)
			b.ReportAllocs()
			for b.Loop() {
				answer, err := by.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				answer.Body.Close()
			}
		})
	}
}
