package cluster

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
)

// The test binary starts itself again as a node that also submits jobs; these
// variables tell the child what to do.
const (
	envBoard = "RAMET_CHILD_BOARD" // a data folder, or redis://…
	envData  = "RAMET_CHILD_DATA"  // the node's data folder
	envFirst = "RAMET_CHILD_FIRST" // the first job id of this life; absent: submit nothing
)

func TestMain(m *testing.M) {
	if os.Getenv(envBoard) == "" {
		os.Exit(m.Run())
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// openBoard opens what the child and, at the end, the test stand on.
func openBoard(ctx context.Context, where string) (board.Board, error) {
	if strings.HasPrefix(where, "redis://") {
		return redisboard.Open(ctx, where, redisboard.Config{})
	}
	return pebbleboard.Open(where, pebbleboard.Config{})
}

// child is a node that works and submits until it is killed.
func child() error {
	ctx := context.Background()
	b, err := openBoard(ctx, os.Getenv(envBoard))
	if err != nil {
		return err
	}
	n, err := newNode(ctx, b, os.Getenv(envData))
	if err != nil {
		return err
	}
	var contexts board.Batch
	if err := b.Commit(ctx, *contexts.Include(layout.Contexts, "1")); err != nil {
		return err
	}
	fmt.Println("ready")
	if first, err := strconv.Atoi(os.Getenv(envFirst)); err == nil {
		go submit(ctx, n, first)
	}
	return n.Run(ctx)
}

func newNode(ctx context.Context, b board.Board, data string) (*node.Node, error) {
	// Many losses are right here: this node dies again and again.
	return node.New(ctx, b, node.Config{Name: "victim", DataDir: data, Lease: 5 * time.Second, MaxLosses: 1000,
		Runtimes: []script.Runtime{flaky{}}, Logger: slog.New(slog.DiscardHandler)})
}

// submitters is how many goroutines submit in a child.
const submitters = 8

// submit submits jobs without end, alone, in pairs that depend on each other,
// and in batches, and says which were acknowledged.
func submit(ctx context.Context, n *node.Node, first int) {
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	for g := range submitters {
		go func() {
			for id := first + g*100_000; ; {
				jobs := jobsFrom(id)
				id += len(jobs)
				receipts, err := n.Work.Submit(ctx, 1, jobs)
				if err != nil {
					continue
				}
				mu.Lock()
				for _, r := range receipts {
					if r.Err == nil {
						fmt.Fprintln(out, "ack", r.Key)
					}
				}
				// One write for all: what is printed is acknowledged, and the
				// other way round nearly so.
				_ = out.Flush()
				mu.Unlock()
			}
		}()
	}
}

func jobsFrom(id int) []*domain.Job {
	job := func(i int, deps ...domain.JobID) *domain.Job {
		return &domain.Job{ID: domain.JobID(id + i), CallerID: 1, Script: "x", ScriptType: "flaky", Retries: 3, Dependends: deps}
	}
	switch id % 3 {
	case 0:
		return []*domain.Job{job(0), job(1, domain.JobID(id))}
	case 1:
		return []*domain.Job{job(0)}
	}
	jobs := make([]*domain.Job, 20)
	for i := range jobs {
		jobs[i] = job(i)
	}
	return jobs
}

// flaky is a runtime inside the process whose scripts take different times,
// and some of which fail at their first attempt.
type flaky struct{}

func (flaky) Type() domain.ScriptType     { return "flaky" }
func (flaky) Check(context.Context) error { return nil }
func (flaky) Close() error                { return nil }
func (flaky) Info() script.Info {
	return script.Info{Summary: "fails at times", Slots: 64, InProcess: true}
}

func (flaky) Run(ctx context.Context, t script.Task, h script.Host) (script.Outcome, error) {
	key, err := domain.ParseJobKey(t.Name)
	if err != nil {
		return script.Outcome{}, err
	}
	if key.ID%7 == 0 {
		h.Log("stdout", []byte("a line from attempt "+strconv.FormatInt(t.Attempt, 10)))
	}
	if key.ID%5 == 0 {
		select {
		case <-time.After(time.Duration(key.ID%50) * time.Millisecond):
		case <-ctx.Done():
			return script.Outcome{Verdict: script.Stopped, ExitCode: 143}, nil
		}
	}
	if key.ID%11 == 0 && t.Attempt == 1 {
		return script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: "the first attempt fails"}, nil
	}
	return script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"exit_code": "0"}}, nil
}
