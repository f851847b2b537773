package rhaiscript

import (
	"container/list"
	"context"
	"runtime"
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
}

type entry struct {
	text string
	idle []*program
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
	e := el.Value.(*entry)
	n := len(e.idle) - 1
	if n < 0 {
		return nil
	}
	p := e.idle[n]
	e.idle = e.idle[:n]
	c.bytes -= len(text)
	return p
}

// give keeps a program for later, as long as there is room.
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
	// More than run at once are never needed.
	if len(e.idle) >= runtime.GOMAXPROCS(0) {
		return
	}
	e.idle = append(e.idle, p)
	for c.bytes += len(text); c.bytes > c.limit || len(c.entries) > maxScripts; {
		c.drop()
	}
}

// maxScripts bounds the scripts that are kept, however short they are: each
// has an engine, about 50 KiB.
const maxScripts = 256

// drop forgets the script that was used longest ago.
func (c *cache) drop() {
	last := c.order.Back()
	e := last.Value.(*entry)
	c.order.Remove(last)
	delete(c.entries, e.text)
	c.bytes -= len(e.text) * len(e.idle)
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.bytes = nil, 0
	c.order.Init()
}
