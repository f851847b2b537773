package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/client/failover"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/worker"
)

// clientOf is a client of several nodes of a board, which asks the first first.
func clientOf(t *testing.T, nodes ...*node) *client.Client {
	var list []failover.Node
	for _, n := range nodes {
		token := n.token()
		list = append(list, failover.Node{URL: "http://" + n.addr, Token: func(context.Context) (string, error) { return token, nil }})
	}
	cfg, err := failover.Config(list...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestAWorkerOutlivesItsNode has the node that a program asks die, or hang, while its worker has jobs in hand, its submits go on and a log
// is followed: nothing is lost, and nothing done twice.
func TestAWorkerOutlivesItsNode(t *testing.T) {
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(how.String(), func(t *testing.T) {
			config := "board: " + redistest.Start(t).URL() + "\n"
			one := startNode(t, config)
			two := secondNode(t, one, config)
			outlive(t, one, clientOf(t, one, two), how)
		})
	}
}

func outlive(t *testing.T, one *node, c *client.Client, how syscall.Signal) {
	const slots, all = 8, 32
	var mu sync.Mutex
	runs := map[int]int{}
	begun, may := make(chan struct{}), make(chan struct{})
	w := worker.New(c, worker.Config{Context: 1, Slots: slots, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	worker.Handle(w, "counted", func(ctx context.Context, job *worker.Job, n int) (int, error) {
		job.Logf("begun %d", n)
		mu.Lock()
		if runs[n]++; len(runs) == slots && runs[n] == 1 {
			close(begun)
		}
		mu.Unlock()
		select {
		case <-may:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		job.Logf("done %d", n)
		return worker.Step(ctx, job, "double", func(context.Context, worker.StepAttempt) (int, error) { return 2 * n, nil })
	})
	if err := c.RegisterWork(t.Context(), 1, "counted"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var ends sync.WaitGroup
	ends.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	submit := func(n int) domain.JobKey {
		key, err := c.SubmitJob(client.Once(t.Context(), fmt.Sprint("job ", n)), 1, domain.Job{Script: strconv.Itoa(n), ScriptType: "counted"})
		if err != nil {
			t.Error(err)
		}
		return key
	}
	check := func(n int, key domain.JobKey) {
		if j, err := c.Wait(t.Context(), 1, key); err != nil || j.Result["value"] != strconv.Itoa(2*n) {
			t.Errorf("job %d: got %v, %v", n, j.Result, err)
		}
	}
	var waits sync.WaitGroup
	var lines []string
	for n := range slots {
		key := submit(n)
		waits.Go(func() { check(n, key) })
		if n == 0 {
			waits.Go(func() {
				if _, err := c.FollowLogs(t.Context(), 1, key, 0, func(l domain.Log) error { lines = append(lines, l.Line); return nil }); err != nil {
					t.Error(err)
				}
			})
		}
	}
	<-begun
	if how == syscall.SIGKILL {
		one.kill()
	} else if err := one.process.Process.Signal(how); err != nil {
		t.Fatal(err)
	}
	close(may)
	for n := slots; n < all; n++ {
		waits.Go(func() { check(n, submit(n)) })
	}
	waits.Wait()
	if want := []string{"begun 0", "done 0"}; !slices.Equal(lines, want) {
		t.Errorf("the log is %q, want %q", lines, want)
	}
	for n := range all {
		if runs[n] != 1 {
			t.Errorf("job %d ran %d times", n, runs[n])
		}
	}
	if how != syscall.SIGKILL { // it goes on, and does what it had been asked
		if err := one.process.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if _, err := one.client().Info(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := c.Jobs(t.Context(), api.ListJobsParams{Context: 1, JobFilter: api.JobFilter{Type: "counted", Status: domain.JobFinished}})
	if err != nil || len(list.Jobs) != all {
		t.Errorf("%d jobs have finished, %v, want %d", len(list.Jobs), err, all)
	}
	stop()
	ends.Wait()
}
