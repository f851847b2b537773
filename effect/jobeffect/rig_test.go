package jobeffect_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// tenant is the context that asks, the one that the suite asks in.
const tenant = domain.TenantID(7)

// rig is a board with the engines of jobs and flows and a node that runs them.
// It is the far side of the effects, too.
type rig struct {
	testing.TB
	board board.Board
	work  *work.Engine
	flows *flow.Engine
	stop  func() // the node

	mu       sync.Mutex
	asked    map[string]int
	applied  map[string]int
	failures int  // calls that are still to fail
	refusals int  // runs that are still to fail
	away     bool // the board cannot be reached
	answer   int  // bytes
	hang     *hanging
	runs     []run
}

// run is what a script found.
type run struct {
	script string
	env    map[string]string
	params map[string]string
}

type hanging struct {
	applied bool
	arrived chan struct{}
	release chan struct{}
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{TB: t, board: memboard.Open(), asked: map[string]int{}, applied: map[string]int{}}
	contexts := board.Batch{}
	if err := r.board.Commit(t.Context(), *contexts.Include(layout.Contexts, "7")); err != nil {
		t.Fatal(err)
	}
	r.work = work.New(r.board, work.Config{Served: func(t domain.ScriptType) bool { return t == "words" }})
	r.flows = flow.New(r.board, r.work, flow.Config{Blueprints: blueprints{}})
	r.node("n1")
	t.Cleanup(func() { r.stop(); r.board.Close() })
	return r
}

// node starts what runs jobs and flows.
func (r *rig) node(name string) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	owner, log := name+"/a", slog.New(slog.DiscardHandler)
	runner := work.NewRunner(r.work, work.RunnerConfig{ID: 1, Owner: owner, Runtimes: []script.Runtime{words{r}}, Grace: time.Second})
	wg.Go(func() { _ = runner.Run(ctx) })
	wg.Go(func() { r.flows.Keep(ctx, owner) })
	wg.Go(func() {
		_ = clockwork.Run(ctx, r.board, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
			clockwork.Alarms(r.board, log, func(ctx context.Context, a board.Alarm) (bool, error) {
				if ours, err := r.flows.HandleAlarm(ctx, a); ours || err != nil {
					return ours, err
				}
				return r.work.HandleAlarm(ctx, a)
			}, nil),
		})
	})
	r.stop = func() { cancel(); wg.Wait() }
}

// blueprints has one blueprint, "settle", of one step.
type blueprints struct{}

func (blueprints) Get(_ context.Context, _ domain.TenantID, name string, version int) (domain.Blueprint, string, error) {
	if name != "settle" || version > 1 {
		return domain.Blueprint{}, "", domain.NotFoundf("there is no blueprint %q of that version", name)
	}
	return domain.Blueprint{Name: name, Version: 1, Params: map[string]string{"currency": "EUR"},
		Steps: []domain.Step{{Name: "book", Script: "x", ScriptType: "words"}}}, "h", nil
}

// words is the runtime of the node's scripts: they succeed, unless the rig says
// otherwise.
type words struct{ r *rig }

func (words) Type() domain.ScriptType     { return "words" }
func (words) Check(context.Context) error { return nil }
func (words) Close() error                { return nil }
func (words) Info() script.Info {
	return script.Info{Summary: "words", Slots: 64, InProcess: true}
}

func (w words) Run(ctx context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	in := struct{ Params map[string]string }{}
	if t.Input != nil {
		text, err := t.Input()
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err != nil {
			return script.Outcome{}, err
		}
	}
	w.r.mu.Lock()
	w.r.runs = append(w.r.runs, run{t.Script, t.Env, in.Params})
	no := w.r.refusals > 0
	if no {
		w.r.refusals--
	}
	size := w.r.answer
	w.r.mu.Unlock()
	if no {
		return script.Outcome{Verdict: script.Failed, ExitCode: 3, Error: "no luck", Result: map[string]string{"why": "empty"}}, nil
	}
	if t.Script == "hang" {
		if err := w.r.stay(ctx, true); err != nil {
			return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
		}
	}
	return script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"text": strings.Repeat("x", size)}}, nil
}

// stay waits where calls are to hang.
func (r *rig) stay(ctx context.Context, applied bool) error {
	r.mu.Lock()
	h := r.hang
	r.mu.Unlock()
	if h == nil || h.applied != applied {
		return nil
	}
	h.arrived <- struct{}{}
	select {
	case <-h.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask is the begin of a call with a key, as the far side meets it.
func (r *rig) ask(ctx context.Context, key string) error {
	r.mu.Lock()
	if r.away {
		r.mu.Unlock()
		return domain.Unavailablef("the board is away")
	}
	r.asked[key]++
	fails := r.failures > 0
	if fails {
		r.failures--
	}
	r.mu.Unlock()
	if fails {
		return domain.Unavailablef("the board is busy")
	}
	return r.stay(ctx, false)
}

func (r *rig) done(key string, existing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !existing {
		r.applied[key]++
	}
}

var _ effecttest.Target = (*rig)(nil)

func sum(counts map[string]int, key string) (n int) {
	for k, c := range counts {
		if key == "" || k == key {
			n += c
		}
	}
	return n
}

func (r *rig) Asked(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sum(r.asked, key)
}

func (r *rig) Applied(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sum(r.applied, key)
}

func (r *rig) Fail(n int, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused {
		r.refusals = n
	} else {
		r.failures = n
	}
}

func (r *rig) Hang(applied bool) (<-chan struct{}, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &hanging{applied, make(chan struct{}, 1000), make(chan struct{})}
	r.hang = h
	return h.arrived, sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hang = nil
		close(h.release)
	})
}

func (r *rig) Away() func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.away = false
	}
}

func (r *rig) Answer(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = bytes
}

func (r *rig) ran() []run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]run(nil), r.runs...)
}

// jobs is the engine of jobs, as the effect meets it.
type jobs struct{ *rig }

func (j jobs) SubmitOnce(ctx context.Context, t domain.TenantID, ticket string, keep time.Duration, asked *domain.Job) (domain.JobKey, bool, error) {
	command := ticket[strings.LastIndexByte(ticket, ':')+1:]
	if err := j.ask(ctx, command); err != nil {
		return domain.JobKey{}, false, err
	}
	key, existing, err := j.work.SubmitOnce(ctx, t, ticket, keep, asked)
	if err == nil {
		j.done(command, existing)
	}
	return key, existing, err
}

func (j jobs) RegisterTypes(ctx context.Context, t domain.TenantID, types []domain.ScriptType) error {
	return j.work.RegisterTypes(ctx, t, types)
}

func (j jobs) Wait(ctx context.Context, t domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	ended, err := j.work.Wait(ctx, t, key)
	if err == nil {
		err = j.stay(ctx, true)
	}
	return ended, err
}

func (j jobs) CheckFlowJob(ctx context.Context, tenant domain.TenantID, asked *domain.Job) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.away {
		return domain.Unavailablef("the board is away")
	}
	return j.work.CheckFlowJob(ctx, tenant, asked)
}

// flows is the engine of flows, as the effect meets it.
type flows struct{ *rig }

func (f flows) Submit(ctx context.Context, t domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error) {
	if err := f.ask(ctx, reqs[0].Trigger); err != nil {
		return nil, err
	}
	receipts, err := f.flows().Submit(ctx, t, reqs)
	if err == nil && receipts[0].Err == nil {
		f.done(reqs[0].Trigger, receipts[0].Existing)
	}
	return receipts, err
}

func (f flows) Wait(ctx context.Context, t domain.TenantID, id domain.FlowID, each func(domain.FlowView) error) (domain.FlowView, error) {
	v, err := f.flows().Wait(ctx, t, id, each)
	if err == nil {
		err = f.stay(ctx, true)
	}
	return v, err
}

func (f flows) flows() *flow.Engine { return f.rig.flows }
