package circle

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/script"
)

// WorkerConfig says which circles a worker serves and how.
type WorkerConfig struct {
	// Circles are those it serves. Required.
	Circles []domain.ServedCircle
	// Runtime runs the scripts; it is one inside the process. Required.
	Runtime script.Runtime
	// Owner is written on leases. It must differ for each life of the process.
	Owner string
	// Slots is how many scripts run at once, of all circles together; each gets
	// its share, one at least, so that none can starve another. Default: what
	// the runtime says.
	Slots int
	// Lease is the length of a lease. Default: [domain.DefaultLease].
	Lease time.Duration
	// Grace is how long running scripts may go on when the worker is told to
	// stop; then their tasks go back. Default: [domain.DefaultGrace].
	Grace time.Duration
	// Limits bound every script.
	Limits script.Limits
	// May reports whether the worker may take tasks, and returns a channel that
	// is closed when that changes. What runs goes on. Default: always.
	May func() (may bool, changed <-chan struct{})
	// Banned is the same for one context, and counts also for what was taken a
	// moment ago. Default: never.
	Banned func(domain.TenantID) (banned bool, changed <-chan struct{})
	// Observer is told what happens, for metrics. Default: nobody.
	Observer Observer
}

// Observer is told what a worker does. Its methods must be quick.
type Observer interface {
	// TaskEnded is told of the end of a task, and how long it took from the
	// lease on.
	TaskEnded(circle string, status domain.TaskStatus, took time.Duration)
}

// Worker leases tasks and runs them.
type Worker struct {
	e      *Engine
	cfg    WorkerConfig
	log    *slog.Logger
	runner *lease.Runner[*run]
}

// NewWorker returns a worker on the engine's board.
func NewWorker(e *Engine, cfg WorkerConfig) *Worker {
	cfg.Lease = cmp.Or(cfg.Lease, domain.DefaultLease)
	if cfg.May == nil {
		cfg.May = func() (bool, <-chan struct{}) { return true, nil }
	}
	if cfg.Banned == nil {
		cfg.Banned = func(domain.TenantID) (bool, <-chan struct{}) { return false, nil }
	}
	w := &Worker{e: e, cfg: cfg, log: e.log, runner: lease.NewRunner(lease.RunnerConfig[*run]{
		Config: lease.Config[*run]{Board: e.board, Owner: cfg.Owner, Length: cfg.Lease, Abandons: true,
			Lost: script.ErrLost, Cancelled: script.ErrCancelled, Context: script.WithLook, What: "tasks", Log: e.log},
		Grace: cfg.Grace, Draining: script.ErrDraining})}
	slots := cmp.Or(cfg.Slots, cfg.Runtime.Info().Slots)
	for _, c := range cfg.Circles {
		w.runner.Serve(newClaimer(w, c), max(1, slots/len(cfg.Circles)))
	}
	return w
}

// Run leases and runs tasks until ctx ends; then it takes no more, lets running
// scripts go on for Grace, gives back what has not ended, and returns. It is
// called once.
//
// Errors: [domain.ErrUnavailable] when tasks in hand could not be given back;
// they go on when their leases have run out.
func (w *Worker) Run(ctx context.Context) error {
	defer w.e.join(w)()
	w.announce(ctx)
	if left := w.runner.Run(ctx); left.Items > 0 {
		return domain.Unavailablef("%d task(s) of circles in hand were not given back; they go on when their leases have run out", left.Items)
	}
	return nil
}

// announce lets people see the circles that are served, also empty ones.
func (w *Worker) announce(ctx context.Context) {
	for _, c := range w.cfg.Circles {
		b := board.Batch{Space: layout.SpaceOf(c.Context)}
		b.Include(layout.Circles, c.Name)
		if err := w.e.board.Commit(ctx, b); err != nil && ctx.Err() == nil {
			w.log.Warn("circle not announced; it is served all the same", "circle", c.Name, "context", uint32(c.Context), "err", err)
		}
	}
}
