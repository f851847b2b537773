package flow_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// This file simulates nodes that run flows on one board with faults between:
// one seed is one run, in virtual time. What is promised of flows is checked at
// every start of a script, at every audit, and when the last fault has healed.

// simSeeds is how many seeds are simulated as a rule.
const simSeeds = 30

const (
	simNodes = 2
	simSteps = 40
)

func TestSimulation(t *testing.T) { simtest.Run(t, simSeeds, simulate) }

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed)
		for range simSteps {
			s.step()
			time.Sleep(time.Duration(s.Int64N(int64(4 * time.Second))))
		}
		s.heal()
		s.ended()
		s.judge()
		s.deleted()
		s.stop()
		if t.Failed() {
			t.Logf("again: go test ./flow -run 'TestSimulation$' -seed %d", seed)
		}
	})
}

// sim is one run.
type sim struct {
	chance // the driver's alone
	t      *testing.T
	board  *memboard.Board
	words  *words
	nodes  []*simtest.Node
	lives  int
	faults *faultboard.Board
	hand   *flow.Engine // of the people at the door, behind faults of their own
	calm   *flow.Engine // of the judge
	names  int

	mu     sync.Mutex
	starts map[string]int // by key and attempt
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{chance: chance{rand.New(rand.NewPCG(seed, 3))}, t: t, board: memboard.Open(), words: newWords(), starts: map[string]int{}}
	b := board.Batch{}
	if err := s.board.Commit(context.Background(), *b.Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	s.faults = faultboard.New(s.board, faultboard.Config{Seed: seed, Refuse: 0.05, Lose: 0.05, Delay: 20 * time.Millisecond})
	s.hand = flow.New(s.faults, work.New(s.faults, work.Config{}), simConfig())
	s.spread(s.hand)
	s.calm = flow.New(s.board, work.New(s.board, work.Config{}), simConfig())
	for i := range simNodes {
		s.nodes = append(s.nodes, s.start(i))
	}
	return s
}

// start begins a new life of node i.
func (s *sim) start(i int) *simtest.Node {
	s.lives++
	n := simtest.Boot(s.board, faultboard.Config{Seed: s.Uint64(), Refuse: 0.03, Lose: 0.05, Delay: 50 * time.Millisecond}, nil)
	owner := fmt.Sprintf("n%d/%d", i, s.lives)
	if err := s.board.Void(context.Background(), fmt.Sprintf("n%d/", i)); err != nil {
		s.t.Fatal(err)
	}
	w := work.New(n.Board, work.Config{MaxLosses: 1000})
	f := flow.New(n.Board, w, simConfig())
	s.spread(f)
	r := work.NewRunner(w, work.RunnerConfig{ID: domain.RunnerID(i + 1), Owner: owner, Lease: 12 * time.Second, Grace: 2 * time.Second,
		Runtimes: []script.Runtime{&simWords{s.words, s}}})
	log := slog.New(slog.DiscardHandler)
	keep := func(ctx context.Context) error { f.Keep(ctx, owner); return nil }
	clock := func(ctx context.Context) error {
		return clockwork.Run(ctx, n.Board, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
			clockwork.Alarms(n.Board, log, func(ctx context.Context, a board.Alarm) (bool, error) {
				if ours, err := f.HandleAlarm(ctx, a); ours || err != nil {
					return ours, err
				}
				return w.HandleAlarm(ctx, a)
			}, nil),
			clockwork.Leases(n.Board, log, func(ctx context.Context, l board.Lease) (bool, error) {
				if ours, err := f.RecoverLease(ctx, l); ours || err != nil {
					return ours, err
				}
				return w.RecoverLease(ctx, l)
			}),
			clockwork.Audits(n.Board, w, f, log, s.audited),
		})
	}
	n.Run(r.Run, keep, clock)
	return n
}

// simConfig has blueprints of which steps make flows: of jobs, of steps, of flows.
func simConfig() flow.Config {
	return flow.Config{Blueprints: newCatalog(named("quick", nil, step("s0", "set x 1")), named("moody", nil, step("s0", "failonce"), step("s1", "crashonce")),
		named("steps", nil, step("s0", "sleep 20s"), step("s1", "", phase(1))),
		named("deep", nil, call("s0", "moody", nil), call("s1", "steps", nil, each("[1, 2, 3]", 2))))}
}

// spread has a node keep the steps of flows in its own way: others understand it.
func (s *sim) spread(f *flow.Engine) {
	if s.yes(70) {
		f.Spread(s.IntN(4), 1+s.IntN(3), s.IntN(6))
	}
}

// audited is told of every audit: no fault is a reason to repair anything,
// since all changes are whole commits.
func (s *sim) audited(_ domain.TenantID, a domain.Audit) {
	if len(a.Repaired)+len(a.Stuck) > 0 {
		s.t.Errorf("%v: the audit found %+v", time.Now().UTC(), a)
	}
}

// step does one thing that people or misfortune do.
func (s *sim) step() {
	i := s.IntN(simNodes)
	node := s.nodes[i]
	switch s.IntN(12) {
	case 0: // kill -9, and a new life
		node.Kill()
		s.nodes[i] = s.start(i)
	case 1: // drain, and a new life
		node.Drain()
		s.nodes[i] = s.start(i)
	case 2: // stopped, longer than its leases
		node.Freeze(time.Duration(s.Int64N(int64(100 * time.Second))))
	case 3: // cut off
		node.CutOff(time.Duration(s.Int64N(int64(90 * time.Second))))
	case 4, 5, 6, 7:
		s.order()
	default:
		s.submit()
	}
}

// submit asks for a flow. When the answer is lost it asks again, as a client
// does; then there may be two, unless the flow has a name.
func (s *sim) submit() {
	q := flow.Request{Caller: 1}
	switch s.IntN(6) {
	case 0:
		q.Jobs = s.plainJobs()
	case 1:
		q.Plan = s.plainPlan()
	default:
		q.Plan = s.scripted(s.anyPlan())
	}
	if q.Plan != nil && s.yes(20) {
		q.Plan.UniqueAlive, q.Plan.Name = true, "alone"
	}
	if q.Plan != nil && s.yes(40) {
		q.Plan.On = s.hooks()
	}
	if q.Plan != nil && s.yes(30) {
		q.Plan.Concurrency = &domain.Concurrency{Key: "k", Max: 1 + s.IntN(2), WhenFull: domain.WhenFulls[s.IntN(3)]}
	}
	if q.Plan != nil && s.yes(40) {
		s.names++
		q.Trigger = fmt.Sprint("t", s.IntN(s.names))
	}
	q.OnError = []domain.OnError{"", domain.OnErrorAbort, domain.OnErrorContinue}[s.IntN(3)]
	if s.yes(10) {
		q.After = domain.Instant(time.Now().Add(time.Duration(s.Int64N(int64(30 * time.Second)))).UnixMilli())
	}
	for range 3 {
		got, err := s.hand.Submit(context.Background(), tenant, []flow.Request{q})
		if err == nil {
			err = got[0].Err
		}
		if errors.Is(err, domain.ErrInvalid) {
			s.t.Errorf("submit: %v", err)
		}
		if err == nil || errors.Is(err, domain.ErrConflict) {
			return
		}
	}
}

// hooks are those for all there is.
func (s *sim) hooks() *domain.Hooks {
	hook := func() *domain.Hook {
		return &domain.Hook{Script: []string{"", "fail no luck", "crash"}[s.IntN(3)] + "\n", ScriptType: "words"}
	}
	late := hook()
	late.After = domain.Span(1 + s.IntN(60))
	return &domain.Hooks{Failed: hook(), Errored: hook(), Succeeded: hook(), Cancelled: hook(), Late: late}
}

// called counts the hooks of each flow that were called, but for those of flows that are late.
func (s *sim) called() map[domain.FlowID]int {
	calls := map[domain.FlowID]int{}
	for _, in := range s.hooked() {
		if in.On != domain.HookLate {
			calls[in.Flow]++
		}
	}
	return calls
}

// hooked are the jobs that are hooks, with what they were told.
func (s *sim) hooked() map[domain.JobKey]*domain.HookInput {
	hooks := map[domain.JobKey]*domain.HookInput{}
	for cursor := ""; ; {
		keys, next, err := s.board.Keys(context.Background(), 1, layout.JobPrefix, cursor, 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		recs, err := s.board.Get(context.Background(), 1, keys...)
		if err != nil {
			s.t.Fatal(err)
		}
		for i, r := range recs {
			key, err := domain.ParseJobKey(keys[i])
			if err != nil {
				continue
			}
			if j, _ := layout.DecodeJob(key, r); j.Hook != nil {
				hooks[key] = j.Hook
			}
		}
		if cursor = next; cursor == "" {
			return hooks
		}
	}
}

// text is a script.
func (s *sim) text() string {
	return []string{"", "", "", "sleep 2s", "sleep 30s", "set x 1", "set params.x 1", "fail no luck", "failonce", "crash", "crashonce\nset y 2"}[s.IntN(11)]
}

// scripted gives the steps of a plan scripts.
func (s *sim) scripted(b *domain.Blueprint) *domain.Blueprint {
	for i := range b.Steps {
		st := &b.Steps[i]
		if st.Kind != domain.StepApproval {
			st.Script, st.Retries = s.text()+"\n", s.IntN(2)
		}
		if st.KindOr() == domain.StepSingle && s.yes(25) {
			st.Script, st.ScriptType, st.Kind = "", "", ""
			st.Flow = &domain.FlowCall{Blueprint: []string{"quick", "moody", "steps", "deep"}[s.IntN(4)]}
			if s.yes(30) {
				st.Each, st.Window = "[1, 2, 3, 4, 5]", 1+s.IntN(3)
			}
			if s.yes(20) {
				st.Timeout = domain.Span(30 + s.IntN(60))
			}
		}
		if st.KindOr() == domain.StepSingle && s.yes(15) {
			st.Repeat = &domain.Repeat{Until: []string{"false", "true"}[s.IntN(2)], Max: 1 + s.IntN(3), Every: domain.Span(s.IntN(20))}
		}
		if st.Pack != nil && st.Pack.Endless {
			st.Script = "sleep 5s\n"
		}
		if st.After != 0 {
			st.After = domain.Instant(time.Now().Add(time.Duration(s.Int64N(int64(30 * time.Second)))).UnixMilli())
		}
		if st.When != "" && s.yes(50) {
			st.When = []string{"params.x == \"1\"", "needs.len() > 0"}[s.IntN(2)]
		}
	}
	return b
}

// plainPlan is a blueprint whose jobs can all be made at once.
func (s *sim) plainPlan() *domain.Blueprint {
	b := blueprint()
	for i := range 1 + s.IntN(8) {
		st := step("s"+strconv.Itoa(i), s.text())
		for k := range i {
			if s.yes(30) {
				st.Needs = append(st.Needs, "s"+strconv.Itoa(k))
			}
		}
		b.Steps = append(b.Steps, st)
	}
	return b
}

// plainJobs is a chain, a fan-out or a lattice, sometimes one that is written
// in parts.
func (s *sim) plainJobs() (jobs []*domain.Job) {
	n := 1 + s.IntN(12)
	if s.yes(10) {
		n = 300
	}
	shape := s.IntN(3)
	for i := range domain.JobID(n) {
		j := job(i+1, "")
		if n < 300 {
			j.Script = s.text() + "\n"
		}
		switch {
		case i == 0:
		case shape == 0:
			j.Dependends = []domain.JobID{i}
		case shape == 1:
			j.Dependends = []domain.JobID{1}
		case i >= 3:
			j.Dependends = []domain.JobID{i - 2, i - 1}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// order asks something of a flow, of which any answer is right but a fault of
// ours.
func (s *sim) order() {
	ids := s.flows()
	if len(ids) == 0 {
		return
	}
	ctx := context.Background()
	id := ids[s.IntN(len(ids))]
	o := s.randomOrder()
	if s.yes(8) {
		o.Verb = flow.OrderDelete
	}
	var err error
	switch s.IntN(8) {
	case 0:
		err = s.hand.Pause(ctx, tenant, id, s.yes(70))
	default:
		_, err = s.hand.Act(ctx, tenant, id, o)
	}
	if err != nil && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrInvalid) &&
		!errors.Is(err, domain.ErrUnavailable) {
		s.t.Errorf("%s: %v", o.Verb, err)
	}
}

func (c chance) randomOrder() flow.Order {
	no, retries := false, c.IntN(9)
	name := "s" + strconv.Itoa(c.IntN(6))
	o := flow.Order{By: 9, Step: name, Failed: c.yes(50)}
	o.Verb = []flow.Verb{flow.OrderRetry, flow.OrderRetry, flow.OrderRetry, flow.OrderSkip, flow.OrderSkip, flow.OrderApprove, flow.OrderApprove,
		flow.OrderReject, flow.OrderUpdate, flow.OrderUpdate, flow.OrderCancel}[c.IntN(11)]
	if o.Verb == flow.OrderRetry { // of all that ended badly
		o.Step = ""
	}
	if o.Verb == flow.OrderUpdate {
		change := domain.StepChange{Window: c.IntN(6), Retries: &retries}
		if c.yes(30) {
			change.Endless = &no
		}
		if c.yes(30) {
			change.Size, change.End = c.Int64N(12), num(c.Int64N(70)-1)
		}
		o.Steps = map[string]domain.StepChange{name: change}
	}
	return o
}

// flows are those on the board.
func (s *sim) flows() (ids []domain.FlowID) {
	for cursor := ""; ; {
		keys, next, err := s.board.Keys(context.Background(), 1, layout.FlowPrefix, cursor, 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, key := range keys {
			if id, err := domain.ParseFlowKey(key); err == nil {
				ids = append(ids, id)
			}
		}
		if cursor = next; cursor == "" {
			return ids
		}
	}
}

// heal ends every fault.
func (s *sim) heal() {
	s.faults.Calm()
	for _, n := range s.nodes {
		n.Calm()
	}
	for _, id := range s.flows() {
		if err := s.calm.Pause(context.Background(), tenant, id, false); err != nil && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound) {
			s.t.Errorf("resume %d: %v", id, err)
		}
	}
}

// ended waits until every flow has ended, and decides what waits for people.
func (s *sim) ended() {
	ctx, no := context.Background(), false
	var open []domain.FlowView
	for range 300 {
		open = nil
		for _, id := range s.flows() {
			v, err := s.calm.Show(ctx, tenant, id)
			if err != nil || v.Final() && !s.asked(id) {
				continue
			}
			open = append(open, v)
			if v.Paused { // it was before a retry
				_ = s.calm.Pause(ctx, tenant, id, false)
			}
			for _, st := range v.Steps {
				o := flow.Order{By: 9, Step: st.Name}
				switch {
				case st.Endless && st.Status == domain.StepOpen:
					o.Verb, o.Steps = flow.OrderUpdate, map[string]domain.StepChange{st.Name: {Endless: &no}}
				case st.Kind == domain.StepApproval && st.Status == domain.StepRunning:
					o.Verb = flow.OrderApprove
				default:
					continue
				}
				_, _ = s.calm.Act(ctx, tenant, id, o)
			}
		}
		if len(open) == 0 {
			time.Sleep(10 * time.Second) // hooks
			return
		}
		time.Sleep(10 * time.Second)
	}
	for _, v := range open {
		s.t.Errorf("flow %d has not ended: %+v", v.ID, v)
	}
}

// asked reports whether a flow has not done yet what it was asked.
func (s *sim) asked(id domain.FlowID) bool {
	n, err := s.board.Len(context.Background(), 1, layout.FlowOrders(id))
	if err != nil {
		s.t.Fatal(err)
	}
	return n[0] > 0 || s.state(id).Delete
}

// state is what a flow's keeper remembers.
func (s *sim) state(id domain.FlowID) flow.State {
	state, err := s.calm.StateOf(context.Background(), tenant, id)
	if err != nil {
		s.t.Errorf("the state of flow %d: %v", id, err)
	}
	return state
}

// judge checks that how flows ended is what their jobs say.
func (s *sim) judge() {
	calls := s.called()
	for _, id := range s.flows() {
		v, err := s.calm.Show(context.Background(), tenant, id)
		if err != nil {
			s.t.Errorf("flow %d: %v", id, err)
			continue
		}
		s.judgeFlow(v)
		s.judgeChild(v)
		if plan, err := s.calm.Plan(context.Background(), tenant, id); err == nil && plan != nil && plan.On != nil && calls[id] != 1+v.Retried {
			s.t.Errorf("flow %d: it has ended %d times, and %d of its hooks were called", id, 1+v.Retried, calls[id])
		}
	}
	live, err := s.board.Live(context.Background(), 1, board.LiveItem{}, 10)
	if err != nil || len(live) > 0 {
		s.t.Errorf("unfinished is still %v (%v)", live, err)
	}
}

func (s *sim) judgeFlow(v domain.FlowView) {
	badly := 0
	for _, st := range v.Steps {
		if !st.Status.Done() || st.Open > 0 {
			s.t.Errorf("flow %d ended as %s, but step %s is %s with %d open", v.ID, v.Reason, st.Name, st.Status, st.Open)
		}
		if !well(st.Status) {
			badly++
		}
		if !v.Stepped || st.Job == "" {
			continue
		}
		k, _ := domain.ParseJobKey(st.Job)
		recs, err := s.board.Get(context.Background(), 1, st.Job)
		if err != nil || recs[0] == nil {
			s.t.Errorf("flow %d, step %s: job %s is gone (%v): %+v", v.ID, st.Name, st.Job, err, s.state(v.ID))
			continue
		}
		j, _ := layout.DecodeJob(k, recs[0])
		between := st.Round > 0 && st.Status != domain.StepSucceeded // its last round was not enough, or no other began
		if (j.Status == domain.JobFinished) != (st.Status == domain.StepSucceeded) && !between {
			s.t.Errorf("flow %d, step %s is %s, its job %s is %s", v.ID, st.Name, st.Status, st.Job, j.Status)
		}
	}
	if (v.Reason == domain.FlowSucceeded) != (badly == 0) || (v.Status == domain.FlowFinished) != (badly == 0) {
		s.t.Errorf("flow %d ended as %s, %s (%s), with %d steps that did not end well: %+v", v.ID, v.Status, v.Reason, v.Error, badly, v.Steps)
	}
	if v.Reason == domain.FlowStuck {
		s.t.Errorf("flow %d is stuck: %+v", v.ID, v)
	}
	if v.Status == domain.FlowFinished && v.Progress != "100.00" {
		s.t.Errorf("flow %d: progress %s", v.ID, v.Progress)
	}
}

// judgeChild checks of a flow that a step has made that its end is what the step says, and that it has not outlived it.
func (s *sim) judgeChild(v domain.FlowView) {
	if v.Parent == nil {
		return
	}
	parent, err := s.calm.Show(context.Background(), tenant, v.Parent.Flow)
	if err != nil {
		s.t.Errorf("flow %d was made by a step of flow %d, which is gone (%v)", v.ID, v.Parent.Flow, err)
		return
	}
	if parent.Retried+v.Retried == 0 && v.FinishedMs > parent.FinishedMs {
		s.t.Errorf("flow %d ended as %s %d ms after flow %d, whose step %s made it", v.ID, v.Reason, v.FinishedMs-parent.FinishedMs, parent.ID, v.Parent.Step)
	}
	for _, st := range parent.Steps {
		if st.Flow == v.Key() && st.Status == domain.StepSucceeded && v.Reason != domain.FlowSucceeded {
			s.t.Errorf("flow %d, step %s is %s, its flow %d %s", parent.ID, st.Name, st.Status, v.ID, v.Reason)
		}
	}
}

// deleted deletes every flow: nothing may be left.
func (s *sim) deleted() {
	ctx := context.Background()
	for _, id := range s.flows() {
		if _, err := s.calm.Act(ctx, tenant, id, flow.Order{Verb: flow.OrderDelete, By: 9}); err != nil && !errors.Is(err, domain.ErrNotFound) {
			s.t.Errorf("delete %d: %v", id, err)
		}
	}
	time.Sleep(30 * time.Minute)  // late alarms, doubled entries
	for key := range s.hooked() { // which are none of the flows' jobs
		b := board.Batch{Space: 1}
		if work.Remove(&b, key); s.board.Commit(ctx, b) != nil {
			s.t.Errorf("%s cannot be removed", key)
		}
	}
	for _, key := range left(s.t, s.board) {
		recs, _ := s.board.Get(ctx, 1, key)
		s.t.Errorf("after all was deleted there is still %s: %v", key, recs)
	}
	if due, err := s.board.Due(ctx, 10, 0); err != nil || len(due) > 0 {
		s.t.Errorf("alarms left: %v, %v", due, err)
	}
}

// left are the keys of a context that belong to flows and jobs.
func left(t *testing.T, b board.Board) (keys []string) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := b.Keys(t.Context(), 1, "", cursor, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page {
			if !strings.HasPrefix(key, "ramet:seq:") && key != layout.Finished && key != layout.Choosers && !strings.HasPrefix(key, layout.FailedWhole) {
				keys = append(keys, key)
			}
		}
		if cursor = next; cursor == "" {
			return keys
		}
	}
}

func (s *sim) stop() {
	for _, n := range s.nodes {
		n.Stop()
	}
	if err := s.board.Close(); err != nil {
		s.t.Error(err)
	}
}

// simWords runs the scripts, and checks what must hold when one begins.
type simWords struct {
	*words
	s *sim
}

func (w *simWords) Run(ctx context.Context, t script.Task, h script.Host) (script.Outcome, error) {
	w.s.begun(t)
	return w.words.Run(ctx, t, h)
}

func (s *sim) begun(task script.Task) {
	name := fmt.Sprintf("%s#%d", task.Name, task.Attempt)
	s.mu.Lock()
	s.starts[name]++
	if s.starts[name] > 1 {
		s.t.Errorf("%s began twice", name)
	}
	s.mu.Unlock()
	k, _ := domain.ParseJobKey(task.Name)
	recs, err := s.board.Get(context.Background(), 1, task.Name)
	if err != nil || recs[0] == nil {
		return // the board is closed, or a stale owner's job was deleted
	}
	j, _ := layout.DecodeJob(k, recs[0])
	if j.Attempt != task.Attempt {
		return // a stale owner
	}
	for _, d := range j.Dependends {
		on := domain.JobKey{Caller: k.Caller, ID: d}
		recs, err := s.board.Get(context.Background(), 1, on.String())
		if err == nil && recs[0].Get(layout.JobStatus) != string(domain.JobFinished) {
			s.t.Errorf("%v: %s began, but needs %s, which is %q", time.Now().UTC(), k, on, recs[0].Get(layout.JobStatus))
		}
	}
	if j.Stepped {
		s.begunStep(j)
	}
}

// begunStep checks that what a step needs has ended well.
func (s *sim) begunStep(j *domain.Job) {
	plan, err := s.calm.Plan(context.Background(), tenant, j.FlowID)
	if err != nil {
		s.t.Errorf("%s: the plan of flow %d: %v", j.Key(), j.FlowID, err)
		return
	}
	state := s.state(j.FlowID)
	for i := range plan.Steps {
		if plan.Steps[i].Name != j.Step {
			continue
		}
		for _, need := range plan.Steps[i].Needs {
			if was := j.Needs[need].State; !well(domain.StepStatus(was)) {
				s.t.Errorf("%s of step %s was made, but needs %s, which was %q", j.Key(), j.Step, need, was)
			}
			for k := range plan.Steps {
				if is := state.Steps[k].Status; plan.Steps[k].Name == need && !well(is) {
					s.t.Errorf("%s of step %s began, but needs %s, which is %s", j.Key(), j.Step, need, is)
				}
			}
		}
	}
}
