package effectscript_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effectscript"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

const tenant = domain.TenantID(7)

// bank is the far side: it does once what has one key.
type bank struct {
	mu      sync.Mutex
	calls   []effect.Call
	applied map[string]int
	meets   func(ctx context.Context, call effect.Call) error // before it is done
	answer  string
}

func (b *bank) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	b.mu.Lock()
	b.calls = append(b.calls, call)
	meets := b.meets
	b.mu.Unlock()
	if meets != nil {
		if err := meets(ctx, call); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.applied[call.CommandID] = 1
	return json.RawMessage(b.answer), nil
}

func (b *bank) Check(context.Context, domain.TenantID) error { return nil }
func (b *bank) Target() string                               { return "bank" }
func (b *bank) Close() error                                 { return nil }

// on sets what calls meet.
func (b *bank) on(meets func(ctx context.Context, call effect.Call) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meets = meets
}

func (b *bank) asked() []effect.Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]effect.Call(nil), b.calls...)
}

// failing is what calls meet that fail so often, then succeed.
func failing(times int, err error) func(context.Context, effect.Call) error {
	var mu sync.Mutex
	return func(context.Context, effect.Call) error {
		mu.Lock()
		defer mu.Unlock()
		if times--; times >= 0 {
			return err
		}
		return nil
	}
}

// words is a runtime whose scripts are lines "set KEY VALUE" and "need STEP KEY",
// which puts what a step gave into the result as "got".
type words struct{}

func (words) Type() domain.ScriptType     { return "words" }
func (words) Check(context.Context) error { return nil }
func (words) Close() error                { return nil }
func (words) Info() script.Info           { return script.Info{Summary: "words", Slots: 8, InProcess: true} }

func (words) Run(_ context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	in := struct {
		Needs map[string]struct{ Result map[string]string }
	}{}
	if t.Input != nil {
		text, err := t.Input()
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err != nil {
			return script.Outcome{}, err
		}
	}
	out := script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"exit_code": "0"}}
	for line := range strings.Lines(t.Script) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, value, _ := strings.Cut(rest, " ")
		switch word {
		case "set":
			out.Result[name] = value
		case "need":
			out.Result["got"] = in.Needs[name].Result[value]
		}
	}
	return out, nil
}

// secrets are those of the context.
type secrets map[string]string

func (s secrets) Read(_ context.Context, _ domain.TenantID, names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		if values[name] = s[name]; s[name] == "" {
			return nil, domain.NotFoundf("there is no secret %s", name)
		}
	}
	return values, nil
}

// rig is a board with nodes on it, each with a worker of effects.
type rig struct {
	*testing.T
	board board.Board
	bans  *ban.Bans
	bank  *bank
	work  *work.Engine // for asking
	flows *flow.Engine
	nodes []*node
}

// node is one process.
type node struct {
	effects *effect.Worker
	board   *cutBoard
	stop    func()
}

// cutBoard is a board that a node cannot reach once it is cut off.
type cutBoard struct {
	board.Board
	off context.Context // ends when it is
	cut context.CancelFunc
}

func newCutBoard(b board.Board) *cutBoard {
	c := &cutBoard{Board: b}
	c.off, c.cut = context.WithCancel(context.Background())
	return c
}

func (b *cutBoard) err() error {
	if b.off.Err() != nil {
		return domain.Unavailablef("cut off")
	}
	return nil
}

func (b *cutBoard) Commit(ctx context.Context, batch board.Batch) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.Board.Commit(ctx, batch)
}

func (b *cutBoard) CommitEach(ctx context.Context, batches []board.Batch) []error {
	if err := b.err(); err != nil {
		errs := make([]error, len(batches))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	return b.Board.CommitEach(ctx, batches)
}

func (b *cutBoard) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	if err := b.err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.off, cancel)() // one that waits must get nothing any more
	return b.Board.Claim(ctx, ask)
}

func (b *cutBoard) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	if err := b.err(); err != nil {
		return nil, err
	}
	return b.Board.Extend(ctx, owner, ttl, held)
}

func (b *cutBoard) Occupy(ctx context.Context, space board.Space, key, owner string, ttl time.Duration) (int64, error) {
	if err := b.err(); err != nil {
		return 0, err
	}
	return b.Board.Occupy(ctx, space, key, owner, ttl)
}

// bubble runs a test in virtual time, with one node that has the effect "pay".
func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, board: memboard.Open(), bank: &bank{applied: map[string]int{}, answer: `{"status":200,"body":{"id":"p-1"},"paid":"7.50"}`}}
		r.bans = ban.New(r.board)
		contexts := board.Batch{}
		if err := r.board.Commit(t.Context(), *contexts.Include(layout.Contexts, "7")); err != nil {
			t.Fatal(err)
		}
		r.work = work.New(r.board, work.Config{})
		r.flows = flow.New(r.board, r.work, flow.Config{})
		r.node("n1", "pay")
		defer func() {
			for _, n := range r.nodes {
				n.stop()
			}
			r.board.Close()
		}()
		test(r)
	})
}

// set opens effects of these names, all on the bank.
func (r *rig) set(names ...string) *effect.Set {
	r.Helper()
	definitions := make([]effect.Definition, len(names))
	for i, name := range names {
		definitions[i] = effect.Definition{Name: name, Kind: domain.EffectHTTP, Breaker: 3, BreakerPause: 10 * time.Second}
	}
	return r.open(definitions...)
}

func (r *rig) open(definitions ...effect.Definition) *effect.Set {
	r.Helper()
	open := func(effect.Definition, effect.Host) (effect.Provider, error) { return r.bank, nil }
	set, err := effect.OpenSet(definitions, map[domain.EffectKind]effect.Open{domain.EffectHTTP: open, domain.EffectJob: open, domain.EffectFlow: open},
		effect.Host{})
	if err != nil {
		r.Fatal(err)
	}
	return set
}

// node starts a process with effects of these names: one that runs jobs and
// flows, and writes its record.
func (r *rig) node(name string, effects ...string) *node {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{board: newCutBoard(r.board)}
	r.nodes = append(r.nodes, n)
	var wg sync.WaitGroup
	cache := ban.NewCache(n.board, nil)
	n.effects = effect.NewWorker(nil, n.board, r.set(effects...), effect.Config{Bans: cache})
	engine := work.New(n.board, work.Config{Secrets: secrets{"shop": "hunter2"},
		EffectKind: func(name string) domain.EffectKind { return n.effects.Kinds()[name] }})
	flows := flow.New(n.board, engine, flow.Config{})
	rt := effectscript.New(func(_ context.Context, id domain.TenantID) (string, error) { return fmt.Sprint("t", id), nil })
	owner, log := name+"/a", slog.New(slog.DiscardHandler)
	runner := work.NewRunner(engine, work.RunnerConfig{ID: domain.RunnerID(len(r.nodes)), Owner: owner,
		Runtimes: []script.Runtime{words{}, rt}, Grace: time.Second})
	wg.Go(func() { _ = cache.Run(ctx) })
	wg.Go(func() { rt.Bind(n.effects) }) // at any time
	wg.Go(func() { _ = runner.Run(ctx) })
	wg.Go(func() { flows.Keep(ctx, owner) })
	wg.Go(func() {
		_ = clockwork.Run(ctx, n.board, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
			clockwork.Alarms(n.board, log, func(ctx context.Context, a board.Alarm) (bool, error) {
				if ours, err := flows.HandleAlarm(ctx, a); ours || err != nil {
					return ours, err
				}
				return engine.HandleAlarm(ctx, a)
			}, nil),
			clockwork.Leases(n.board, log, func(ctx context.Context, l board.Lease) (bool, error) {
				if ours, err := flows.RecoverLease(ctx, l); ours || err != nil {
					return ours, err
				}
				return engine.RecoverLease(ctx, l)
			}),
		})
	})
	id := domain.RunnerID(len(r.nodes))
	wg.Go(func() {
		for ctx.Err() == nil {
			about := domain.Runner{ID: id, Node: name, SeenMs: time.Now().UnixMilli(), Serves: []domain.Service{
				{ScriptType: "words", Served: true}, {ScriptType: domain.ScriptEffect, Served: true, Offers: rt.Offers()}}}
			b := board.Batch{}
			_ = n.board.Commit(ctx, *b.Set(about.Key(), layout.EncodeRunner(about)...))
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
		}
	})
	n.stop = func() { cancel(); wg.Wait() }
	return n
}

// call is a step of kind effect.
func call(name string, c domain.EffectCall, change ...func(*domain.Step)) domain.Step {
	s := domain.Step{Name: name, Effect: &c}
	for _, f := range change {
		f(&s)
	}
	return s
}

// step is one of words.
func step(name, text string, needs ...string) domain.Step {
	return domain.Step{Name: name, Script: text, ScriptType: "words", Needs: needs}
}

// submit makes a flow of steps.
func (r *rig) submit(params map[string]string, steps ...domain.Step) domain.FlowID {
	r.Helper()
	receipts, err := r.flows.Submit(r.Context(), tenant, []flow.Request{{Caller: 1, Plan: &domain.Blueprint{Name: "test", Params: params, Steps: steps}}})
	if err == nil {
		err = receipts[0].Err
	}
	if err != nil {
		r.Fatal(err)
	}
	return receipts[0].ID
}

// wait returns a flow at its end.
func (r *rig) wait(id domain.FlowID) domain.FlowView {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 24*time.Hour)
	defer cancel()
	v, err := r.flows.Wait(ctx, tenant, id, nil)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

// states are a flow's steps as "name:status".
func states(v domain.FlowView) string {
	var words []string
	for _, s := range v.Steps {
		words = append(words, s.Name+":"+string(s.Status))
	}
	return strings.Join(words, " ")
}

// job reads the job of a step.
func (r *rig) job(v domain.FlowView, step string) *domain.Job {
	r.Helper()
	for _, s := range v.Steps {
		if s.Name != step {
			continue
		}
		key, err := domain.ParseJobKey(s.Job)
		if err != nil {
			r.Fatal(err)
		}
		j, err := r.work.Show(r.Context(), tenant, key)
		if err != nil {
			r.Fatal(err)
		}
		return j
	}
	r.Fatalf("there is no step %s", step)
	return nil
}
