package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"math/rand/v2"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// words is a runtime inside the process whose scripts are lines of a few
// words, so that it works in a synctest bubble:
//
//	fail TEXT       the script says that it failed
//	crash           it ends as by a signal
//	set KEY VALUE   a key of the result
//	add NAME        a param of the flow, <NAME>_<index of the shard>
//	gate NAME       it waits until the test opens the gate
//	gates NAME      the same, with a gate NAME:<id> for each pack
//	sleep 3s        virtual time
//	param NAME      leaves a param
//	need STEP KEY   puts what a step before it gave into the result
//	ask JSON        asks its channel, and leaves the answer
//	failonce        fails at its first run of all
//	round           leaves which round of its step it is
//	sum NAME        adds the number of its round to a param of the flow
//	count KEY       leaves how many times its step has been run in all flows
type words struct {
	mu    sync.Mutex
	gates map[string]chan struct{}
	runs  map[string]int // by job key
	times map[string]int // by step
	seen  []input        // by start
	now   int
	most  int
}

// input is what a script finds.
type input struct {
	Job    string
	Params map[string]string
	Needs  map[string]struct {
		State   string
		Result  map[string]string
		Results []map[string]string
	}
	Step  string
	Item  json.RawMessage
	Index *int64
	Round int
	Shard *struct{ Index, Total int64 }
	Pack  *struct{ ID, Start, End int64 }
	env   map[string]string
}

func newWords() *words {
	return &words{gates: map[string]chan struct{}{}, runs: map[string]int{}, times: map[string]int{}}
}

func (w *words) Type() domain.ScriptType { return "words" }
func (w *words) Info() script.Info {
	return script.Info{Summary: "words", Slots: 64, InProcess: true}
}
func (w *words) Check(context.Context) error { return nil }
func (w *words) Close() error                { return nil }

func (w *words) gate(name string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gates[name] == nil {
		w.gates[name] = make(chan struct{})
	}
	return w.gates[name]
}

// running is how many run at this instant.
func (w *words) running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// peak is how many ran at once so far.
func (w *words) peak() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// asked is what a script's channel answers; ok is false where it is to end.
func asked(ctx context.Context, t script.Task, line string) (answer string, ok bool) {
	r, err := durable.ParseRequest([]byte(line))
	var a durable.Answer
	if err == nil {
		a, err = t.Channel.Do(ctx, r)
	}
	text, _ := json.Marshal(a)
	if err != nil {
		text = []byte(err.Error())
	}
	return string(text), err == nil && !a.Suspend
}

// ran is how often a step was run.
func (w *words) ran(step string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times[step]
}

func (w *words) Run(ctx context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	in := input{Job: t.Name, env: t.Env}
	if t.Input != nil {
		text, err := t.Input()
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err != nil {
			return script.Outcome{}, err
		}
	}
	w.mu.Lock()
	w.runs[t.Name]++
	first := w.runs[t.Name] == 1
	w.times[in.Step]++
	times := w.times[in.Step]
	w.seen = append(w.seen, in)
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.now--
		w.mu.Unlock()
	}()
	out := script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"exit_code": "0"}}
	for line := range strings.Lines(t.Script) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "fail":
			return failed(1, rest), nil
		case "failonce":
			if first {
				return failed(1, "at first"), nil
			}
		case "crashonce":
			if first {
				return failed(137, "killed"), nil
			}
		case "crash":
			return failed(137, "killed"), nil
		case "count":
			out.Result[rest] = fmt.Sprint(times)
		case "failshard":
			if in.Shard != nil && fmt.Sprint(in.Shard.Index) == rest {
				return failed(1, "shard "+rest), nil
			}
		case "ask":
			var ok bool
			if out.Result["answer"], ok = asked(ctx, t, rest); !ok {
				return failed(1, out.Result["answer"]), nil
			}
		case "set":
			name, value, _ := strings.Cut(rest, " ")
			out.Result[name] = value
		case "add":
			out.Result[fmt.Sprint("params.", rest, "_", in.Shard.Index)] = "x"
		case "failitem":
			if string(in.Item) == rest && first {
				return failed(137, "item "+rest), nil
			}
		case "item": // leaves its element and place
			out.Result[rest] = fmt.Sprint(string(in.Item), "@", *in.Index)
		case "env": // leaves a variable
			out.Result[rest] = t.Env[rest]
		case "round":
			out.Result["round"] = fmt.Sprint(in.Round)
		case "sum":
			sum, _ := strconv.Atoi(in.Params[rest])
			out.Result["params."+rest] = strconv.Itoa(sum + in.Round)
		case "param":
			out.Result[rest] = in.Params[rest]
		case "results": // of a step: what each left under a name
			step, name, _ := strings.Cut(rest, " ")
			var all []string
			for _, r := range in.Needs[step].Results {
				all = append(all, r[name])
			}
			out.Result["got"] = strings.Join(all, " ")
		case "need":
			step, name, _ := strings.Cut(rest, " ")
			out.Result["got"] = in.Needs[step].Result[name]
		case "sleep":
			d, err := time.ParseDuration(rest)
			if err != nil {
				return script.Outcome{}, err
			}
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
			}
		case "gate", "gates":
			if word == "gates" && in.Pack != nil {
				rest = fmt.Sprint(rest, ":", in.Pack.ID)
			}
			select {
			case <-w.gate(rest):
			case <-ctx.Done():
				return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
			}
		}
	}
	return out, nil
}

func failed(code int, text string) script.Outcome {
	return script.Outcome{Verdict: script.Failed, ExitCode: code, Error: text, Result: map[string]string{"exit_code": fmt.Sprint(code)}}
}

const tenant = domain.TenantID(1)

// rig is a board with nodes of an engine each.
type rig struct {
	*testing.T
	board  board.Board
	work   *work.Engine
	flows  *flow.Engine
	words  *words
	cfg    flow.Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newRig(t *testing.T) *rig { return newRigOn(t, memboard.Open(), flow.Config{}) }

func newRigOn(t *testing.T, b board.Board, cfg flow.Config) *rig {
	contexts := board.Batch{}
	if err := b.Commit(t.Context(), *contexts.Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &rig{T: t, board: b, cfg: cfg, words: newWords(), ctx: t.Context(), cancel: cancel}
	r.work = work.New(b, work.Config{})
	r.flows = flow.New(b, r.work, cfg)
	r.node(ctx, "n1")
	t.Cleanup(func() { r.stop(); b.Close() })
	return r
}

// node starts a runner, a keeper and the routines.
func (r *rig) node(ctx context.Context, name string) {
	owner := name + "/a"
	runner := work.NewRunner(r.work, work.RunnerConfig{ID: 1, Owner: owner, Runtimes: []script.Runtime{r.words}, Grace: time.Second})
	log := slog.New(slog.DiscardHandler)
	r.wg.Go(func() { _ = runner.Run(ctx) })
	r.wg.Go(func() { r.flows.Keep(ctx, owner) })
	r.wg.Go(func() {
		_ = clockwork.Run(ctx, r.board, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
			clockwork.Alarms(r.board, log, func(ctx context.Context, a board.Alarm) (bool, error) {
				if ours, err := r.flows.HandleAlarm(ctx, a); ours || err != nil {
					return ours, err
				}
				return r.work.HandleAlarm(ctx, a)
			}, nil),
			clockwork.Leases(r.board, log, func(ctx context.Context, l board.Lease) (bool, error) {
				if ours, err := r.flows.RecoverLease(ctx, l); ours || err != nil {
					return ours, err
				}
				return r.work.RecoverLease(ctx, l)
			}),
			clockwork.Audits(r.board, r.work, r.flows, log, nil),
		})
	})
}

func (r *rig) stop() {
	r.cancel()
	r.wg.Wait()
}

// submit makes a flow of a request.
func (r *rig) submit(q flow.Request) domain.FlowID {
	r.Helper()
	q.Caller = 1
	receipts, err := r.flows.Submit(r.ctx, tenant, []flow.Request{q})
	if err != nil {
		r.Fatal(err)
	}
	if receipts[0].Err != nil {
		r.Fatalf("submit: %v", receipts[0].Err)
	}
	return receipts[0].ID
}

// steps makes a flow of a blueprint of these steps.
func (r *rig) steps(steps ...domain.Step) domain.FlowID {
	r.Helper()
	return r.submit(flow.Request{Plan: blueprint(steps...)})
}

func blueprint(steps ...domain.Step) *domain.Blueprint {
	return &domain.Blueprint{Name: "test", Steps: steps}
}

// step is a single step.
func step(name, text string, change ...func(*domain.Step)) domain.Step {
	s := domain.Step{Name: name, Script: text + "\n", ScriptType: "words"}
	for _, c := range change {
		c(&s)
	}
	return s
}

func needs(names ...string) func(*domain.Step) {
	return func(s *domain.Step) { s.Needs = names }
}

func phase(n int) func(*domain.Step) { return func(s *domain.Step) { s.Phase = n } }

func mayFail(s *domain.Step) { s.MayFail = true }
func maySkip(s *domain.Step) { s.MaySkip = true }

func shards(count, window int) func(*domain.Step) {
	return func(s *domain.Step) { s.Shard = &domain.Shard{Count: count, Window: window} }
}

func packs(size, start, end int64) func(*domain.Step) {
	return func(s *domain.Step) { s.Pack = &domain.Pack{Size: size, Start: start, End: &end} }
}

// wait returns the ended flow.
func (r *rig) wait(id domain.FlowID) domain.FlowView {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, 48*time.Hour) // virtual time
	defer cancel()
	v, err := r.flows.Wait(ctx, tenant, id, nil)
	if err != nil {
		now, _ := r.flows.Show(r.ctx, tenant, id)
		r.Fatalf("wait for flow %d: %v; %+v", id, err, now)
	}
	return v
}

func (r *rig) show(id domain.FlowID) domain.FlowView {
	r.Helper()
	v, err := r.flows.Show(r.ctx, tenant, id)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

// want checks how a flow ended, and the statuses of its steps.
func (r *rig) want(id domain.FlowID, reason domain.FlowReason, statuses ...string) domain.FlowView {
	r.Helper()
	v := r.wait(id)
	if v.Reason != reason {
		r.Errorf("flow %d: got %s (%s), want %s", id, v.Reason, v.Error, reason)
	}
	r.wantSteps(v, statuses...)
	return v
}

// wantSteps checks "name status" of steps.
func (r *rig) wantSteps(v domain.FlowView, statuses ...string) {
	r.Helper()
	got := map[string]domain.StepView{}
	for _, s := range v.Steps {
		got[s.Name] = s
	}
	for _, text := range statuses {
		name, want, _ := strings.Cut(text, " ")
		if s := got[name]; string(s.Status) != want {
			r.Errorf("flow %d, step %s: got %s (%s), want %s", v.ID, name, s.Status, s.Text, want)
		}
	}
}

// act has an order done.
func (r *rig) act(id domain.FlowID, o flow.Order) error {
	o.By = 9
	_, err := r.flows.Act(r.ctx, tenant, id, o)
	return err
}

func (r *rig) mustAct(id domain.FlowID, o flow.Order) {
	r.Helper()
	if err := r.act(id, o); err != nil {
		r.Fatalf("%s: %v", o.Verb, err)
	}
}

// audit is a round of the auditor.
func (r *rig) audit() domain.Audit {
	r.Helper()
	a, err := r.flows.Audit(r.ctx, tenant, 0)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// unaudited is a rig with the keeper's node only: nothing repairs what it forgets.
func unaudited(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, words: newWords(), ctx: t.Context()}
		if err := b.Commit(r.ctx, *new(board.Batch).Include(layout.Contexts, "1")); err != nil {
			t.Fatal(err)
		}
		r.work = work.New(b, work.Config{})
		r.flows = flow.New(b, r.work, flow.Config{})
		test(r)
	})
}

// run has a runner at work until the function is called.
func (r *rig) run(do func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	r.wg.Go(func() { do(ctx) })
	return func() { cancel(); r.wg.Wait() }
}

func (r *rig) runner(ctx context.Context) {
	_ = work.NewRunner(r.work, work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{r.words}, Grace: time.Second}).Run(ctx)
}

func (r *rig) keeper(ctx context.Context) { r.flows.Keep(ctx, "n1/a") }

// soon is want of a flow that must not take long: one that never ends fails
// the test in no time.
func (r *rig) soon(id domain.FlowID, reason domain.FlowReason, statuses ...string) domain.FlowView {
	r.Helper()
	for range 60 {
		if v, err := r.flows.Show(r.ctx, tenant, id); err != nil || v.Final() {
			break
		}
		time.Sleep(time.Second)
	}
	v := r.show(id)
	if v.Reason != reason {
		r.Fatalf("flow %d is %s %s (%s), want %s", id, v.Status, v.Reason, v.Error, reason)
	}
	r.wantSteps(v, statuses...)
	return v
}

// noise is a text that does not become smaller.
func noise(n int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%x", rnd.Uint64())
	}
	return b.String()[:n]
}

// lengths notes how long the flows took that have ended.
type lengths chan time.Duration

func (l lengths) FlowsMade(int)                                     {}
func (l lengths) FlowEnded(_ domain.FlowReason, took time.Duration) { l <- took }
