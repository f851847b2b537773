package saga

import (
	"github.com/ramet-run/ramet/tracing"

	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/turns"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/stream"
)

// Config holds what all nodes of a board should agree on.
type Config struct {
	// Names knows the contexts by the names that subjects have. Required.
	Names Names
	// Banned reports whether a saga of a context may take events, and returns a
	// channel that is closed when that may have changed. Default: always.
	Banned func(domain.TenantID, string) (banned bool, changed <-chan struct{})
	// GiveUp ends the command of an effect whose dead letter is dropped: it sees to it
	// that whoever asked for it gets a result. Default: nobody is told.
	GiveUp func(ctx context.Context, tenant domain.TenantID, d *domain.DeadLetter) error
	// Listen has a listener start the flow of an event whose dead letter is replayed.
	// Default: there are no listeners.
	Listen func(ctx context.Context, tenant domain.TenantID, d *domain.DeadLetter) error
	// Passed is told, again and again, why the log is of no more use here: another node has gone
	// on with streams that it refuses. Default: nobody is told.
	Passed func(why error)
	// Retention is how long ended instances stay. Default: 24h.
	Retention time.Duration
	// History is how many lines of an instance's history are kept. Default: 1,000.
	History int
	// Share is how many events of one instance a partition deals with before it looks
	// at those of others that are behind them. Default: 64.
	Share int
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
	// Observer is told what happens, for metrics. Default: nobody.
	Observer Observer
	// Tracer takes the transitions by events that belong to a trace. Default: nobody.
	Tracer *tracing.Tracer
}

// Names knows contexts by the name that subjects and keys have.
type Names interface {
	// TenantByName is the context that a part of a subject names: its number,
	// its alias, or "" for the context of a deployment without tenants.
	//
	// Errors: [domain.ErrNotFound].
	TenantByName(ctx context.Context, name string) (domain.TenantID, error)
	// TenantName is the one name under which a context's sagas are kept.
	TenantName(ctx context.Context, id domain.TenantID) (string, error)
}

// Observer is told what sagas do. Its methods must be quick.
type Observer interface {
	// SagaEvents is told of events that were dealt with in one commit: how many
	// transitions they made, how many were passed over as seen or ignored, and how many
	// their instances laid aside.
	SagaEvents(saga string, transitions, passed, deferred int, took time.Duration)
	// SagaSent is told of work items that have left the outbox.
	SagaSent(kind domain.WorkKind, n int, lag time.Duration)
	// SagaDead is told of a dead letter.
	SagaDead(kind domain.DeadKind)
}

type noObserver struct{}

func (noObserver) SagaEvents(string, int, int, int, time.Duration) {}
func (noObserver) SagaSent(domain.WorkKind, int, time.Duration)    {}
func (noObserver) SagaDead(domain.DeadKind)                        {}

// Engine is what can be done with the sagas of one board. It is safe for
// concurrent use.
type Engine struct {
	board board.Board
	log   stream.Log
	cfg   Config
	text  *slog.Logger
	store *definition.Store
	defs  *machines

	turns turns.Turns // of conditions
	opens turns.Turns // of consumers, each of which is work for a server that all contexts share

	mu      sync.Mutex
	workers map[*Worker]struct{} // those in this process, to be woken

	applying sync.Map // of channels, by context: one definition of a context is applied at a time
}

// New returns the sagas of b, whose events are in log.
func New(b board.Board, log stream.Log, cfg Config) *Engine {
	cfg.Retention = cmp.Or(cfg.Retention, 24*time.Hour)
	cfg.History = cmp.Or(cfg.History, 1_000)
	cfg.Share = cmp.Or(cfg.Share, 64)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	if cfg.Banned == nil {
		cfg.Banned = func(domain.TenantID, string) (bool, <-chan struct{}) { return false, nil }
	}
	if cfg.Passed == nil {
		cfg.Passed = func(error) {}
	}
	if cfg.GiveUp == nil {
		cfg.GiveUp = func(context.Context, domain.TenantID, *domain.DeadLetter) error { return nil }
	}
	e := &Engine{board: b, log: log, cfg: cfg, text: cfg.Logger, store: definition.NewStore(precondition.Over(b)), workers: map[*Worker]struct{}{}}
	e.defs = newMachines(b, e.store)
	return e
}
