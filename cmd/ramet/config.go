package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/setting"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/telemetry"
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

// config is the config file. What its fields mean, their defaults and bounds stand in the
// table of package setting. Every field may be left out.
type config struct {
	Name     string          `yaml:"name"`
	RunnerID domain.RunnerID `yaml:"runner_id"`
	Labels   domain.Labels   `yaml:"labels"`
	Lease    time.Duration   `yaml:"lease"`
	Grace    time.Duration   `yaml:"grace"`

	Listen           string            `yaml:"listen"`
	RESP             string            `yaml:"resp"`
	TLSCert          string            `yaml:"tls_cert"`
	TLSKey           string            `yaml:"tls_key"`
	MetricsTokenFile string            `yaml:"metrics_token_file"`
	MetricsContexts  []domain.TenantID `yaml:"metrics_contexts"`
	PublicURL        string            `yaml:"public_url"`
	Doors            doorsConfig       `yaml:"doors"`

	Tracing tracingConfig `yaml:"tracing"`

	Board            string        `yaml:"board"`
	Archive          string        `yaml:"archive"`
	ArchiveRetention time.Duration `yaml:"archive_retention"`
	ArchiveBytes     int64         `yaml:"archive_bytes"`
	ArchiveBacklog   int           `yaml:"archive_backlog"`
	WaitingJobs      int           `yaml:"waiting_jobs"`

	Artifacts         string        `yaml:"artifacts"`
	ArtifactBytes     int64         `yaml:"artifact_bytes"`
	ArtifactRetention time.Duration `yaml:"artifact_retention"`

	AuditLines      int             `yaml:"audit_lines"`
	AuditRetention  time.Duration   `yaml:"audit_retention"`
	Retention       time.Duration   `yaml:"retention"`
	Stream          string          `yaml:"stream"`
	StreamRetention time.Duration   `yaml:"stream_retention"`
	StreamBytes     int64           `yaml:"stream_bytes"`
	Buses           []string        `yaml:"buses"`
	MayLose         bool            `yaml:"may_lose"`
	Disk            node.DiskConfig `yaml:"disk"`

	Slots           map[domain.ScriptType]int `yaml:"slots"`
	SlotsPerContext map[domain.ScriptType]int `yaml:"slots_per_context"`
	PriorityAging   *time.Duration            `yaml:"priority_aging"` // nil: the default; 0: none
	Timeout         time.Duration             `yaml:"timeout"`
	MaxLosses       int                       `yaml:"max_losses"`
	LogBytes        int                       `yaml:"log_bytes"`
	KeepFailedFiles time.Duration             `yaml:"keep_failed_files"`

	Isolation script.Level                        `yaml:"isolation"`
	Walls     wallsConfig                         `yaml:"walls"`
	Limits    limitsConfig                        `yaml:"limits"`
	Runtimes  map[domain.ScriptType]runtimeConfig `yaml:"runtimes"`

	Sagas         sagasConfig                    `yaml:"sagas"`
	Effects       []effect.Definition            `yaml:"effects"`
	EffectsDir    string                         `yaml:"effects_dir"`
	EffectFolders []string                       `yaml:"effect_folders"`
	Secrets       map[string]effect.SecretSource `yaml:"secrets"`
	Egress        []string                       `yaml:"egress"`

	ContextSecrets contextSecretsConfig `yaml:"context_secrets"`

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
	Origins       []string `yaml:"cors_origins"`
}

// runtimeConfig is one block under runtimes.
type runtimeConfig struct {
	Command     []string          `yaml:"command"`
	Suffix      string            `yaml:"suffix"`
	Version     []string          `yaml:"version"`
	Env         map[string]string `yaml:"env"`
	Interpreter string            `yaml:"interpreter"`
	Fork        *bool             `yaml:"fork"`
	Reuse       int               `yaml:"reuse"`
	Isolation   script.Level      `yaml:"isolation"`
	See         []string          `yaml:"see"`
	Off         bool              `yaml:"off"`
	On          bool              `yaml:"on"`
	Tools       []string          `yaml:"tools"`
	Write       []string          `yaml:"write"`
}

// wallsConfig is about scripts that are walled or sealed.
type wallsConfig struct {
	User  int      `yaml:"user"`
	Group int      `yaml:"group"`
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

// loadConfig reads a config file, "" is the empty one, with what the environment says
// over it. See package setting.
//
// Errors: those of [setting.Read].
func loadConfig(path string) (config, error) {
	var c config
	_, err := setting.Read(path, os.Getenv, nil, &c, func() error { return c.check() })
	if errors.Is(err, domain.ErrInvalid) && errors.As(err, new(setting.Faults)) {
		err = fmt.Errorf("config file %w", err)
	}
	return c, err
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

// check says what is wrong with several settings together; what is wrong with one of them
// by itself its row in the table says. Each error begins with the key that it is about.
func (c config) check() error {
	errs := []error{telemetry.CheckContexts(c.MetricsContexts), c.Disk.Check(), c.Tracing.validate(), c.Doors.Check(),
		http.CheckOrigins(c.Doors.Origins), c.Sagas.check(), c.ForCircles.check(), c.checkContextSecrets()}
	if err := c.Labels.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("labels: %w", err))
	}
	for t, r := range c.Runtimes {
		if err := errors.Join(t.Validate(), r.checkReuse(t)); err != nil {
			errs = append(errs, fmt.Errorf("runtimes.%s: %w", t, err))
		}
	}
	for what, slots := range map[string]map[domain.ScriptType]int{"slots": c.Slots, "slots_per_context": c.SlotsPerContext} {
		for t := range slots {
			if err := cmp.Or(t.Validate(), c.runs(t)); err != nil {
				errs = append(errs, fmt.Errorf("%s.%s: %w", what, t, err))
			}
		}
	}
	return errors.Join(errs...)
}
