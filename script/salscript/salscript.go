package salscript

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
)

// ChildCommand is the first argument with which this program is a child.
const ChildCommand = "sal-child"

// scriptFile is the script's name in its work folder.
const scriptFile = "script.rhai"

// runtimeBytes is address space that a Go program reserves and does not use.
const runtimeBytes = 2 << 30

// maxReportBytes bounds what a child says about its end: less than a pipe
// holds, so that it need not be read meanwhile.
const maxReportBytes = 4 << 10

// Config says what sal scripts may do.
type Config struct {
	// On serves the type at all. Default: not, because its scripts may do what
	// the node's user may.
	On bool
	// Tools are the commands of the container, service, package, database and
	// ssh functions that scripts may use where they are installed: "nerdctl",
	// "buildah", "zinit", "apt-get", "psql", "ssh". Default: none.
	Tools []string
	// Write lists folders that scripts may write to beside their work folder.
	// Default: none.
	Write []string
	// Hide and Secrets are what scripts may not read, for the jail that Write
	// needs; see [jail.Config].
	Hide    []string
	Secrets *jail.Secrets
	// Env is given to every script (REDIS_URL, say); a job's own environment
	// goes before it.
	Env map[string]string
	// Program is how a child is started. Default: this program and [ChildCommand].
	Program []string
	// Slots is how many scripts at once are sensible. Default: twice the
	// number of processors, at least 4.
	Slots int
	// Level is how much of the machine scripts see. Default: the jail's own.
	Level script.Level
	// See lists files and folders that walled scripts may read besides.
	See []string
	// Limits are the defaults for jobs that bring none.
	Limits script.Limits
	// Jail starts the children, unless Write is set. Default: one of its own.
	Jail *jail.Jail
}

// Runtime runs sal scripts.
type Runtime struct {
	cfg  Config
	jail jail.Lazy
}

var _ script.Runtime = (*Runtime)(nil)

// New returns a runtime. It starts nothing yet.
func New(cfg Config) *Runtime {
	cfg.Slots = cmp.Or(cfg.Slots, max(4, 2*runtime.GOMAXPROCS(0)))
	r := &Runtime{cfg: cfg}
	r.jail.Config.Hide, r.jail.Config.Secrets = cfg.Hide, cfg.Secrets
	if r.jail.Given = cfg.Jail; len(cfg.Write) > 0 {
		r.jail.Given, r.jail.Config.Write = nil, cfg.Write
	}
	return r
}

// Type is sal.
func (r *Runtime) Type() domain.ScriptType { return domain.ScriptSAL }

// Info describes the runtime, and what was seen to hold its processes in.
func (r *Runtime) Info() script.Info {
	info := script.Info{Summary: "rhai with system functions, a process per job", Slots: r.cfg.Slots}
	if len(r.cfg.Tools) > 0 {
		info.Summary += ", tools " + strings.Join(r.cfg.Tools, " ")
	}
	if cell, err := r.jail.Get(); r.cfg.On && err == nil {
		cell.Describe(&info, r.cfg.Level)
	}
	return info
}

// Check reports that the type is off, or what is missing.
//
// Errors: [domain.ErrUnavailable].
func (r *Runtime) Check(context.Context) error {
	if !r.cfg.On {
		return &script.Unasked{Why: domain.Unavailablef(`runtime "sal": off, because its scripts may do what the node's user may; ` +
			`to allow them set runtimes.sal.on: true in the config file`)}
	}
	if _, err := r.program(); err != nil {
		return err
	}
	cell, err := r.jail.Get()
	if err == nil {
		err = cell.Check(r.cfg.Level)
	}
	if err != nil {
		return domain.Unavailablef(`runtime "sal": %v`, err)
	}
	return nil
}

// program is the command of a child.
func (r *Runtime) program() ([]string, error) {
	if len(r.cfg.Program) > 0 {
		return r.cfg.Program, nil
	}
	self, err := os.Executable()
	if err == nil {
		_, err = os.Stat(self) // it may have been replaced since it started
	}
	if err != nil {
		return nil, domain.Unavailablef(`runtime "sal": find this program, which its children are too: %v`, err)
	}
	return []string{self, ChildCommand}, nil
}

// Run runs one script; see [script.Runtime].
func (r *Runtime) Run(ctx context.Context, task script.Task, host script.Host) (script.Outcome, error) {
	if stopped := script.Stop(ctx); stopped != nil {
		return script.NotStarted(stopped), nil
	}
	// Not only Check: a job may have been claimed before a restart took it away.
	if !r.cfg.On {
		return script.Outcome{}, r.Check(ctx)
	}
	task.Limits = task.Limits.WithDefaults(r.cfg.Limits)
	cell, err := r.jail.Get()
	if err != nil {
		return script.Outcome{}, err
	}
	level, err := cell.Level(r.cfg.Level, task.Level)
	if err != nil {
		return script.Outcome{}, err
	}
	spec, err := r.prepare(task)
	if err != nil {
		return script.Outcome{}, err
	}
	spec.Level = level
	return run(ctx, cell, spec, task, host)
}

// prepare fills the work folder and says how the child is started.
func (r *Runtime) prepare(task script.Task) (jail.Spec, error) {
	program, err := r.program()
	if err != nil {
		return jail.Spec{}, err
	}
	// A child forked elsewhere while the file is open for writing would hold
	// it open.
	syscall.ForkLock.RLock()
	_, err = script.WriteFiles(task, scriptFile)
	syscall.ForkLock.RUnlock()
	if err != nil {
		return jail.Spec{}, err
	}
	arg, err := json.Marshal(childConfig{
		Script: scriptFile, Tools: r.cfg.Tools, MemoryBytes: task.Limits.MemoryBytes, FileBytes: task.Limits.FileBytes,
	})
	if err != nil {
		return jail.Spec{}, fmt.Errorf("run job %q: %w", task.Name, err)
	}
	spec := jail.Spec{
		Args: append(append([]string{}, program...), string(arg)), Dir: task.Dir,
		Env: script.Environ(task, r.cfg.Env), Limits: task.Limits, Programs: append(program[:1:1], r.tools()...),
		See: append(jail.SearchPath(r.cfg.Env), r.cfg.See...),
	}
	if spec.Limits.MemoryBytes > 0 { // the child bounds its script and commands to the limit itself
		spec.Limits.MemoryBytes += runtimeBytes
	}
	return spec, nil
}

// tools are the programs that scripts may use and that are installed.
func (r *Runtime) tools() (paths []string) {
	for _, name := range r.cfg.Tools {
		if path, err := exec.LookPath(name); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func run(ctx context.Context, cell *jail.Jail, spec jail.Spec, task script.Task, host script.Host) (script.Outcome, error) {
	capture := script.NewCapture(task, host)
	output, err := jail.NewOutput(capture)
	if err != nil {
		return script.Outcome{}, fmt.Errorf("run job %q: %w", task.Name, err)
	}
	report, says, err := os.Pipe()
	if err != nil {
		output.Close()
		return script.Outcome{}, fmt.Errorf("run job %q: %w", task.Name, err)
	}
	defer report.Close()
	spec.Stdout, spec.Stderr, spec.Extra = output.Stdout, output.Stderr, []*os.File{says}
	spec.Stop = func() error { return script.Stop(ctx) }
	process, err := cell.Start(spec)
	says.Close()
	if err != nil {
		output.Close()
		if stopped := script.Stop(ctx); stopped != nil {
			return script.NotStarted(stopped), nil
		}
		return script.Outcome{}, fmt.Errorf("run job %q: %w", task.Name, err)
	}
	output.Started()
	ctx, quota := script.Watch(ctx, task)
	exit, stopped := process.Await(ctx, task.Grace)
	output.Wait()
	stopped = quota.Close(stopped)
	outcome := exit.Outcome(task, capture, host, stopped)
	// The line comes from a process that ran a stranger's script: it is shown,
	// and decides nothing.
	said, _ := io.ReadAll(io.LimitReader(report, maxReportBytes))
	if bad := outcome.Verdict == script.Failed || outcome.Verdict == script.Errored; bad && stopped == nil && len(said) > 0 && !outcome.Invalid {
		outcome.Error = strings.ToValidUTF8(string(bytes.TrimSpace(said)), "\uFFFD")
	}
	return outcome, nil
}

// Close ends what the runtime keeps.
func (r *Runtime) Close() error { return r.jail.Close() }
