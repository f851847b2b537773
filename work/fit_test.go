package work_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// narrow is a board that takes little in one commit.
type narrow struct {
	board.Board
	t *testing.T
}

const narrowCommit = 200_000

func (n narrow) Limits() board.Limits { return board.Limits{Commit: narrowCommit, Whole: true} }

func (n narrow) Commit(ctx context.Context, b board.Batch) error {
	return n.CommitEach(ctx, []board.Batch{b})[0]
}

func (n narrow) CommitEach(ctx context.Context, list []board.Batch) []error {
	for i := range list {
		if size := list[i].Bytes(); size > narrowCommit {
			n.t.Errorf("a commit has %d bytes, and the board takes %d", size, narrowCommit)
		}
	}
	return n.Board.CommitEach(ctx, list)
}

// A job says more than fits into the commit that ends it: what can be written
// before is, and of the rest the last lines stay.
func TestTheEndOfAJobFitsIntoACommit(t *testing.T) {
	for _, c := range []struct {
		name          string
		line, lines   int
		result        int
		cut           bool
		status        domain.JobStatus
		reason        domain.Reason
		says, theLast string
	}{
		{name: "a long log goes before the end", line: 1000, lines: 400, result: 80_000, status: domain.JobFinished},
		{name: "a log that is in the result's way is cut", line: 1000, lines: 50, result: 170_000, cut: true, status: domain.JobFinished},
		{name: "a result that is too large is refused", line: 10, lines: 3, result: 210_000, status: domain.JobError, reason: domain.ReasonInvalid,
			says: "in one commit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memboard.Open()
				defer inner.Close()
				g := newGoScript("go", 1)
				g.on("talk", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
					for range c.lines - 1 {
						h.Log("stdout", []byte(strings.Repeat("x", c.line)))
					}
					h.Log("stdout", []byte("the last word"))
					return ok(map[string]string{"r": strings.Repeat("y", c.result)})
				})
				r := startRig(t, narrow{inner, t}, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, g)
				defer r.stop()
				r.submit(job(1, "talk"))
				j := r.want(1, c.status, c.reason)
				if !strings.Contains(j.Error, c.says) {
					t.Errorf("it says %q, want %q", j.Error, c.says)
				}
				logs, err := r.engine.Logs(t.Context(), tenant, j.Key(), 0, 1000)
				if err != nil || len(logs) == 0 {
					t.Fatal(logs, err)
				}
				cut := false
				for _, l := range logs {
					cut = cut || l.Stream == "ramet" && strings.HasPrefix(l.Line, "log cut")
				}
				if refused := c.status == domain.JobError; cut != (c.cut || refused) || !refused && logs[len(logs)-1].Line != "the last word" {
					t.Errorf("the log was cut: %v, and ends with %+v", cut, logs[len(logs)-1])
				}
			})
		})
	}
}

// TestAJobTooLargeForEtcdEnds has a job leave more than etcd takes: it fails and
// says why, and its slot is free for the next one.
func TestAJobTooLargeForEtcdEnds(t *testing.T) {
	b, err := etcdboard.Open(t.Context(), etcdtest.URL("large", etcdtest.Start(t, "--unsafe-no-fsync")), etcdboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	g := newGoScript("go", 1)
	text := strings.Repeat("z", 900<<10)
	g.on(text, func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
		for range 500 {
			h.Log("stdout", []byte(strings.Repeat("x", 1000)))
		}
		return ok(map[string]string{"r": strings.Repeat("y", 900<<10)})
	})
	r := startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, g)
	defer r.stop()
	r.submit(job(1, text))
	if j := r.want(1, domain.JobError, domain.ReasonInvalid); !strings.Contains(j.Error, "in one commit") {
		t.Errorf("it says %q", j.Error)
	}
	r.submit(job(2, "ok"))
	r.want(2, domain.JobFinished, "")
}

// A worker says more than fits into one commit, beside its job and with its end: all of it is in the
// log, in its order, where the result leaves the room.
func TestWhatAWorkerSaysFitsIntoCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memboard.Open()
		defer inner.Close()
		sayMuch(t, narrow{inner, t}, 80_000, 400)
	})
}

// sayMuch has a worker log so many lines of a kilobyte, twice, and end with a result of so many bytes.
func sayMuch(t *testing.T, b board.Board, result, count int) {
	t.Helper()
	cfg := known()
	cfg.LogBytes = 10 << 20
	r := startRig(t, b, cfg, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 1))
	defer r.stop()
	h := r.hand(7, "a")
	h.claim(1, 0)
	r.submit(mail(1, strings.Repeat("s", result)))
	a := h.claim(1, 20*time.Second)
	if len(a) != 1 {
		t.Fatalf("got %d jobs", len(a))
	}
	var lines []domain.LogLine
	for range count - 1 {
		lines = append(lines, domain.LogLine{Line: strings.Repeat("x<", 500)})
	}
	lines = append(lines, domain.LogLine{Line: "the last word"})
	if err := r.engine.LogFor(t.Context(), h.Worker, heldOf(a[0]), lines); err != nil {
		t.Fatal(err)
	}
	if _, err := h.finish(end(a[0], domain.VerdictSucceeded, func(e *domain.AttemptEnd) {
		e.Lines, e.Result = lines, map[string]string{"r": strings.Repeat("y", result)}
	})); err != nil {
		t.Fatal(err)
	}
	if j := r.want(1, domain.JobFinished, ""); len(j.Result["r"]) != result {
		t.Errorf("the result has %d bytes, want %d", len(j.Result["r"]), result)
	}
	logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 3*count)
	if err != nil || len(logs) != 2*count || logs[count-1].Line != "the last word" || logs[2*count-1].Line != "the last word" {
		t.Errorf("got %d lines, %v; want both times all %d", len(logs), err, count)
	}
}

func TestWhatAWorkerSaysFitsIntoEtcd(t *testing.T) {
	b, err := etcdboard.Open(t.Context(), etcdtest.URL("said", etcdtest.Start(t, "--unsafe-no-fsync")), etcdboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sayMuch(t, b, 300<<10, 900)
}
