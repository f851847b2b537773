package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// What only reads is asked again, and what has a key; nothing else, for it may have been
// done.
func TestOnlyWhatIsSafeIsAskedAgain(t *testing.T) {
	asked, keys := 0, map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		keys[r.Header.Get("Idempotency-Key")]++
		if asked%3 != 0 {
			answer(w, 503, api.Problem{Status: 503, Code: "unavailable"})
			return
		}
		answer(w, 200, map[string]any{"jobs": []map[string]any{{"key": "job:1:7"}}})
	}))
	defer s.Close()
	c, err := client.New(client.Config{URL: s.URL, Retry: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	for name, tt := range map[string]struct {
		do    func() error
		asked int
	}{
		"reads": {func() error { _, err := c.Jobs(ctx, api.ListJobsParams{Context: 7}); return err }, 3},
		"creates, with a key": {func() error {
			key, err := c.SubmitJob(client.Once(ctx, "k"), 7, domain.Job{Script: "x", ScriptType: "shell"})
			if err == nil && key.ID != 7 {
				t.Errorf("got %v", key)
			}
			return err
		}, 3},
		"creates": {func() error { _, err := c.SubmitJob(ctx, 7, domain.Job{Script: "x", ScriptType: "shell"}); return err }, 1},
		"changes, which has no keys": {func() error {
			_, err := c.Cancel(client.Once(ctx, "k"), 7, domain.JobKey{Caller: 1, ID: 1})
			return err
		}, 1},
	} {
		asked = 0
		if err := tt.do(); (err == nil) != (tt.asked == 3) || asked != tt.asked {
			t.Errorf("%s: asked %d times, want %d: %v", name, asked, tt.asked, err)
		}
	}
	if keys["k"] != 3 {
		t.Errorf("got the keys %v", keys)
	}
	asked = 0
	ended, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := c.Jobs(ended, api.ListJobsParams{Context: 7}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
