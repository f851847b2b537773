package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// The test binary starts itself again as a node that also submits jobs; these
// variables tell the child what to do.
const (
	envBoard   = "RAMET_CHILD_BOARD"   // a data folder, or redis://…
	envData    = "RAMET_CHILD_DATA"    // the node's data folder
	envFirst   = "RAMET_CHILD_FIRST"   // the first job id of this life; absent: submit nothing
	envName    = "RAMET_CHILD_NAME"    // the node's name; absent: victim
	envLease   = "RAMET_CHILD_LEASE"   // absent: 5s
	envGrace   = "RAMET_CHILD_GRACE"   // absent: the node's default
	envAnswer  = "RAMET_CHILD_ANSWER"  // how long Redis is waited for; absent: the board's default
	envScript  = "RAMET_CHILD_SCRIPT"  // how large the scripts are of jobs that are submitted alone; absent: a letter
	envFile    = "RAMET_CHILD_FILE"    // how large files may grow, in bytes; absent: without limit
	envWitness = "RAMET_CHILD_WITNESS" // the file of a witness: submit jobs that tell it; absent: others
	envNATS    = "RAMET_CHILD_NATS"    // be a nats-server with the configuration in this file, nothing else
)

func TestMain(m *testing.M) {
	if file := os.Getenv(envNATS); file != "" {
		serveNATS(file)
	}
	if os.Getenv(envBoard) == "" {
		code := m.Run()
		os.RemoveAll(binaryDir)
		os.Exit(code)
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// length reads a variable that is a length of time, or 0.
func length(name string) time.Duration {
	d, _ := time.ParseDuration(os.Getenv(name))
	return d
}

// openBoard opens what the child and, at the end, the test stand on. stop is
// told why the board has stopped.
func openBoard(ctx context.Context, where string, stop func(error)) (board.Board, error) {
	switch scheme, _, _ := strings.Cut(where, "://"); scheme {
	case "redis":
		return redisboard.Open(ctx, where, redisboard.Config{Answer: length(envAnswer)})
	case "etcd":
		return etcdboard.Open(ctx, where, etcdboard.Config{Answer: length(envAnswer)})
	}
	return pebbleboard.Open(where, pebbleboard.Config{Fatal: stop})
}

// child is a node that works and submits until it is killed, told to stop, or
// its board has stopped.
func child() error {
	if err := limitFiles(); err != nil {
		return err
	}
	told, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	b, err := openBoard(ctx, os.Getenv(envBoard), stop)
	if err != nil {
		return err
	}
	n, err := newNode(ctx, b, os.Getenv(envData), os.Getenv(envWitness))
	if err != nil {
		return err
	}
	var contexts board.Batch
	if err := b.Commit(ctx, *contexts.Include(layout.Contexts, "1")); err != nil {
		return err
	}
	fmt.Println("ready")
	var submits sync.WaitGroup
	if first, err := strconv.Atoi(os.Getenv(envFirst)); err == nil {
		if file := os.Getenv(envWitness); file != "" {
			submitWitnessed(ctx, n, first, file, &submits)
		} else {
			submit(ctx, n, first, &submits)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(n.Run(told), b.Close()) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // there is no board to drain to
		submits.Wait()
		return context.Cause(ctx)
	}
}

// limitFiles lets no file grow beyond envFile: a write beyond is an error, as
// on a full disk.
func limitFiles() error {
	n, err := strconv.ParseUint(os.Getenv(envFile), 10, 64)
	if err != nil {
		return nil
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}

// newNode makes a node whose jobs may tell the witness in a file.
func newNode(ctx context.Context, b board.Board, data, witness string) (*node.Node, error) {
	runtimes := []script.Runtime{flaky{}, nap{}}
	if witness != "" {
		more, err := witnesses(witness)
		if err != nil {
			return nil, err
		}
		runtimes = append(runtimes, more...)
	}
	// Many losses are right here: this node dies again and again.
	return node.New(ctx, b, node.Config{Name: cmp.Or(os.Getenv(envName), "victim"), DataDir: data,
		Lease: cmp.Or(length(envLease), 5*time.Second), Grace: length(envGrace), MaxLosses: 1000,
		Runtimes: runtimes, Logger: slog.New(slog.NewTextHandler(warnings{}, &slog.HandlerOptions{Level: slog.LevelWarn}))})
}

// warnings is where a child's log goes: to its stdout, behind the word warn. The
// node that lives in the test has none.
type warnings struct{}

func (warnings) Write(line []byte) (int, error) {
	if os.Getenv(envBoard) == "" {
		return len(line), nil
	}
	return os.Stdout.Write(append([]byte("warn "), line...))
}

// submitters is how many goroutines submit in a child.
const submitters = 8

// flowSubmitters is how many submit flows, as flowCaller: the jobs that are
// submitted alone have ids chosen by hand, which are another's.
const (
	flowSubmitters = 3
	flowCaller     = 2
)

// submit submits jobs alone, in pairs that depend on each other, and in batches,
// and says which were acknowledged and why others were not. When ctx has ended
// it goes on until it is refused: the board has stopped.
func submit(ctx context.Context, n *node.Node, first int, submits *sync.WaitGroup) {
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	// One write for all: what is printed is acknowledged, and the other way
	// round nearly so.
	say := func(receipts []work.Receipt) (refused bool) {
		mu.Lock()
		defer mu.Unlock()
		defer out.Flush()
		return sayReceipts(out, receipts)
	}
	sayFlow := func(r flow.Receipt) (refused bool) {
		mu.Lock()
		defer mu.Unlock()
		if r.Err != nil {
			fmt.Fprintln(out, "refused", r.Err)
		} else {
			fmt.Fprintln(out, "ack", domain.FlowKey(r.ID))
		}
		_ = out.Flush()
		return r.Err != nil
	}
	for g := range flowSubmitters {
		submits.Go(func() {
			for i, refused := g, false; !refused || ctx.Err() == nil; i++ {
				receipts, err := n.Flows.Submit(context.Background(), 1, []flow.Request{flowNumber(i)})
				if err != nil {
					receipts = []flow.Receipt{{Err: err}}
				}
				refused = sayFlow(receipts[0])
			}
		})
	}
	for g := range submitters {
		submits.Go(func() {
			for id, refused := first+g*100_000, false; !refused || ctx.Err() == nil; {
				jobs := jobsFrom(id)
				id += len(jobs)
				receipts, err := n.Work.Submit(context.Background(), 1, jobs)
				if err != nil {
					receipts = []work.Receipt{{Err: err}}
				}
				refused = say(receipts)
			}
		})
	}
}

// sayReceipts says which jobs were acknowledged, and why others were not.
func sayReceipts(out io.Writer, receipts []work.Receipt) (refused bool) {
	for _, r := range receipts {
		if r.Err != nil {
			refused = true
			fmt.Fprintln(out, "refused", r.Err)
		} else {
			fmt.Fprintln(out, "ack", r.Key)
		}
	}
	return refused
}

// submitWitnessed submits jobs that tell the witness in a file, no more than a
// machine of two processors can run beside others.
func submitWitnessed(ctx context.Context, n *node.Node, first int, file string, submits *sync.WaitGroup) {
	for g := range 2 {
		submits.Go(func() {
			pace := time.NewTicker(60 * time.Millisecond)
			defer pace.Stop()
			for id := first + g*100_000; ctx.Err() == nil; <-pace.C {
				jobs := witnessed(id, file)
				id += len(jobs)
				receipts, err := n.Work.Submit(context.Background(), 1, jobs)
				if err != nil {
					receipts = []work.Receipt{{Err: err}}
				}
				var said strings.Builder
				sayReceipts(&said, receipts)
				_, _ = os.Stdout.WriteString(said.String())
			}
		})
	}
}

// flowNumber is a flow: of jobs that count each other down, of steps that a
// keeper makes, or one that is written in parts.
func flowNumber(i int) flow.Request {
	step := func(name string, change func(*domain.Step), needs ...string) domain.Step {
		s := domain.Step{Name: name, Script: "x", ScriptType: "flaky", Retries: 3, Needs: needs}
		if change != nil {
			change(&s)
		}
		return s
	}
	plan := &domain.Blueprint{Name: "plain", Steps: []domain.Step{step("a", nil), step("b", nil, "a"), step("c", nil, "b"), step("d", nil, "a")}}
	switch {
	case i%20 == 19:
		jobs := make([]*domain.Job, 400)
		for k := range jobs {
			jobs[k] = &domain.Job{ID: domain.JobID(k + 1), Script: "x", ScriptType: "flaky", Retries: 3}
			if k > 300 {
				jobs[k].Dependends = []domain.JobID{domain.JobID(k), domain.JobID(k - 100)}
			}
		}
		return flow.Request{Caller: flowCaller, Jobs: jobs}
	case i%2 == 1:
		plan = &domain.Blueprint{Name: "stepped", Steps: []domain.Step{
			step("s", func(s *domain.Step) { s.Shard = &domain.Shard{Count: 12, Window: 5} }),
			step("w", func(s *domain.Step) { s.When = "params.len() == 0" }, "s"),
			step("z", func(s *domain.Step) { s.Phase = 1 })}}
	}
	return flow.Request{Caller: flowCaller, Plan: plan}
}

// scriptText is what the jobs have that are submitted alone. flaky does not look at it; a large
// one, which nothing makes smaller, fills a disk with a few hundred of them.
var scriptText = sync.OnceValue(func() string {
	n, err := strconv.Atoi(os.Getenv(envScript))
	if err != nil {
		return "x"
	}
	letters := make([]byte, n/2)
	_, _ = rand.Read(letters)
	return hex.EncodeToString(letters)
})

func jobsFrom(id int) []*domain.Job {
	job := func(i int, deps ...domain.JobID) *domain.Job {
		return &domain.Job{ID: domain.JobID(id + i), CallerID: 1, Script: scriptText(), ScriptType: "flaky", Retries: 3, Dependends: deps}
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

// nap is a runtime inside the process whose scripts say how long they take, and
// which tells when they begin and end. A script is a length of time, behind
// "first" when only the first attempt takes it, behind "deaf" when it does not
// hear that it is to stop.
type nap struct{}

func (nap) Type() domain.ScriptType     { return "nap" }
func (nap) Check(context.Context) error { return nil }
func (nap) Close() error                { return nil }
func (nap) Info() script.Info {
	return script.Info{Summary: "waits", Slots: 64, InProcess: true}
}

func (nap) Run(ctx context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	fmt.Println("run", t.Name)
	word, rest, _ := strings.Cut(t.Script, " ")
	d, err := time.ParseDuration(cmp.Or(rest, word))
	if err != nil {
		return script.Outcome{}, err
	}
	stop := ctx.Done()
	switch {
	case word == "first" && t.Attempt > 1:
		d = 0
	case word == "deaf":
		stop = nil
	}
	select {
	case <-time.After(d):
	case <-stop:
		fmt.Println("stopped", t.Name, context.Cause(ctx))
		return script.Outcome{Verdict: script.Stopped, ExitCode: 143}, nil
	}
	fmt.Println("end", t.Name)
	return script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"exit_code": "0"}}, nil
}
