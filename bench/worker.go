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
	node := r.serve(strings.Split(*ramet, ",")[0])
	c := node.client
	ctx := context.Background()
	check(c.RegisterWork(ctx, 1, workerType))
	begun := time.Now()
	for made := 0; made < *jobs; {
		list := workJobs(min(1000, *jobs-made))
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
	node.end()
	return figures{"jobs": n, "submit_per_s": perSecond(*jobs, submitted), "jobs_per_s": perSecond(*jobs, took),
		"worker_cpu_us": round(own / float64(n) * 1e6), "node_cpu_us": round(processMs(node.process) / float64(n) * 1000)}
}

// workJobs are so many jobs for a worker.
func workJobs(n int) []api.JobInput {
	list := make([]api.JobInput, n)
	for i := range list {
		list[i].Script, list[i].ScriptType = "{}", workerType
	}
	return list
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

// served is a node that runs as a process of its own.
type served struct {
	process     *exec.Cmd
	addr, token string
	client      *client.Client
	// ready is how long it took from the start until it was ready, readyCPU the seconds of
	// processor time in that.
	ready    time.Duration
	readyCPU float64
}

// serve starts a node of a program on a folder of the rig.
func (r *rig) serve(program string) served {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	n := served{addr: ln.Addr().String()}
	check(ln.Close())
	data := filepath.Join(r.dir, "node")
	n.process = exec.Command(program, "serve", "--data", data, "--listen", n.addr, "--name", "bench", "--log-level", "error")
	n.process.Stderr = os.Stderr
	begun := time.Now()
	check(leash.Start(n.process, syscall.SIGKILL))
	for socket := filepath.Join(data, "ramet.sock"); !ready(socket); time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			check(fmt.Errorf("%s is not ready after a minute", program))
		}
	}
	n.ready, n.readyCPU = time.Since(begun), processCPU(n.process.Process.Pid)
	token, err := exec.Command(program, "token", "--key", filepath.Join(data, "operator.key"), "--audience", "bench").Output()
	check(err)
	n.token = strings.TrimSpace(string(token))
	n.client, err = client.New(client.Config{URL: "http://" + n.addr, Token: func(context.Context) (string, error) { return n.token, nil }})
	check(err)
	return n
}

func (n served) end() {
	n.client.Close()
	check(n.process.Process.Signal(syscall.SIGTERM))
	check(n.process.Wait())
}
