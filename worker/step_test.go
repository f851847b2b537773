package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
)

// notes are what functions did, in order.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func (n *notes) want(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if got := strings.Join(n.list, "; "); got != strings.Join(want, "; ") {
		t.Errorf("got  %s\nwant %s", got, strings.Join(want, "; "))
	}
}

func (r *rig) signal(id domain.JobID, name, payload string) {
	r.Helper()
	if _, err := r.engine.Signal(r.Context(), tenant, domain.JobKey{Caller: 1, ID: id}, domain.Signal{Name: name, Payload: json.RawMessage(payload)}); err != nil {
		r.Fatal(err)
	}
}

// Every second question goes to another node, which knows of none before.
func TestAFunctionGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did notes
		r := start(t, worker.Config{}, func(w *worker.Worker) {
			worker.Handle(w, "f", func(ctx context.Context, job *worker.Job, _ args) (string, error) {
				did.add("top")
				order, err := worker.Step(ctx, job, "order", func(context.Context, worker.StepAttempt) (map[string]int, error) {
					did.add("order")
					return map[string]int{"n": 7}, nil
				})
				if err != nil {
					return "", err
				}
				if err := job.Sleep(ctx, "three days", 72*time.Hour); err != nil {
					return "", err
				}
				if _, err := worker.Step(ctx, job, "order", func(context.Context, worker.StepAttempt) (any, error) { did.add("again"); return nil, nil }); err != nil {
					return "", err
				}
				by, err := worker.Wait[string](ctx, job, "click", 0)
				return fmt.Sprint(by, order["n"]), err
			})
		})
		begun := time.Now()
		r.submit(1, "{}")
		synctest.Wait()
		if j, err := r.engine.Show(t.Context(), tenant, domain.JobKey{Caller: 1, ID: 1}); err != nil || j.Suspended == nil || j.LeaseOwner != "" {
			t.Fatalf("got %+v, %v, want it suspended, in nobody's hands", j, err)
		}
		time.Sleep(73 * time.Hour)
		synctest.Wait()
		did.want(t, "top", "order", "top", "again")
		r.signal(1, "click", `"ada"`)
		j := r.wait(1)
		did.want(t, "top", "order", "top", "again", "top")
		if j.Status != domain.JobFinished || j.Result["value"] != "ada7" || j.Failures != 0 || j.Losses != 0 {
			t.Errorf("got %+v", j)
		}
		if passed := time.Since(begun); passed < 72*time.Hour {
			t.Errorf("it slept %v", passed)
		}
	})
}

func TestAStepThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did notes
		r := start(t, worker.Config{}, func(w *worker.Worker) {
			worker.Handle(w, "f", func(ctx context.Context, job *worker.Job, _ args) (string, error) {
				_, err := worker.Step(ctx, job, "charge", func(_ context.Context, s worker.StepAttempt) (int, error) {
					did.add("try %d %t", s.Attempt, len(s.Key) == 36)
					if s.Attempt < 3 {
						return 0, worker.RetryAfter(time.Minute, errors.New("busy"))
					}
					return 0, errors.New("no money")
				})
				var failed *worker.StepError
				if !errors.As(err, &failed) {
					return "", err
				}
				if job.Attempt < 4 {
					return "", errors.New("once more")
				}
				return failed.Text, nil
			})
		})
		r.submit(1, "{}", func(j *domain.Job) { j.Retries = 3 })
		j := r.wait(1)
		// Suspended for a minute twice, then failed by itself once.
		did.want(t, "try 1 true", "try 2 true", "try 3 true")
		if j.Result["value"] != "no money" || j.Failures != 1 {
			t.Errorf("got %+v", j)
		}
	})
}

func TestAFunctionThatAsksForSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, worker.Config{}, func(w *worker.Worker) {
			worker.Handle(w, "f", func(ctx context.Context, job *worker.Job, _ args) (string, error) {
				if _, err := worker.Step(ctx, job, fmt.Sprint("step ", job.Attempt), func(context.Context, worker.StepAttempt) (int, error) { return 1, nil }); err != nil {
					return "", err
				}
				return "", job.Sleep(ctx, "nap", time.Hour)
			})
		})
		r.submit(1, "{}", func(j *domain.Job) { j.Retries = 3 })
		j := r.wait(1)
		if j.Status != domain.JobError || j.Attempt != 2 || !strings.Contains(j.Error, `step "step 2"`) {
			t.Errorf("got %+v", j)
		}
	})
}
