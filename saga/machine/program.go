package machine

import (
	"context"
	"sync"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// Bounds of one call of a program. They are of work and memory, not of time:
// the same call ends the same on a slow machine.
const (
	maxOperations = 1_000_000
	maxMemory     = 32 << 20 // bytes
	maxNested     = 64       // expressions in one another
)

// engine runs all programs: without clock, chance, input and output.
var engine = sync.OnceValue(func() *rhai.Engine {
	e := rhai.NewEngine()
	e.MaxOperations, e.MaxMemory, e.MaxModules = maxOperations, maxMemory, -1
	e.Deterministic = true
	e.Syntax.Strict, e.Syntax.NoEval = true, true
	e.Syntax.MaxExprDepth, e.Syntax.MaxFnExprDepth = maxNested, maxNested
	e.OnPrint = func(string) {}
	e.OnDebug = func(string, string, rhai.Pos) {}
	return e
})

// The functions of a script.
const (
	onEvent    = "on_event"
	compensate = "compensate"
	migrate    = "migrate"
)

// program is what a definition's script or graphs are compiled to.
type program struct {
	event, undo function
	migrate     *function // nil: there is none
}

// function is a function of a program.
type function struct {
	script *rhai.Script
	name   string
	before bool // the script's top level is run first: it has constants
	place  func(*ProgramError)
}

// call runs it. The values belong to the caller's goroutine.
func (r *function) call(args ...value.Value) (v value.Value, err error) {
	defer survive(&err)
	v, err = r.script.CallFn(context.Background(), nil, r.name, rhai.CallOptions{Before: r.before}, args...)
	if err != nil {
		e := programError(err)
		r.place(e)
		return value.Value{}, e
	}
	return v, nil
}

// survive makes an error of a panic: what one program brings to light in the
// interpreter must not end the others.
func survive(err *error) {
	if p := recover(); p != nil {
		*err = failf("BUG: the interpreter failed: %v", p)
	}
}

// program compiles what the definition has of one.
func (c *compiler) program() {
	def := c.m.def
	switch {
	case def.Script != "":
		c.m.program = c.script(def.Script)
		return
	case len(def.Nodes) == 0:
		return // which the definition's own check says
	}
	p := &program{event: c.graph(eventGraph, def.Nodes)}
	if def.Compensation != nil && len(def.Compensation.Nodes) > 0 {
		p.undo = c.graph(undoGraph, def.Compensation.Nodes)
	}
	c.m.program = p
}

// script compiles a script and finds its functions.
func (c *compiler) script(text string) *program {
	s, err := engine().Compile(text)
	if err != nil {
		c.rhai("script", err)
		return nil
	}
	of := func(name string) function {
		return function{s, name, len(s.Tree().Body) > 0, func(e *ProgramError) { e.Path = "script" }}
	}
	p := &program{event: of(onEvent), undo: of(compensate)}
	has := map[string]int{}
	for _, f := range s.Functions() {
		if len(f.Params) == 2 || has[f.Name] == 0 {
			has[f.Name] = 1 + len(f.Params)
		}
	}
	c.function(has, onEvent, "state, event", true)
	c.function(has, compensate, "state, work", c.m.def.Compensation != nil)
	c.function(has, migrate, "state, from", false)
	c.lintScript(s.Tree())
	if has[migrate] > 0 {
		r := of(migrate)
		p.migrate = &r
	}
	return p
}

// function checks that a function is there, with two parameters.
func (c *compiler) function(has map[string]int, name, params string, needed bool) {
	switch n := has[name]; {
	case n == 0 && needed:
		c.fault("script", "it has no function "+name+": want `fn "+name+"("+params+")`")
	case n != 0 && n != 3:
		c.fault("script", "its function "+name+" has other parameters: want `fn "+name+"("+params+")`")
	}
}
