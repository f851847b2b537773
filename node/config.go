package node

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/telemetry"
	"github.com/ramet-run/ramet/tracing"
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
	// Tracer takes what belongs to a trace. Default: nobody.
	Tracer *tracing.Tracer
	// PublicURL is where people reach the console. Default: links are not told.
	PublicURL string
	// Format is the newest format of boards that it knows. Default: it is not told.
	Format int
	// Labels say what the node is, for jobs that ask for them.
	Labels domain.Labels
	// DataDir holds the contexts' files. Required; made if it is not there.
	DataDir string
	// Passing says that it is there for one command and serves nothing: no one is told of
	// it, for what waits would be said to be done by a node that is about to go.
	Passing bool
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
	// Hooks are those that a context has for its flows. Default: none.
	Hooks func(ctx context.Context, tenant domain.TenantID) (*domain.Hooks, error)
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
	// Artifacts is where files are kept that jobs leave, and the caller's to close. Default:
	// nowhere.
	Artifacts artifact.Store
	// ArtifactBytes bounds those of one context. Default: see [work.Config].
	ArtifactBytes int64
	// ArtifactRetention is how long they stay. Default: 90 days.
	ArtifactRetention time.Duration
	// ArchiveRetention is how long records stay in it. Default: 90 days.
	ArchiveRetention time.Duration
	// ArchiveBytes bounds how much it holds. Default: no bound.
	ArchiveBytes int64
	// ArchiveBacklog bounds what waits for it; see work.Config.
	ArchiveBacklog int
	// WaitingJobs bounds what has not ended; see work.Config.
	WaitingJobs int
	// Secrets are those of contexts, which jobs name. Default: there are none.
	Secrets work.Secrets
	// Encryption has the keys of encrypted contexts; board and archive are wrapped
	// already. Default: there are none.
	Encryption *encryption.Keys
	// Circles are those it serves. Default: none.
	Circles CirclesConfig
	// Post says how messages are sent. Default: this node sends none.
	Post PostConfig
	// Sagas says how sagas and effects are served. Default: they are not.
	Sagas SagasConfig
	// Metrics takes what is counted. Default: one of its own.
	Metrics *telemetry.Metrics
	// MetricsContexts are those that have series of their own.
	MetricsContexts []domain.TenantID
	// BoardSize is how many bytes the board takes on this machine's disk. Default: nobody
	// knows.
	BoardSize func() int64
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, domain.DefaultLease)
	c.Grace = cmp.Or(c.Grace, domain.DefaultGrace)
	c.KeepFailedFiles = cmp.Or(c.KeepFailedFiles, 24*time.Hour)
	c.Retention = cmp.Or(c.Retention, 24*time.Hour)
	c.ArchiveRetention = cmp.Or(c.ArchiveRetention, 90*24*time.Hour)
	c.ArtifactRetention = cmp.Or(c.ArtifactRetention, 90*24*time.Hour)
	if c.Permit == nil {
		c.Permit = func(context.Context, domain.TenantID, domain.ActorID, string) error { return nil }
	}
	if c.Host == "" {
		c.Host, _ = os.Hostname() // "" matches few rules
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = telemetry.NewMetrics(c.MetricsContexts...)
	}
	return c
}
