package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/encryptedarchive"
	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/encryptedboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/effect/effectscript"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/stream"
)

// leaveWait is how long a node that starts waits for a command that is a node on
// its folder for a moment.
const leaveWait = 5 * time.Second

// serve runs a node until ctx ends.
func serve(ctx context.Context, o cli.ServeOptions) error {
	if o.Dev {
		return serveDev(ctx, o)
	}
	return serveOne(ctx, &o, nil)
}

// serveOne is one life of a node; dev is what it has beside where it is for development.
func serveOne(ctx context.Context, o *cli.ServeOptions, dev *development) error {
	ctx, drain := context.WithCancel(ctx)
	defer drain()
	p, err := assemble(ctx, options{drain: drain, dataDir: o.DataDir, boardURL: o.BoardURL, archiveURL: o.ArchiveURL, configFile: o.ConfigFile,
		keyFile: o.KeyFile, tlsKey: o.TLSKey,
		isolation: script.Level(o.Isolation), name: o.Name,
		runnerID: o.RunnerID, grace: o.Grace, lease: o.Lease, labels: o.Labels, buses: o.Buses, streamURL: o.Stream,
		mayLose: o.MayLose, acceptLoss: o.AcceptLoss, circles: o.Circles,
		circlesOnly: o.CirclesOnly, resp: o.RESP, serve: true, wait: leaveWait, run: !o.CirclesOnly, log: o.Logger, dev: dev})
	if err != nil {
		return err
	}
	defer p.close()
	local, err := p.listenLocally(o.Socket, o.DataDir)
	if err != nil {
		return err
	}
	listeners, address := []net.Listener{local}, ""
	if o.Listen != "" && o.Listen != cli.ListenNone {
		tcp, err := http.ListenTCP(o.Listen, o.TLSCert, o.TLSKey)
		if err != nil {
			return errors.Join(err, local.Close())
		}
		listeners, address = append(listeners, tcp), tcp.Addr().String() // port 0 has become one
	}
	shown, err := p.listenForConsole(*o, &listeners)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	redis, err := p.openRESP(o.TLSCert, o.TLSKey)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	p.log.Info("node started", "node", p.node.Name(), "data", o.DataDir, "board", p.kind, "durability", string(p.board.Durability()), "archive", p.archived,
		"listen", address, "console", shown, "resp", redis, "pid", os.Getpid())
	if dev != nil {
		p.services = append(p.services, p.develop(*o))
		o.Listen, o.Opened = listeners[len(listeners)-1].Addr().String(), nil // as it is now, for its next life
	}
	err = p.run(ctx, listeners...)
	p.log.Info("node stopped", "node", p.node.Name())
	return err
}

// listenLocally listens on the local socket. The cookie is written when nobody
// answers there: a node that finds another one leaves that one's cookie alone.
// And it is there before the socket is, for who can connect reads it at once.
func (p *parts) listenLocally(socket, dataDir string) (net.Listener, error) {
	return http.ListenSocket(socket, func() error { return p.cookie.Save(dataDir) })
}

func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// embedded starts a node in this process for the time of a command.
func embedded(ctx context.Context, o cli.EmbeddedOptions) (cli.Embedded, error) {
	// Jobs of a command end with it: there is nobody to go on for.
	p, err := assemble(ctx, options{dataDir: o.DataDir, boardURL: o.BoardURL, archiveURL: o.ArchiveURL, configFile: o.ConfigFile,
		keyFile: o.KeyFile, isolation: script.Level(o.Isolation),
		grace: time.Millisecond, run: o.Run, log: o.Logger})
	if err != nil {
		return cli.Embedded{}, err
	}
	local, err := p.listenLocally(o.Socket, o.DataDir)
	if err != nil {
		p.close()
		return cli.Embedded{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		defer p.close()
		done <- p.run(ctx, local)
	}()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	return cli.Embedded{Socket: o.Socket, Cookie: cli.CookiePath(o.DataDir), Runner: p.node.Runner(time.Now()), Stop: stop}, nil
}

// options are what serve and embedded have in common.
type options struct {
	dataDir, boardURL, configFile string
	archiveURL                    string
	keyFile, tlsKey               string
	urlFiles                      []string     // those that stood for URLs
	isolation                     script.Level // over that of the config file
	name                          string
	runnerID                      domain.RunnerID
	grace, lease                  time.Duration
	labels                        domain.Labels
	buses                         []string
	streamURL                     string
	mayLose, acceptLoss           bool
	circles                       []domain.ServedCircle
	circlesOnly                   bool
	resp                          string
	serve                         bool          // for long: with buses
	wait                          time.Duration // for another process to leave the data folder
	run                           bool          // with a runner
	drain                         func()        // ends the node
	dev                           *development  // nil: it is for work
	log                           *slog.Logger
}

// parts are a node with its board and door, put together but not started.
type parts struct {
	kind      string   // of the board
	lock      *os.File // of the data folder
	board     board.Board
	evictions func(ctx context.Context) ([]string, error)           // what its store throws away; nil: nothing
	taken     func(ctx context.Context) (<-chan board.Event, error) // tells of foreign runners; nil: there are none
	caches    []caches                                              // of board and archive
	secrecy   *encryption.Keys
	archive   archive.Archive // nil: none
	archived  string          // the archive's kind, for people
	// archiveFile is where it lies; "": on a server.
	archiveFile string
	registry    *identity.Registry
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
	drain      func()     // ends the node; nil: it lives for one command
	disk       *node.Disk // that of the data folder; nil: only files of jobs lie there
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
	p.registry.SetNode(p.node.Name())
	p.tokens = identity.NewTokens(p.registry, p.access, p.node.Name())
	if p.steps != nil && p.node.Effects != nil {
		p.steps.Bind(p.node.Effects)
	}
	return p, p.openDoor(ctx, o.dataDir, cfg)
}

// settle reads the config file, and lets it and the options say the same.
func (o *options) settle() (config, error) {
	cfg, err := loadConfig(o.configFile)
	if err != nil {
		return cfg, err
	}
	cfg.Isolation = cmp.Or(o.isolation, cfg.Isolation)
	o.mayLose = o.mayLose || cfg.MayLose
	if err := cfg.Isolation.Validate(); err != nil {
		return cfg, err
	}
	// Absolute, because jobs work in folders below it.
	if o.dataDir, err = filepath.Abs(o.dataDir); err != nil {
		return cfg, err
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	return cfg, o.findURLs(cfg)
}

// open opens what the node is made of, and makes it; opening ends what is opened beside
// the rest.
func (p *parts) open(ctx, opening context.Context, cfg config) (err error) {
	o := p.options
	p.sagas = &sagas{file: o.configFile, began: cfg, log: o.log}
	if err = p.sagas.open(cfg); err != nil {
		return err
	}
	tighten(o.dataDir, o.log) // first: a folder that a script has closed cannot be locked
	if p.lock, err = node.Lock(ctx, o.dataDir, o.wait); err != nil {
		return err
	}
	jailed := p.openJail(cfg, o)
	cfg.Python = p.findPython(opening, cfg, o)
	if err = p.openBoard(ctx, o); err != nil {
		return err
	}
	opened, inspected := p.openRuntimes(opening, cfg, jailed)
	if err = p.openArchive(ctx, o); err != nil {
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
	p.node, err = node.New(ctx, p.board, p.nodeConfig(o, cfg))
	return err
}

// openArchive opens the archive, where there is one.
func (p *parts) openArchive(ctx context.Context, o options) (err error) {
	var pair *clockwork.Pairing
	if p.archive, p.archived, pair, err = openArchive(ctx, p.board, o); err != nil {
		return err
	}
	if p.archived == "sqlite" {
		place, err := parseArchive(o.archiveURL, o.boardURL, o.dataDir)
		if err != nil {
			return err
		}
		p.archiveFile = place.file
	}
	if pair != nil && o.serve {
		p.services = append(p.services, pair.Run)
	}
	if p.archive != nil {
		p.keeps(p.archive)
		p.archive = encryptedarchive.New(p.archive, p.secrecy)
	}
	return nil
}

// openBoard opens the board, and what keeps actors and rights on it.
func (p *parts) openBoard(ctx context.Context, o options) (err error) {
	if err := o.leavesNothing(ctx); err != nil {
		return err
	}
	if p.board, err = openBoard(ctx, o); err != nil {
		return err
	}
	p.evictions = evictionsOf(p.board)
	p.keeps(p.board)
	if kind := boardKind(o.boardURL); (kind == "redis" || kind == "etcd") && !o.acceptLoss {
		if err := node.KnowsBoard(ctx, p.board, o.dataDir, domain.HideURL(o.boardURL)); err != nil {
			return err
		}
	}
	if p.secrecy, err = encryption.Open(ctx, p.board, p.sagas.secrets, o.log); err != nil {
		return err
	}
	if b, ok := p.board.(*redisboard.Board); ok {
		p.taken = b.Taken
	}
	if dev := o.dev; dev != nil {
		dev.board = &faultyBoard{Board: p.board}
		p.board = dev.board
	}
	p.board = encryptedboard.New(p.board, p.secrecy)
	p.registry = identity.NewRegistry(precondition.Over(p.board))
	p.audit = identity.NewAuditLog(p.registry, o.log.With("log", "audit"))
	p.access = identity.NewAccess(p.registry, p.audit)
	return nil
}

// openPost opens the keys by which the node signs, and its buses.
func (p *parts) openPost(ctx context.Context, cfg config, o options) (err error) {
	if p.keys, err = identity.OpenKeyring(o.dataDir); err != nil {
		return err
	}
	if !o.serve {
		return nil
	}
	// Before anything is connected to: the servers inside other nodes of the board
	// look there for whom to let in.
	if err = p.registry.AnnounceLinks(ctx, p.keys); err != nil {
		return err
	}
	p.buses, err = openBuses(ctx, o.buses, p.keys, o.dataDir, p.natsPeers, o.log)
	return err
}

// refused writes down a message that was not believed.
func (p *parts) refused(r post.Refusal) {
	p.audit.Record(domain.AuditEntry{Actor: r.Actor, Verb: "message", Object: cmp.Or(r.Message, "parcel"), Context: r.Tenant,
		Outcome: domain.AuditRefused, Detail: r.Cause + ": " + r.Text})
}

func (p *parts) nodeConfig(o options, c config) node.Config {
	labels := maps.Clone(c.Labels)
	if labels == nil {
		labels = domain.Labels{}
	}
	maps.Copy(labels, o.labels)
	return node.Config{
		Circles: p.openCircles(o, c.ForCircles), Post: node.PostConfig{Keys: p.keys, Registry: p.registry, Access: p.access, Buses: p.buses, Refused: p.refused},
		Sagas: p.sagasConfig(c), Name: o.name, Version: version, Labels: labels, Board: cmp.Or(domain.HideURL(o.boardURL), p.kind),
		RunnerID: o.runnerID, DataDir: o.dataDir, Runtimes: p.runtimes, Inspected: p.inspected,
		Slots: c.Slots, SlotsPerContext: c.SlotsPerContext, PriorityAging: c.aging(), Limits: c.Limits.limits(),
		Lease: cmp.Or(o.lease, c.Lease), Grace: cmp.Or(o.grace, c.Grace), MaxLosses: c.MaxLosses, Timeout: c.Timeout,
		LogBytes: c.LogBytes, KeepFailedFiles: c.KeepFailedFiles, Retention: c.Retention,
		Encryption: p.secrecy, Archive: p.archive, Blueprints: flow.Stored(blueprint.NewStore(p.board)), Permit: p.permit,
		Isolation: p.isolation, Archives: p.archives,
		Egress: p.egress, Foreign: p.kind == "redis" || p.resp != "", Taken: p.taken, ArchiveRetention: c.ArchiveRetention, ArchiveBacklog: c.ArchiveBacklog,
		Disk: p.disk, Logger: o.log,
	}
}

// openDoor makes the operator where there is none, and the door.
func (p *parts) openDoor(ctx context.Context, dataDir string, cfg config) error {
	if err := http.CheckMetricsToken(cfg.MetricsTokenFile); err != nil {
		return err
	}
	op, err := p.registry.EnsureOperator(ctx, dataDir)
	if err != nil {
		return err
	}
	if op.Made {
		p.log.Info("operator made: actor 1, admin of context 1", "key", op.KeyFile)
	}
	p.node.Metrics.CountDenials(p.access.Denials)
	p.node.Metrics.CountAuditDropped(p.audit.Dropped)
	p.node.Metrics.CountDoors(p.budget.Used, p.budget.Refusals)
	began := time.Now()
	parts := service.Parts{
		Jobs: p.node.Work, Flows: p.node.Flows, Schedules: p.node.Schedules, Directory: p.registry, Records: p.board, Keys: p.board,
		Blueprints: blueprint.NewStore(precondition.Over(p.board)), Logger: p.log,
		Access: p.access, Tokens: p.tokens, Audit: p.audit, Bans: ban.New(p.board), Duties: clockwork.DutyRulesOn(precondition.Over(p.board)),
		Writable: p.writable, Intake: p.disk.Intake,
		Routines: p.node.Routines, Circles: p.node.Circles, Bulks: p.node.Bulks,
		Info: func() api.Info {
			info := api.Info{Name: p.node.Name(), Version: version, RunnerID: p.node.RunnerID(), Board: p.kind,
				Durability: string(p.board.Durability()), Archive: p.archived, Ready: p.node.Ready(), Off: p.node.Duties.Off(), StartedMs: began.UnixMilli()}
			info.Locked, info.Links = p.secrecy.LockedOut(), links(p.buses)
			p.sagasInfo(&info)
			return info
		},
		Drain: p.drain,
	}
	parts.Encryption, parts.Evictions = p.secrecy, p.evictions
	if p.archive != nil {
		parts.Archive = p.archive
	}
	parts.Board = boardCheck(p.board, p.node.Name())
	if p.streams != nil {
		parts.Streams = func(ctx context.Context) error { return p.streams.Check(ctx) }
	}
	if p.node.Post != nil {
		parts.Post = p.node.Post
	}
	parts.NoStreams, parts.Reload = p.noStreams, p.reload
	if p.node.Sagas != nil {
		parts.Sagas = p.node.Sagas
	}
	if p.node.Effects != nil {
		parts.Effects = p.node.Effects
	}
	a := service.New(parts)
	p.operations = a
	var pages http.Console
	if p.options.serve {
		cfg := console.Config{Node: p.node.Name(), Tokens: p.tokens, Address: func() string { return p.address }, Changes: a.Changes, Logger: p.log,
			Audit: p.audit}
		if p.options.dev != nil {
			cfg.Faults, cfg.Sessions = faults{p}, p.options.dev.sessions
		}
		p.pages = console.New(cfg)
		pages = p.pages
	}
	p.door = http.New(a, http.Config{Console: pages, Node: p.node.Name(), Tokens: p.tokens, MetricsToken: cfg.MetricsTokenFile, Origins: cfg.Doors.Origins,
		Cookie: p.cookie, Budget: p.budget, Metrics: p.node.Metrics.Handler(), Logger: p.log, Audit: p.audit})
	return nil
}

// permit says whether an actor may create work in a context.
func (p *parts) permit(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, object string) error {
	return p.access.Check(ctx, identity.Ask{Actor: actor, Verb: domain.VerbCreate, Tenant: tenant, Object: object})
}

// isolation is how far a context wants its scripts held in, from memory.
func (p *parts) isolation(ctx context.Context, tenant domain.TenantID) (domain.Isolation, error) {
	t, err := p.registry.KnownTenant(ctx, tenant)
	return t.Isolation, err
}

// archives is what of a context is archived, from memory.
func (p *parts) archives(ctx context.Context, tenant domain.TenantID) (domain.Archives, error) {
	t, err := p.registry.KnownTenant(ctx, tenant)
	return t.Archives, err
}

// writable returns an error while the node takes nothing in.
//
// It is a [domain.ErrUnavailable].
func (p *parts) writable() error {
	if p.node.Duties.Has(domain.RoleGateway) {
		return nil
	}
	return domain.Unavailablef("this node has lost the duty of a gateway and takes nothing in; ask another, or see `ramet duty show`")
}

// run runs the node with its door at every listener until ctx ends.
func (p *parts) run(ctx context.Context, listeners ...net.Listener) error {
	services := append([]node.Service{p.audit.Run, p.refreshPeers, p.giveBack, p.keepFolder}, p.services...)
	for _, l := range listeners {
		services = append(services, func(ctx context.Context) error { return p.door.Serve(ctx, l) })
	}
	return p.node.Run(ctx, services...)
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
	if p.streams != nil {
		if err := p.streams.Close(); err != nil {
			p.log.Warn("streams not closed cleanly", "err", err)
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
