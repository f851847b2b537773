package node

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/telemetry"
	"github.com/ramet-run/ramet/work"
)

// Service is something that runs as long as the node does: a door.
type Service func(ctx context.Context) error

// Node is one process.
type Node struct {
	Work      *work.Engine
	Flows     *flow.Engine
	Schedules *clockwork.Schedules
	Circles   *circle.Engine
	Bans      *ban.Cache
	Duties    *clockwork.Duties
	// Routines are those of the contexts.
	Routines *clockwork.Routines
	// Bulks are the operations that are done to many things.
	Bulks *bulk.Engine
	// Post sends and receives messages; nil where the node has none.
	Post *post.Engine
	// Sagas and Effects are nil where the node has no streams.
	Sagas *saga.Engine
	// Listeners are those of contexts; nil where the node has no streams.
	Listeners *listener.Store
	Effects   *effect.Worker
	Metrics   *telemetry.Metrics

	cfg       Config
	board     board.Board
	self      self
	owner     string
	began     time.Time
	worker    *circle.Worker   // nil where it serves no circles
	sagas     *saga.Worker     // nil where it serves none
	listeners *listener.Worker // nil without streams
	draining  atomic.Bool
	several   atomic.Bool   // there are several contexts
	repaired  chan struct{} // told when a runtime works that did not, or does not any more; capacity 1

	standings standings

	serving  sync.Mutex     // guards what follows
	runners  []*work.Runner // one of all that was served at the start, and see serveRepaired
	services []domain.Service
}

var (
	_ work.Observer             = (*telemetry.Metrics)(nil)
	_ clockwork.ArchiveObserver = (*telemetry.Metrics)(nil)
	_ circle.Observer           = (*telemetry.Metrics)(nil)
	_ saga.Observer             = (*telemetry.Metrics)(nil)
	_ effect.Observer           = (*telemetry.Metrics)(nil)
	_ listener.Observer         = (*telemetry.Metrics)(nil)
)

// New prepares a node on b: it learns who it is, looks at its runtimes and
// fences its earlier life. It starts nothing; the board stays the caller's to
// close, and so does the data folder, which is the caller's by [Lock].
//
// Errors: [domain.ErrConflict] when another node has the name;
// [domain.ErrUnavailable].
func New(ctx context.Context, b board.Board, cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, domain.Unavailablef("make the data folder: %v", err)
	}
	who, err := loadSelf(ctx, b, cfg)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, board: b, self: who, Metrics: cfg.Metrics, began: time.Now(), owner: who.Name + "/" + rand.Text()[:8],
		repaired: make(chan struct{}, 1)}
	n.Metrics.ShowLateness(n.lateness)
	n.Metrics.Durable("board", string(b.Durability()))
	if cfg.Archive != nil {
		n.Metrics.Durable("archive", string(cfg.Archive.Durability()))
	}
	if cfg.Sagas.Log != nil {
		n.Metrics.Durable("streams", string(cfg.Sagas.Log.Durability()))
	}
	if cfg.Disk != nil {
		n.Metrics.ShowDisk(cfg.Disk.Free)
	}
	if cfg.Inspected == nil {
		cfg.Inspected = Inspect(ctx, cfg.Runtimes, cfg.Slots, cfg.Logger)
	}
	n.services = slices.Clone(cfg.Inspected.services)
	served := cfg.Inspected.served
	n.Bans = ban.NewCache(b, cfg.Logger)
	n.Duties = clockwork.NewDuties(b, cfg.Host, cfg.Version, cfg.Logger)
	if err := errors.Join(n.Bans.Load(ctx), n.Duties.Load(ctx)); err != nil {
		return nil, err
	}
	n.Work = work.New(b, work.Config{
		Tracer: cfg.Tracer,
		Logger: cfg.Logger, MaxLosses: cfg.MaxLosses, Timeout: cfg.Timeout, LogBytes: cfg.LogBytes,
		Traceless: cfg.Encryption.Encrypts, DataDir: cfg.DataDir, Served: n.known(), Bans: n.Bans, Remote: n.checkPlace(), Egress: cfg.Egress, Permit: cfg.Permit,
		Isolation: cfg.Isolation, Secrets: cfg.Secrets, Limits: cfg.Limits, Foreign: cfg.Foreign, ArchiveBacklog: cfg.ArchiveBacklog, WaitingJobs: cfg.WaitingJobs,
		Artifacts: cfg.Artifacts, ArtifactBytes: cfg.ArtifactBytes,
		EffectKind: n.effectKind,
		Observer:   n.Metrics,
	})
	n.Bulks = bulk.New(b)
	n.Routines = clockwork.NewRoutines(precondition.Over(b), permittedJobs{n.Work, n.mayMake, n.room}, n.Bans)
	flows := flow.Config{Blueprints: cfg.Blueprints, Hooks: cfg.Hooks, Bans: n.Bans, Lease: cfg.Lease, Observer: n.Metrics, Tracer: cfg.Tracer, Logger: cfg.Logger,
		PublicURL: cfg.PublicURL}
	if cfg.Archive != nil {
		flows.Names, flows.Records = cfg.Archive, cfg.Archive
	}
	n.Flows = flow.New(b, n.Work, flows)
	n.Schedules = clockwork.NewSchedules(precondition.Over(b), permittedFlows{n.Flows, n.mayMake, "schedule"}, cfg.Logger).Observed(n.Metrics)
	n.openCircles()
	n.openPost()
	if err := n.openSagas(ctx); err != nil {
		return nil, err
	}
	if err := b.Void(ctx, who.Name+"/"); err != nil {
		return nil, err
	}
	if err := n.countContexts(ctx); err != nil {
		return nil, err
	}
	if len(served) > 0 {
		n.runners = append(n.runners, n.newRunner(served...))
	}
	n.Metrics.ShowStanding(n.Standing)
	return n, nil
}

// newRunner makes a runner of runtimes that work.
func (n *Node) newRunner(runtimes ...script.Runtime) *work.Runner {
	return work.NewRunner(n.Work, work.RunnerConfig{
		ID: n.self.RunnerID, Owner: n.owner, Runtimes: runtimes, Slots: n.cfg.Slots, PerContext: n.cfg.SlotsPerContext, Several: n.several.Load,
		Aging: n.cfg.PriorityAging, Lease: n.cfg.Lease,
		Grace: n.cfg.Grace, Limits: n.cfg.Limits,
		Labels: n.cfg.Labels, HealthChanged: n.recordSoon,
		May: func() (bool, <-chan struct{}) { return n.Duties.May(domain.RoleRunner) },
	})
}

// lateness is how late the board's alarm is that is due longest.
func (n *Node) lateness() (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // nobody waits longer for metrics
	defer cancel()
	_, late, err := clockwork.Overdue(ctx, n.board)
	return late, err
}

// offered are the services with the labels that their runtimes have now.
func (n *Node) offered() []domain.Service {
	n.serving.Lock()
	services, runners := slices.Clone(n.services), n.runners
	n.serving.Unlock()
	for _, r := range runners {
		r.Tell(services)
	}
	for i, rt := range n.cfg.Runtimes {
		if s, ok := rt.(script.Selective); ok {
			services[i].Offers, services[i].Reserved = s.Offers(), s.Reserved()
		}
	}
	return services
}

// known accepts the script types of the seeds and of this node's runtimes:
// a type that only another node serves must be configured here too, so that a
// misspelt one is refused and does not wait for ever.
func (n *Node) known() func(domain.ScriptType) bool {
	types := n.types()
	return func(t domain.ScriptType) bool { return slices.Contains(types, t) }
}

// Name is the node's name: the audience of tokens.
func (n *Node) Name() string { return n.self.Name }

// Board is the board it stands on.
func (n *Node) Board() board.Board { return n.board }

// RunnerID is the id of its runner.
func (n *Node) RunnerID() domain.RunnerID { return n.self.RunnerID }

// Runner is the node's runner, with the script types that it knows, served or not.
func (n *Node) Runner(now time.Time) domain.Runner {
	locked := n.cfg.Encryption.LockedOut()
	return domain.Runner{ID: n.self.RunnerID, Node: n.self.Name, Local: true, Serves: n.offered(), Labels: n.cfg.Labels, Off: n.Duties.Off(),
		Locked: locked[:min(len(locked), maxLocked)], SeenMs: now.UnixMilli()}
}

// Ready reports whether the node takes new work.
func (n *Node) Ready() bool { return !n.draining.Load() }

// Run runs the node with its services until ctx ends or a service fails, then
// drains and returns.
func (n *Node) Run(ctx context.Context, services ...Service) error {
	// The rest outlives ctx: it ends when the runner has drained.
	rest, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	g, rest := errgroup.WithContext(rest)
	for _, s := range services {
		g.Go(func() error { return s(rest) })
	}
	maintenance := clockwork.Config{Owner: n.owner, Logger: n.cfg.Logger, Bans: n.Bans,
		May:   func() (bool, <-chan struct{}) { return n.Duties.May(domain.RoleClockwork) },
		Yield: func() bool { return len(n.cfg.Encryption.Locked()) > 0 }}
	g.Go(func() error { return clockwork.Run(rest, n.board, maintenance, n.maintenance()) })
	if n.cfg.Encryption != nil {
		g.Go(func() error { return n.cfg.Encryption.Run(rest) })
	}
	g.Go(func() error { n.keepRecord(rest); return nil })
	g.Go(func() error { n.followContexts(rest); return nil })
	g.Go(func() error { return n.Bans.Run(rest) })
	g.Go(func() error { return n.Duties.Run(rest) })
	g.Go(func() error {
		n.onDuty(rest, domain.RoleKeeper, func(ctx context.Context) { n.Flows.Keep(ctx, n.owner) })
		return nil
	})
	g.Go(func() error {
		n.onDuty(rest, domain.RoleClockwork, func(ctx context.Context) { n.Work.Check(ctx, n.owner) })
		return nil
	})
	if n.Sagas != nil {
		g.Go(func() error { n.Sagas.KeepMarks(rest); return nil })
	}
	if n.Post != nil {
		g.Go(func() error { n.onDuty(rest, domain.RoleSupervisor, n.supervise); return nil })
	}

	working, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(rest, stop) // a service failed
	g.Go(func() error {
		defer end()
		var drained errgroup.Group
		drained.Go(func() error { return n.serveCircles(working) })
		drained.Go(func() error { return n.serveSagas(working) })
		drained.Go(func() error { return n.serveEffects(working) })
		drained.Go(func() error { return n.serveListeners(working) })
		n.serving.Lock()
		runners, services := n.runners, slices.Clone(n.services)
		n.serving.Unlock()
		for _, r := range runners {
			drained.Go(func() error { return r.Run(working) })
		}
		for i, s := range services {
			if !s.Served {
				drained.Go(func() error { return n.serveRepaired(working, i) })
			}
		}
		<-working.Done()
		n.draining.Store(true)
		return drained.Wait()
	})
	return g.Wait()
}

// recoverLease brings back what a dead node had.
func (n *Node) recoverLease(ctx context.Context, l board.Lease) (bool, error) {
	if n.Post != nil {
		if ours, err := n.Post.RecoverLease(ctx, l); ours || err != nil {
			return ours, err
		}
	}
	if ours, err := n.Circles.RecoverLease(ctx, l); ours || err != nil {
		return ours, err
	}
	if ours, err := n.Flows.RecoverLease(ctx, l); ours || err != nil {
		return ours, err
	}
	return n.Work.RecoverLease(ctx, l)
}

// onDuty does something while this node has the role for it.
func (n *Node) onDuty(ctx context.Context, role domain.Role, do func(context.Context)) {
	for ctx.Err() == nil {
		may, changed := n.Duties.May(role)
		working, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			select {
			case <-changed:
			case <-working.Done():
			}
		}()
		if may {
			do(working)
		}
		<-working.Done()
		stop()
	}
}
