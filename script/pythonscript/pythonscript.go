// Package pythonscript runs Python scripts in forked interpreters: a parent
// process has the standard library loaded and forks for every job. So each
// job has a process of its own, without the time that an interpreter needs to
// start.
//
// A forked job differs from `python3 FILE` in little: all jobs of one parent
// share the seed of str hashes; of the interpreter's own environment variables
// only PYTHONPATH, PYTHONUNBUFFERED and PYTHONDONTWRITEBYTECODE have an effect.
// Where that matters, or for a virtual environment that is not the pool's,
// Config.Plain starts an interpreter for every job.
//
// # The module ramet
//
// By it scripts remember what they have done. Parents have it loaded, behind whatever
// else can be imported by that name; an interpreter that is started for a job finds it as
// a file, unless it has a package of that name.
//
// # When the parent dies
//
// It is started again at once, and a job that had not begun is given to the next
// one. At level open its jobs go on: they become the node's own children, which
// the jail finds by their tags. At the other levels they end with it, for the
// world of each lies in the parent's: they have ended in a way that nobody can
// tell, are never run twice, and it is for the job's retries to say what follows.
//
// # Walls
//
// Jobs of level open have parents of their own; those of walled and sealed jobs
// are walled themselves (see package jail). What a job is given, its text and its
// variables, never passes through the parent's memory, which all jobs have copies of.
//
// # Goroutines
//
//	read   one per parent, until its socket ends
//	leave  one per walled job that has ended, until its mounts are taken down
//	listen one per interpreter that is kept, until its socket ends
//	end    one per such interpreter that is thrown away, until nothing of it is left
package pythonscript

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/processscript"
	"github.com/ramet-run/ramet/sdk"
)

// Config says how Python scripts are run.
type Config struct {
	// Interpreter is the command. Default: python3.
	Interpreter string
	// Found returns what Find has found for it, once that is known: where the search
	// began before there was a jail. Default: it is looked for at first use.
	Found func() (Interpreter, error)
	// Plain starts an interpreter for every job instead of forking.
	Plain bool
	// Reuse is how many jobs of one caller in one context an interpreter of the pool
	// runs, one after the other. They find what earlier ones made of its modules. Jobs of
	// level open are forked in any case. Default: one.
	Reuse int
	// Parents is how many processes fork. One forks some thousand times a
	// second. Default: one for every four processors.
	Parents int
	// Preload lists modules that the parents load. Default: the commonly used
	// part of the standard library.
	Preload []string
	// Env is given to every script; a job's own environment goes before it.
	Env map[string]string
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

// MostReuse is how many jobs an interpreter may run: what they leave in its memory stays.
const MostReuse = 10_000

// Runtime runs Python scripts.
type Runtime struct {
	cfg  Config
	jail jail.Lazy

	open, walled *pool // nil for Plain

	mu       sync.Mutex             // guards what follows
	found    Interpreter            // zero until it was found
	plain    *processscript.Runtime // for Plain, once the interpreter was found
	plainOf  Interpreter            // that it starts
	measures []script.Measure
}

var _ script.Runtime = (*Runtime)(nil)

// New returns a runtime. It starts nothing yet.
//
// Errors: [domain.ErrInvalid] for a configuration that cannot work.
func New(cfg Config) (*Runtime, error) {
	cfg.Interpreter = cmp.Or(cfg.Interpreter, command)
	cfg.Parents = cmp.Or(cfg.Parents, (runtime.GOMAXPROCS(0)+3)/4)
	cfg.Slots = cmp.Or(cfg.Slots, max(4, 2*runtime.GOMAXPROCS(0)))
	if cfg.Reuse < 0 || cfg.Reuse > MostReuse {
		return nil, domain.Invalidf("runtime \"python\": reuse is %d, want 1 to %d jobs for each interpreter, or 0 to fork one for each job", cfg.Reuse, MostReuse)
	}
	if cfg.Plain && cfg.Reuse > 0 {
		return nil, domain.Invalidf("runtime \"python\": reuse is %d and fork is false: what is started for each job cannot run several", cfg.Reuse)
	}
	cfg.Plain = cfg.Plain || !pooled
	if cfg.Preload == nil {
		cfg.Preload = preload
	}
	for _, module := range cfg.Preload {
		if module == "" || strings.ContainsAny(module, ", \x00") {
			return nil, domain.Invalidf("runtime \"python\": %q is not the name of a module; write it like xml.etree", module)
		}
	}
	r := &Runtime{cfg: cfg, jail: jail.Lazy{Given: cfg.Jail, Config: jail.Config{Hide: cfg.Hide}}}
	if !cfg.Plain {
		r.open, r.walled = newPool(false, cfg, &r.jail, r.interpreter), newPool(true, cfg, &r.jail, r.interpreter)
	}
	return r, nil
}

// Type is the script type it serves.
func (r *Runtime) Type() domain.ScriptType { return domain.ScriptPython }

// Info describes the interpreter, and what was seen to hold its jobs in.
func (r *Runtime) Info() script.Info {
	info := script.Info{Slots: r.cfg.Slots, Summary: r.cfg.Interpreter}
	if found, err := r.interpreter(context.Background()); err == nil {
		info.Summary += " " + found.version
	}
	if !r.cfg.Plain {
		info.Summary += ", forked pool"
		if r.cfg.Reuse > 0 {
			info.Summary += fmt.Sprintf(", used for %d jobs of a caller", r.cfg.Reuse)
		}
		if cell, err := r.jail.Get(); err == nil {
			cell.Describe(&info, r.cfg.Level)
		}
		info.Isolation, _ = r.isolation()
	} else if plain, err := r.plainRuntime(context.Background()); err == nil {
		info.Summary += ", started for each job"
		told := plain.Info()
		info.Level, info.Levels, info.Refused, info.Isolation = told.Level, told.Levels, told.Refused, told.Isolation
	}
	return info
}

// Check reports an interpreter that is not there, too old, or does not work.
//
// Errors: [domain.ErrUnavailable].
func (r *Runtime) Check(ctx context.Context) error {
	if r.cfg.Plain {
		plain, err := r.plainRuntime(ctx)
		if err != nil {
			return err
		}
		return plain.Check(ctx)
	}
	if _, err := r.interpreter(ctx); err != nil {
		return err
	}
	_, err := r.isolation()
	return err
}

// choose finds the level of a task and the pool that runs it; nil is none, and an
// interpreter is started for it: behind a wall a pool knows the work folders that
// lie in the hidden folders or in that for temporary files.
//
// Errors: [domain.ErrUnavailable] where the level cannot be had.
func (r *Runtime) choose(task script.Task) (script.Level, *pool, error) {
	cell, err := r.jail.Get()
	if err != nil {
		return "", nil, err
	}
	level, err := cell.Level(r.cfg.Level, task.Level)
	switch {
	case err != nil || r.cfg.Plain:
		return level, nil, err
	case level == script.Open:
		return level, r.open, nil
	case cell.Forks(task.Dir):
		return level, r.walled, nil
	}
	return level, nil, nil
}

// plainRuntime is what runs the jobs for Plain.
func (r *Runtime) plainRuntime(ctx context.Context) (*processscript.Runtime, error) {
	found, err := r.interpreter(ctx)
	if err != nil {
		return nil, err
	}
	cell, err := r.jail.Get()
	if err != nil {
		return nil, domain.Unavailablef("runtime \"python\": %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plain == nil || r.plainOf != found {
		r.plainOf = found
		r.plain, err = processscript.New(processscript.Config{
			Type: domain.ScriptPython, Suffix: ".py",
			Command: []string{found.path, "-u"}, // logs are followed live
			Env:     r.cfg.Env, Slots: r.cfg.Slots, Limits: r.cfg.Limits, Jail: cell, Level: r.cfg.Level, See: r.cfg.See,
			Library: r.library(ctx, found),
		})
	}
	return r.plain, err
}

// library is the module ramet for jobs that an interpreter is started for: none where the
// interpreter has the package of that name, which is more than the module.
func (r *Runtime) library(ctx context.Context, found Interpreter) script.Library {
	ask := exec.CommandContext(ctx, found.path, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('ramet') is None)")
	ask.Dir = "/"
	for name, value := range r.cfg.Env {
		ask.Env = append(ask.Env, name+"="+value)
	}
	if ask.Run() == nil {
		return script.Library{}
	}
	const folder = ".ramet-python"
	return script.Library{Files: map[string]string{folder + "/ramet.py": sdk.Python}, Variable: "PYTHONPATH", Path: folder}
}

// Run runs one script; see [script.Runtime].
func (r *Runtime) Run(ctx context.Context, task script.Task, host script.Host) (script.Outcome, error) {
	level, pool, err := r.choose(task)
	if err != nil {
		return script.Outcome{}, err
	}
	if task.Level = level; pool == nil {
		plain, err := r.plainRuntime(ctx)
		if err != nil {
			return script.Outcome{}, err
		}
		return plain.Run(ctx, task, host)
	}
	task.Limits = task.Limits.WithDefaults(r.cfg.Limits)
	if stopped := script.Stop(ctx); stopped != nil {
		return script.NotStarted(stopped), nil
	}
	path, err := script.WriteFiles(task, "script.py")
	if err != nil {
		return script.Outcome{}, err
	}
	if len(task.Secrets) == 0 { // another job's script could look for them in the memory of the interpreter
		if outcome, ran, err := pool.reuse(ctx, task, path, host); ran || err != nil {
			return outcome, err
		}
	}
	capture := script.NewCapture(task, host)
	ctx, quota := script.Watch(ctx, task)
	end, stopped, err := pool.run(ctx, task, path, capture)
	stopped = quota.Close(stopped)
	if err != nil {
		return script.Outcome{}, fmt.Errorf("run job %q: %w", task.Name, err)
	}
	return outcomeOf(end, task, capture, host, stopped), nil
}

func outcomeOf(end ending, task script.Task, capture *script.Capture, host script.Host, stopped error) script.Outcome {
	outcome := end.exit.Outcome(task, capture, host, stopped)
	if end.unknown && stopped == nil {
		outcome.Verdict, outcome.Error = script.Errored, "the pool's parent process died; how this job ended is not known"
	}
	return outcome
}

// Close ends the pool.
func (r *Runtime) Close() error {
	if !r.cfg.Plain {
		r.open.close()
		r.walled.close()
	}
	return r.jail.Close()
}

// preload is what most scripts import. A module more costs every fork a
// little, so those are left out that are large and seldom used; they are still
// there to import.
var preload = []string{
	"argparse", "base64", "collections", "concurrent.futures", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal",
	"enum", "functools", "glob", "gzip", "hashlib", "io", "itertools", "json", "logging", "math", "operator", "pathlib", "queue",
	"random", "re", "shutil", "socket", "statistics", "string", "struct", "subprocess", "tempfile", "textwrap", "threading",
	"time", "traceback", "typing", "urllib.parse", "uuid", "zlib",
}
