// Package rhaiscript runs Rhai scripts inside the process. They are pure: no
// files, no network, no processes; what they may use of the machine is
// bounded, and nothing they do harms the node.
//
// # What a script finds
//
//	CALLER_ID, CONTEXT_ID, JOB_ID, ATTEMPT   ints
//	env                                      the job's environment, a map of strings
//	params                                   what the flow was started with, a map
//	input                                    #{params, needs: #{"<job id>": #{status, reason, result}}}
//	checkpoint()                             what an earlier attempt has saved, () when nothing
//	set_checkpoint(v)                        saves it for the next attempt
//	set_result(key, v)                       adds a key to the job's result
//	secret(name)                             a secret that the job names
//	log(level, text)                         a line of the log: debug, info, warn or error
//
// print writes to the log's stdout, debug to its stderr.
//
// # What it gives
//
// A map gives the keys of the job's result, any other value but () the key
// "value". Strings stand as they are, anything else as compact JSON.
// A thrown value is a failure of the script, an int from 1 to 255 its exit
// code; any other error is unexpected.
//
// # Objects
//
// With Config.Objects the runtime is one of type osis: scripts find
// osis_model(name) and osiris.model(name), the objects of their context, with
// the rights of their caller. See osis.go, and docs/objects.md for what the
// methods do.
//
// # Goroutines
//
// None. Compiled scripts are kept, by their text; each with an engine that one
// run has at a time.
package rhaiscript

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/machine"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
)

// Config says how scripts are run. The zero Config is usable.
type Config struct {
	// MaxOperations bounds the work of a script; one operation is about one
	// expression. Default: 10,000,000,000, a few minutes. Negative: no bound.
	MaxOperations int64
	// MaxMemory bounds the bytes that a script's values hold together; a job's
	// own limit counts where it is less. Default: 32 MiB. Negative: no bound.
	MaxMemory int64
	// MaxCalls bounds nested calls of the script's functions. Default: 64.
	MaxCalls int
	// Slots is how many scripts run at once. Default: as many as fit with all
	// their memory into a quarter of the machine's, 16 to 1,024.
	Slots int
	// Ceiling bounds the memory of all scripts that run at once. Default: one
	// for all runtimes of the process, a quarter of the machine's memory.
	Ceiling *Ceiling
	// CacheBytes bounds the texts of the compiled scripts that are kept.
	// Default: 4 MiB.
	CacheBytes int
	// Extend adds functions to each engine, in the place of those of the same
	// name and parameters. Default: none are added.
	Extend func(e *rhai.Engine)
	// Objects are those of the contexts: the runtime is one of type osis.
	// Default: none, it is one of type rhai.
	Objects Objects
}

const (
	defaultOperations = 10_000_000_000
	defaultMemory     = 32 << 20
	defaultCalls      = 64
	defaultCache      = 4 << 20
	minSlots          = 16
)

// Runtime runs scripts of type rhai.
type Runtime struct {
	cfg   Config
	cache cache
}

var _ script.Runtime = (*Runtime)(nil)

// New returns a runtime.
func New(cfg Config) *Runtime {
	cfg.MaxOperations = cmp.Or(cfg.MaxOperations, defaultOperations)
	cfg.MaxMemory = cmp.Or(cfg.MaxMemory, defaultMemory)
	cfg.MaxCalls = cmp.Or(cfg.MaxCalls, defaultCalls)
	cfg.CacheBytes = cmp.Or(cfg.CacheBytes, defaultCache)
	cfg.Ceiling = cmp.Or(cfg.Ceiling, processCeiling())
	if cfg.Slots == 0 {
		cfg.Slots = int(min(max(machine.Memory(assumedMemory)/4/cfg.MaxMemory, minSlots), script.InProcessSlots))
	}
	return &Runtime{cfg: cfg, cache: cache{limit: cfg.CacheBytes}}
}

// Type is the script type it serves.
func (r *Runtime) Type() domain.ScriptType {
	if r.cfg.Objects != nil {
		return domain.ScriptOSIS
	}
	return domain.ScriptRhai
}

// Info describes the interpreter and its limits.
func (r *Runtime) Info() script.Info {
	summary := "Rhai, in this process"
	if r.cfg.Objects != nil {
		summary = "Rhai with the objects of the context, in this process"
	}
	return script.Info{
		Summary: summary, Slots: r.cfg.Slots, InProcess: true,
		Isolation: []script.Measure{
			{Name: "operations", InForce: r.cfg.MaxOperations > 0, Detail: fmt.Sprintf("at most %d", max(r.cfg.MaxOperations, 0))},
			{Name: "memory", InForce: true, Detail: fmt.Sprintf("at most %d bytes in values and code, all scripts together %d", r.cfg.MaxMemory, r.cfg.Ceiling.bytes)},
			{Name: "depth", InForce: true, Detail: fmt.Sprintf("at most %d nested calls", r.cfg.MaxCalls)},
			{Name: "no_process", InForce: true, Detail: "a script cannot reach files, network or other programs"},
		},
	}
}

// Check always passes: the interpreter is part of the program.
func (*Runtime) Check(context.Context) error { return nil }

// Close forgets the compiled scripts.
func (r *Runtime) Close() error {
	r.cache.clear()
	return nil
}

// Run runs one script; see [script.Runtime].
func (r *Runtime) Run(ctx context.Context, task script.Task, host script.Host) (out script.Outcome, err error) {
	if stopped := script.Stop(ctx); stopped != nil {
		return script.NotStarted(stopped), nil
	}
	leave, err := r.cfg.Ceiling.enter(ctx, r.memory(task))
	if err != nil {
		return script.NotStarted(script.Stop(ctx)), nil
	}
	defer leave()
	j := newJob(task, host)
	j.session = session{ctx: ctx, objects: r.cfg.Objects}
	defer func() {
		// What the script was run with may be broken and is not kept.
		if p := recover(); p != nil {
			for line := range strings.Lines(string(debug.Stack())) {
				host.Log("ramet", []byte(strings.TrimRight(line, "\n")))
			}
			out, err = j.errored(fmt.Sprintf("the interpreter panicked (%v); this is a fault of Ramet, please report it with the job's log", p)), nil
		}
	}()
	source := withoutShebang(task.Script)
	p := r.cache.take(source)
	if p == nil {
		if p, err = prepare(source, r.cfg); err != nil {
			return j.failed(ctx, source, err), nil
		}
	}
	scope, err := j.scope()
	if err != nil {
		return script.Outcome{}, err
	}
	if stopped := script.Stop(ctx); stopped != nil { // it may have waited for its turn
		r.cache.give(source, p)
		return script.NotStarted(stopped), nil
	}
	v, err := p.run(ctx, j, r.cfg.withOsiris(scope), r.memory(task))
	r.cache.give(source, p)
	if err != nil {
		return j.failed(ctx, source, err), nil
	}
	return j.succeeded(v), nil
}

// memory is the job's bound on memory.
func (r *Runtime) memory(task script.Task) int64 {
	if own := task.Limits.MemoryBytes; own > 0 && (own < r.cfg.MaxMemory || r.cfg.MaxMemory < 0) {
		return own
	}
	return r.cfg.MaxMemory
}

// withoutShebang blanks a first line that is for the operating system; places stay.
func withoutShebang(text string) string {
	if !strings.HasPrefix(text, "#!") {
		return text
	}
	_, rest, _ := strings.Cut(text, "\n")
	return "\n" + rest
}

// text is what a value becomes in a result, if it is no larger than that may be.
//
// Errors: for what JSON cannot hold, [domain.ErrInvalid] for what is too large.
func text(v value.Value) (string, error) {
	if v.Is(value.StringKind) || v.Is(value.CustomKind) { // objects of the host as print shows them
		return v.Display(), nil
	}
	return jsonOf(v, 2*script.MaxResultBytes)
}

// jsonOf is a value as JSON, of about so many bytes at the most: a value that is
// small in memory may have no end when it is written.
//
// Errors: as for text.
func jsonOf(v value.Value, most int) (string, error) {
	large := false
	s, err := value.RenderJSON(v, func(size, _ int) bool {
		large = size > most
		return !large
	})
	if large {
		err = domain.Invalidf("it has more than %d bytes", most)
	}
	return s, err
}
