package circle

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// Config holds what all nodes of a board should agree on.
type Config struct {
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
	// MaxLosses is how many leases of a task may run out before it ends in
	// error. Default: 5.
	MaxLosses int
	// Timeout bounds the run of a script. Default: 1h.
	Timeout time.Duration
	// ReplyExpiry is how long a reply queue stays after the last reply, for
	// clients that are gone. Default: 5min.
	ReplyExpiry time.Duration
	// Retention is how long ended tasks stay. Default: 24h.
	Retention time.Duration
	// Refuse returns an error where no tasks may be submitted in a context.
	// Default: they may.
	Refuse func(domain.TenantID) error
	// Permit says whether a caller may create work in a context; object is the
	// task's key. A task whose caller may not ends in error when a worker takes
	// it. It is asked for every claim: it answers from memory. Default: all may.
	//
	// Errors: [domain.ErrForbidden].
	Permit func(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, object string) error
	// Named says that a task must name its caller. Without, those that name
	// none, as programs of rhailib write them, are run for whoever can write on
	// the board.
	Named bool
}

// Engine is what can be done with the circles of one board. It is safe for
// concurrent use.
type Engine struct {
	board board.Board
	cfg   Config
	log   *slog.Logger
	// announced is when each circle was put into layout.Circles last, by its ref.
	announced sync.Map
	// swept is when the audit last looked for leftovers, by space.
	swept sync.Map

	mu      sync.Mutex
	workers map[*Worker]struct{} // those in this process, for what is deleted
}

// ref names a circle across contexts.
type ref struct {
	space  board.Space
	circle string
}

// New returns the circles of b.
func New(b board.Board, cfg Config) *Engine {
	cfg.MaxLosses = cmp.Or(cfg.MaxLosses, domain.DefaultLosses)
	cfg.Timeout = cmp.Or(cfg.Timeout, domain.DefaultTimeout*time.Second)
	cfg.ReplyExpiry = cmp.Or(cfg.ReplyExpiry, 5*time.Minute)
	cfg.Retention = cmp.Or(cfg.Retention, 24*time.Hour)
	if cfg.Refuse == nil {
		cfg.Refuse = func(domain.TenantID) error { return nil }
	}
	if cfg.Permit == nil {
		cfg.Permit = func(context.Context, domain.TenantID, domain.ActorID, string) error { return nil }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{board: b, cfg: cfg, log: cfg.Logger, workers: map[*Worker]struct{}{}}
}

// join makes a worker known until the returned function is called.
func (e *Engine) join(w *Worker) (leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workers[w] = struct{}{}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.workers, w)
	}
}

// stopHere stops a task if it runs in this process.
func (e *Engine) stopHere(space board.Space, key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.workers {
		if x, found := w.runner.Find(space, key); found {
			x.Stop(script.ErrLost)
		}
	}
}
