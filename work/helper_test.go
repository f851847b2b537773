package work_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// goScript is a runtime whose scripts are Go functions, found by the script's
// text. It runs inside the process, so it works in a synctest bubble.
type goScript struct {
	typ   domain.ScriptType
	slots int

	mu    sync.Mutex
	funcs map[string]func(ctx context.Context, t script.Task, h script.Host) script.Outcome
	runs  map[string]int // by job key
	most  int            // runs at once
	now   int
	fault error // of the machine: no script can be started
}

func newGoScript(typ domain.ScriptType, slots int) *goScript {
	g := &goScript{typ: typ, slots: slots, runs: map[string]int{},
		funcs: map[string]func(context.Context, script.Task, script.Host) script.Outcome{}}
	g.on("ok", func(context.Context, script.Task, script.Host) script.Outcome { return ok(nil) })
	g.on("fail", func(context.Context, script.Task, script.Host) script.Outcome { return failed("no luck") })
	g.on("hang", func(ctx context.Context, _ script.Task, _ script.Host) script.Outcome {
		<-ctx.Done()
		return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}
	})
	return g
}

func ok(result map[string]string) script.Outcome {
	if result == nil {
		result = map[string]string{"exit_code": "0"}
	}
	return script.Outcome{Verdict: script.Succeeded, Result: result}
}

func failed(text string) script.Outcome {
	return script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: text, Result: map[string]string{"exit_code": "1"}}
}

func (g *goScript) on(text string, f func(context.Context, script.Task, script.Host) script.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.funcs[text] = f
}

func (g *goScript) count(key domain.JobKey) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs[key.String()]
}

func (g *goScript) Type() domain.ScriptType { return g.typ }
func (g *goScript) Info() script.Info {
	return script.Info{Summary: "go functions", Slots: g.slots, InProcess: true}
}
func (g *goScript) Check(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fault
}

// breaks has no script start; nil: they can again.
func (g *goScript) breaks(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = err
}

func (g *goScript) Close() error { return nil }

func (g *goScript) Run(ctx context.Context, t script.Task, h script.Host) (script.Outcome, error) {
	g.mu.Lock()
	f, fault := g.funcs[t.Script], g.fault
	g.runs[t.Name]++
	g.now++
	g.most = max(g.most, g.now)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.now--
		g.mu.Unlock()
	}()
	switch {
	case fault != nil:
		return script.Outcome{}, fault
	case t.Script == "unavailable":
		return script.Outcome{}, domain.Unavailablef("it can never be started")
	case t.Script == "too large":
		return script.Outcome{}, syscall.E2BIG
	}
	if f == nil {
		return script.Outcome{}, fmt.Errorf("no such function %q", t.Script)
	}
	return f(ctx, t, h), nil
}

// rig is an engine on a board with one runner and the routines.
type rig struct {
	*testing.T
	board  board.Board
	engine *work.Engine
	script *goScript
	ctx    context.Context
	stop   func() // drains the runner; called at the end in any case
}

const tenant = domain.TenantID(1)

func newRig(t *testing.T, cfg work.Config) *rig { return byRunner.newRig(t, cfg) }

func (by taking) newRig(t *testing.T, cfg work.Config) *rig {
	b := memboard.Open()
	r := by.startRig(t, b, cfg, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 8))
	t.Cleanup(func() { r.stop(); b.Close() })
	return r
}

func startRig(t *testing.T, b board.Board, cfg work.Config, rc work.RunnerConfig, g *goScript) *rig {
	return byRunner.startRig(t, b, cfg, rc, g)
}

func (by taking) startRig(t *testing.T, b board.Board, cfg work.Config, rc work.RunnerConfig, g *goScript) *rig {
	rc.Runtimes = []script.Runtime{g}
	e := work.New(b, cfg)
	r := startWith(t, b, e, by.taker(t, b, e, rc), rc.Owner)
	r.script = g
	return r
}

// startRunner starts a runner with the routines.
func startRunner(t *testing.T, b board.Board, e *work.Engine, rc work.RunnerConfig) *rig {
	return startWith(t, b, e, work.NewRunner(e, rc), rc.Owner)
}

func startWith(t *testing.T, b board.Board, e *work.Engine, runner taker, owner string) *rig {
	contexts := board.Batch{}
	if err := b.Commit(t.Context(), *contexts.Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = runner.Run(ctx) })
	wg.Go(func() { clockworkRun(ctx, b, e, owner) })
	return &rig{T: t, board: b, engine: e, ctx: t.Context(), stop: sync.OnceFunc(func() { cancel(); wg.Wait() })}
}

func clockworkRun(ctx context.Context, b board.Board, e *work.Engine, owner string) {
	log := discard()
	_ = clockwork.Run(ctx, b, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
		clockwork.Alarms(b, log, e.HandleAlarm, nil),
		clockwork.Leases(b, log, e.RecoverLease),
		clockwork.Audits(b, e, nil, log, nil),
	})
}

// job returns a job of the runtime's type.
func job(id domain.JobID, text string, change ...func(*domain.Job)) *domain.Job {
	j := &domain.Job{ID: id, CallerID: 1, Script: text, ScriptType: "go"}
	for _, c := range change {
		c(j)
	}
	return j
}

func after(ids ...domain.JobID) func(*domain.Job) {
	return func(j *domain.Job) { j.Dependends = ids }
}

func retries(n uint8) func(*domain.Job) { return func(j *domain.Job) { j.Retries = n } }

// submit submits jobs and fails the test if one is refused.
func (r *rig) submit(jobs ...*domain.Job) {
	r.Helper()
	receipts, err := r.engine.Submit(r.ctx, tenant, jobs)
	if err != nil {
		r.Fatal(err)
	}
	for _, rc := range receipts {
		if rc.Err != nil {
			r.Fatalf("submit %v: %v", rc.Key, rc.Err)
		}
	}
}

func key(id domain.JobID) domain.JobKey { return domain.JobKey{Caller: 1, ID: id} }

// wait returns the ended job.
func (r *rig) wait(id domain.JobID) *domain.Job {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, 48*time.Hour) // virtual time
	defer cancel()
	j, err := r.engine.Wait(ctx, tenant, key(id))
	if err != nil {
		x, _ := r.engine.Explain(r.ctx, tenant, key(id))
		r.Fatalf("wait for job %d: %v; %+v", id, err, x)
	}
	return j
}

func (r *rig) show(id domain.JobID) *domain.Job {
	r.Helper()
	j, err := r.engine.Show(r.ctx, tenant, key(id))
	if err != nil {
		r.Fatal(err)
	}
	return j
}

// want checks how a job ended.
func (r *rig) want(id domain.JobID, status domain.JobStatus, reason domain.Reason) *domain.Job {
	r.Helper()
	j := r.wait(id)
	if j.Status != status || j.Reason != reason {
		r.Errorf("job %d: got %s %q (%s), want %s %q", id, j.Status, j.Reason, j.Error, status, reason)
	}
	return j
}

func f(name, value string) board.Field { return board.Field{Name: name, Value: value} }

// commit makes a change as a foreign program would.
func (r *rig) commit(b *board.Batch) {
	r.Helper()
	b.Space = 1
	if err := r.board.Commit(r.ctx, *b); err != nil {
		r.Fatal(err)
	}
}
