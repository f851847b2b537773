package service

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/turns"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/tracing"
	"github.com/ramet-run/ramet/work"
)

// Jobs is what the operations need of the job engine.
type Jobs interface {
	ClaimFor(ctx context.Context, w domain.Worker, ask domain.WorkerAsk) ([]domain.Assignment, error)
	Leave(ctx context.Context, w domain.Worker) error
	ExtendFor(ctx context.Context, w domain.Worker, lease, wait time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error)
	FinishFor(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) (done []domain.AttemptEnded, errs []error, err error)
	StepFor(ctx context.Context, w domain.Worker, ask domain.WorkerStep) (domain.WorkerStepAnswer, error)
	LogFor(ctx context.Context, w domain.Worker, held domain.HeldAttempt, lines []domain.LogLine) error
	RegisterTypes(ctx context.Context, tenant domain.TenantID, types []domain.ScriptType) error
	NameTypes(ctx context.Context, tenant domain.TenantID, types []domain.ScriptType) error
	Submit(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job) ([]work.Receipt, error)
	SubmitUnder(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job, tickets []string, keep time.Duration) ([]work.Receipt, error)
	Show(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error)
	List(ctx context.Context, tenant domain.TenantID, f work.Filter, cursor string) ([]*domain.Job, listing.At, error)
	Await(ctx context.Context, tenant domain.TenantID, key domain.JobKey) error
	Cancel(ctx context.Context, tenant domain.TenantID, key domain.JobKey, by domain.ActorID) (*domain.Job, error)
	Retry(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error)
	Explain(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (domain.JobExplanation, error)
	Signal(ctx context.Context, tenant domain.TenantID, key domain.JobKey, s domain.Signal) (*domain.Job, error)
	SignalsOf(ctx context.Context, tenant domain.TenantID, key domain.JobKey) ([]domain.Signal, error)
	History(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, n int) (events []domain.HistoryEvent, total int, err error)
	Fork(ctx context.Context, tenant domain.TenantID, key domain.JobKey, step string, caller domain.ActorID, from *domain.Job,
		ticket string, keep time.Duration) (*domain.Job, error)
	Lost(ctx context.Context, tenant domain.TenantID, item string) (found domain.Finding, ok bool, err error)
	Logs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, n int) ([]domain.Log, error)
	FollowLogs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from int, each func(domain.Log) error) error
	LogLen(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (int, error)
	LogsChange(ctx context.Context, tenant domain.TenantID, caller domain.ActorID) (<-chan board.Event, error)
	Heads(ctx context.Context, tenant domain.TenantID, keys []domain.JobKey) ([]*domain.Job, error)
	MadeFor(ctx context.Context, tenant domain.TenantID, f *domain.Flow, above domain.JobID) (jobs []*domain.Job, top domain.JobID, err error)
	MarkMet(ctx context.Context, tenant domain.TenantID, name string) error
	AuditWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error)
	LookWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error)
	Absent(ctx context.Context, role domain.Role) (lack string, err error)
	Lacks(ctx context.Context, tenant domain.TenantID) (func(*domain.Job) (why string, refused bool), error)
	// Artifacts are the files that jobs have left: see [work.Engine.Artifacts].
	Artifacts(ctx context.Context, tenant domain.TenantID, of work.Leavers, after work.LeftAt) iter.Seq2[work.LeftFile, error]
	ArtifactsOf(ctx context.Context, tenant domain.TenantID, job domain.JobKey) (*domain.ArtifactSet, error)
	ArtifactRoom(ctx context.Context, tenant domain.TenantID) (domain.ArtifactRoom, error)
	ArtifactsGone(ctx context.Context, tenant domain.TenantID, within time.Duration) ([]domain.Finding, error)
	OpenArtifact(ctx context.Context, tenant domain.TenantID, sum string, offset int64) (io.ReadCloser, error)
	// Room returns an error while a context may have no new work.
	Room(ctx context.Context, tenant domain.TenantID) error
}

// Directory is what the operations need of the registry.
type Directory interface {
	Actor(ctx context.Context, id domain.ActorID) (domain.Actor, error)
	Actors(ctx context.Context, cursor string, limit int) (actors []domain.Actor, next string, err error)
	Tenant(ctx context.Context, id domain.TenantID) (domain.Tenant, error)
	Tenants(ctx context.Context, after domain.TenantID, limit int) ([]domain.TenantID, error)
	// TenantByName is the context that has a number or an alias.
	TenantByName(ctx context.Context, name string) (domain.TenantID, error)
	// TenantName is what subjects and the keys of sagas call a context.
	TenantName(ctx context.Context, id domain.TenantID) (string, error)
	// As is the registry for what an actor changes: the audit log keeps who.
	As(actor domain.ActorID) *identity.Registry
}

// AuditLog keeps what was done by hand, and what was denied.
type AuditLog interface {
	identity.Recorder
	Entries(ctx context.Context, tenant domain.TenantID, f identity.AuditFilter) (entries []domain.AuditEntry, more bool, err error)
	Chain(ctx context.Context, tenant domain.TenantID, outcome domain.AuditOutcome, from int64, limit int) (
		head domain.AuditHead, lines []string, next int64, err error)
}

// Access decides who may do what.
type Access interface {
	CheckIn(ctx context.Context, ask identity.Ask) (domain.Tenant, error)
	Sees(ctx context.Context, who identity.Proof, tenant domain.TenantID) (bool, error)
	Named(ctx context.Context, who identity.Proof, name string) (domain.TenantID, error)
}

// Records is what the operations have of the board directly.
type Records interface {
	Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error)
	Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) (keys []string, next string, err error)
	Unreadable(ctx context.Context) ([]board.Unreadable, error)
	Discard(ctx context.Context, name string) error
	Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error)
	Now() time.Time
	Watch(ctx context.Context, space board.Space, prefix string) (<-chan board.Event, error)
}

// Parts are what the operations stand on. All without a default are required.
type Parts struct {
	Jobs      Jobs
	Directory Directory
	Access    Access
	// Tokens knows the tokens that were made known or used here.
	Tokens Tokens
	// Audit keeps what was done by hand. Default: nothing is kept.
	Audit   AuditLog
	Records Records
	Flows   Flows
	// Keys knows requests again that have a key.
	Keys Keys
	// Blueprints keeps the templates of flows.
	Blueprints Blueprints
	Schedules  Schedules
	// Archive is asked for what the board no longer has. Default: none.
	Archive Archive
	// Bans keeps what is held up.
	Bans Bans
	// Circles keeps queues of Rhai scripts.
	Circles Circles
	// Routines keeps what is run again and again.
	Routines Routines
	// Bulks does operations to many things. Default: there are none.
	Bulks Bulks
	// Post sends and receives messages. Default: this node sends none.
	Post Post
	// Duties keeps the rules by which nodes lose roles.
	Duties Duties
	// Sagas keeps sagas, their instances, events and dead letters. Default: this
	// node has no streams; NoStreams says why, and what to set.
	Sagas     Sagas
	NoStreams string
	// SagasUnserved finds the sagas of a context that no node serves, where Sagas is nil.
	// Default: there are none.
	SagasUnserved func(ctx context.Context, tenant domain.TenantID) ([]domain.Finding, error)
	// ListenersUnserved finds the listeners of a context whose events nobody reads. Default:
	// there are none.
	ListenersUnserved func(ctx context.Context, tenant domain.TenantID) ([]domain.Finding, error)
	// Effects does effects. Default: this node does none.
	Effects Effects
	// Tracer takes what is asked for in a trace. Default: nobody.
	Tracer *tracing.Tracer
	// Encryption has the keys of contexts. Default: nothing is encrypted.
	Encryption Encryption
	// Secrets are those of contexts. Default: this node has none.
	Secrets Secrets
	// Webhooks are those of contexts. Default: this node has none.
	Webhooks Webhooks
	// Listeners are those of contexts. Default: this node has no streams.
	Listeners Listeners
	// NoHTTP says that the node has no address for programs outside.
	NoHTTP bool
	// PublicURL is the node's address as people and programs outside know it, without a slash at
	// its end. Default: none.
	PublicURL string
	// Drain begins the graceful end of the node. Default: it is ended by a signal
	// only.
	Drain func()
	// Backup writes a backup of the node. Default: there can be none.
	Backup func(ctx context.Context, to io.Writer) error
	// Reload reads the config again, as far as it can be without a new start, and
	// returns the keys of what else has changed. Default: it cannot be.
	Reload func(ctx context.Context) (restart []string, err error)
	// LogLevel is from which level on the node's log has lines. Default: it cannot be changed.
	LogLevel *slog.LevelVar
	// Writable returns an error while the node may take nothing in. Default: it
	// always may.
	Writable func() error
	// Intake returns an error while the node takes nothing new in, for want of room on its
	// disk. What changes or ends what there is goes on. Default: it always does.
	Intake func() error
	// Evictions are sentences about what the board's store has thrown away, or would.
	// Default: it throws nothing away.
	Evictions func(ctx context.Context) ([]string, error)
	// Settings are sentences about servers that are set in a way that costs something,
	// Certificates those by which the node is known, Sizes what it knows of what is kept.
	// Default: nobody says.
	Settings     func(ctx context.Context) ([]api.Setting, error)
	Certificates func() []api.Certificate
	Sizes        func() []api.Size
	// Board looks whether the board takes what is written. Default: nobody looks.
	Board func(ctx context.Context) error
	// Streams looks whether the event streams take messages. Default: there are none.
	Streams func(ctx context.Context) error
	// Durability is what the board keeps of what it has acknowledged; it is asked with each
	// submit. Default: what Info says, which gathers much else.
	Durability func() string
	// Info says what node this is; it is asked with each call.
	Info func() api.Info
	// Logger takes errors that callers do not get to see. Default: none.
	Logger *slog.Logger
}

// Service is the operations of one node. It is safe for concurrent use.
type Service struct {
	parts Parts
	log   *slog.Logger
	turns turns.Turns // of conditions on lists
	// What the node stands on.
	board, streams, archive outlook[struct{}]
	settings                outlook[[]api.Setting]
	sizes                   outlook[[]api.Size]
}

// New returns the operations on these parts.
func New(p Parts) *Service {
	log := p.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if p.Writable == nil {
		p.Writable = func() error { return nil }
	}
	if p.Intake == nil {
		p.Intake = func() error { return nil }
	}
	if p.NoStreams == "" {
		p.NoStreams = "start nodes with --stream, or set `stream` in their config file"
	}
	if p.Durability == nil {
		p.Durability = func() string { return p.Info().Durability }
	}
	if p.Archive == nil {
		p.Archive = noArchive{}
	}
	if p.Audit == nil {
		p.Audit = noAuditLog{}
	}
	a := &Service{parts: p, log: log}
	a.board.of, a.board.ask = "the board", finds(p.Board)
	a.streams.of, a.streams.ask = "the server of the event streams", finds(p.Streams)
	a.archive.of, a.archive.ask = "the archive", finds(p.Archive.Ping)
	if p.Archive != Archive(noArchive{}) {
		a.parts.Archive = answering{p.Archive, &a.archive}
	}
	a.settings.of, a.settings.ask = "a server", p.Settings
	if p.Sizes != nil {
		a.sizes.of, a.sizes.ask = "what knows the sizes", func(ctx context.Context) ([]api.Size, error) { return p.Sizes(), ctx.Err() }
	}
	if p.Bulks != nil {
		p.Bulks.Serve(doer{a})
	}
	return a
}

// As returns the operations as they are for one actor, whom the door has
// authenticated without a token.
func (s *Service) As(actor domain.ActorID) Caller { return s.For(identity.Proof{Actor: actor}, nil) }

// With returns the operations as they are for who else has proven something.
func (c Caller) With(who identity.Proof) Caller { return c.api.For(who, nil) }

// For returns the operations as they are for who has proven something. session,
// where there is one, ends when a right is lost that was used.
func (s *Service) For(who identity.Proof, session *identity.Session) Caller {
	return Caller{api: s, who: who, session: session}
}

// Info says what node this is, as far as everybody may know: a caller must know
// the node's name before it can make a token for it, and the board's time to say how long ago something was.
func (s *Service) Info() api.Info {
	return api.Info{Name: s.parts.Info().Name, BoardMs: s.parts.Records.Now().UnixMilli()}
}

// Caller is an actor at the table of operations.
type Caller struct {
	api     *Service
	who     identity.Proof
	session *identity.Session
	group   string        // of the operation that is called
	word    string        // what it is in the audit log; "" for what only reads
	first   *identity.Ask // takes what is asked first, for the audit log; nil where nobody wants it
	once    *once         // nil where the request has no key
	turn    Turn          // nil where nobody waits for one
	goesOn  bool          // with what the board took in before: whatever duties this node has lost
}

// may asks for a right in a context and returns the context.
func (c Caller) may(ctx context.Context, verb domain.Verb, tenant domain.TenantID, object string) (domain.Tenant, error) {
	t, err := c.mayAlways(ctx, verb, tenant, object)
	if err == nil && !verb.Reads() && !c.goesOn {
		err = c.api.parts.Writable()
	}
	if err == nil && verb == domain.VerbCreate && !c.goesOn {
		err = c.api.parts.Intake()
	}
	return t, err
}

// maySubmit asks whether new work may come into a context: by right, and by what waits
// for the archive there.
func (c Caller) maySubmit(ctx context.Context, tenant domain.TenantID, object string) error {
	_, err := c.may(ctx, domain.VerbCreate, tenant, object)
	if err == nil {
		err = c.api.parts.Jobs.Room(ctx, tenant)
	}
	return err
}

// mayAlways is may for what this node does whatever duties it has lost.
func (c Caller) mayAlways(ctx context.Context, verb domain.Verb, tenant domain.TenantID, object string) (domain.Tenant, error) {
	ask := identity.Ask{Actor: c.who.Actor, Verb: verb, Tenant: tenant, Object: object, Act: c.word, Scope: c.who.Scope, Group: c.group}
	if c.first != nil && *c.first == (identity.Ask{}) {
		*c.first = ask
	}
	t, err := c.api.parts.Access.CheckIn(ctx, ask)
	if err == nil {
		c.session.Hang(ask)
	}
	return t, err
}

// mayHere asks for a right that concerns no context.
func (c Caller) mayHere(ctx context.Context, verb domain.Verb, object string) error {
	_, err := c.may(ctx, verb, 0, object)
	return err
}

// mayInspect asks for the right to see what tells of nodes, peers and others. It
// is the operator's; where a context is named also that of those who have a right
// there for which they need to know.
func (c Caller) mayInspect(ctx context.Context, verb domain.Verb, tenant domain.TenantID, object string) error {
	if tenant == 0 || c.who.Operates(domain.VerbInspect, c.group) {
		return c.mayHere(ctx, domain.VerbInspect, object)
	}
	_, err := c.mayAlways(ctx, verb, tenant, object)
	return err
}
