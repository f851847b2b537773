package saga

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
)

type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestACommandIsGivenUpByTheBoardsTime has a node with another clock than the board's, or the one
// that has tried before, go on with a command: it is tried for as long as its policy says, from then on.
func TestACommandIsGivenUpByTheBoardsTime(t *testing.T) {
	for _, c := range []struct {
		name         string
		board, since time.Duration // by how much they are off this machine's clock
	}{
		{"a machine that is ahead", -48 * time.Hour, -48 * time.Hour},
		{"a machine that is behind", 48 * time.Hour, 48 * time.Hour},
		{"another was a year ahead", 0, 365 * 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				busy := answers(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 503, Status: "503 busy", Body: io.NopCloser(strings.NewReader("")), Header: http.Header{}}, nil
				})
				g := newGateways(GatewayConfig{URL: "http://g/", Client: &http.Client{Transport: busy}},
					func() time.Time { return time.Now().Add(c.board) }, slog.New(slog.DiscardHandler))
				began := time.Now()
				w := outgoing{domain.WorkItem{Kind: domain.WorkCommand, ID: "c", AggregateType: "T", AggregateID: "1", Saga: "s", Correlation: "1",
					Gateway: &domain.SagaGateway{}}, "i", 3, began.Add(c.since)}
				g.take()
				var no *refusal
				if err := g.submit(t.Context(), "t", &w, func(time.Duration, error) {}); !errors.As(err, &no) || !no.gaveUp {
					t.Fatalf("got %v", err)
				}
				if took, want := time.Since(began), w.Gateway.Filled().GiveUp.Time(); took < want || took > want+time.Hour {
					t.Errorf("given up after %v, want %v", took, want)
				}
			})
		})
	}
}
