package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/telemetry"
	"github.com/ramet-run/ramet/work"
)

// Config says who a node is and what it does.
type Config struct {
	// Name is the node's name on the board. Default: what its data folder
	// remembers, at first the host's name.
	Name string
	// Board names the board, for people, without secrets. Default: it is not told.
	Board string
	// RunnerID is its runner's id. Default: remembered, at first the next free.
	RunnerID domain.RunnerID
	// Version is the program's, and Host the machine's name: by them rules take
	// roles from nodes. Default: unknown; what the machine says.
	Version, Host string
	// Labels say what the node is, for jobs that ask for them.
	Labels domain.Labels
	// DataDir holds the contexts' files. Required; made if it is not there.
	DataDir string
	// Runtimes are what its runner serves; those whose check fails are shown
	// but not served. None: the node has no runner.
	Runtimes []script.Runtime
	// Inspected is what was found of Runtimes. Default: New inspects them.
	Inspected *Inspection
	// Slots overrides how many scripts of a type run at once.
	Slots map[domain.ScriptType]int
	// SlotsPerContext overrides how many of them one context may hold. Default:
	// all but one where there are several contexts.
	SlotsPerContext map[domain.ScriptType]int
	// PriorityAging is how much longer a job must have waited to go before one of the
	// next higher priority. Default: a minute; less than 0: priorities do not age.
	PriorityAging time.Duration
	// Limits bound every script. Default: the runtimes'.
	Limits script.Limits
	// Lease is the length of a job's lease, and after what silence the commands
	// of effects that the node has in hand go to others. Default:
	// [domain.DefaultLease].
	Lease time.Duration
	// Grace is how long running jobs may go on at the end. Default:
	// [domain.DefaultGrace].
	Grace time.Duration
	// MaxLosses, Timeout, LogBytes: see work.Config.
	MaxLosses int
	Timeout   time.Duration
	LogBytes  int
	// KeepFailedFiles is how long folders of failed attempts stay. Default: 24h.
	KeepFailedFiles time.Duration
	// Retention is how long ended jobs stay on the board. Default: 24h.
	Retention time.Duration
	// Permit is asked before schedules and routines make work, and before each
	// job and each task of a circle that names its caller is run. Default: all may.
	Permit Permit
	// Isolation is how far a context wants its scripts held in at the least; see
	// work.Config. Default: as far as the node does.
	Isolation func(ctx context.Context, tenant domain.TenantID) (domain.Isolation, error)
	// Egress connects to addresses that jobs name as prerequisites. Default: to
	// public ones.
	Egress *egress.Dialer
	// Foreign says that foreign programs may write on the board, past this node.
	Foreign bool
	// Disk is what its data lies on; a nearly full one takes nothing in. Default: nobody
	// watches it.
	Disk *Disk
	// Taken tells of queues that foreign runners pop from on the store itself; see
	// [work.Engine.FollowTaken]. Default: there are none.
	Taken func(ctx context.Context) (<-chan board.Event, error)
	// Blueprints are those that flows can be made from by name. Default: none.
	Blueprints flow.Blueprints
	// Archive takes what has ended, before it may leave the board; it stays the
	// caller's to close. Default: this node archives nothing.
	Archive archive.Archive
	// Archives is what of a context goes there. Default: all.
	Archives func(ctx context.Context, tenant domain.TenantID) (domain.Archives, error)
	// ArchiveRetention is how long records stay in it. Default: 90 days.
	ArchiveRetention time.Duration
	// ArchiveBacklog bounds what waits for it; see work.Config.
	ArchiveBacklog int
	// Encryption has the keys of encrypted contexts; board and archive are wrapped
	// already. Default: there are none.
	Encryption *encryption.Keys
	// Circles are those it serves. Default: none.
	Circles CirclesConfig
	// Post says how messages are sent. Default: this node sends none.
	Post PostConfig
	// Sagas says how sagas and effects are served. Default: they are not.
	Sagas SagasConfig
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, domain.DefaultLease)
	c.Grace = cmp.Or(c.Grace, domain.DefaultGrace)
	c.KeepFailedFiles = cmp.Or(c.KeepFailedFiles, 24*time.Hour)
	c.Retention = cmp.Or(c.Retention, 24*time.Hour)
	c.ArchiveRetention = cmp.Or(c.ArchiveRetention, 90*24*time.Hour)
	if c.Permit == nil {
		c.Permit = func(context.Context, domain.TenantID, domain.ActorID, string) error { return nil }
	}
	if c.Host == "" {
		c.Host, _ = os.Hostname() // "" matches few rules
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

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
	Routines *clockwork.UserRoutines
	// Bulks are the operations that are done to many things.
	Bulks *bulk.Engine
	// Post sends and receives messages; nil where the node has none.
	Post *post.Engine
	// Sagas and Effects are nil where the node has no streams.
	Sagas   *saga.Engine
	Effects *effect.Worker
	Metrics *telemetry.Metrics

	cfg      Config
	board    board.Board
	self     self
	owner    string
	began    time.Time
	worker   *circle.Worker // nil where it serves no circles
	sagas    *saga.Worker   // nil where it serves none
	draining atomic.Bool
	several  atomic.Bool   // there are several contexts
	repaired chan struct{} // told when a runtime works that did not, or does not any more; capacity 1

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
	n := &Node{cfg: cfg, board: b, self: who, Metrics: telemetry.NewMetrics(), began: time.Now(), owner: who.Name + "/" + rand.Text()[:8],
		repaired: make(chan struct{}, 1)}
	n.Metrics.ShowLateness(n.lateness)
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
		Logger: cfg.Logger, MaxLosses: cfg.MaxLosses, Timeout: cfg.Timeout, LogBytes: cfg.LogBytes,
		Traceless: cfg.Encryption.Encrypts, DataDir: cfg.DataDir, Served: n.known(), Bans: n.Bans, Remote: n.checkPlace(), Egress: cfg.Egress, Permit: cfg.Permit,
		Isolation: cfg.Isolation, Limits: cfg.Limits, Foreign: cfg.Foreign, ArchiveBacklog: cfg.ArchiveBacklog,
	})
	n.Bulks = bulk.New(b)
	n.Routines = clockwork.NewUserRoutines(precondition.Over(b), permittedJobs{n.Work, n.mayMake}, n.Bans)
	flows := flow.Config{Blueprints: cfg.Blueprints, Bans: n.Bans, Lease: cfg.Lease, Observer: n.Metrics, Logger: cfg.Logger}
	if cfg.Archive != nil {
		flows.Names, flows.Records = cfg.Archive, cfg.Archive
	}
	n.Flows = flow.New(b, n.Work, flows)
	n.Schedules = clockwork.NewSchedules(precondition.Over(b), permittedFlows{n.Flows, n.mayMake}, cfg.Logger)
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
	return n, nil
}

// newRunner makes a runner of runtimes that work.
func (n *Node) newRunner(runtimes ...script.Runtime) *work.Runner {
	return work.NewRunner(n.Work, work.RunnerConfig{
		ID: n.self.RunnerID, Owner: n.owner, Runtimes: runtimes, Slots: n.cfg.Slots, PerContext: n.cfg.SlotsPerContext, Several: n.several.Load,
		Aging: n.cfg.PriorityAging, Lease: n.cfg.Lease,
		Grace: n.cfg.Grace, Limits: n.cfg.Limits, Observer: n.Metrics,
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
	types := map[domain.ScriptType]bool{}
	for _, t := range domain.ScriptTypes {
		types[t] = true
	}
	for _, rt := range n.cfg.Runtimes {
		types[rt.Type()] = true
	}
	return func(t domain.ScriptType) bool { return types[t] }
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
	routines := clockwork.Config{Owner: n.owner, Logger: n.cfg.Logger, Bans: n.Bans,
		May:   func() (bool, <-chan struct{}) { return n.Duties.May(domain.RoleClockwork) },
		Yield: func() bool { return len(n.cfg.Encryption.Locked()) > 0 }}
	g.Go(func() error { return clockwork.Run(rest, n.board, routines, n.routines()) })
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

// routines are what this node is ready to do for the whole board.
func (n *Node) routines() []clockwork.Routine {
	log := n.cfg.Logger
	list := []clockwork.Routine{
		clockwork.Alarms(n.board, log, clockwork.Handlers(n.handlePostAlarm, n.handleSagaAlarm, n.Work.HandleAlarm, n.Flows.HandleAlarm,
			n.Schedules.HandleAlarm, ban.New(n.board).HandleAlarm, n.Routines.HandleAlarm, n.Bulks.HandleAlarm), n.Metrics.AlarmHandled),
		clockwork.Leases(n.board, log, n.recoverLease),
		clockwork.Audits(n.board, n.Work, n.auditors(), log, func(t domain.TenantID, a domain.Audit) {
			n.Metrics.Audited(t, len(a.Repaired), len(a.Stuck))
		}),
		clockwork.Prunes(n.board, n.Work, n.cfg.Retention),
	}
	if n.cfg.Foreign {
		list = append(list, clockwork.Visits("foreign flows", foreignEvery, n.board, func(ctx context.Context, t domain.TenantID) error {
			_, err := n.Flows.FindForeign(ctx, t)
			return err
		}))
	}
	if n.cfg.Taken != nil {
		list = append(list, clockwork.Routine{Name: "foreign runners", Round: func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			taken, err := n.cfg.Taken(ctx)
			if err != nil {
				return err
			}
			return n.Work.FollowTaken(ctx, taken)
		}})
	}
	if n.cfg.Encryption != nil {
		list = append(list, clockwork.Routine{
			Name: "encryption", Every: sweepEvery, Wanted: n.cfg.Encryption.Unswept,
			Round: func(ctx context.Context) error { return n.cfg.Encryption.Sweep(ctx, time.Now()) },
		})
	}
	if n.cfg.Archive != nil {
		list = append(list, clockwork.Archives(n.board, n.Work, clockwork.ArchiverConfig{
			Archive: n.cfg.Archive, Flows: n.Flows, Keep: n.cfg.ArchiveRetention, Logger: log, Observer: n.Metrics,
			Choice: n.cfg.Archives,
		}))
	}
	return list
}

// foreignEvery is how often flows of foreign programs are looked for that have
// queued none of their jobs; those that have are found at once.
const foreignEvery = time.Minute

// sweepEvery is how often contexts are looked for whose encryption has changed.
const sweepEvery = 5 * time.Second

// recordEvery is how often the node says that it is alive.
const recordEvery = domain.NodeSilence / 3

// maxLocked is how many contexts a runner's record names whose keys are not to be
// had: it is written every few seconds.
const maxLocked = 100

// keepRecord keeps the runner's record, so that others see what is served,
// and removes old folders: both are this node's own business.
func (n *Node) keepRecord(ctx context.Context) {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	cleared := time.Time{}
	for {
		now, locks := time.Now(), n.cfg.Encryption.Changed()
		_ = n.cfg.Disk.Intake() // so that its log says when there is room again, though nobody asks
		if err := n.writeRecord(ctx, now); err != nil && ctx.Err() == nil {
			n.cfg.Logger.Warn("runner record not written", "err", err)
		}
		if now.Sub(cleared) > time.Hour {
			cleared = now
			if _, err := n.Work.ClearFolders(n.cfg.KeepFailedFiles, now); err != nil {
				n.cfg.Logger.Warn("old job folders not removed", "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-n.Duties.Changed():
		case <-n.repaired:
		case <-locks:
		case <-ctx.Done():
			n.sayGoodbye(context.WithoutCancel(ctx))
			return
		}
	}
}

// sayGoodbye lets others have the name at once, and tells that the runner has stopped:
// nobody need look for it.
func (n *Node) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := n.self.sign(ctx, n.board, n.self.ID, 0); err != nil {
		n.cfg.Logger.Debug("name not given back; it is free after a while", "err", err)
		return
	}
	key := layout.Runner(n.self.RunnerID)
	var b board.Batch
	b.Equal(key, layout.RunnerNode, n.self.Name).Unset(key, layout.RunnerSeen)
	if err := n.board.Commit(ctx, b); err != nil {
		n.cfg.Logger.Debug("runner not marked as stopped; others see that after a while", "err", err)
	}
}

// countContexts looks whether there are several, on which it hangs how many slots
// one of them may hold.
func (n *Node) countContexts(ctx context.Context) error {
	some, err := n.board.Members(ctx, 0, layout.Contexts, "", 2)
	if err == nil {
		n.several.Store(len(some) > 1)
	}
	return err
}

// followContexts counts them until there are several: they are never fewer again.
func (n *Node) followContexts(ctx context.Context) {
	for ctx.Err() == nil && !n.several.Load() {
		if err := n.untilSeveral(ctx); err != nil && ctx.Err() == nil {
			n.cfg.Logger.Debug("contexts not counted", "err", err)
			select {
			case <-time.After(recordEvery):
			case <-ctx.Done():
			}
		}
	}
}

// untilSeveral returns when there are several, or with an error.
func (n *Node) untilSeveral(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := n.board.Watch(ctx, 0, layout.Contexts)
	if err != nil {
		return err
	}
	for {
		if err := n.countContexts(ctx); err != nil || n.several.Load() {
			return err
		}
		if _, open := <-events; !open {
			return domain.Unavailablef("the watch of contexts has ended")
		}
	}
}

func (n *Node) writeRecord(ctx context.Context, now time.Time) error {
	about := domain.Node{Version: n.cfg.Version, Host: n.cfg.Host, RunnerID: n.self.RunnerID, Durability: string(n.board.Durability()),
		Labels: n.cfg.Labels, Circles: n.cfg.Circles.Served, Effects: n.ServedEffects(), Off: n.Duties.Off(), StartedMs: n.began.UnixMilli()}
	fields := append(layout.EncodeNode(about), n.postFields()...)
	if err := n.self.stay(ctx, n.board, now, fields...); err != nil {
		return err
	}
	if err := n.self.ownsRunner(ctx, n.board, now); err != nil {
		return err
	}
	key := layout.Runner(n.self.RunnerID)
	recs, err := n.board.Get(ctx, 0, key)
	if err != nil {
		return err
	}
	// What a person wrote there (a bus key, an address) stays.
	r, err := layout.DecodeRunner(key, recs[0])
	if err != nil {
		return err
	}
	was, is := r.Node, n.Runner(now)
	r.ID, r.Node, r.Local, r.Serves, r.Labels = is.ID, is.Node, is.Local, is.Serves, is.Labels
	r.Off, r.Locked, r.SeenMs = is.Off, is.Locked, is.SeenMs
	r.Topic = cmp.Or(r.Topic, r.ID.DefaultTopic())
	if n.Post != nil {
		r.Pubkey = cmp.Or(r.Pubkey, n.Post.Node())
		r.Address = cmp.Or(r.Address, string(domain.NodeAddress(n.Post.Node())))
	}
	var b board.Batch
	b.Unset(key, layout.RunnerOff, layout.RunnerLabels, layout.RunnerLocked) // and what of them there is, anew
	b.Equal(key, layout.RunnerNode, was).Set(key, layout.EncodeRunner(r.Touched(now))...)
	return n.board.Commit(ctx, b)
}
