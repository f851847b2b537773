package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/pythonscript"
)

// aging is for the runner: 0 is its default there, and less than 0 none.
func (c *config) aging() time.Duration {
	switch d := c.PriorityAging; {
	case d == nil:
		return 0
	case *d == 0:
		return -1
	default:
		return *d
	}
}

// config is the config file. Every field may be left out.
type config struct {
	// Runtimes adds script types, or changes those built in.
	Runtimes map[domain.ScriptType]runtimeConfig `yaml:"runtimes"`
	// Slots is how many scripts of a type run at once.
	Slots map[domain.ScriptType]int `yaml:"slots"`
	// SlotsPerContext is how many of them one context may hold at once.
	SlotsPerContext map[domain.ScriptType]int `yaml:"slots_per_context"`
	// PriorityAging is how much longer a job must have waited to go before one of the
	// next higher priority; 0: priorities do not age.
	PriorityAging *time.Duration `yaml:"priority_aging"`
	// Limits bound every script.
	Limits limitsConfig `yaml:"limits"`
	// Isolation is how much of the machine scripts see: sealed, walled (the
	// default) or open. Walls are the fields about those that are not open.
	Isolation script.Level `yaml:"isolation"`
	Walls     wallsConfig  `yaml:"walls"`
	// The rest is as in node.Config; durations are written like 30s or 24h.
	Lease           time.Duration `yaml:"lease"`
	Grace           time.Duration `yaml:"grace"`
	MaxLosses       int           `yaml:"max_losses"`
	Timeout         time.Duration `yaml:"timeout"`
	LogBytes        int           `yaml:"log_bytes"`
	KeepFailedFiles time.Duration `yaml:"keep_failed_files"`
	Retention       time.Duration `yaml:"retention"`
	// Board and Archive are as the flags, which go before them.
	Board            string        `yaml:"board"`
	Archive          string        `yaml:"archive"`
	ArchiveRetention time.Duration `yaml:"archive_retention"`
	// ArchiveBacklog is from how many ends that wait for the archive on a context
	// takes no new work; -1: no bound.
	ArchiveBacklog int `yaml:"archive_backlog"`

	// Disk is from when on that of the data folder is nearly full.
	Disk node.DiskConfig `yaml:"disk"`

	// MetricsTokenFile has a token by which /metrics alone may be read.
	MetricsTokenFile string `yaml:"metrics_token_file"`

	// RESP is where to listen for clients of Redis; that of the flag goes before.
	RESP string `yaml:"resp"`
	// Doors are the fields about the HTTP door and the Redis door.
	Doors doorsConfig `yaml:"doors"`
	// Buses are URLs of buses to other sites; those of the flag go before them.
	Buses []string `yaml:"buses"`

	// Stream and MayLose are as the flags, which go before them.
	Stream  string `yaml:"stream"`
	MayLose bool   `yaml:"may_lose"`
	// Sagas are the fields about sagas.
	Sagas sagasConfig `yaml:"sagas"`
	// Effects are calls to the outside; EffectsDir is a folder of files with more.
	Effects    []effect.Definition `yaml:"effects"`
	EffectsDir string              `yaml:"effects_dir"`
	// EffectFolders are those in which effects may open databases that are files.
	EffectFolders []string `yaml:"effect_folders"`
	// Secrets are what effects name, and where it comes from.
	Secrets map[string]effect.SecretSource `yaml:"secrets"`
	// Egress are the addresses that effects and prerequisites may reach: host
	// names, networks, ports.
	Egress []string `yaml:"egress"`

	// Labels say what the node is, as zone: eu; those of the flag go before them.
	Labels domain.Labels `yaml:"labels"`

	// ForCircles are the fields about circles.
	ForCircles circlesConfig `yaml:",inline"`

	// Hide lists folders that scripts may not read, and HideToo what changes of
	// that. The node knows, not the file.
	Hide    []string      `yaml:"-"`
	HideToo *jail.Secrets `yaml:"-"`
	// Python returns the interpreter for scripts of type python that was looked for
	// meanwhile; nil where that is for the runtime to do.
	Python func() (pythonscript.Interpreter, error) `yaml:"-"`
}

// doorsConfig is the block doors.
type doorsConfig struct {
	// The bounds of what callers hold.
	budget.Config `yaml:",inline"`
	// Origins are those of pages that a browser lets read what the HTTP door answers.
	Origins []string `yaml:"cors_origins"`
}

// runtimeConfig is one block under runtimes.
type runtimeConfig struct {
	// Command runs a script; {script} stands for the script's path.
	Command []string `yaml:"command"`
	// Suffix is that of the script's file name.
	Suffix string `yaml:"suffix"`
	// Version is a command that prints the interpreter's version.
	Version []string `yaml:"version"`
	// Env is given to every script of the type.
	Env map[string]string `yaml:"env"`
	// Interpreter and Fork are for python: another interpreter, and whether
	// jobs are forked from a loaded one (the default) or started anew.
	// Reuse is how many jobs of one caller such an interpreter runs; 0 forks one for each.
	Interpreter string `yaml:"interpreter"`
	Fork        *bool  `yaml:"fork"`
	Reuse       int    `yaml:"reuse"`
	// Isolation goes before that for all types. See are files and folders that
	// its walled scripts may read besides.
	Isolation script.Level `yaml:"isolation"`
	See       []string     `yaml:"see"`
	// Off takes a built-in type away.
	Off bool `yaml:"off"`
	// On allows sal, whose scripts may do what the node's user may. Tools are
	// the commands of its container, service, package and database functions
	// that they may use, Write the folders they may write to beside their own.
	On    bool     `yaml:"on"`
	Tools []string `yaml:"tools"`
	Write []string `yaml:"write"`
}

// wallsConfig is about scripts that are walled or sealed.
type wallsConfig struct {
	// User and Group are those with which scripts of a node of root's run.
	User  int `yaml:"user"`
	Group int `yaml:"group"`
	// See and Write are files and folders that every walled script may read, or
	// write to, besides the system's and its own.
	See   []string `yaml:"see"`
	Write []string `yaml:"write"`
}

// limitsConfig bounds every script; zero is the runtime's default.
type limitsConfig struct {
	CPU         time.Duration `yaml:"cpu"`
	MemoryBytes int64         `yaml:"memory_bytes"`
	FileBytes   int64         `yaml:"file_bytes"`
	FolderBytes int64         `yaml:"folder_bytes"`
	FolderFiles int           `yaml:"folder_files"`
	Files       int           `yaml:"files"`
	Processes   int           `yaml:"processes"`
}

func (l limitsConfig) limits() script.Limits {
	return script.Limits{CPU: l.CPU, MemoryBytes: l.MemoryBytes, FileBytes: l.FileBytes, FolderBytes: l.FolderBytes, FolderFiles: l.FolderFiles,
		Files: l.Files, Processes: l.Processes}
}

// loadConfig reads a config file; "" is the empty one.
//
// Errors: those of [domain.FileErrorf]; [domain.ErrInvalid] naming the file,
// the line and the field.
func loadConfig(path string) (config, error) {
	var c config
	if path == "" {
		return c, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return c, domain.FileErrorf(err, "config file: %v", err)
	}
	if err := intake.YAML(text, &c, intake.Limits{Bytes: maxConfig}); err != nil {
		return c, domain.Invalidf("config file %s: %s", path, plain(err))
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("config file %s: %w", path, err)
	}
	return c, nil
}

// maxConfig bounds a config file in bytes.
const maxConfig = 4 << 20

// unknownField and ownType are how the YAML library names types of ours.
var (
	unknownField = regexp.MustCompile(`field (\S+) not found in type main\.\w+`)
	ownType      = regexp.MustCompile(`main\.\w+`)
)

// mapType and listType are how it names those of Go.
var (
	mapType  = regexp.MustCompile(`into map\[\S+`)
	listType = regexp.MustCompile(`into \[\]\S+`)
)

// valueType is how it names that of a value.
var valueType = regexp.MustCompile(`!!\w+ `)

// network is how it says that something is no network.
var network = regexp.MustCompile(`netip\.ParsePrefix\(("[^"]*")\): .*`)

// plainWords are for other words of the library's.
var plainWords = strings.NewReplacer("time.Duration", "a duration such as 30s", "!!seq", "a list", "!!map", "fields")

// plain says in one line, without words of Go, what the YAML library found.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	text = unknownField.ReplaceAllString(text, `unknown field "$1"`)
	text = listType.ReplaceAllString(mapType.ReplaceAllString(text, "into fields"), "into a list")
	text = valueType.ReplaceAllString(plainWords.Replace(ownType.ReplaceAllString(text, "fields")), "")
	text = network.ReplaceAllString(text, `$1 is no network: want an address and how many bits of it count, such as 10.0.0.5/32 or 2001:db8::/48`)
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// checkReuse refuses a number of jobs where there is no pool of interpreters.
func (r runtimeConfig) checkReuse(t domain.ScriptType) error {
	switch {
	case r.Reuse < 0 || r.Reuse > pythonscript.MostReuse:
		return domain.Invalidf("reuse is %d, want 1 to %d jobs for each interpreter, or 0 to fork one for each job", r.Reuse, pythonscript.MostReuse)
	case r.Reuse > 0 && (t != domain.ScriptPython || len(r.Command) > 0):
		return domain.Invalidf("reuse is for python, whose interpreters are forked, and for no command")
	case r.Reuse > 0 && r.Fork != nil && !*r.Fork:
		return domain.Invalidf("reuse and fork: false: an interpreter that is started for each job cannot run several")
	}
	return nil
}

// runs refuses a type of scripts that a node with this config has no runtime for.
func (c config) runs(t domain.ScriptType) error {
	known := map[string]bool{}
	for _, t := range slices.Concat(domain.ScriptTypes, slices.Collect(maps.Keys(builtin)), slices.Collect(maps.Keys(c.Runtimes))) {
		known[string(t)] = true
	}
	if known[string(t)] {
		return nil
	}
	names := slices.Sorted(maps.Keys(known))
	if near := domain.Nearest(string(t), names); near != "" {
		return domain.Invalidf("there is no runtime for %q; did you mean %q?", t, near)
	}
	return domain.Invalidf("there is no runtime for %q; known are %s, and what stands under runtimes", t, strings.Join(names, ", "))
}

// check refuses what no script can live with, whatever runs it.
func (l limitsConfig) check() error {
	for _, f := range []struct {
		name      string
		is, least int64
	}{
		{"memory_bytes", l.MemoryBytes, leastMemory}, {"file_bytes", l.FileBytes, leastFile}, {"folder_bytes", l.FolderBytes, leastFolder},
		{"folder_files", int64(l.FolderFiles), leastFiles}, {"files", int64(l.Files), leastFiles},
	} {
		if f.is > 0 && f.is < f.least {
			return domain.Invalidf("limits.%s is %d, with which no script would start: want %d or more, or 0 for the default", f.name, f.is, f.least)
		}
	}
	if l.CPU > 0 && l.CPU < time.Second {
		return domain.Invalidf("limits.cpu is %v: want 1s or more, or 0 for none", l.CPU)
	}
	return nil
}

// The least limits: a shell starts with these, larger interpreters want more.
const (
	leastMemory = 16 << 20
	leastFile   = 4 << 10
	leastFolder = 64 << 10
	leastFiles  = 16
)

func (c config) check() error {
	if err := c.Limits.check(); err != nil {
		return err
	}
	if err := c.Disk.Check(); err != nil {
		return err
	}
	if err := c.Labels.Validate(); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	if err := c.Isolation.Validate(); err != nil {
		return err
	}
	if c.ArchiveBacklog < -1 {
		return domain.Invalidf("archive_backlog is %d, want a number of jobs such as 1000000, or -1 for no bound", c.ArchiveBacklog)
	}
	if c.Walls.User < 0 || c.Walls.Group < 0 {
		return domain.Invalidf("walls.user and walls.group: want the numbers of an ordinary user and group, such as 65534")
	}
	for t, r := range c.Runtimes {
		if err := errors.Join(t.Validate(), r.Isolation.Validate(), r.checkReuse(t)); err != nil {
			return fmt.Errorf("runtimes.%s: %w", t, err)
		}
	}
	for what, slots := range map[string]map[domain.ScriptType]int{"slots": c.Slots, "slots_per_context": c.SlotsPerContext} {
		for t, n := range slots {
			if err := t.Validate(); err != nil {
				return err
			}
			if n < 1 || n > 100_000 {
				return domain.Invalidf("%s.%s is %d, want 1 to 100000", what, t, n)
			}
			if err := c.runs(t); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
	}
	if d := c.PriorityAging; d != nil && *d != 0 && (*d < time.Second || *d > board.MaxAging) {
		return domain.Invalidf("priority_aging is %v, want 0 (priorities do not age) or 1s to %v", *d, board.MaxAging)
	}
	for name, d := range map[string]time.Duration{"lease": c.Lease, "grace": c.Grace, "timeout": c.Timeout,
		"keep_failed_files": c.KeepFailedFiles, "retention": c.Retention,
		"archive_retention": c.ArchiveRetention} {
		if d < 0 {
			return domain.Invalidf("%s is %v, want a positive duration such as 30s", name, d)
		}
	}
	if c.MaxLosses < 0 || c.LogBytes < 0 {
		return domain.Invalidf("max_losses and log_bytes: want 0 (the default) or more")
	}
	if c.Lease != 0 && (c.Lease < 3*time.Second || c.Lease > time.Hour) {
		return domain.Invalidf("lease is %v, want 3s to 1h", c.Lease)
	}
	if err := errors.Join(c.Doors.Check(), http.CheckOrigins(c.Doors.Origins)); err != nil {
		return err
	}
	if err := c.Sagas.check(); err != nil {
		return err
	}
	return c.ForCircles.check()
}
