package post_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// lines is a runtime inside the process whose scripts are lines of a few words:
//
//	say TEXT        a line of the log
//	shout N         a line of N bytes
//	set KEY VALUE   a key of the result
//	need STEP KEY   puts what a step before it gave into the result as "got"
//	sleep 3s        virtual time
//	fail TEXT       the script says that it failed
//	failonce        it fails in its first attempt
type lines struct {
	mu   sync.Mutex
	runs map[string]int // by job key
	env  map[string]map[string]string
}

func (*lines) Type() domain.ScriptType     { return "lines" }
func (*lines) Info() script.Info           { return script.Info{Summary: "lines", Slots: 64, InProcess: true} }
func (*lines) Check(context.Context) error { return nil }
func (*lines) Close() error                { return nil }

// ran is how often each job was run, by its key.
func (l *lines) ran() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.runs)
}

// envs are the environments that jobs had, by their keys.
func (l *lines) envs() map[string]map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.env)
}

func (l *lines) Run(ctx context.Context, t script.Task, h script.Host) (script.Outcome, error) {
	l.mu.Lock()
	l.runs[t.Name]++
	l.env[t.Name] = t.Env
	l.mu.Unlock()
	out := script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"exit_code": "0"}}
	for line := range strings.Lines(t.Script) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "say":
			h.Log("stdout", []byte(rest))
		case "shout":
			n, err := strconv.Atoi(rest)
			if err != nil {
				return out, err
			}
			h.Log("stdout", bytes.Repeat([]byte("z"), n))
		case "set":
			name, value, _ := strings.Cut(rest, " ")
			out.Result[name] = value
		case "need":
			step, name, _ := strings.Cut(rest, " ")
			var in struct {
				Needs map[string]struct{ Result map[string]string }
			}
			text, err := t.Input()
			if err == nil {
				err = json.Unmarshal(text, &in)
			}
			if err != nil {
				return out, err
			}
			out.Result["got"] = in.Needs[step].Result[name]
		case "sleep":
			d, err := time.ParseDuration(rest)
			if err != nil {
				return out, err
			}
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
			}
		case "failonce":
			if t.Attempt == 1 {
				return script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: "at first", Result: map[string]string{"exit_code": "1"}}, nil
			}
		case "fail":
			return script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: rest, Result: map[string]string{"exit_code": "1"}}, nil
		}
	}
	return out, nil
}

// site is one organisation: a board with a node on it.
type site struct {
	*testing.T
	name     string
	board    board.Board
	registry *identity.Registry
	keys     *identity.Keyring
	post     *post.Engine
	work     *work.Engine
	flows    *flow.Engine
	lines    *lines
	op       domain.ActorID // its operator, admin of context 1 and 7
	opKey    identity.Key
	full     atomic.Bool // there is no room for messages
	refused  *refusals
	counts   *counts
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// refusals collects what was not taken.
type refusals struct {
	mu   sync.Mutex
	list []post.Refusal
}

func (r *refusals) add(x post.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
}

func (r *refusals) causes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var causes []string
	for _, x := range r.list {
		causes = append(causes, x.Cause)
	}
	return causes
}

// counts counts what happened to messages.
type counts struct {
	sent, received, ended, replayed atomic.Int64
	longest                         atomic.Int64 // from a message's making to its end
	refused                         atomic.Int64 // but for what came again
}

// all is how many messages and parcels were refused.
func (c *counts) all() int { return int(c.refused.Load()) }

func (c *counts) MessageSent(domain.MessageType)     { c.sent.Add(1) }
func (c *counts) MessageReceived(domain.MessageType) { c.received.Add(1) }
func (c *counts) MessageRefused(cause string) {
	if cause == "replayed" {
		c.replayed.Add(1)
	} else {
		c.refused.Add(1)
	}
}
func (c *counts) MessageEnded(_ domain.MessageType, _ domain.MessageStatus, took time.Duration) {
	c.ended.Add(1)
	c.longest.Store(max(c.longest.Load(), int64(took)))
}

// contexts of every site.
const (
	home  domain.TenantID = 1
	annex domain.TenantID = 7
)

// newSite makes a site whose buses are given; nothing runs yet.
func newSite(t *testing.T, name string, buses ...bus.Bus) *site {
	t.Helper()
	return newSiteOn(t, name, memboard.Open(), buses...)
}

func newSiteOn(t *testing.T, name string, b board.Board, buses ...bus.Bus) *site {
	t.Helper()
	return newSiteIn(t, name, t.TempDir(), b, buses...)
}

// mostWaiting is how many jobs of a site's context may wait.
const mostWaiting = 2_000

// newSiteIn is a site whose keys lie in dir, or will.
func newSiteIn(t *testing.T, name, dir string, b board.Board, buses ...bus.Bus) *site {
	t.Helper()
	s := &site{T: t, name: name, board: b, lines: &lines{runs: map[string]int{}, env: map[string]map[string]string{}},
		refused: &refusals{}, counts: &counts{}}
	s.registry = identity.NewRegistry(b)
	op, err := s.registry.EnsureOperator(t.Context(), dir)
	s.must(err)
	s.op, s.opKey = domain.Operator, op.Key
	_, _, err = s.registry.CreateTenant(t.Context(), domain.Tenant{ID: annex, Admins: domain.List[domain.ActorID]{s.op}})
	s.must(err)
	s.keys, err = identity.OpenKeyring(dir)
	s.must(err)
	_, err = s.registry.EnsureNode(t.Context(), s.keys.Node.Pubkey(), domain.NodeAddress(s.keys.Node.Pubkey()))
	s.must(err)
	s.work = work.New(b, work.Config{WaitingJobs: mostWaiting, Remote: func(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, at string) error {
		return s.post.CheckPlace(ctx, tenant, caller, at)
	}})
	s.flows = flow.New(b, s.work, flow.Config{})
	s.post = post.New(b, post.Config{Keys: s.keys, Registry: s.registry, Access: identity.NewAccess(s.registry, nil), Work: s.work, Flows: s.flows,
		Buses: buses, Refused: s.refused.add, Observer: s.counts, Room: func() error {
			if s.full.Load() {
				return domain.Exhaustedf("the disk is nearly full")
			}
			return nil
		}})
	t.Cleanup(func() { s.stop(); b.Close() })
	return s
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", s.name, err)
	}
}

// start lets the site's node run under an owner of its own.
func (s *site) start(owner string) {
	ctx, cancel := context.WithCancel(s.Context())
	s.cancel = cancel
	log := slog.New(slog.DiscardHandler)
	s.must(s.board.Commit(ctx, *new(board.Batch).Set(layout.Runner(1), layout.EncodeRunner(domain.Runner{ID: 1, Node: s.name})...))) // as its node does
	runner := work.NewRunner(s.work, work.RunnerConfig{ID: 1, Owner: owner, Runtimes: []script.Runtime{s.lines}, Grace: time.Second})
	supervisor := s.post.Supervise(owner)
	s.wg.Go(func() { _ = runner.Run(ctx) })
	s.wg.Go(func() { s.flows.Keep(ctx, owner) })
	s.wg.Go(func() { _ = supervisor.Run(ctx) })
	s.wg.Go(func() {
		_ = clockwork.Run(ctx, s.board, clockwork.Config{Owner: owner}, []clockwork.Maintenance{
			clockwork.Alarms(s.board, log, clockwork.Handlers(s.post.HandleAlarm, s.flows.HandleAlarm, s.work.HandleAlarm), nil),
			clockwork.Leases(s.board, log, func(ctx context.Context, l board.Lease) (bool, error) {
				for _, recover := range []func(context.Context, board.Lease) (bool, error){s.post.RecoverLease, s.flows.RecoverLease} {
					if ours, err := recover(ctx, l); ours || err != nil {
						return ours, err
					}
				}
				return s.work.RecoverLease(ctx, l)
			}),
		})
	})
}

// stop ends what runs.
func (s *site) stop() {
	if s.cancel != nil {
		s.cancel()
		s.wg.Wait()
		s.cancel = nil
	}
}

// meet lets two sites know each other, as people do who exchange their cards,
// and gives b's context 7 to a's operator. It returns that actor's number at b.
func meet(a, b *site) domain.ActorID {
	a.Helper()
	card, err := b.post.Card(a.Context(), b.name)
	a.must(err)
	_, err = a.post.AddPeer(a.Context(), card)
	a.must(err)
	card, err = a.post.Card(a.Context(), a.name)
	b.must(err)
	_, err = b.post.AddPeer(b.Context(), card)
	b.must(err)
	guest, err := b.registry.ActorByKey(b.Context(), a.opKey.Pubkey())
	b.must(err)
	_, _, err = b.registry.Grant(b.Context(), annex, guest.ID, domain.Admin)
	b.must(err)
	return guest.ID
}

// bubble runs a test of two sites on a network in virtual time.
func bubble(t *testing.T, cfg membus.Config, test func(t *testing.T, net *membus.Network, a, b *site)) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(cfg)
		a, b := newSite(t, "alpha", net.Join("alpha")), newSite(t, "beta", net.Join("beta"))
		meet(a, b)
		a.start("a/1")
		b.start("b/1")
		defer func() { a.stop(); b.stop() }()
		test(t, net, a, b)
	})
}

// send sends a message of the operator from context 1.
func (s *site) send(m domain.Message) *domain.Message {
	s.Helper()
	m.CallerID = s.op
	_, err := s.post.Send(s.Context(), home, &m)
	s.must(err)
	return &m
}

// jobTo is a message with one job for the other site's context 7.
func jobTo(to *site, text string) domain.Message {
	return domain.Message{MessageType: domain.MessageJob, DstContext: annex, DstNode: to.post.Node(),
		Job: domain.List[domain.Job]{{Script: text, ScriptType: "lines"}}}
}

// wait waits until a message has ended.
func (s *site) wait(m *domain.Message) *domain.Message {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 72*time.Hour)
	defer cancel()
	done, err := s.post.Wait(ctx, home, m.Key())
	if errors.Is(err, context.DeadlineExceeded) {
		x, _ := s.post.Explain(s.Context(), home, m.Key())
		s.Fatalf("%s: message %s did not end: %+v", s.name, m.Key(), x)
	}
	s.must(err)
	return done
}

// write writes fields as a foreign program does.
func (s *site) write(key string, pairs ...string) {
	s.Helper()
	b := board.Batch{Space: board.Space(home)}
	for i := 0; i < len(pairs); i += 2 {
		b.Set(key, board.Field{Name: pairs[i], Value: pairs[i+1]})
	}
	s.must(s.board.Commit(s.Context(), b))
}

// push pushes as a foreign program does.
func (s *site) push(list, item string) {
	s.Helper()
	b := board.Batch{Space: board.Space(home)}
	s.must(s.board.Commit(s.Context(), *b.PushLeft(list, item)))
}

// flow runs a flow of a blueprint to its end.
func (s *site) flow(plan *domain.Blueprint) domain.FlowView {
	s.Helper()
	receipts, err := s.flows.Submit(s.Context(), home, []flow.Request{{Caller: s.op, Plan: plan}})
	s.must(err)
	s.must(receipts[0].Err)
	ctx, cancel := context.WithTimeout(s.Context(), 72*time.Hour)
	defer cancel()
	v, err := s.flows.Wait(ctx, home, receipts[0].ID, nil)
	s.must(err)
	return v
}
