package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/blueprint/trial"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/setting"
)

// Streams are the process's own. What is a terminal is drawn on as such.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Hooks are what the command line does not do itself; cmd/ramet gives them.
type Hooks struct {
	// Version is printed by `ramet version`. Default: "dev".
	Version string
	// Without names the parts that this program was built without. Default: it has all.
	Without []string
	// Client says that the program can be no node: commands that are one are not shown.
	Client bool
	// TempFolder makes the folder of a node that lives for one command.
	TempFolder func() (path string, remove func() error, err error)
	// Env is what the environment had of [SecretVariables]. Default: it has them.
	Env map[string]string
	// Serve runs a node until ctx ends.
	Serve func(ctx context.Context, o ServeOptions) error
	// Embedded starts a node in this process; it has stopped when Stop returns.
	Embedded func(ctx context.Context, o EmbeddedOptions) (Embedded, error)
	// PlayBlueprint plays flows for tests of blueprints.
	PlayBlueprint trial.Player
	// NewKey makes a key, asks register whose it is, and writes it to a file
	// that must not be there before, or have the key of a call whose answer was lost;
	// mycelium is the key as the Mycelium network knows it. It looks for the file first:
	// a registered key that cannot be written is lost.
	NewKey func(path string, register func(pubkey string) (domain.ActorID, error)) (pubkey, mycelium string, err error)
	// Token signs a token for the node named audience that says what claims say.
	Token func(keyFile, audience string, ttl time.Duration, claims identity.Claims) (string, error)
	// SignMessage signs a message with a key file, in the name of its actor.
	SignMessage func(keyFile string, m *domain.Message) error
	// NATSConfig writes what a nats-server that others run must be told.
	NATSConfig func(NATSOptions) (string, error)
	// Config reads a config file with the environment, what variable has, and flags over
	// it. What it returns has the values also where an error says what is wrong.
	Config func(file string, variable func(name string) string, given []setting.Given) (*setting.Reading, error)
	// CheckConfig finds what is wrong with it, and what a node here would refuse to open.
	CheckConfig func(file string, variable func(name string) string) error
	// Restore fills a board from a backup, and CopyBoard one from another.
	Restore   func(ctx context.Context, o RestoreOptions) (backup.Summary, error)
	CopyBoard func(ctx context.Context, o CopyOptions) (backup.Summary, error)
	// Rekey makes new link keys for the node of a data folder.
	Rekey func(dataDir string) (bus, stream string, err error)
}

// NATSOptions say whom a nats-server that others run may let in, to what.
type NATSOptions struct {
	// Sites are this one and its peers.
	Sites []domain.Peer
	// Replicas of each mailbox.
	Replicas int
	// Streams adds the streams of sagas, for the nodes with stream keys, and
	// Producers programs that publish events: "7:U…".
	Streams   bool
	Producers []string
}

// ServeOptions are the flags of `ramet serve`; zero is the node's default.
type ServeOptions struct {
	DataDir  string
	Socket   string // where to listen besides Listen: [SocketPath] of DataDir
	BoardURL string
	Listen   string // host:port, [ListenNone], or "" for the loopback
	RESP     string // host:port or unix:PATH for clients of Redis, or ""
	TLSCert  string // PEM files for Listen and RESP; both or none
	TLSKey   string
	Name     string
	RunnerID domain.RunnerID
	// Buses are URLs of buses to other sites.
	Buses []string
	// Stream is the URL of the streams of sagas, or "off"; MayLose allows what
	// is acknowledged there to be lost in a power cut, and a Redis that throws keys
	// away when its memory is full.
	Stream  string
	MayLose bool
	// AcceptLoss opens a damaged data folder without what is lost.
	AcceptLoss bool
	// Circles are those to serve, beside those of the config file; CirclesOnly
	// says that these alone are served, and no jobs.
	Circles     []domain.ServedCircle
	CirclesOnly bool
	ConfigFile  string
	KeyFile     string // of --key: scripts may not read it
	Isolation   string // over that of the config file: sealed, walled or open
	ArchiveURL  string
	Grace       time.Duration
	Lease       time.Duration
	Labels      domain.Labels // over those of the config file
	// Dev makes samples, and has the console offer faults to cause. Opened is told the
	// address by which a browser gets in, once.
	Dev    bool
	Opened func(url string)
	Logger *slog.Logger
	// LogLevel is that of Logger, which may be changed while the node runs.
	LogLevel *slog.LevelVar
}

// EmbeddedOptions say what node to start in this process.
type EmbeddedOptions struct {
	DataDir    string
	Socket     string // where to listen: [SocketPath] of DataDir
	BoardURL   string
	ConfigFile string
	KeyFile    string // as in ServeOptions
	Isolation  string // as in ServeOptions
	ArchiveURL string
	Run        bool // with a runner
	Logger     *slog.Logger
}

// Embedded is a node in this process.
type Embedded struct {
	Socket string
	Cookie string // the file with the cookie for Socket: [CookiePath]
	// Runner is its runner, with the script types that it knows, served or not.
	Runner domain.Runner
	Stop   func() error
}

// Main runs one command line and returns the exit code. ctx ends with Ctrl-C.
func Main(ctx context.Context, args []string, std Streams, hooks Hooks) int {
	hooks.Version = cmp.Or(hooks.Version, "dev")
	ascii := onlyASCII(os.Getenv)
	out := &written{to: std.Out}
	std.Out, std.Err = page{out, ascii}, page{std.Err, ascii}
	a := &app{std: std, hooks: hooks}
	root := a.root()
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		a.completeNames(root) // no other command asks for them, and there are many to make
	}
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	return a.exit(ctx, c, out.instead(err))
}

// Commands is the tree of all commands, for whoever prints pages of it. They are
// not to be run: a node and its keys are Main's to bring.
func Commands() *cobra.Command {
	root := (&app{}).root()
	examples(root)
	return root
}

// complain writes to people. What others wrote may be in it (why a ban is, how
// a job failed), and does nothing to the terminal.
func (a *app) complain(text string) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	fmt.Fprintln(a.std.Err, "ramet: "+strings.Join(lines, "\n"))
}

// app is one command line.
type app struct {
	std   Streams
	hooks Hooks
	width int    // of the terminal, in tests
	piped []byte // what standard input had, once it was read

	// The global flags.
	data      string
	profile   string
	node      string
	key       string
	board     string
	config    string
	isolation string
	archive   string
	context   string // a number or an alias
	output    string
	fields    string
	whole     bool // -o wide
	names     bool // -o name
	embed     bool
	idle      bool // this process is a node without a runner
	checks    bool // the command asks of nothing that a node has stored: any will do
	startWait time.Duration

	dataGiven, nodeGiven bool // as flags, not by the environment

	// ahead is by how much the board's clock is ahead of this machine's, where a node was reached.
	ahead func() time.Duration
	// home is the context to work in. Where --context is an alias, it is known
	// once a node is reached.
	home domain.TenantID
}

func (a *app) tenant() domain.TenantID { return a.home }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "ramet",
		Short:         "Run scripts that must not be lost",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.StringVar(&a.data, "data", cmp.Or(os.Getenv("RAMET_DATA"), defaultData()), "")
	f.StringVar(&a.node, "node", os.Getenv("RAMET_NODE"), "")
	f.StringVar(&a.key, "key", os.Getenv("RAMET_KEY"), "")
	f.BoolVar(&a.embed, "embed", false, "")
	f.DurationVar(&a.startWait, "start-wait", startWait, "")
	f.StringVar(&a.board, "board", "", "")
	f.StringVar(&a.config, "config", os.Getenv("RAMET_CONFIG"), "")
	f.StringVar(&a.isolation, "isolation", os.Getenv("RAMET_ISOLATION"), "")
	f.StringVar(&a.archive, "archive", "", "")
	f.StringVar(&a.context, "context", "1", "")
	f.StringVar(&a.profile, "profile", os.Getenv("RAMET_PROFILE"), "")
	describe(f)
	f.StringVarP(&a.output, "output", "o", outTable, "table, wide (no cell is cut), json or yaml; of lists also name (the names alone, a line each)")
	f.StringVar(&a.fields, "fields", "", "only these `fields` of what is shown, by their names in json, such as id,status")
	root.PersistentPreRunE = a.checkFlags
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if meant := flagMeant(c, err.Error()); meant != "" {
			return domain.Invalidf("%v%s", err, meant)
		}
		return domain.Invalidf("%s; see `%s --help`", parserNoise.ReplaceAllString(err.Error(), ""), c.CommandPath())
	})
	root.AddCommand(a.serveCommand(), a.runCommand(), a.jobCommand(), a.flowCommand(), a.importCommand(), a.explainCommand(), a.archiveCommand(),
		a.blueprintCommand(),
		a.prerequisiteCommand(), a.secretCommand(), a.webhookCommand(), a.listenerCommand(),
		a.scheduleCommand(), a.contextCommand(), a.actorCommand(), a.messageCommand(), a.inboxCommand(), a.peerCommand(),
		a.tokenCommand(), a.nodeCommand(), a.runnerCommand(), a.banCommand(), a.dutyCommand(), a.routineCommand(), a.circleCommand(),
		a.sagaCommand(), a.effectCommand(), a.deadLetterCommand(), a.bulkCommand(), a.eventCommand(), a.auditCommand(), a.infoCommand(), a.topCommand(),
		a.doctorCommand(),
		a.backupCommand(), a.restoreCommand(), a.boardCommand(), a.rhaiCommand(), a.consoleCommand(), a.configCommand(), a.profileCommand(),
		a.versionCommand())
	root.AddCommand(a.scriptCommands()...)
	root.SetIn(a.std.In)
	root.SetOut(a.std.Out)
	root.SetErr(a.std.Err)
	// Here, not by cobra at the end, so that a shell that it does not know is
	// refused by typed too. It takes the streams as they are now.
	root.InitDefaultCompletionCmd()
	if err := root.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]cobra.Completion{outTable, outWide, outName, outJSON, outYAML}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("BUG: " + err.Error())
	}
	completionExamples(root)
	_ = root.RegisterFlagCompletionFunc("context", a.completeFlag(named["context CONTEXT"]))
	_ = root.RegisterFlagCompletionFunc("profile", completeProfiles)
	a.watchable(root)
	typed(root)
	showExample(root)
	if a.hooks.Client {
		hideNodes(root)
	}
	return root
}

// ownNode marks a command that is a node itself, or is about what one would be.
const ownNode = "own_node"

// oneNode marks a command about the very node that is reached.
const oneNode = "one_node"

// hideNodes hides such commands in a program that can be no node.
func hideNodes(c *cobra.Command) {
	c.Hidden = c.Hidden || c.Annotations[ownNode] != ""
	for _, sub := range c.Commands() {
		hideNodes(sub)
	}
}

// listers are the names of commands that list.
var listers = []string{"list", "instances", "search"}

// parserNoise is what the parsers of Go's library say before what is wrong;
// the value is quoted already.
var parserNoise = regexp.MustCompile(`strconv\.\w+: parsing ".*": |slog: level string ".*": |time: `)

// takesArgs marks a command that has others and arguments of its own.
const takesArgs = "takes_args"

// typed makes what cobra says of arguments and commands an error of a kind:
// the person typed something wrong.
func typed(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() } // else cobra asks no Args
	}
	check := c.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if c.HasSubCommands() && len(args) > 0 && c.Annotations[takesArgs] == "" {
			return unknown(c, args[0])
		}
		if err := check(c, args); err != nil {
			return domain.Invalidf("%v; want `%s`", err, c.UseLine())
		}
		return nil
	}
	for _, sub := range c.Commands() {
		typed(sub)
	}
}

// unknown is the error for a word that is no command, with what may be meant.
func unknown(c *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q for %q", word, c.CommandPath())
	if c.SuggestionsMinimumDistance <= 0 {
		c.SuggestionsMinimumDistance = 2
	}
	if near := c.SuggestionsFor(word); len(near) > 0 {
		return domain.Invalidf("%s; did you mean %s?", text, strings.Join(near, " or "))
	}
	return domain.Invalidf("%s; see `%s --help`", text, c.CommandPath())
}

func (a *app) checkFlags(c *cobra.Command, _ []string) error {
	a.warnOfSecrets(c)
	return a.settle(c)
}

// settle finds what flags, environment and profile say together.
func (a *app) settle(c *cobra.Command) error {
	a.fromVariable(c, "board", &a.board)
	a.fromVariable(c, "archive", &a.archive)
	if text := os.Getenv("RAMET_EMBED"); text != "" && !c.Flags().Changed("embed") {
		var err error
		if a.embed, err = strconv.ParseBool(text); err != nil {
			return domain.Invalidf("$RAMET_EMBED %q: want true or false", text)
		}
	}
	if text := os.Getenv("RAMET_START_WAIT"); text != "" && !c.Flags().Changed("start-wait") {
		var err error
		if a.startWait, err = time.ParseDuration(text); err != nil {
			return domain.Invalidf("$RAMET_START_WAIT %q: want a duration such as 10s", text)
		}
	}
	a.dataGiven, a.nodeGiven = c.Flags().Changed("data"), c.Flags().Changed("node")
	switch a.output {
	case outWide:
		a.whole, a.output = true, outTable
	case outName:
		if !slices.Contains(listers, c.Name()) {
			return domain.Invalidf("-o name is for commands that list; want table, wide, json or yaml")
		}
		if a.fields != "" {
			return domain.Invalidf("-o name and --fields: want one of them")
		}
		a.names, a.output = true, outTable
	}
	switch {
	case a.output != outTable && a.output != outJSON && a.output != outYAML:
		return domain.Invalidf("-o %q: want table, wide, name, json or yaml", a.output)
	case a.dataGiven && a.nodeGiven:
		return domain.Invalidf("--data and --node: want one of them")
	case a.dataGiven:
		a.node = "" // what was typed goes before the environment
	}
	if err := a.useProfile(c); err != nil {
		return err
	}
	if c.Annotations[oneNode] != "" && strings.Contains(a.node, ",") {
		return domain.Invalidf("`%s` is about one node, and --node names several: which?", c.CommandPath())
	}
	if a.context == "0" {
		return domain.Invalidf("--context 0 is the node's own space; want 1 or more")
	}
	if domain.ValidateAlias(a.context) == nil {
		return nil // see findHome
	}
	home, err := domain.ParseTenantID(a.context)
	if err != nil {
		return domain.Invalidf("--context %q: want a number from 1 to 4294967295, or an alias", a.context)
	}
	a.home = home
	return nil
}

// findHome asks a node which context --context is, where it is an alias.
func (a *app) findHome(ctx context.Context, l *link) (err error) {
	if a.home == 0 {
		a.home, err = contextNamed(ctx, l.Client, a.context)
	}
	return err
}

// contextNamed is the context that a person calls by its number or its alias.
//
// Errors: [domain.ErrInvalid]; those of the node.
func contextNamed(ctx context.Context, n *client.Client, name string) (domain.TenantID, error) {
	if domain.ValidateAlias(name) != nil {
		return domain.ParseTenantID(name)
	}
	t, err := n.ContextNamed(ctx, name)
	return t.ID, err
}

// noun is a command that only has others.
func noun(name, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(verbs...)
	return c
}

// defaultData is where a person's own node keeps its data.
func defaultData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ramet")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "ramet-data"
	}
	return filepath.Join(home, ".local", "share", "ramet")
}

// readInput reads a file, or what is piped in for "-", up to limit bytes. What
// is piped in is kept, so that it can be looked at before it is read.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid].
func (a *app) readInput(path string, limit int64) ([]byte, error) {
	if path == "-" && a.piped != nil {
		return a.piped, nil
	}
	in := a.std.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fileError(err)
		}
		defer f.Close()
		in = f
	}
	var text bytes.Buffer
	if n, err := io.Copy(&text, io.LimitReader(in, limit+1)); err != nil {
		return nil, fileError(err)
	} else if n > limit {
		return nil, domain.Invalidf("%s is longer than %d bytes", path, limit)
	}
	if path == "-" {
		a.piped = text.Bytes()
	}
	return text.Bytes(), nil
}

// fileError gives an error of the file system a kind.
func fileError(err error) error { return domain.FileErrorf(err, "%v", err) }
