package node_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
)

// scrape is what Prometheus would read of a node.
func scrape(n *node.Node) string {
	w := httptest.NewRecorder()
	n.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func wantLines(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+got, "\n"+line+"\n") {
			t.Errorf("want the line %s in\n%s", line, got)
		}
	}
}

func TestWhatWaitsIsShown(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n, err := node.New(t.Context(), b, node.Config{DataDir: t.TempDir(), Name: "n1", MetricsContexts: []domain.TenantID{2, 3},
			Runtimes: []script.Runtime{echo{typ: "go"}}})
		if err != nil {
			t.Fatal(err)
		}
		limits := board.Batch{Space: 2}
		if err := b.Commit(t.Context(), *limits.Set(board.LimitsKey, board.Field{Name: "max", Value: "4"})); err != nil {
			t.Fatal(err)
		}
		for tenant, jobs := range map[domain.TenantID][]*domain.Job{
			1: {{CallerID: 1, Script: "ok", ScriptType: "go"}},
			2: {{CallerID: 1, Script: "ok", ScriptType: "go", Priority: 7}, {CallerID: 1, Script: "ok", ScriptType: "go", Affinity: domain.Labels{"zone": "eu"}},
				{CallerID: 1, Script: "ok", ScriptType: "python", ForRunner: n.RunnerID()}},
		} {
			if _, err := n.Work.Submit(t.Context(), tenant, jobs); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		n.Work.Submit(t.Context(), 1, []*domain.Job{{CallerID: 1, Script: "ok", ScriptType: "go"}})
		got := scrape(n)
		wantLines(t, got, `ramet_jobs_waiting{script_type="go"} 4`, `ramet_jobs_oldest_waiting_seconds{script_type="go"} 20`,
			`ramet_jobs_waiting{script_type="python"} 1`, `ramet_context_jobs_waiting{context="context:2"} 3`,
			`ramet_context_cap_leases{context="context:2"} 4`, `ramet_context_jobs_waiting{context="context:3"} 0`, `ramet_runner_slots{script_type="go"} 3`,
			`ramet_durability_info{durability="memory",of="board"} 1`, "ramet_standing_partial 0")
		if strings.Contains(got, "context:1") || strings.Contains(got, `ramet_context_cap_leases{context="context:3"}`) {
			t.Errorf("got series of a context that was not chosen, or a cap that is none:\n%s", got)
		}
	})
}

// counting counts what is asked of a board.
type counting struct {
	board.Board
	calls atomic.Int64
}

func (c *counting) Len(ctx context.Context, s board.Space, lists ...string) ([]int, error) {
	c.calls.Add(1)
	return c.Board.Len(ctx, s, lists...)
}

func (c *counting) List(ctx context.Context, s board.Space, list string, from, n int) ([]string, error) {
	c.calls.Add(1)
	if n > 1 {
		c.calls.Add(1_000_000)
	}
	return c.Board.List(ctx, s, list, from, n)
}

func (c *counting) GetFields(ctx context.Context, s board.Space, fields []string, keys ...string) ([]board.Record, error) {
	c.calls.Add(1)
	return c.Board.GetFields(ctx, s, fields, keys...)
}

func (c *counting) Keys(ctx context.Context, s board.Space, prefix, cursor string, limit int) ([]string, string, error) {
	c.calls.Add(1_000_000)
	return c.Board.Keys(ctx, s, prefix, cursor, limit)
}

// TestAScrapeReadsABoundedAmount however many contexts have something that waits, and
// nothing at all where another scrape was a moment ago.
func TestAScrapeReadsABoundedAmount(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		c := &counting{Board: b}
		n, err := node.New(t.Context(), c, node.Config{DataDir: t.TempDir(), Name: "n1", Runtimes: []script.Runtime{echo{typ: "go"}}})
		if err != nil {
			t.Fatal(err)
		}
		const contexts = 2000
		for tenant := range domain.TenantID(contexts) {
			if _, err := n.Work.Submit(t.Context(), tenant+1, []*domain.Job{{CallerID: 1, Script: "ok", ScriptType: "go"}}); err != nil {
				t.Fatal(err)
			}
		}
		c.calls.Store(0)
		got := scrape(n)
		wantLines(t, got, fmt.Sprintf(`ramet_jobs_waiting_contexts{script_type="go"} %d`, contexts), "ramet_standing_partial 1")
		if calls := c.calls.Load(); calls > 3*500 {
			t.Errorf("a scrape made %d reads, want at most 1500", calls)
		}
		c.calls.Store(0)
		if scrape(n); c.calls.Load() != 0 {
			t.Errorf("a second scrape made %d reads", c.calls.Load())
		}
	})
}
