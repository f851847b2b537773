package work_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
	"github.com/ramet-run/ramet/worker"
)

// This file simulates nodes on one board with faults between, and workers that reach
// them over ways with faults of their own: one seed is one run, in virtual time. What the engine promises is checked at every start of
// a script, at every commit, and when the last fault has healed.

// simSeeds is how many seeds are simulated as a rule.
const simSeeds = 30

const (
	simNodes   = 3
	simWorkers = 3
	simSteps   = 60
	simCap     = 4 // of running jobs
	simLease   = 12 * time.Second
	simGrace   = 2 * time.Second
)

func TestSimulation(t *testing.T) {
	begins := map[taking]int{}
	simtest.Run(t, simSeeds, func(t *testing.T, seed uint64) { simulate(t, seed, begins) })
	if t.Log("scripts began:", begins); !simtest.Only() && (begins[byRunner] == 0 || begins[byWorker] == 0) {
		t.Errorf("scripts began: %v, want some of each", begins)
	}
}

// simulate runs one seed, and counts how many scripts began, by who took their jobs.
func simulate(t *testing.T, seed uint64, begins map[taking]int) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed)
		s.begins = begins
		for range simSteps {
			s.step()
			time.Sleep(time.Duration(s.rand.Int64N(int64(3 * time.Second))))
		}
		s.heal()
		s.drained()
		s.stop()
		s.judge()
	})
}

// sim is one run.
type sim struct {
	t     *testing.T
	rand  *rand.Rand // the driver's alone
	board *recorder
	nodes []*simNode
	// workers are lives of programs. Their boards hold nothing: they lend their faults to
	// the ways on which these reach the nodes.
	workers []*simtest.Node
	lives   int
	hand    *work.Engine // of the people at the door, behind faults of their own
	faults  *faultboard.Board

	ids    int
	acked  []domain.JobID // submits that were acknowledged
	prunes bool
	// settles says that bans also set caps; else jobs are laid aside one by one.
	settles bool

	mu     sync.Mutex
	active map[string]board.Held // runs under way, by key and token
	served []*simNode            // those that workers can ask
	begins map[taking]int        // how many scripts began, by who took their jobs
}

// simNode is one life of a node with operations.
type simNode struct {
	*simtest.Node
	api  *service.Service
	life context.Context // ends with it
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{t: t, rand: rand.New(rand.NewPCG(seed, 1)), active: map[string]board.Held{}}
	s.board = &recorder{Board: memboard.Open(), t: t, ends: map[string]int{}, again: map[string]int{}, listed: map[string]int{},
		last: map[string]string{}}
	s.prunes, s.settles = seed%4 == 0, seed%2 == 0
	enlist(t, s.board)
	limits := board.Batch{Space: 1}
	limits.Set(layout.Limits, layout.EncodeLimits(domain.Tenant{ID: 1, MaxRunningByType: map[domain.ScriptType]int{"go": simCap}})...)
	s.commit(limits)
	s.faults = faultboard.New(s.board, faultboard.Config{Seed: seed, Refuse: 0.05, Lose: 0.05, Delay: 20 * time.Millisecond})
	s.hand = work.New(s.faults, work.Config{})
	for i := range simNodes {
		s.nodes = append(s.nodes, s.start(i))
	}
	for i := range simWorkers {
		s.workers = append(s.workers, s.startWorker(i))
	}
	return s
}

func (s *sim) commit(b board.Batch) {
	s.t.Helper()
	if err := s.board.Commit(context.Background(), b); err != nil {
		s.t.Fatal(err)
	}
}

// start begins a new life of node i.
func (s *sim) start(i int) *simNode {
	s.lives++
	n := simtest.Boot(s.board, faultboard.Config{Seed: s.rand.Uint64(), Refuse: 0.03, Lose: 0.05, Delay: 50 * time.Millisecond}, nil)
	owner := fmt.Sprintf("n%d/%d", i, s.lives)
	if err := s.board.Void(context.Background(), fmt.Sprintf("n%d/", i)); err != nil {
		s.t.Fatal(err)
	}
	cache := ban.NewCache(n.Board, nil)
	_ = cache.Load(context.Background()) // a fault may keep it from that; it looks again
	e := work.New(n.Board, work.Config{MaxLosses: 1000, Bans: cache})
	r := work.NewRunner(e, work.RunnerConfig{ID: domain.RunnerID(i + 1), Owner: owner, Lease: simLease, Grace: simGrace,
		Runtimes: []script.Runtime{&simScript{s, byRunner}}})
	alarms := clockwork.Handlers(e.HandleAlarm)
	if s.settles {
		alarms = clockwork.Handlers(e.HandleAlarm, ban.New(n.Board).HandleAlarm)
	}
	clock := func(ctx context.Context) error {
		return clockwork.Run(ctx, n.Board, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
			clockwork.Alarms(n.Board, discard(), alarms, nil),
			clockwork.Leases(n.Board, discard(), e.RecoverLease),
			clockwork.Audits(n.Board, e, nil, discard(), s.audited),
		})
	}
	life, end := context.WithCancel(context.Background())
	n.Link(end)
	node := &simNode{Node: n, api: operations(n.Board, e), life: life}
	s.serve(i, node)
	n.Run(r.Run, cache.Run, clock)
	return node
}

// serve has workers find the operations of node i at its new life.
func (s *sim) serve(i int, n *simNode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i == len(s.served) {
		s.served = append(s.served, nil)
	}
	s.served[i] = n
}

// startWorker begins a new life of worker i. Nobody takes back the leases of the last one.
func (s *sim) startWorker(i int) *simtest.Node {
	s.lives++
	n := simtest.Boot(memboard.Open(), faultboard.Config{Seed: s.rand.Uint64(), Refuse: 0.03, Lose: 0.05, Delay: 50 * time.Millisecond}, nil)
	cfg := worker.Config{Name: fmt.Sprintf("w%d-%d", i, s.lives), Slots: 3, Lease: simLease, Grace: simGrace}
	n.Run(newWorker(s.wayOf(n, s.rand.Uint64()), cfg, &simScript{s, byWorker}).Run)
	return n
}

// wayOf is how a worker reaches the operations: through any node, over a way that may be cut
// before the request is there, or before its answer is back.
func (s *sim) wayOf(n *simtest.Node, seed uint64) way {
	luck := simtest.NewLuck(seed, 2)
	pass := func(ctx context.Context) error {
		n.Pass()
		return n.Board.Commit(ctx, board.Batch{})
	}
	return func(ctx context.Context, do func(context.Context, service.Caller) error) error {
		if err := pass(ctx); err != nil {
			return err
		}
		s.mu.Lock()
		node := s.served[luck.N(simNodes)]
		s.mu.Unlock()
		asking, gone := context.WithCancel(ctx)
		defer gone()
		defer context.AfterFunc(node.life, gone)()
		if err := do(asking, node.api.As(workerActor)); err != nil {
			return err
		}
		if node.life.Err() != nil {
			return domain.Unavailablef("the node has gone")
		}
		return pass(ctx)
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
	n, w := s.rand.IntN(simNodes), s.rand.IntN(simWorkers)
	switch s.rand.IntN(20) {
	case 16: // kill -9 of a worker, and a new life
		s.workers[w].Kill()
		s.workers[w] = s.startWorker(w)
	case 17: // drain, and a new life
		s.workers[w].Drain()
		s.workers[w] = s.startWorker(w)
	case 18: // stopped, longer than its leases
		s.workers[w].Freeze(time.Duration(s.rand.Int64N(int64(40 * time.Second))))
	case 19: // away from all nodes
		s.workers[w].CutOff(time.Duration(s.rand.Int64N(int64(30 * time.Second))))
	case 14:
		s.ban()
	case 15:
		for _, scope := range simScopes {
			_, _ = ban.New(s.faults).Lift(context.Background(), scope)
		}
	case 0: // kill -9, and a new life
		s.nodes[n].Kill()
		s.nodes[n] = s.start(n)
	case 1: // drain, and a new life
		s.nodes[n].Drain()
		s.nodes[n] = s.start(n)
	case 2: // stopped, longer than its leases
		s.nodes[n].Freeze(time.Duration(s.rand.Int64N(int64(40 * time.Second))))
	case 3: // cut off
		s.nodes[n].CutOff(time.Duration(s.rand.Int64N(int64(30 * time.Second))))
	case 4:
		s.cancel()
	case 5:
		s.retry()
	case 6:
		_ = s.hand.MarkMet(context.Background(), tenant, "name"+strconv.Itoa(s.rand.IntN(3)))
	case 7:
		s.pushAgain()
	case 8:
		s.submitForeign()
	case 9:
		if s.prunes {
			_, _ = s.hand.Prune(context.Background(), tenant, time.Now().Add(-20*time.Second))
		}
	case 10:
		s.foreignRun()
	default:
		s.submit()
	}
}

// simScopes are what the simulation bans.
var simScopes = []domain.BanScope{
	{Kind: domain.BanAll}, {Kind: domain.BanContext, Context: tenant}, {Kind: domain.BanType, Name: "go"}, {Kind: domain.BanType, Context: tenant, Name: "go"},
}

// ban holds up picking for a while.
func (s *sim) ban() {
	b := domain.Ban{BanScope: simScopes[s.rand.IntN(len(simScopes))], Level: domain.BanPick, By: 1, Reason: "simulation",
		UntilMs: time.Now().Add(time.Second + time.Duration(s.rand.Int64N(int64(20*time.Second)))).UnixMilli()}
	_, _ = ban.New(s.faults).Set(context.Background(), b)
}

// submit submits some jobs that depend on each other and on older ones. When
// the answer is lost it submits again, as a client does.
func (s *sim) submit() {
	first := s.ids + 1
	s.ids += 1 + s.rand.IntN(6)
	var jobs []*domain.Job
	for id := first; id <= s.ids; id++ {
		jobs = append(jobs, s.randomJob(domain.JobID(id)))
	}
	s.rand.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	tries := s.rand.IntN(6)
	for range tries {
		receipts, err := s.hand.Submit(context.Background(), tenant, jobs)
		if err != nil {
			continue
		}
		open := false
		for _, r := range receipts {
			if r.Err == nil && !slices.Contains(s.acked, r.Key.ID) {
				s.acked = append(s.acked, r.Key.ID)
			}
			open = open || r.Err != nil
			if errors.Is(r.Err, domain.ErrConflict) {
				s.t.Errorf("submit %v: %v", r.Key, r.Err)
			}
		}
		if !open {
			return
		}
	}
}

var simTexts = []string{"ok", "ok", "ok", "fail", "flaky", "slow", "long", "stubborn", "logs"}

func (s *sim) randomJob(id domain.JobID) *domain.Job {
	j := job(id, simTexts[s.rand.IntN(len(simTexts))], retries(uint8(s.rand.IntN(3))))
	j.Timeout = 120
	for range s.rand.IntN(4) {
		dep := domain.JobID(1 + s.rand.IntN(int(id)))
		if dep != id && !slices.Contains(j.Dependends, dep) {
			j.Dependends = append(j.Dependends, dep)
		}
	}
	switch s.rand.IntN(6) {
	case 0:
		j.NotBefore = time.Now().Add(time.Duration(s.rand.Int64N(int64(20 * time.Second)))).UnixMilli()
	case 1:
		j.Prerequisites = []string{"name" + strconv.Itoa(s.rand.IntN(3))}
		j.PrerequisiteTimeout = 60
	case 2:
		j.Priority = s.rand.IntN(10)
	}
	return j
}

func (s *sim) anyKey() domain.JobKey { return key(domain.JobID(1 + s.rand.IntN(max(s.ids, 1)))) }

func (s *sim) cancel() {
	k := s.anyKey()
	if s.rand.IntN(2) == 0 { // something that runs
		s.mu.Lock()
		for name := range s.active {
			item, _, _ := strings.Cut(name, "#")
			k, _ = domain.ParseJobKey(item)
		}
		s.mu.Unlock()
	}
	_, _ = s.hand.Cancel(context.Background(), tenant, k, 7)
}

func (s *sim) retry() {
	for range 20 {
		k := s.anyKey()
		if j, err := s.hand.Show(context.Background(), tenant, k); err == nil && j.Status == domain.JobError {
			_, _ = s.hand.Retry(context.Background(), tenant, k)
			return
		}
	}
}

// pushAgain queues a key that is queued already, waits, runs or has ended, as
// a foreign client does that repeats a push.
func (s *sim) pushAgain() {
	k := s.anyKey()
	recs, err := s.board.Get(context.Background(), 1, k.String())
	if err != nil || recs[0] == nil {
		return
	}
	j, _ := layout.DecodeJob(k, recs[0])
	b := board.Batch{Space: 1}
	s.commit(*b.PushLeft(queue.Of(j), k.String()))
}

// submitForeign writes a job as a foreign program does.
func (s *sim) submitForeign() {
	s.ids++
	k := key(domain.JobID(s.ids)).String()
	deps := ""
	if s.ids > 1 {
		if d := s.anyKey(); d.ID != domain.JobID(s.ids) {
			deps = strconv.Itoa(int(d.ID))
		}
	}
	b := board.Batch{Space: 1}
	b.Set(k, board.Field{Name: "script", Value: simTexts[s.rand.IntN(len(simTexts))]}, board.Field{Name: "script_type", Value: "go"},
		board.Field{Name: "status", Value: "dispatched"}, board.Field{Name: "dependends", Value: "[" + deps + "]"})
	s.commit(b)
	if s.rand.IntN(2) == 0 {
		time.Sleep(100 * time.Millisecond)
	}
	s.commit(*(&board.Batch{Space: 1}).PushLeft("queue:go", k))
	s.acked = append(s.acked, domain.JobID(s.ids))
}

// foreignRun takes a job without a lease, as a foreign runner does that pops a
// queue, and ends it some time later.
func (s *sim) foreignRun() {
	ctx := context.Background()
	items, err := s.board.List(ctx, 1, "queue:go", -1, 1)
	if err != nil || len(items) == 0 {
		return
	}
	recs, err := s.board.Get(ctx, 1, items[0])
	if err != nil {
		s.t.Fatal(err)
	}
	k, _ := domain.ParseJobKey(items[0])
	j, _ := layout.DecodeJob(k, recs[0])
	if j.QueuedMs == 0 || j.Waits > 0 || j.Final() || j.LeaseOwner != "" || j.NextRetryMs != 0 {
		return // a doubled entry
	}
	b := board.Batch{Space: 1}
	b.Free(items[0]).TrimRight("queue:go", 1).Drop("queue:go", items[0])
	s.commit(*b.Set(items[0], board.Field{Name: layout.JobStatus, Value: "started"}))
	ends := []string{"finished", "error"}[s.rand.IntN(2)]
	time.AfterFunc(time.Duration(s.rand.Int64N(int64(30*time.Second))), func() {
		recs, err := s.board.Get(ctx, 1, items[0])
		if err != nil || recs[0].Get(layout.JobStatus) != "started" || recs[0].Get(layout.JobLeaseOwner) != "" {
			return // cancelled, or pushed again by somebody
		}
		b := board.Batch{Space: 1}
		b.Set(items[0], board.Field{Name: layout.JobStatus, Value: ends}, layout.ResultField(map[string]string{"attempt": "foreign"}))
		s.commit(b)
	})
}

// heal ends every fault.
func (s *sim) heal() {
	s.faults.Calm()
	for _, n := range s.nodes {
		n.Calm()
	}
	for _, w := range s.workers {
		w.Calm()
	}
	for i := range 3 {
		if err := s.hand.MarkMet(context.Background(), tenant, "name"+strconv.Itoa(i)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// drained waits until every acknowledged job has ended and nothing is left.
func (s *sim) drained() {
	for range 3600 {
		live, err := s.board.Live(context.Background(), 1, board.LiveItem{}, 10)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(live) == 0 {
			time.Sleep(20 * time.Minute) // late alarms, doubled entries
			return
		}
		time.Sleep(time.Second)
	}
	live, _ := s.board.Live(context.Background(), 1, board.LiveItem{}, 100)
	for _, it := range live {
		k, _ := domain.ParseJobKey(it.Item)
		x, err := s.hand.Explain(context.Background(), tenant, k)
		s.t.Errorf("not drained: %s: %+v %v", it.Item, x, err)
	}
}

func (s *sim) stop() {
	for _, w := range s.workers {
		w.Stop()
	}
	for _, n := range s.nodes {
		n.Stop()
	}
}

// judge checks the promises at the end.
func (s *sim) judge() {
	ctx := context.Background()
	for _, id := range s.acked {
		k := key(id)
		recs, err := s.board.Get(ctx, 1, k.String())
		if err != nil {
			s.t.Fatal(err)
		}
		if recs[0] == nil {
			if s.board.ends[k.String()] == 0 {
				s.t.Errorf("%s is lost", k)
			}
			continue
		}
		j, err := layout.DecodeJob(k, recs[0])
		if err != nil || !j.Final() || j.FinishedMs == 0 || j.LeaseOwner != "" || j.NextRetryMs != 0 {
			s.t.Errorf("%s ended as %+v, %v", k, j, err)
		}
		if a := j.Result["attempt"]; j.Status == domain.JobFinished && a != "foreign" && a != strconv.FormatInt(j.Attempt, 10) {
			s.t.Errorf("%s: attempt %d finished with the result of attempt %s", k, j.Attempt, a)
		}
	}
	for k, n := range s.board.ends {
		if n != 1+s.board.again[k] || s.board.listed[k] != n {
			s.t.Errorf("%s ended %d times, was listed %d times and started again by hand %d times", k, n, s.board.listed[k], s.board.again[k])
		}
	}
	if due, err := s.board.Due(ctx, 10, 0); err != nil || len(due) > 0 {
		s.t.Errorf("alarms left: %v, %v", due, err)
	}
	if lists, _, err := s.board.Keys(ctx, 1, "ramet:followers:", "", 10); err != nil || len(lists) > 0 {
		s.t.Errorf("followers that were told nothing: %v, %v", lists, err)
	}
	if err := s.board.Close(); err != nil {
		s.t.Error(err)
	}
}

// recorder is the board itself: it keeps account of the ends of jobs.
type recorder struct {
	board.Board
	t *testing.T

	mu     sync.Mutex
	ends   map[string]int // by key: how often it was written that it ended
	again  map[string]int // how often that was taken back
	listed map[string]int // how often it was put on the list of ended work
	last   map[string]string
}

func (r *recorder) Commit(ctx context.Context, b board.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.Board.Commit(ctx, b); err != nil {
		return err
	}
	for _, op := range b.Ops {
		if op.Kind == board.OpPushLeft && op.Key == layout.Finished {
			for _, it := range op.Items {
				r.listed[it]++
			}
		}
		if !strings.HasPrefix(op.Key, layout.JobPrefix) {
			continue
		}
		if op.Kind == board.OpUnset && slices.Contains(op.Items, layout.JobFinishedMs) {
			r.again[op.Key]++
			r.last[op.Key] = ""
		}
		for _, f := range op.Fields {
			if op.Kind == board.OpSet && f.Name == layout.JobFinishedMs {
				r.ends[op.Key]++
			}
			if op.Kind == board.OpSet && f.Name == layout.JobStatus {
				r.last[op.Key] = f.Value
			}
		}
	}
	return nil
}

func (r *recorder) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = r.Commit(ctx, batches[i])
	}
	return errs
}

func (r *recorder) status(key string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[key]
}

// simScript runs the simulated scripts, and checks what must hold when one
// begins.
type simScript struct {
	s  *sim
	by taking
}

func (g *simScript) Type() domain.ScriptType { return "go" }
func (g *simScript) Info() script.Info       { return script.Info{Slots: 4, InProcess: true} }

func (g *simScript) Check(context.Context) error { return nil }
func (g *simScript) Close() error                { return nil }

func (g *simScript) Run(ctx context.Context, task script.Task, h script.Host) (script.Outcome, error) {
	name := fmt.Sprintf("%s#%d", task.Name, task.Attempt)
	g.s.begun(task, g.by)
	defer func() {
		g.s.mu.Lock()
		defer g.s.mu.Unlock()
		delete(g.s.active, name)
	}()
	stopped := script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}
	wait := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return false
		}
	}
	length := map[string]time.Duration{"slow": 4 * time.Second, "long": 40 * time.Second, "logs": time.Second}[task.Script]
	if task.Script == "logs" {
		h.Log("stdout", []byte("hello"))
	}
	if task.Script == "stubborn" {
		time.Sleep(20 * time.Second) // does not listen
	} else if !wait(length + 10*time.Millisecond) {
		return stopped, nil
	}
	if task.Script == "fail" || task.Script == "flaky" && task.Attempt%2 == 1 {
		return failed("no luck"), nil
	}
	return ok(map[string]string{"attempt": strconv.FormatInt(task.Attempt, 10)}), nil
}

// begun checks what must hold when a script begins.
func (s *sim) begun(task script.Task, by taking) {
	ctx := context.Background()
	k, _ := domain.ParseJobKey(task.Name)
	recs, err := s.board.Get(ctx, 1, task.Name)
	if err != nil || recs[0] == nil {
		return // the board is closed, or a stale owner's job was pruned
	}
	j, _ := layout.DecodeJob(k, recs[0])
	for _, d := range j.Dependends {
		if st := s.board.status(key(d).String()); st != string(domain.JobFinished) {
			s.t.Errorf("%v: %s began, but needs %s, which is %q", time.Now().UTC(), k, key(d), st)
		}
	}
	if j.NotBefore > time.Now().UnixMilli() {
		s.t.Errorf("%s began %d ms early", k, j.NotBefore-time.Now().UnixMilli())
	}
	for _, p := range j.Prerequisites {
		if met, _ := s.board.Get(ctx, 1, layout.Met(p)); met[0] == nil {
			s.t.Errorf("%s began before %q was met", k, p)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begins[by]++
	s.active[fmt.Sprintf("%s#%d", task.Name, task.Attempt)] = board.Held{Item: task.Name, Token: task.Attempt}
	held := 0
	for _, h := range s.active {
		if l, is, _ := s.board.LeaseOf(ctx, 1, h.Item); is && l.Token == h.Token {
			held++
		}
	}
	if held > simCap {
		s.t.Errorf("%d run at once, the cap is %d", held, simCap)
	}
}
