package work

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/tracing"
)

// Config holds what all nodes of a board should agree on.
type Config struct {
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
	// Tracer takes the attempts at jobs that belong to a trace. Default: nobody.
	Tracer *tracing.Tracer
	// MaxLosses is how many leases of a job may run out before it ends as
	// runner_lost. Default: 5.
	MaxLosses int
	// EffectKind is the kind of an effect that a node here has, "" for others. Of a job
	// that calls one which only waits, no lost node is counted. It answers from
	// memory. Default: what the job itself says.
	EffectKind func(effect string) domain.EffectKind
	// Timeout is for jobs that name none. Default: 1h.
	Timeout time.Duration
	// RetryMin and RetryMax bound the exponential back-off between attempts.
	// Default: 1s, 5min.
	RetryMin, RetryMax time.Duration
	// LogBytes is how much log a job may leave. Default: 1 MiB.
	LogBytes int
	// DataDir is where contexts have their files; prerequisites of kind file
	// are looked up there. Default: none, such prerequisites are never met.
	DataDir string
	// Traceless reports whether nothing of a context's runs may stay in files:
	// then folders of failed attempts go as those of others do. Default: none.
	Traceless func(domain.TenantID) bool
	// Artifacts is where files are kept that jobs leave. Default: nowhere, jobs that leave
	// some are refused.
	Artifacts artifact.Store
	// ArtifactBytes is how much the jobs of one context may leave together. Default: 10
	// GiB; below zero there is no bound.
	ArtifactBytes int64
	// Limits bound what folders of failed attempts hold, those of one context
	// together, as they bound each work folder. Default: as of a script.
	Limits script.Limits
	// Served reports whether somebody is known to serve a script type;
	// Submit refuses other types. Default: every well-formed type is accepted.
	Served func(domain.ScriptType) bool
	// Remote says whether a caller's jobs can be sent to a place. Default: no
	// job can.
	//
	// Errors: [domain.ErrInvalid].
	Remote func(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, at string) error
	// Foreign says that other programs write jobs on the board, past its nodes.
	Foreign bool
	// Egress connects to addresses that jobs name as prerequisites. Default: to
	// public ones.
	Egress *egress.Dialer
	// LookTime bounds one look at such an address. Default: 5s.
	LookTime time.Duration
	// Permit says whether an actor may create work in a context; object is what
	// for. A job whose caller may not when a runner takes it ends as invalid,
	// whoever queued it. It is asked for every claim: it answers from memory.
	// Default: all may.
	//
	// Errors: [domain.ErrForbidden].
	Permit func(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, object string) error
	// Isolation is how far a context wants its scripts held in at the least. A
	// runner leaves its jobs to others where that cannot be had. It is asked for
	// every claim: it answers from memory. Default: as far as the runtimes do.
	Isolation func(ctx context.Context, tenant domain.TenantID) (domain.Isolation, error)
	// Secrets gives the secrets of a context that its jobs name. Default: there are none.
	//
	// Errors: [domain.ErrNotFound] and [domain.ErrInvalid] for one that cannot be had, with
	// what to do.
	Secrets Secrets
	// Bans are asked before a job is submitted, claimed or run. Default: none.
	Bans *ban.Cache
	// ArchiveBacklog is from how many ends that wait for the archive on a context has
	// no [Engine.Room]. Default: 5,000,000; below zero there is no bound.
	ArchiveBacklog int
	// WaitingJobs is from how many jobs and flows that have not ended on a context gets no
	// more; see [Engine.Waiting]. Default: 5,000,000; below zero there is no bound.
	WaitingJobs int
	// Observer is told what happens, for metrics. Default: nobody.
	Observer Observer
}

// Engine is the job engine on one board. It is safe for concurrent use.
type Engine struct {
	board board.Board
	cfg   Config
	log   *slog.Logger
	bans  *ban.Cache

	reach  *reach
	turns  lookTurns
	flows  knownFlows
	kept   kept
	unkept *unkept
	rooms  rooms
	waits  waitings
	crowds crowds
	// endedKinds are the kinds of work that end beside jobs; see [Engine.Ends].
	endedKinds []EndedKind
	// announced are each [announcement] known to be in layout.Affinities.
	announced sync.Map
	// choosers are each [chooser] known to be in layout.Choosers.
	choosers sync.Map
	// types are the [contextTypes] of spaces.
	types   sync.Map
	retired sync.Map // of instants, by [typeSet]: when it was looked through last
	workers workerCache
	read    sync.Map // the [lastWorkers] of spaces
	// sessions are how far attempts of workers have come in what their jobs remember.
	sessions  sessions
	times     attemptTimes // of attempts of workers
	callFlows Flows        // that scripts call; nil: none

	mu      sync.Mutex
	runners map[*Runner]struct{} // those in this process, for cancel at once
	stops   map[ref]stopMark     // cancels that came before their run was known
}

// ref names a job across contexts.
type ref struct {
	space board.Space
	key   domain.JobKey
}

// New returns an engine on b.
func New(b board.Board, cfg Config) *Engine {
	cfg.MaxLosses = cmp.Or(cfg.MaxLosses, domain.DefaultLosses)
	cfg.Timeout = cmp.Or(cfg.Timeout, domain.DefaultTimeout*time.Second)
	cfg.RetryMin = cmp.Or(cfg.RetryMin, time.Second)
	cfg.RetryMax = cmp.Or(cfg.RetryMax, 5*time.Minute)
	cfg.LogBytes = cmp.Or(cfg.LogBytes, 1<<20)
	cfg.LookTime = cmp.Or(cfg.LookTime, reachTime)
	cfg.ArchiveBacklog = cmp.Or(cfg.ArchiveBacklog, DefaultArchiveBacklog)
	cfg.WaitingJobs = cmp.Or(cfg.WaitingJobs, DefaultWaitingJobs)
	cfg.ArtifactBytes = cmp.Or(cfg.ArtifactBytes, DefaultArtifactBytes)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	if cfg.Egress == nil {
		cfg.Egress = egress.NewDialer(egress.Public())
	}
	return &Engine{board: b, cfg: cfg, log: cfg.Logger, bans: cfg.Bans, reach: newReach(cfg.Egress, cfg.LookTime),
		unkept:  newUnkept(),
		kept:    kept{limits: cfg.Limits.WithDefaults(script.Limits{}), contexts: map[domain.TenantID]*leftovers{}},
		runners: map[*Runner]struct{}{}, stops: map[ref]stopMark{}, rooms: rooms{known: map[domain.TenantID]room{}},
		endedKinds: []EndedKind{endedMessages}}
}

// Ends tells of a kind of work that has entries among those of ended jobs: Prune
// removes it as it says. It is called before anything runs.
func (e *Engine) Ends(k EndedKind) { e.endedKinds = append(e.endedKinds, k) }

// jobItem reads an item of a queue, a list or a lease as a job's key, in the
// one spelling that the board has: "1:7" is good enough for people, but here
// it would make two items of one job.
//
// Errors: [domain.ErrInvalid].
func jobItem(item string) (domain.JobKey, error) {
	if !strings.HasPrefix(item, layout.JobPrefix) {
		return domain.JobKey{}, domain.Invalidf("item %q is no job: want job:<caller>:<id>", item)
	}
	return domain.ParseJobKey(item)
}

// load reads a job and its record.
//
// Errors: [domain.ErrNotFound]; [domain.ErrInvalid] for a record that a
// foreign program wrote wrongly, with the job as far as it could be read.
func (e *Engine) load(ctx context.Context, space board.Space, key domain.JobKey) (*domain.Job, board.Record, error) {
	recs, err := e.board.Get(ctx, space, key.String())
	return loaded(space, key, recs, err)
}

// loadLine is load without what may be large, which is also what a node without
// the key of an encrypted context can read.
func (e *Engine) loadLine(ctx context.Context, space board.Space, key domain.JobKey) (*domain.Job, board.Record, error) {
	recs, err := e.board.GetFields(ctx, space, layout.JobLine, key.String())
	return loaded(space, key, recs, err)
}

func loaded(space board.Space, key domain.JobKey, recs []board.Record, err error) (*domain.Job, board.Record, error) {
	if errors.Is(err, domain.ErrInvalid) {
		return nil, nil, domain.NotFoundf("job %q does not exist in context %d: %v", key, space, err) // a list, say, of a foreign program
	}
	if err != nil {
		return nil, nil, err
	}
	if recs[0] == nil {
		return nil, nil, domain.NotFoundf("job %q does not exist in context %d", key, space)
	}
	j, err := layout.DecodeJob(key, recs[0])
	return j, recs[0], err
}

// loadAny reads a job as far as it can be read: one that a foreign program
// has made unreadable must still be ended, told of and cleared away.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) loadAny(ctx context.Context, space board.Space, key domain.JobKey) (*domain.Job, error) {
	j, _, err := e.load(ctx, space, key)
	if errors.Is(err, domain.ErrInvalid) {
		err = nil
	}
	return j, err
}
