package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"sync"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/effect/effectscript"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/format"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/secret"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/telemetry"
	"github.com/ramet-run/ramet/tracing"
)

// parts are a node with its board and door, put together but not started.
type parts struct {
	kind      string      // of the board
	lock      *os.File    // of the data folder
	store     board.Board // as it lies there: below encryption
	board     board.Board
	backing   backup.Turn                                           // one is written at a time
	evictions func(ctx context.Context) ([]string, error)           // what its store throws away; nil: nothing
	taken     func(ctx context.Context) (<-chan board.Event, error) // tells of foreign runners; nil: there are none
	caches    []caches                                              // of board and archive
	secrecy   *encryption.Keys
	vault     *secret.Vault
	archive   archive.Archive // nil: none
	artifacts artifact.Store  // nil: none
	newest    bool            // the board is in the newest format
	archived  string          // the archive's kind, for people
	// archiveFile is where it lies; "": on a server.
	archiveFile string
	bareArchive archive.Archive // below encryption; nil: none
	registry    *identity.Registry
	metrics     *telemetry.Metrics
	boardSize   func() int64 // on this machine's disk; nil: nobody knows
	audit       *identity.AuditLog
	access      *identity.Access
	tokens      *identity.Tokens
	jail        *jail.Jail
	hidden      *jail.Secrets // from scripts
	options     options
	runtimes    []script.Runtime
	inspected   *node.Inspection      // what was found of them
	steps       *effectscript.Runtime // of those steps of flows that are effects; nil: the node runs no jobs
	circles     script.Runtime        // of the circles; nil: the node serves none
	// forCircles is what the config file says of circles.
	forCircles circlesConfig
	keys       *identity.Keyring
	cookie     cookie.Cookie // of this start
	links      ownLinks
	buses      []bus.Bus
	streams    stream.Log // nil: none
	ownStreams bool       // they lie in the data folder
	belongings belongings // what the node has there
	sagas      *sagas
	egress     *egress.Dialer // of prerequisites
	// noStreams says why there are none.
	noStreams  string
	tracer     *tracing.Tracer // nil: nobody wants spans
	spans      io.Closer       // sends them; nil: nobody does
	drain      func()          // ends the node; nil: it lives for one command
	disk       *node.Disk      // that of the data folder; nil: only files of jobs lie there
	node       *node.Node
	door       *http.Door
	operations *service.Service
	pages      *console.Console // nil: none
	address    string           // at which browsers of this machine reach it, without a slash at the end
	budget     *budget.Budget   // of all doors
	resp       string           // where to listen for clients of Redis; "": nowhere
	services   []node.Service   // to run beside
	log        *slog.Logger
	beside     sync.WaitGroup // what is opened beside the rest
}

// assemble opens the board and builds a node with its door on it.
func assemble(ctx context.Context, o options) (_ *parts, err error) {
	rhaiscript.LimitProcess()
	cfg, err := o.settle()
	if err != nil {
		return nil, err
	}
	p := &parts{kind: boardKind(o.boardURL), cookie: cookie.New(), log: o.log, drain: o.drain, budget: budget.New(cfg.Doors.Config, o.log),
		hidden: &jail.Secrets{}, options: o}
	if o.serve {
		p.resp = cmp.Or(o.resp, cfg.RESP)
		if err := checkRESP(p.resp); err != nil {
			return nil, err
		}
	}
	opening, stop := context.WithCancel(ctx) // of what is opened beside the rest
	defer func() {
		stop()
		if err != nil {
			p.beside.Wait()
			p.close()
		}
	}()
	if err = p.open(ctx, opening, cfg); err != nil {
		return nil, err
	}
	p.registry.SetNode(p.node.Name(), p.keys.Node)
	p.registry.SetAuditKeep(identity.AuditKeep{Most: cfg.AuditLines, For: cfg.AuditRetention})
	p.tokens = identity.NewTokens(p.registry, p.access, p.node.Name())
	if p.steps != nil && p.node.Effects != nil {
		p.steps.Bind(p.node.Effects)
	}
	return p, p.openDoor(ctx, o.dataDir, cfg)
}

// open opens what the node is made of, and makes it; opening ends what is opened beside
// the rest.
func (p *parts) open(ctx, opening context.Context, cfg config) (err error) {
	o := p.options
	p.metrics = telemetry.NewMetrics(cfg.MetricsContexts...)
	p.sagas = &sagas{file: o.configFile, began: cfg, log: o.log}
	if err = p.sagas.open(cfg); err != nil {
		return err
	}
	tighten(o.dataDir, o.log) // first: a folder that a script has closed cannot be locked
	if p.lock, err = node.Lock(ctx, o.dataDir, o.wait); err != nil {
		return err
	}
	if err = p.openFolder(o); err != nil {
		return err
	}
	jailed := p.openJail(cfg, o)
	cfg.Python = p.findPython(opening, cfg, o)
	if err = p.openBoard(ctx, o); err != nil {
		return err
	}
	p.openVault(o, cfg)
	opened, inspected := p.openRuntimes(opening, cfg, jailed)
	if err = p.openArchive(ctx, o); err != nil {
		return err
	}
	if err = p.openArtifacts(ctx, o); err != nil {
		return err
	}
	if err = opened(); err != nil {
		return err
	}
	if err = p.openPost(ctx, cfg, o); err != nil {
		return err
	}
	rules, err := egress.Parse(cfg.Egress)
	if err != nil {
		return err
	}
	p.egress = egress.NewDialer(rules)
	if err = p.openStreams(ctx, cfg, o); err != nil {
		return err
	}
	if err = inspected(); err != nil {
		return err
	}
	if p.belongings, err = look(p.inFolder()); err != nil {
		return err
	}
	if len(p.belongings) > 1 { // something durable of the node's lies in its folder
		p.disk = node.NewDisk(o.dataDir, cfg.Disk, node.DiskSpace, o.log)
	}
	if err = p.openTracing(ctx, cfg); err != nil {
		return err
	}
	if p.node, err = node.New(ctx, p.board, p.nodeConfig(o, cfg)); err != nil {
		return err
	}
	return p.pairArtifacts(ctx, o)
}

// close closes what assemble opened, as far as it came.
func (p *parts) close() {
	runtimes := p.runtimes
	if p.circles != nil {
		runtimes = append(runtimes, p.circles)
	}
	for _, rt := range runtimes {
		if err := rt.Close(); err != nil {
			p.log.Warn("runtime not closed cleanly", "script_type", string(rt.Type()), "err", err)
		}
	}
	if p.jail != nil {
		if err := p.jail.Close(); err != nil {
			p.log.Warn("jail not closed cleanly", "err", err)
		}
	}
	closeBuses(p.buses, p.log)
	if p.spans != nil {
		if err := p.spans.Close(); err != nil {
			p.log.Warn("last spans not sent", "err", err)
		}
	}
	if p.streams != nil {
		if err := p.streams.Close(); err != nil {
			p.log.Warn("streams not closed cleanly", "err", err)
		}
	}
	if p.artifacts != nil {
		if err := p.artifacts.Close(); err != nil {
			p.log.Warn("artifact store not closed cleanly", "err", err)
		}
	}
	if p.archive != nil {
		if err := p.archive.Close(); err != nil {
			p.log.Warn("archive not closed cleanly", "err", err)
		}
	}
	if p.board != nil {
		if err := p.board.Close(); err != nil {
			p.log.Warn("board not closed cleanly", "err", err)
		}
	}
	if p.lock != nil { // last: nothing of this process is open there any more
		p.lock.Close()
	}
}

func (p *parts) nodeConfig(o options, c config) node.Config {
	labels := maps.Clone(c.Labels)
	if labels == nil {
		labels = domain.Labels{}
	}
	maps.Copy(labels, o.labels)
	return node.Config{
		Circles: p.openCircles(o, c.ForCircles), Post: node.PostConfig{Keys: p.keys, Registry: p.registry, Access: p.access, Buses: p.buses, Refused: p.refused},
		Sagas: p.sagasConfig(c), Name: o.name, Version: version, Format: format.Ours.Newest(), Labels: labels, Board: cmp.Or(domain.HideURL(o.boardURL), p.kind),
		RunnerID: o.runnerID, DataDir: o.dataDir, Passing: !o.serve && !o.run, Runtimes: p.runtimes, Inspected: p.inspected,
		Slots: c.Slots, SlotsPerContext: c.SlotsPerContext, PriorityAging: c.aging(), Limits: c.Limits.limits(),
		Lease: cmp.Or(o.lease, c.Lease), Grace: cmp.Or(o.grace, c.Grace), MaxLosses: c.MaxLosses, Timeout: c.Timeout,
		LogBytes: c.LogBytes, KeepFailedFiles: c.KeepFailedFiles, Retention: c.Retention,
		Encryption: p.secrecy, Archive: p.archive, Blueprints: flow.Stored(blueprint.NewStore(p.board)), Permit: p.permit,
		Isolation: p.isolation, Hooks: p.hooks, Secrets: p.vault, Archives: p.archives,
		Egress: p.egress, Foreign: p.kind == "redis" || p.resp != "", Taken: p.taken, ArchiveRetention: c.ArchiveRetention,
		ArchiveBytes: c.ArchiveBytes, ArchiveBacklog: c.ArchiveBacklog,
		WaitingJobs: c.WaitingJobs,
		Artifacts:   p.artifacts, ArtifactBytes: c.ArtifactBytes, ArtifactRetention: c.ArtifactRetention,
		Disk: p.disk, Metrics: p.metrics, MetricsContexts: c.MetricsContexts, BoardSize: p.boardSize, Tracer: p.tracer, PublicURL: c.PublicURL, Logger: o.log,
	}
}
