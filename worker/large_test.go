package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
)

// Whatever is too large costs what is in it, and neither the job its end nor others theirs.
func TestTenMegabytes(t *testing.T) {
	large := strings.Repeat("x", 10<<20)
	synctest.Test(t, func(t *testing.T) {
		r := start(t, worker.Config{}, func(w *worker.Worker) {
			w.Handler("f", func(_ context.Context, job *worker.Job) (map[string]string, error) {
				switch job.Job.Script {
				case "result":
					return map[string]string{"x": large}, nil
				case "error":
					return nil, errors.New("why: " + large)
				case "panic":
					panic(large)
				case "line":
					job.Logf("%s", large)
				case "lines at the end":
					for range 3 {
						job.Logf("%s", large)
					}
					job.Logf("the last")
				case "small lines":
					for i := range 30_000 {
						job.Logf("%d", i)
					}
					time.Sleep(time.Minute)
				}
				return map[string]string{"v": "1"}, nil
			})
		})
		for i, tt := range []struct {
			script string
			status domain.JobStatus
			text   string
			tries  int64
		}{
			{"result", domain.JobError, "its end was not taken: the result has 10485761 bytes", 1},
			{"error", domain.JobError, "why: xxx", 2},
			{"panic", domain.JobError, "the function panicked: xxx", 2},
			{"line", domain.JobFinished, "", 1},
			{"lines at the end", domain.JobFinished, "", 1},
			{"small lines", domain.JobFinished, "", 1},
		} {
			id := domain.JobID(i + 1)
			r.submit(id, tt.script, func(j *domain.Job) { j.Retries = 1 })
			j := r.wait(id)
			if j.Status != tt.status || !strings.Contains(j.Error, tt.text) || j.Attempt != tt.tries || len(j.Error) > 5000 || j.Losses != 0 {
				t.Errorf("%s: got %s, attempt %d, losses %d, %.200q", tt.script, j.Status, j.Attempt, j.Losses, j.Error)
			}
		}
		logs, err := r.engine.Logs(t.Context(), tenant, domain.JobKey{Caller: 1, ID: 5}, 0, 10_000)
		if err != nil || len(logs) == 0 || logs[len(logs)-1].Line != "the last" {
			t.Errorf("of what is logged at the end the last is kept: %d lines, %v", len(logs), err)
		}
		kept, told := 0, 0
		for from := 0; ; {
			logs, err := r.engine.Logs(t.Context(), tenant, domain.JobKey{Caller: 1, ID: 6}, from, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(logs) == 0 {
				break
			}
			from += len(logs)
			for _, l := range logs {
				if n := 0; strings.Contains(l.Line, "lines are missing") {
					_, _ = fmt.Sscanf(l.Line, "%d", &n)
					told += n
				} else {
					kept++
				}
			}
		}
		if kept+told != 30_000 || told == 0 {
			t.Errorf("kept %d lines and told of %d missing ones, want 30000 together", kept, told)
		}
	})
}
