package work

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/script"
)

// RunnerConfig says what a runner serves and how.
type RunnerConfig struct {
	// ID is the runner's id; its own queues are queue:<type>:runner<id>.
	ID domain.RunnerID
	// Owner is written on leases. It must differ for each life of the process.
	Owner string
	// Runtimes are what it serves, one queue each.
	Runtimes []script.Runtime
	// Slots overrides how many scripts of a type run at once.
	// Default: what the runtime says.
	Slots map[domain.ScriptType]int
	// PerContext overrides how many slots of a type one context may hold at once.
	// Default: all but one where there are several contexts, else all.
	PerContext map[domain.ScriptType]int
	// Several reports whether there are several contexts. It is asked at each
	// claim: it answers from memory. Default: there are not.
	Several func() bool
	// Aging is how much longer a job must have waited to go before one of the next
	// higher priority. Default: a minute; less than 0: priorities do not age.
	Aging time.Duration
	// Lease is the length of a lease. Default: [domain.DefaultLease].
	Lease time.Duration
	// Grace is how long running jobs may go on when the runner is told to
	// stop; then they go back to the queue. Default: [domain.DefaultGrace].
	Grace time.Duration
	// StopGrace is the time between SIGTERM and SIGKILL. Default:
	// [script.DefaultGrace].
	StopGrace time.Duration
	// Limits bound every script.
	Limits script.Limits
	// May reports whether the runner may take work, and returns a channel that
	// is closed when that changes. What runs goes on. Default: always.
	May func() (may bool, changed <-chan struct{})
	// Labels are those of the node: jobs that ask for them come here.
	Labels domain.Labels
	// HealthChanged is told when scripts of a type cannot be started any more, or can be
	// again; see [Runner.Tell]. It must be quick. Default: nobody.
	HealthChanged func()
}

// Runner leases jobs and runs them.
type Runner struct {
	e        *Engine
	cfg      RunnerConfig
	log      *slog.Logger
	claimers []*claimer
	items    *lease.Runner[*run]
}

// NewRunner returns a runner on the engine's board.
func NewRunner(e *Engine, cfg RunnerConfig) *Runner {
	cfg.Aging = max(cmp.Or(cfg.Aging, time.Minute), 0)
	cfg.Lease = cmp.Or(cfg.Lease, domain.DefaultLease)
	cfg.StopGrace = cmp.Or(cfg.StopGrace, script.DefaultGrace)
	r := &Runner{e: e, cfg: cfg, log: e.log, items: lease.NewRunner(lease.RunnerConfig[*run]{
		Config: lease.Config[*run]{Board: e.board, Owner: cfg.Owner, Length: cfg.Lease, Lost: script.ErrLost, Cancelled: script.ErrCancelled,
			Context: script.WithLook, Renewed: func(ctx context.Context, x *run) { x.saveCheckpoint(ctx) }, What: "jobs", Log: e.log},
		Grace: cfg.Grace, StopGrace: cfg.StopGrace, Draining: script.ErrDraining})}
	for _, rt := range cfg.Runtimes {
		info := rt.Info()
		slots := cmp.Or(cfg.Slots[rt.Type()], info.Slots, 1)
		l := newClaimer(r, rt, info, slots)
		l.items = r.items.Serve(l, slots)
		r.claimers = append(r.claimers, l)
	}
	return r
}

// Run leases and runs jobs until ctx ends; then it takes no more, lets running
// jobs go on for Grace, gives back those that have not ended, and returns. It
// is called once.
//
// Errors: [domain.ErrUnavailable] when the board did not answer, so that jobs
// in hand could not be given back.
func (r *Runner) Run(ctx context.Context) error {
	defer r.join()()
	left := r.items.Run(ctx, r.followers()...)
	for _, x := range left.Stuck {
		r.log.Error("script does not stop; another node may run it when its lease has run out", "job", x.Claimed.Item,
			"context", uint32(x.Claimed.Space), "script_type", string(x.claimer.typ))
	}
	if left.Gone {
		return domain.Unavailablef("the board does not answer: %d job(s) in hand were not given back; they go on when their leases have run out", left.Items)
	}
	return nil
}

// may reports whether the runner may take work now.
func (r *Runner) may() (bool, <-chan struct{}) {
	if r.cfg.May == nil {
		return true, nil
	}
	return r.cfg.May()
}

// join makes the runner known to its engine until the returned function is
// called.
func (r *Runner) join() (leave func()) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	r.e.runners[r] = struct{}{}
	return func() {
		r.e.mu.Lock()
		defer r.e.mu.Unlock()
		delete(r.e.runners, r)
	}
}

// stopMemory is how long a cancel is remembered that met no run in this
// process: far longer than it takes from a claim to its run.
const stopMemory = time.Minute

// stopHere tells a job to stop if it runs in this process, and reports whether it does. One that
// was leased a moment ago may not be there yet; then stopLate does it.
func (e *Engine) stopHere(space board.Space, key domain.JobKey, attempt int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.runners {
		if x, found := r.items.Find(space, key.String()); found {
			x.Stop(script.ErrCancelled)
			return true
		}
	}
	if len(e.runners) == 0 {
		return false
	}
	where, now := ref{space, key}, time.Now()
	for old, mark := range e.stops {
		if now.Sub(mark.at) > stopMemory {
			delete(e.stops, old)
		}
	}
	e.stops[where] = stopMark{attempt, now}
	return false
}

// stopMark is a cancel that met no run in this process.
type stopMark struct {
	attempt int64
	at      time.Time
}

// stopLate stops those of the runs, now known, whose cancel came before.
func (e *Engine) stopLate(runs []*run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.stops) == 0 {
		return
	}
	for _, x := range runs {
		if mark, ok := e.stops[x.ref()]; ok && mark.attempt == x.Claimed.Token {
			delete(e.stops, x.ref())
			x.Stop(script.ErrCancelled)
		}
	}
}
