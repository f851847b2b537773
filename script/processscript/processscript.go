// Package processscript runs scripts in any language that is a command: the
// script becomes a file in the work folder and the command is started for it.
// How its processes are held in and ended is package jail's affair.
package processscript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
)

// Placeholder stands for the script's path in a command.
const Placeholder = "{script}"

// Config says how the scripts of one type are run.
type Config struct {
	// Type is the script type, and so the queue. Required.
	Type domain.ScriptType
	// Command is the program and its arguments; [Placeholder] stands for the
	// script's path, and is added at the end where it is missing. Required.
	Command []string
	// Unasked says that nobody has named the type: that its command is not here is no fault.
	Unasked bool
	// Suffix is that of the script's file name: ".v". Default: none.
	Suffix string
	// PathOnly is for scripts that are not text but the path of a program,
	// absolute or within the work folder. Default: the script is text.
	PathOnly bool
	// Version is a command that prints the interpreter's version and ends with
	// code 0, shown to people. Default: not asked.
	Version []string
	// Env is given to every script; a job's own environment goes before it.
	Env map[string]string
	// Library is what scripts may import as "ramet". Default: nothing.
	Library script.Library
	// Slots is how many scripts at once are sensible. Default: twice the
	// number of processors, at least 4.
	Slots int
	// Level is how much of the machine scripts see. Default: the jail's own.
	Level script.Level
	// See lists files and folders that walled scripts may read besides.
	See []string
	// Limits are the defaults for jobs that bring none.
	Limits script.Limits
	// Jail starts the processes. Default: one of its own with Hide.
	Jail *jail.Jail
	// Hide lists folders that scripts may not read; see [jail.Config].
	Hide []string
}

// Runtime runs the scripts of one type.
type Runtime struct {
	cfg  Config
	jail jail.Lazy

	asking sync.Mutex // guards what follows
	told   string     // by the command for the version, once it has
}

var _ script.Runtime = (*Runtime)(nil)

// New returns a runtime. It starts nothing yet.
//
// Errors: [domain.ErrInvalid] for a configuration that cannot work.
func New(cfg Config) (*Runtime, error) {
	if err := cfg.Type.Validate(); err != nil {
		return nil, err
	}
	if len(cfg.Command) == 0 || cfg.Command[0] == "" {
		return nil, domain.Invalidf("runtime %q: it has no command; set runtimes.%s.command in the config file", cfg.Type, cfg.Type)
	}
	if strings.ContainsAny(cfg.Suffix, "/\x00") {
		return nil, domain.Invalidf("runtime %q: suffix %q has a slash; write it like .v", cfg.Type, cfg.Suffix)
	}
	if !slices.ContainsFunc(cfg.Command, func(word string) bool { return strings.Contains(word, Placeholder) }) {
		cfg.Command = append(slices.Clone(cfg.Command), Placeholder)
	}
	cfg.Slots = cmp.Or(cfg.Slots, max(4, 2*runtime.GOMAXPROCS(0)))
	return &Runtime{cfg: cfg, jail: jail.Lazy{Given: cfg.Jail, Config: jail.Config{Hide: cfg.Hide}}}, nil
}

// Shell returns the built-in runtime of shell scripts, /bin/sh.
func Shell(cfg Config) *Runtime {
	cfg.Type = cmp.Or(cfg.Type, domain.ScriptShell)
	if len(cfg.Command) == 0 {
		cfg.Command = []string{"/bin/sh", Placeholder}
	}
	cfg.Suffix = cmp.Or(cfg.Suffix, ".sh")
	r, err := New(cfg)
	if err != nil {
		panic("BUG: shell runtime: " + err.Error())
	}
	return r
}

// Type is the script type it serves.
func (r *Runtime) Type() domain.ScriptType { return r.cfg.Type }

// Info describes the command, and what was seen to hold its processes in.
func (r *Runtime) Info() script.Info {
	info := script.Info{Summary: strings.Join(r.cfg.Command, " "), Slots: r.cfg.Slots}
	if version, err := r.version(context.Background()); err == nil && version != "" {
		info.Summary += ", " + version
	}
	if cell, err := r.jail.Get(); err == nil {
		cell.Describe(&info, r.cfg.Level)
	}
	return info
}

// Check reports a command that is not there or does not work.
//
// Errors: [domain.ErrUnavailable].
func (r *Runtime) Check(ctx context.Context) error {
	if _, err := r.program(); err != nil {
		return err
	}
	if _, err := r.version(ctx); err != nil {
		return domain.Unavailablef("runtime %q: the command %q does not work: %v; repair it or set runtimes.%s.command in the config file",
			r.cfg.Type, strings.Join(r.cfg.Version, " "), err, r.cfg.Type)
	}
	cell, err := r.jail.Get()
	if err == nil {
		err = cell.Check(r.cfg.Level)
	}
	if err != nil {
		return domain.Unavailablef("runtime %q: %v", r.cfg.Type, err)
	}
	return nil
}

// program finds the command in the node's PATH.
func (r *Runtime) program() (string, error) {
	name := r.cfg.Command[0]
	if strings.Contains(name, Placeholder) {
		return name, nil
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil // what a person put into the config file is meant
	}
	if err != nil {
		err := domain.Unavailablef("runtime %q: the command %q was not found in PATH; install it or set runtimes.%s.command in the config file",
			r.cfg.Type, name, r.cfg.Type)
		if r.cfg.Unasked {
			err = &script.Unasked{Why: err}
		}
		return "", err
	}
	return filepath.Abs(path) // the script's folder is another
}

// version asks the command what it is, once; where it does not answer, a later call
// asks again.
func (r *Runtime) version(ctx context.Context) (string, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if len(r.cfg.Version) == 0 || r.told != "" {
		return r.told, nil
	}
	ctx, cancel := context.WithTimeout(ctx, script.AnswerTime)
	defer cancel()
	output, err := exec.CommandContext(ctx, r.cfg.Version[0], r.cfg.Version[1:]...).CombinedOutput()
	if err != nil {
		return "", script.AnswerError(ctx, err)
	}
	r.told, _, _ = strings.Cut(strings.TrimSpace(string(output)), "\n")
	return r.told, nil
}

// Run runs one script; see [script.Runtime].
func (r *Runtime) Run(ctx context.Context, task script.Task, host script.Host) (script.Outcome, error) {
	task.Limits = task.Limits.WithDefaults(r.cfg.Limits)
	if stopped := script.Stop(ctx); stopped != nil {
		return script.NotStarted(stopped), nil
	}
	cell, err := r.jail.Get()
	if err != nil {
		return script.Outcome{}, err
	}
	level, err := cell.Level(r.cfg.Level, task.Level)
	if err != nil {
		return script.Outcome{}, err
	}
	if err := r.cfg.Library.Add(&task); err != nil {
		return script.Outcome{}, err
	}
	args, err := r.prepare(task)
	if err != nil {
		return script.Outcome{}, err
	}
	spec := jail.Spec{Args: args, Env: script.Environ(task, r.cfg.Env), Dir: task.Dir, Limits: task.Limits, Level: level,
		Programs: r.programs(args[0]), See: append(jail.SearchPath(r.cfg.Env), r.cfg.See...)}
	outcome, err := run(ctx, cell, spec, task, host)
	// What a script names is the script's affair.
	if command := r.cfg.Command[0]; !strings.Contains(command, Placeholder) && (errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission)) {
		err = domain.Unavailablef("%v", err)
	}
	return outcome, err
}

// prepare fills the work folder and the command.
func (r *Runtime) prepare(task script.Task) ([]string, error) {
	program, err := r.program()
	if err != nil {
		return nil, err
	}
	// A child forked elsewhere while the file is open for writing would hold
	// it open, and a program that is open for writing cannot be executed.
	syscall.ForkLock.RLock()
	path, err := script.WriteFiles(task, "script"+r.cfg.Suffix)
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	if r.cfg.PathOnly {
		if path = strings.TrimSpace(task.Script); !filepath.IsAbs(path) {
			path = filepath.Join(task.Dir, path)
		}
	}
	args := append([]string{program}, r.cfg.Command[1:]...)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], Placeholder, path)
	}
	return args, nil
}

// programs are those that the operator chose: never what a script names.
func (r *Runtime) programs(first string) []string {
	var list []string
	for i, word := range r.cfg.Command {
		if i == 0 {
			word = first
		}
		if !strings.Contains(r.cfg.Command[i], Placeholder) && filepath.IsAbs(word) {
			list = append(list, word)
		}
	}
	return list
}

func run(ctx context.Context, cell *jail.Jail, spec jail.Spec, task script.Task, host script.Host) (script.Outcome, error) {
	capture := script.NewCapture(task, host)
	output, err := jail.NewOutput(capture)
	if err != nil {
		return script.Outcome{}, fmt.Errorf("run job %q: %w", task.Name, err)
	}
	spec.Stdout, spec.Stderr = output.Stdout, output.Stderr
	spec.Stop = func() error { return script.Stop(ctx) }
	process, err := cell.Start(spec)
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
	return exit.Outcome(task, capture, host, stopped), nil
}

// Close ends what the runtime keeps.
func (r *Runtime) Close() error {
	return r.jail.Close()
}
