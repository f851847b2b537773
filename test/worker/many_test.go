package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
)

// TestManyWorkers has two thousand workers wait at one node, and a job for each, which ends
// when all have begun: no worker goes without.
func TestManyWorkers(t *testing.T) {
	const workers, jobs = 2000, 2000
	n := startNode(t, "doors: {requests_per_actor: 2500}\n")
	c := n.client()
	if err := c.RegisterWork(t.Context(), 1, "many"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var runs sync.Map
	var ran, at atomic.Int64
	allRun := make(chan struct{})
	for range workers {
		w := worker.New(c, worker.Config{Context: 1, Slots: 1, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		w.Handler("many", func(ctx context.Context, job *worker.Job) (map[string]string, error) {
			_, again := runs.LoadOrStore(job.Key(), true)
			if again && job.Attempt == 1 {
				t.Errorf("%v ran twice under one attempt", job.Key())
			}
			if !again && at.Add(1) == jobs {
				close(allRun)
			}
			select {
			case <-allRun:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			ran.Add(1)
			return nil, nil
		})
		all.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	begun := time.Now()
	for range jobs / 1000 {
		list := make([]api.JobInput, 1000)
		for i := range list {
			list[i].Job = domain.Job{Script: "{}", ScriptType: "many"}
		}
		if _, err := c.Submit(t.Context(), 1, list); err != nil {
			t.Fatal(err)
		}
	}
	n.until("all have run", func() bool { return ran.Load() >= jobs })
	t.Log(time.Since(begun))
	n.until("all have ended", func() bool {
		list, err := c.Jobs(t.Context(), api.ListJobsParams{Context: 1, JobFilter: api.JobFilter{Status: domain.JobStarted}})
		return err == nil && len(list.Jobs) == 0
	})
	stop()
	all.Wait()
}
