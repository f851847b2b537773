package rhaiscript

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// program is a compiled script with an engine of its own, whose functions
// speak for the job that it runs for. It runs for one at a time: call sites
// remember the functions that they have found.
type program struct {
	engine *rhai.Engine
	script *rhai.Script
	job    *job
}

// prepare compiles a script.
//
// Errors: *rhai.Error.
func prepare(text string, cfg Config) (*program, error) {
	p := &program{engine: rhai.NewEngine()}
	e := p.engine
	e.MaxOperations, e.MaxMemory, e.MaxCallLevels, e.MaxModules = max(cfg.MaxOperations, 0), cfg.MaxMemory, cfg.MaxCalls, -1
	e.OnPrint = func(text string) { p.job.print(text) }
	e.OnDebug = func(text, _ string, pos rhai.Pos) { p.job.debug(text, pos) }
	for _, f := range slices.Concat(functions(p), durableFunctions(p)) {
		e.Register(f)
	}
	if cfg.Objects != nil {
		for _, f := range objectFunctions(p) {
			e.Register(f)
		}
	}
	if cfg.Extend != nil {
		cfg.Extend(e)
	}
	s, err := e.CompileNamed("", text, cfg.withOsiris(names()))
	if err != nil {
		return nil, err
	}
	p.script = s
	return p, nil
}

// run runs the script for a job.
//
// Errors: *rhai.Error.
func (p *program) run(ctx context.Context, j *job, scope *rhai.Scope, memory int64) (value.Value, error) {
	p.job, p.engine.MaxMemory = j, memory
	v, err := p.script.Run(ctx, scope)
	p.job = nil
	return v, err
}

// cache keeps programs that nobody runs, those of the scripts used last. It is
// safe for concurrent use.
type cache struct {
	limit int // bytes of text

	mu      sync.Mutex
	entries map[string]*list.Element // by text
	order   list.List                // of *entry, that used last in front
	bytes   int
	idle    int // programs of all entries
}

type entry struct {
	text string
	idle []*program // at least one
}

// take gives a program for the text that nobody else has; nil: there is none.
func (c *cache) take(text string) *program {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[text]
	if el == nil {
		return nil
	}
	c.order.MoveToFront(el)
	return c.pop(el)
}

// give keeps a program for later, as long as there is room. Of one script there may be as many as
// jobs that ran at once: those that remember steps wait for the disk side by side.
func (c *cache) give(text string, p *program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[text]
	if el == nil {
		if c.entries == nil {
			c.entries = map[string]*list.Element{}
		}
		el = c.order.PushFront(&entry{text: text})
		c.entries[text] = el
	}
	e := el.Value.(*entry)
	e.idle = append(e.idle, p)
	c.idle++
	for c.bytes += len(text); c.bytes > c.limit || c.idle > maxPrograms; {
		c.pop(c.order.Back())
	}
}

// maxPrograms bounds the programs that are kept, however short they are: each
// has an engine, about 50 KiB.
const maxPrograms = 512

// pop takes one of an entry's programs out, and with its last one the entry.
func (c *cache) pop(el *list.Element) *program {
	e := el.Value.(*entry)
	n := len(e.idle) - 1
	p := e.idle[n]
	e.idle[n], e.idle = nil, e.idle[:n]
	c.bytes -= len(e.text)
	c.idle--
	if n == 0 {
		c.order.Remove(el)
		delete(c.entries, e.text)
	}
	return p
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.bytes, c.idle = nil, 0, 0
	c.order.Init()
}
