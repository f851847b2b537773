package work_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// heard remembers what an engine tells its observer.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func (h *heard) JobsClaimed(t domain.ScriptType, n int) { h.add("claimed %d", n) }
func (h *heard) AttemptBegun(tenant domain.TenantID, t domain.ScriptType, again bool, waited time.Duration) {
	h.add("begun %s in %d after %v, again %v", t, tenant, waited.Round(time.Second), again)
}
func (h *heard) AttemptEnded(_ domain.TenantID, _ domain.ScriptType, status domain.JobStatus, reason domain.Reason, took time.Duration) {
	h.add("ended %s %s after %v", status, reason, took.Round(time.Second))
}
func (h *heard) LeaseLost(t domain.ScriptType) { h.add("lost %s", t) }

func (h *heard) want(t *testing.T, lines ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.lines, lines) {
		t.Errorf("got %q, want %q", h.lines, lines)
	}
}

func TestAnObserverIsToldOfRunsAndRetries(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b, h := memboard.Open(), &heard{}
		defer b.Close()
		r := by.startRig(t, b, work.Config{Observer: h, RetryMin: 10 * time.Second}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 1))
		defer r.stop()
		j := job(1, "fail")
		j.Retries = 1
		r.submit(j)
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		synctest.Wait()
		h.want(t, "claimed 1", "begun go in 1 after 0s, again false", "ended started script_failed after 0s",
			"claimed 1", "begun go in 1 after 0s, again true", "ended error script_failed after 0s")
	})
}

func TestAnObserverIsToldOfLostLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := memboard.Open(), &heard{}
		defer b.Close()
		e := work.New(b, work.Config{Observer: h})
		w := domain.Worker{Name: "w1", Context: 1}
		if _, err := e.Submit(t.Context(), 1, []*domain.Job{job(1, "ok")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		got, err := e.ClaimFor(t.Context(), w, domain.WorkerAsk{Types: []domain.ScriptType{"go"}, Max: 1, LeaseMs: 10_000})
		if err != nil || len(got) != 1 {
			t.Fatalf("got %d jobs, %v", len(got), err)
		}
		time.Sleep(11 * time.Second) // the worker is dead
		lapsed, err := b.Expired(t.Context(), 10, 0)
		if err != nil || len(lapsed) != 1 {
			t.Fatalf("got %d leases, %v", len(lapsed), err)
		}
		if _, err := e.RecoverLease(t.Context(), lapsed[0]); err != nil {
			t.Fatal(err)
		}
		h.want(t, "claimed 1", "begun go in 1 after 3s, again false", "lost go")
	})
}

// TestALeaseThatAWorkerGivesUpIsLost: it counts as one that a node of ours gave up, once, though the
// worker says it twice.
func TestALeaseThatAWorkerGivesUpIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := memboard.Open(), &heard{}
		defer b.Close()
		e := work.New(b, work.Config{Observer: h, MaxLosses: 2})
		w := domain.Worker{Name: "w1", Context: 1}
		if _, err := e.Submit(t.Context(), 1, []*domain.Job{job(1, "ok")}); err != nil {
			t.Fatal(err)
		}
		for attempt := range int64(2) {
			got, err := e.ClaimFor(t.Context(), w, domain.WorkerAsk{Types: []domain.ScriptType{"go"}, Max: 1, LeaseMs: 10_000})
			if err != nil || len(got) != 1 || got[0].Job.Losses != int(attempt) {
				t.Fatalf("got %+v, %v", got, err)
			}
			time.Sleep(5 * time.Second)
			end := domain.AttemptEnd{HeldAttempt: domain.HeldAttempt{Caller: 1, ID: 1, Attempt: attempt + 1}, Verdict: domain.VerdictLost}
			for range 2 { // the first answer was lost
				if _, errs, err := e.FinishFor(t.Context(), w, []domain.AttemptEnd{end}); err != nil || errs[0] != nil {
					t.Fatal(err, errs)
				}
			}
		}
		h.want(t, "claimed 1", "begun go in 1 after 0s, again false", "ended started  after 5s", "lost go",
			"claimed 1", "begun go in 1 after 0s, again false", "ended error runner_lost after 5s", "lost go")
		j, err := e.Show(t.Context(), 1, key(1))
		if err != nil || j.Status != domain.JobError || j.Reason != domain.ReasonRunnerLost || j.Losses != 2 {
			t.Errorf("got %+v, %v", j, err)
		}
		logs, err := e.Logs(t.Context(), 1, key(1), 0, 10)
		if err != nil || len(logs) != 1 || !strings.HasPrefix(logs[0].Line, "attempt 1 ended: put back: its lease could not be renewed in time") {
			t.Errorf("got %+v, %v", logs, err)
		}
	})
}

func TestAnObserverIsToldOfWhatWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := memboard.Open(), &heard{}
		defer b.Close()
		e := work.New(b, work.Config{Observer: h})
		w := domain.Worker{Name: "w1", Context: 1}
		if _, err := e.Submit(t.Context(), 1, []*domain.Job{job(1, "ok")}); err != nil {
			t.Fatal(err)
		}
		got, err := e.ClaimFor(t.Context(), w, domain.WorkerAsk{Types: []domain.ScriptType{"go"}, Max: 1, LeaseMs: 10_000})
		if err != nil || len(got) != 1 {
			t.Fatalf("got %d jobs, %v", len(got), err)
		}
		time.Sleep(5 * time.Second)
		end := domain.AttemptEnd{HeldAttempt: domain.HeldAttempt{Caller: 1, ID: 1, Attempt: 1}, Verdict: domain.VerdictSucceeded}
		for range 2 { // the first answer was lost
			if _, errs, err := e.FinishFor(t.Context(), w, []domain.AttemptEnd{end}); err != nil || errs[0] != nil {
				t.Fatal(err, errs)
			}
		}
		h.want(t, "claimed 1", "begun go in 1 after 0s, again false", "ended finished  after 5s")
	})
}
