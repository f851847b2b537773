package post_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// This file simulates sites that send each other messages, with faults between
// each node and its board and on the bus: one seed is one run, in virtual time.
// What is promised of messages is checked at every commit, at every audit, and
// when the last fault has healed; see simjudge_test.go.

var simTrace = flag.Bool("trace", false, "print what was committed in a simulation that fails")

// simSeeds is how many seeds are simulated as a rule.
const simSeeds = 30

const simSteps = 50

func TestSimulation(t *testing.T) { simtest.Run(t, simSeeds, simulate) }

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed)
		for range simSteps {
			s.step()
			time.Sleep(time.Duration(s.Int64N(int64(6 * time.Second))))
		}
		s.heal()
		s.drained()
		s.stop()
		s.judge()
		if t.Failed() {
			for _, x := range s.sites {
				for _, line := range x.board.trace {
					t.Log(line)
				}
			}
			t.Logf("again: go test ./post -run 'TestSimulation$' -seed %d", seed)
		}
	})
}

// lab is a third context of every simulated site: it sends, and its jobs have
// the same ids as those of context 1.
const lab domain.TenantID = 2

// sim is one run.
type sim struct {
	*rand.Rand // the driver's alone
	t          *testing.T
	net        *membus.Network
	sites      []*simSite
	lives      int
	// prunes says that what has ended is removed soon: then only what must not be
	// left is checked.
	prunes bool
}

// keep is how long what has ended stays on the boards.
func (s *sim) keep() time.Duration {
	if s.prunes {
		return 30 * time.Second
	}
	return 90 * 24 * time.Hour
}

func (s *sim) yes(percent int) bool { return s.IntN(100) < percent }

// pick is one of some.
func pick[T any](s *sim, list ...T) T { return list[s.IntN(len(list))] }

// simSite is one organisation: a board, with one node on it or two.
type simSite struct {
	sim      *sim
	name     string
	board    *account
	registry *identity.Registry
	nodes    []*simNode
	keys     []*identity.Keyring // of the nodes
	lines    *simLines
	opKey    identity.Key
	guests   map[string]domain.ActorID // operators of the other sites, here
	card     domain.Peer
	faults   *faultboard.Board
	hand     *parts // of the people at the door, behind faults of their own
	calm     *parts // of the judge
}

// parts are the engines of one node, or of who stands in for one.
type parts struct {
	work  *work.Engine
	flows *flow.Engine
	post  *post.Engine
}

func (s *sim) newParts(b board.Board, k *identity.Keyring, log *slog.Logger, buses ...bus.Bus) *parts {
	p := &parts{}
	registry := identity.NewRegistry(b)
	p.work = work.New(b, work.Config{MaxLosses: 1000, Logger: log,
		Remote: func(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, at string) error {
			return p.post.CheckPlace(ctx, tenant, caller, at)
		}})
	p.flows = flow.New(b, p.work, flow.Config{})
	p.post = post.New(b, post.Config{Keys: k, Registry: registry, Access: identity.NewAccess(registry, nil), Work: p.work, Flows: p.flows,
		Buses: buses, Lease: 12 * time.Second, Retention: s.keep(), Logger: log})
	return p
}

// simNode is one life of a node.
type simNode struct {
	*simtest.Node
	luck *simtest.Luck // when it crashes
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{Rand: rand.New(rand.NewPCG(seed, 5)), t: t, prunes: seed%6 == 0}
	bad := membus.Config{Seed: seed, Loss: 0.2, Double: 0.2, Unsure: 0.1, Delay: 5 * time.Second, Reorder: 0.3}
	if seed%5 == 0 {
		bad = membus.Config{Seed: seed} // the boards alone are bad
	}
	s.net = membus.New(bad)
	names := []string{"alpha", "beta"}
	if seed%4 == 0 {
		names = append(names, "gamma")
	}
	for i, name := range names {
		s.sites = append(s.sites, s.newSite(name, 1+int(seed>>i)%2))
	}
	for _, a := range s.sites {
		for _, b := range s.sites {
			if a != b {
				a.meet(b)
			}
		}
	}
	for _, x := range s.sites {
		x.hand = s.newParts(x.faults, x.keys[0], slog.New(slog.DiscardHandler), s.net.Join(x.name+"-0"))
		for i := range x.nodes {
			x.start(i)
		}
	}
	return s
}

func (s *sim) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// newSite makes a site with n nodes, which do not run yet.
func (s *sim) newSite(name string, n int) *simSite {
	ctx := s.t.Context()
	x := &simSite{sim: s, name: name, board: newAccount(s.t, name, memboard.Open()), nodes: make([]*simNode, n), guests: map[string]domain.ActorID{}}
	x.lines = &simLines{lines: &lines{runs: map[string]int{}, env: map[string]map[string]string{}}, runs: map[string]int{}}
	x.registry = identity.NewRegistry(x.board)
	for i := range n {
		dir := s.t.TempDir()
		if i == 0 {
			op, err := x.registry.EnsureOperator(ctx, dir)
			s.must(err)
			x.opKey = op.Key
		} else if s.yes(50) { // the operator lets this node sign as well
			s.must(os.Mkdir(filepath.Join(dir, identity.KeysFolder), 0o700))
			s.must(identity.SaveKey(filepath.Join(dir, identity.KeysFolder, "op.key"), x.opKey))
		}
		k, err := identity.OpenKeyring(dir)
		s.must(err)
		x.keys = append(x.keys, k)
		_, err = x.registry.EnsureNode(ctx, k.Node.Pubkey(), domain.NodeAddress(k.Node.Pubkey()))
		s.must(err)
		var b board.Batch
		b.Set(layout.Node(x.nodeName(i)), layout.NodeFields(k.Node.Pubkey(), []domain.Address{s.net.Join(x.nodeName(i)).Self()})...)
		s.must(x.board.Commit(ctx, b))
	}
	for _, id := range []domain.TenantID{lab, annex} {
		_, _, err := x.registry.CreateTenant(ctx, domain.Tenant{ID: id, Admins: domain.List[domain.ActorID]{domain.Operator}})
		s.must(err)
	}
	x.faults = faultboard.New(x.board, faultboard.Config{Seed: s.Uint64(), Refuse: 0.05, Lose: 0.05, Delay: 20 * time.Millisecond})
	x.calm = s.newParts(x.board, x.keys[0], slog.New(slog.DiscardHandler), s.net.Join(x.nodeName(0)))
	var err error
	x.card, err = x.calm.post.Card(ctx, name)
	s.must(err)
	return x
}

func (x *simSite) nodeName(i int) string { return x.name + "-" + strconv.Itoa(i) }

// meet lets x know another site, whose operator gets x's context 7.
func (x *simSite) meet(other *simSite) {
	ctx := x.sim.t.Context()
	_, err := x.calm.post.AddPeer(ctx, other.card)
	x.sim.must(err)
	guest, err := x.registry.ActorByKey(ctx, other.opKey.Pubkey())
	x.sim.must(err)
	x.guests[other.name] = guest.ID
	_, _, err = x.registry.Grant(ctx, annex, guest.ID, domain.Admin)
	x.sim.must(err)
}

// start begins a new life of node i.
func (x *simSite) start(i int) {
	x.sim.lives++
	n := &simNode{luck: simtest.NewLuck(x.sim.Uint64(), 6)}
	n.Node = simtest.Boot(x.board, faultboard.Config{Seed: x.sim.Uint64(), Refuse: 0.03, Lose: 0.05, Delay: 40 * time.Millisecond},
		func() bool { return n.luck.N(1000) == 0 })
	bus := x.sim.net.Join(x.nodeName(i))
	n.Link(func() { _ = bus.Close() })
	owner := fmt.Sprintf("%s/%d", x.nodeName(i), x.sim.lives)
	x.sim.must(x.board.Void(context.Background(), x.nodeName(i)+"/"))
	log := slog.New(slog.DiscardHandler)
	if simtest.Only() && testing.Verbose() {
		log = slog.New(slog.NewTextHandler(x.sim.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", owner)
	}
	p := x.sim.newParts(n.Board, x.keys[i], log, bus)
	runner := work.NewRunner(p.work, work.RunnerConfig{ID: domain.RunnerID(i + 1), Owner: owner, Lease: 12 * time.Second, Grace: 2 * time.Second,
		Runtimes: []script.Runtime{x.lines}})
	supervisor := p.post.Supervise(owner)
	keep := func(ctx context.Context) error { p.flows.Keep(ctx, owner); return nil }
	clock := func(ctx context.Context) error {
		return clockwork.Run(ctx, n.Board, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
			clockwork.Alarms(n.Board, log, clockwork.Handlers(p.post.HandleAlarm, p.flows.HandleAlarm, p.work.HandleAlarm), nil),
			clockwork.Leases(n.Board, log, func(ctx context.Context, l board.Lease) (bool, error) {
				for _, recover := range []func(context.Context, board.Lease) (bool, error){p.post.RecoverLease, p.flows.RecoverLease} {
					if ours, err := recover(ctx, l); ours || err != nil {
						return ours, err
					}
				}
				return p.work.RecoverLease(ctx, l)
			}),
			clockwork.Audits(n.Board, p.work, clockwork.Auditors{p.flows, p.post}, log, x.audited),
			clockwork.Prunes(n.Board, p.work, x.sim.keep()),
		})
	}
	n.Run(runner.Run, keep, supervisor.Run, clock)
	x.nodes[i] = n
}

// audited is told of every audit: no fault is a reason to repair anything,
// since all changes are whole commits.
func (x *simSite) audited(t domain.TenantID, a domain.Audit) {
	if len(a.Repaired)+len(a.Stuck) > 0 {
		x.sim.t.Errorf("%v: the audit of %s, context %d, found %+v", time.Now().UTC(), x.name, t, a)
	}
}

// step does one thing that people or misfortune do.
func (s *sim) step() {
	x := s.sites[s.IntN(len(s.sites))]
	for i, n := range x.nodes {
		if n.Dead() && s.yes(60) {
			x.start(i)
		}
	}
	i := s.IntN(len(x.nodes))
	node := x.nodes[i]
	switch s.IntN(22) {
	case 21:
		x.part(s.other(x))
	case 20:
		x.retry()
	case 0:
		node.Kill()
	case 1: // drain, and a new life
		node.Drain()
		x.start(i)
	case 2: // stopped, longer than its leases
		node.Freeze(time.Duration(s.Int64N(int64(60 * time.Second))))
	case 3: // cut off from its board
		if !node.Dead() {
			node.CutOff(time.Duration(s.Int64N(int64(40 * time.Second))))
		}
	case 4, 5: // parted from another node
		y := s.other(x)
		s.net.Cut(x.nodeName(i), y.nodeName(s.IntN(len(y.nodes))))
		if s.yes(50) {
			time.AfterFunc(time.Duration(s.Int64N(int64(60*time.Second))), s.net.Heal)
		}
	case 6:
		guest := x.guests[s.other(x).name]
		if s.yes(60) {
			_, _, _ = x.registry.Revoke(context.Background(), annex, guest, domain.Admin)
		} else {
			_, _, _ = x.registry.Grant(context.Background(), annex, guest, domain.Admin)
		}
	case 7:
		x.cancel()
	case 8:
		x.take()
	case 9:
		x.foreign()
	case 10, 11:
		x.flow()
	case 12:
		x.remoteJob()
	case 13:
		x.signed()
	default:
		x.message()
	}
}

// other is another site than x.
func (s *sim) other(x *simSite) *simSite {
	for {
		if y := s.sites[s.IntN(len(s.sites))]; y != x {
			return y
		}
	}
}

// random is a message from a context of x, to another site or another context
// of its own board.
func (x *simSite) random() (domain.TenantID, domain.Message) {
	s := x.sim
	from := pick(s, home, home, lab)
	m := domain.Message{CallerID: domain.Operator, DstContext: annex,
		MessageType: pick(s, domain.MessageJob, domain.MessageJob, domain.MessageJob, domain.MessageChat, domain.MessageMail)}
	y := x
	if s.yes(80) {
		y = s.other(x)
		m.DstNode = y.keys[s.IntN(len(y.keys))].Node.Pubkey()
	}
	if s.yes(25) {
		m.Timeout, m.TimeoutAck, m.TimeoutResult = uint32(5+s.IntN(60)), uint32(5+s.IntN(60)), uint32(10+s.IntN(100))
	}
	switch {
	case m.MessageType != domain.MessageJob:
		m.Message, m.DstPubkey = "hello "+strconv.FormatUint(s.Uint64(), 36), y.opKey.Pubkey()
	case s.yes(20):
		m.Flow = fmt.Sprintf(`{"plan":{"name":"sent","steps":[{"name":"a","script":%q,"script_type":"lines"},{"name":"b","script":"need a x",`+
			`"script_type":"lines","needs":["a"]}]}}`, s.text())
	default:
		for i := range 1 + s.IntN(3) {
			j := domain.Job{Script: s.text(), ScriptType: "lines", Retries: uint8(s.IntN(2)), Timeout: 300}
			if s.yes(50) { // others choose the same
				j.ID = domain.JobID(1_000_000 + 10*s.IntN(5) + i)
			}
			if i > 0 && m.Job[i-1].ID != 0 && s.yes(40) {
				j.Dependends = []domain.JobID{m.Job[i-1].ID}
			}
			m.Job = append(m.Job, j)
		}
	}
	return from, m
}

// text is a script.
func (s *sim) text() string {
	text := ""
	for i := range s.IntN(4) {
		text += fmt.Sprintf("say line %d\n", i)
		if s.yes(30) {
			text += "sleep 2s\n"
		}
	}
	return text + pick(s, "set x 1\n", "set x 2\n", "sleep 5s\nset x 3\n", "sleep 40s\n", "fail no luck\n", "say last\nset x 4\n", "failonce\nset x 5\n")
}

// message sends one. When the answer is lost it is sent again, as a client
// does; then there may be two.
func (x *simSite) message() {
	from, m := x.random()
	for range 3 {
		again := m
		again.Job = slices.Clone(m.Job)
		if _, err := x.hand.post.Send(context.Background(), from, &again); x.sent(err) {
			return
		}
	}
}

// sent reports whether nothing is to be tried again.
func (x *simSite) sent(err error) bool {
	if err != nil && !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, domain.ErrConflict) && !strings.Contains(err.Error(), "there is no peer") {
		x.sim.t.Errorf("%s: send: %v", x.name, err)
	}
	return !errors.Is(err, domain.ErrUnavailable)
}

// signed sends a message that a client has signed, again and again until it
// has the answer: it is one message.
func (x *simSite) signed() {
	from, m := x.random()
	now := domain.At(time.Now())
	m.ID, m.ContextID, m.SrcContext = domain.MessageID(2_000_000+x.sim.IntN(1_000_000)), from, from
	m.MessageFormatType, m.CreatedAt, m.UpdatedAt, m.ExpiresAt = domain.FormatText, now, now, now+3600
	for i := range m.Job {
		m.Job[i].CallerID, m.Job[i].ContextID = m.CallerID, annex
		if m.Job[i].ID == 0 {
			m.Job[i].ID = domain.JobID(3_000_000 + x.sim.IntN(1_000_000))
		}
	}
	x.sim.must(identity.SignMessage(x.opKey, &m))
	for range 3 {
		again := m
		if _, err := x.hand.post.Send(context.Background(), from, &again); x.sent(err) && x.sim.yes(50) {
			return
		}
	}
}

// foreign writes a message as a program of the seeds does, jobs first.
func (x *simSite) foreign() {
	s := x.sim
	id := 4_000_000 + s.IntN(1_000_000)
	job, y := 5_000_000+s.IntN(1_000_000), s.other(x)
	text := strconv.Quote(s.text())
	b := board.Batch{Space: board.Space(home)}
	set := func(key string, pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			b.Set(key, board.Field{Name: pairs[i], Value: pairs[i+1]})
		}
	}
	if s.yes(70) {
		script, _ := strconv.Unquote(text)
		set(domain.JobKey{Caller: domain.Operator, ID: domain.JobID(job)}.String(), "id", strconv.Itoa(job), "caller_id", "1", "context_id", "1",
			"script", script, "script_type", "lines", "status", "dispatched")
	}
	key := domain.MessageKey{Caller: domain.Operator, ID: domain.MessageID(id)}.String()
	set(key, "id", strconv.Itoa(id), "caller_id", "1", "context_id", "1", "message_type", "job", "dst_context", "7", "dst_node", y.keys[0].Node.Pubkey(),
		"job", fmt.Sprintf(`[{"id":%d,"caller_id":1,"context_id":7,"script":%s,"script_type":"lines"}]`, job, text))
	s.must(x.board.Commit(context.Background(), b))
	b = board.Batch{Space: board.Space(home)}
	s.must(x.board.Commit(context.Background(), *b.PushLeft(queue.MsgOut, key)))
}

// flow submits a flow with steps here and elsewhere.
func (x *simSite) flow() {
	s := x.sim
	plan := &domain.Blueprint{Name: "across"}
	for i := range 1 + s.IntN(4) {
		st := domain.Step{Name: "s" + strconv.Itoa(i), Script: s.text(), ScriptType: "lines", MayFail: s.yes(30)}
		if s.yes(60) {
			st.At = "7@" + s.other(x).name
		} else if s.yes(30) {
			st.At = "7"
		}
		if i > 0 && s.yes(60) {
			st.Needs = []string{"s" + strconv.Itoa(i-1)}
			st.Script = "need s" + strconv.Itoa(i-1) + " x\n" + st.Script
		}
		if s.yes(20) {
			st.Shard = &domain.Shard{Count: 3, Window: 2}
		}
		plan.Steps = append(plan.Steps, st)
	}
	for range 3 {
		got, err := x.hand.flows.Submit(context.Background(), home, []flow.Request{{Caller: domain.Operator, Plan: plan}})
		if err == nil {
			err = got[0].Err
		}
		if x.sent(err) {
			return
		}
	}
}

// remoteJob submits a job alone that is to run elsewhere.
func (x *simSite) remoteJob() {
	j := &domain.Job{CallerID: domain.Operator, Script: x.sim.text(), ScriptType: "lines", At: "7@" + x.sim.other(x).name}
	got, err := x.hand.work.Submit(context.Background(), home, []*domain.Job{j})
	if err == nil {
		err = got[0].Err
	}
	x.sent(err)
}

// cancel cancels some job of some context, wherever it came from or has gone.
func (x *simSite) cancel() {
	in := pick(x.sim, home, annex)
	keys, _, err := x.board.Keys(context.Background(), board.Space(in), layout.JobPrefix, "", 1000)
	x.sim.must(err)
	if len(keys) == 0 {
		return
	}
	key, _ := domain.ParseJobKey(keys[x.sim.IntN(len(keys))])
	_, _ = x.hand.work.Cancel(context.Background(), in, key, domain.Operator)
}

// retry starts a job again that ended in error, wherever it came from.
func (x *simSite) retry() {
	in := pick(x.sim, home, annex, annex)
	keys, _, err := x.board.Keys(context.Background(), board.Space(in), layout.JobPrefix, "", 1000)
	x.sim.must(err)
	for _, i := range x.sim.Perm(len(keys)) {
		key, _ := domain.ParseJobKey(keys[i])
		if j, err := x.calm.work.Show(context.Background(), in, key); err == nil && j.Status == domain.JobError {
			_, _ = x.hand.work.Retry(context.Background(), in, key)
			return
		}
	}
}

// part lets x forget a peer for a while.
func (x *simSite) part(y *simSite) {
	_ = x.calm.post.RemovePeer(context.Background(), y.name)
	card := y.card
	time.AfterFunc(time.Duration(x.sim.Int64N(int64(10*time.Second))), func() {
		if _, err := x.calm.post.AddPeer(context.Background(), card); err != nil {
			x.sim.t.Errorf("%s: add peer: %v", x.name, err)
		}
	})
}

// take takes what is oldest out of an inbox.
func (x *simSite) take() {
	ctx := context.Background()
	in := pick(x.sim, home, annex)
	there, err := x.hand.post.Inbox(ctx, in, domain.Operator, 0, 10)
	if err == nil && len(there) > 0 {
		_, _ = x.hand.post.Take(ctx, in, domain.Operator, there[0].Key())
	}
}

// heal ends every fault.
func (s *sim) heal() {
	s.net.Calm()
	for _, x := range s.sites {
		x.faults.Calm()
		for i, n := range x.nodes {
			n.luck.End()
			if n.Dead() {
				x.start(i)
				n = x.nodes[i]
				n.luck.End()
			}
			n.Calm()
		}
	}
}

func (s *sim) stop() {
	for _, x := range s.sites {
		for _, n := range x.nodes {
			n.Stop()
		}
	}
}

// simLines runs the scripts of a site, and counts by context too.
type simLines struct {
	*lines
	mu   sync.Mutex
	runs map[string]int // by context and job key
}

func (l *simLines) Run(ctx context.Context, t script.Task, h script.Host) (script.Outcome, error) {
	l.mu.Lock()
	l.runs[fmt.Sprint(t.Context, " ", t.Name)]++
	l.mu.Unlock()
	return l.lines.Run(ctx, t, h)
}

func (l *simLines) ran(in domain.TenantID, key domain.JobKey) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[fmt.Sprint(in, " ", key)]
}

// spaces of every simulated site that have messages.
var simSpaces = []domain.TenantID{home, lab, annex}
