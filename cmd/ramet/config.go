package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
)

// config is the config file. Every field may be left out.
type config struct {
	// Runtimes adds script types, or changes those built in.
	Runtimes map[domain.ScriptType]runtimeConfig `yaml:"runtimes"`
	// Slots is how many scripts of a type run at once.
	Slots map[domain.ScriptType]int `yaml:"slots"`
	// SlotsPerContext is how many of them one context may hold at once.
	SlotsPerContext map[domain.ScriptType]int `yaml:"slots_per_context"`
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

	// MetricsTokenFile has a token by which /metrics alone may be read.
	MetricsTokenFile string `yaml:"metrics_token_file"`

	// RESP is where to listen for clients of Redis; that of the flag goes before.
	RESP string `yaml:"resp"`
	// Doors bound what callers hold.
	Doors budget.Config `yaml:"doors"`
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
	Interpreter string `yaml:"interpreter"`
	Fork        *bool  `yaml:"fork"`
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

// plainWords are for other words of the library's.
var plainWords = strings.NewReplacer("time.Duration", "a duration such as 30s", "!!seq", "a list", "!!map", "fields")

// plain says in one line, without words of Go, what the YAML library found.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	text = unknownField.ReplaceAllString(text, `unknown field "$1"`)
	text = listType.ReplaceAllString(mapType.ReplaceAllString(text, "into fields"), "into a list")
	text = valueType.ReplaceAllString(plainWords.Replace(ownType.ReplaceAllString(text, "fields")), "")
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

func (c config) check() error {
	if err := c.Labels.Validate(); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	if err := c.Isolation.Validate(); err != nil {
		return err
	}
	if c.Walls.User < 0 || c.Walls.Group < 0 {
		return domain.Invalidf("walls.user and walls.group: want the numbers of an ordinary user and group, such as 65534")
	}
	for t, r := range c.Runtimes {
		if err := errors.Join(t.Validate(), r.Isolation.Validate()); err != nil {
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
		}
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
	if err := c.Doors.Check(); err != nil {
		return err
	}
	if err := c.Sagas.check(); err != nil {
		return err
	}
	return c.ForCircles.check()
}
