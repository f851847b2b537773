package flow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/turns"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/tracing"
	"github.com/ramet-run/ramet/work"
)

// Blueprints are those that are stored.
type Blueprints interface {
	// Get returns one of a context's blueprints, with a hash of its content;
	// version 0 is the newest. What it returns is not changed.
	//
	// Errors: [domain.ErrNotFound].
	Get(ctx context.Context, tenant domain.TenantID, name string, version int) (b domain.Blueprint, hash string, err error)
}

// Names are the business names of flows that have left the board.
type Names interface {
	Holder(ctx context.Context, name archive.Name) (key string, err error)
}

// Bans say what may not be done now, and why.
type Bans interface {
	Submit(t domain.TenantID, blueprint string, typ domain.ScriptType) error
	Create(t domain.TenantID, blueprint string, id domain.FlowID) error
}

// Stored are the blueprints of a store.
func Stored(s *blueprint.Store) Blueprints { return store{s} }

type store struct{ *blueprint.Store }

// Get implements [Blueprints].
func (s store) Get(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.Blueprint, string, error) {
	b, err := s.Store.Get(ctx, tenant, name, version)
	return b.Blueprint, b.Hash, err
}

// Config holds what all nodes of a board should agree on.
type Config struct {
	// Blueprints are asked for those that a request names. Default: there are none.
	Blueprints Blueprints
	// Names is the archive. Default: there is none.
	Names Names
	// Records are those of the archive: flows that have left the board can be
	// started again from there. Default: they cannot.
	Records Records
	// Hooks are those of a context, for flows whose blueprint has none for something; it
	// is asked at each end of a flow, and must be quick. Default: there are none.
	Hooks func(context.Context, domain.TenantID) (*domain.Hooks, error)
	// Bans are asked before a flow or a job is made. Default: nothing is banned.
	Bans Bans
	// Lease is how long a keeper has a flow unless it renews: what a flow waits
	// whose node dies. Default: [domain.DefaultLease].
	Lease time.Duration
	// PublicURL is where people reach this node, for links in notices. Default: there are
	// none.
	PublicURL string
	// Observer is told what happens, for metrics. Default: nobody.
	Observer Observer
	// Tracer takes the flows that belong to a trace. Default: nobody.
	Tracer *tracing.Tracer
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
}

// Observer is told what keepers do. Its methods must be quick.
type Observer interface {
	// FlowsMade is told of flows that were made, once they are durable.
	FlowsMade(n int)
	// FlowEnded is told of the end of each flow, once it is durable, and how long it
	// took; 0 is that it never started.
	FlowEnded(reason domain.FlowReason, took time.Duration)
}

// nobody is an observer that does not care.
type nobody struct{}

func (nobody) FlowsMade(int)                              {}
func (nobody) FlowEnded(domain.FlowReason, time.Duration) {}

// Engine makes flows and lets them go on. It is safe for concurrent use.
type Engine struct {
	board board.Board
	work  *work.Engine
	cfg   Config
	log   *slog.Logger

	mu    sync.Mutex
	plans map[string]*Plan // by the hash of their text; any may be forgotten
	steps int              // of all these
	// prepared are stored blueprints by context, name, version and hash.
	prepared map[string]*prepared
	turns    turns.Turns

	spread spreading

	eval func(ctx context.Context, text string, params map[string]string, needs map[string]needed) WhenAnswer
}

// ref names a flow across contexts.
type ref struct {
	space board.Space
	id    domain.FlowID
}

func refOf(tenant domain.TenantID, id domain.FlowID) ref { return ref{layout.SpaceOf(tenant), id} }

// New returns an engine on b, whose jobs w runs.
func New(b board.Board, w *work.Engine, cfg Config) *Engine {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	if cfg.Names != nil {
		cfg.Names = boundNames{cfg.Names}
	}
	if cfg.Records != nil {
		cfg.Records = boundRecords{cfg.Records}
	}
	cfg.Lease = cmp.Or(cfg.Lease, domain.DefaultLease)
	e := &Engine{board: b, work: w, cfg: cfg, log: cfg.Logger, plans: map[string]*Plan{}, prepared: map[string]*prepared{}, eval: evalWhen,
		spread: spreading{whole: wholeSteps, record: recordSteps, commit: commitSteps}}
	w.Ends(work.EndedKind{Prefix: layout.FlowPrefix, Status: layout.FlowStatus, EndedMs: layout.FlowFinishedMs, Stale: layout.FlowStale,
		Final: func(status string) bool { return domain.FlowStatus(status).Final() }, Remove: e.pruneEntry})
	w.CallsFlows(e)
	return e
}

// maxPlans bounds the plans in memory, maxPlanSteps the steps of those that flows run by:
// each is about a kilobyte.
const (
	maxPlans     = 1000
	maxPlanSteps = 3 * domain.MaxFlowSteps
)

// plan returns the plan of a flow of steps, whose text has that hash.
func (e *Engine) plan(ctx context.Context, p ref, hash string) (*Plan, error) {
	e.mu.Lock()
	known := e.plans[hash]
	e.mu.Unlock()
	if known != nil {
		return known, nil
	}
	text, err := e.planText(ctx, p)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, domain.NotFoundf("flow %d has no blueprint on the board of context %d", p.id, p.space)
	}
	b, err := decodePlan(text)
	if err != nil {
		return nil, err
	}
	plan := NewPlan(b)
	e.keepPlan(hash, plan)
	return plan, nil
}

func (e *Engine) keepPlan(hash string, plan *Plan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.plans[hash] != nil {
		return
	}
	if len(e.plans) >= maxPlans || e.steps+len(plan.Steps) > maxPlanSteps {
		clear(e.plans)
		e.steps = 0
	}
	e.plans[hash] = plan
	e.steps += len(plan.Steps)
}

// load reads a flow.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) load(ctx context.Context, p ref) (domain.Flow, error) {
	key := domain.FlowKey(p.id)
	recs, err := e.board.Get(ctx, p.space, key)
	if errors.Is(err, domain.ErrInvalid) {
		return domain.Flow{}, missing(p) // a list, say, of a foreign program
	}
	if err != nil {
		return domain.Flow{}, err
	}
	if recs[0] == nil {
		return domain.Flow{}, missing(p)
	}
	f, err := layout.DecodeFlow(key, recs[0])
	f.ID = p.id
	return f, err
}

func missing(p ref) error {
	return domain.NotFoundf("flow %d does not exist in context %d", p.id, p.space)
}

// wake adds to b that the keeper looks at a flow.
func wake(b *board.Batch, id domain.FlowID) {
	b.Countdown(layout.FlowWaits(id), layout.WaitsArmed, queue.Keeper, layout.FlowState(id))
}
