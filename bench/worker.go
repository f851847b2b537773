package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/worker"
)

// workerType is the type of the jobs that workers do here.
const workerType = "bench"

// workerRate measures a worker that does nothing for each job, over HTTP on the
// loopback, beside its node: from the first claim to the last answer.
func workerRate(r *rig) figures {
	node, c := r.serve(strings.Split(*ramet, ",")[0])
	ctx := context.Background()
	check(c.RegisterWork(ctx, 1, workerType))
	begun := time.Now()
	for made := 0; made < *jobs; {
		list := make([]api.JobInput, min(1000, *jobs-made))
		for i := range list {
			list[i].Script, list[i].ScriptType = "{}", workerType
		}
		_, err := c.Submit(ctx, 1, list)
		check(err)
		made += len(list)
	}
	submitted := time.Since(begun)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	n := int64(*jobs)
	counted := &counting{Node: c, done: &done, want: n, all: stop}
	w := worker.New(counted, worker.Config{Context: 1, Slots: 2048, Logger: slog.New(slog.DiscardHandler)})
	w.Handler(workerType, func(context.Context, *worker.Job) (map[string]string, error) { return nil, nil })
	before := selfCPU()
	begun = time.Now()
	check(w.Run(ctx))
	took, own := time.Since(begun), selfCPU()-before
	check(node.Process.Signal(syscall.SIGTERM))
	check(node.Wait())
	return figures{"jobs": n, "submit_per_s": perSecond(*jobs, submitted), "jobs_per_s": perSecond(*jobs, took),
		"worker_cpu_us": round(own / float64(n) * 1e6), "node_cpu_us": round(processMs(node) / float64(n) * 1000)}
}

// counting stops a worker whose last job has ended.
type counting struct {
	worker.Node
	done *atomic.Int64
	want int64
	all  func()
}

func (n *counting) FinishWork(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) ([]domain.AttemptEnded, []error, error) {
	done, errs, err := n.Node.FinishWork(ctx, w, ends)
	check(err)
	if n.done.Add(int64(len(done))) >= n.want {
		n.all()
	}
	return done, errs, err
}

// serve starts a node of a program on a folder of the rig, and a client of it.
func (r *rig) serve(program string) (*exec.Cmd, *client.Client) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	addr := ln.Addr().String()
	check(ln.Close())
	data := filepath.Join(r.dir, "node")
	node := exec.Command(program, "serve", "--data", data, "--listen", addr, "--name", "bench", "--log-level", "error")
	node.Stderr = os.Stderr
	begun := time.Now()
	check(leash.Start(node, syscall.SIGKILL))
	for socket := filepath.Join(data, "ramet.sock"); !ready(socket); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			check(fmt.Errorf("%s is not ready after a minute", program))
		}
	}
	token, err := exec.Command(program, "token", "--key", filepath.Join(data, "operator.key"), "--audience", "bench").Output()
	check(err)
	c, err := client.New(client.Config{URL: "http://" + addr, Token: func(context.Context) (string, error) { return strings.TrimSpace(string(token)), nil }})
	check(err)
	return node, c
}
