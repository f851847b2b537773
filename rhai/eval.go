package rhai

import (
	"strings"
	"sync"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles code that runs among the variables of other code: the
// text given to eval, and functions called as f!().

// eval compiles eval(text).
func (c *fnc) eval(n *syntax.Call) node {
	x, here, global := c.node(n.Args[0], borrow), c.here(), (c.top && c.unit.prog.HasFuncs || c.global) && c.block == 0
	c.evals++
	argPos := n.Args[0].Start()
	u := c.unit
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		if !v.Is(value.StringKind) {
			return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(v), Want: "string", Pos: argPos})
		}
		out := fr.evalText(u, here, global, v.AsString())
		if r := fr.run; out.IsNone() && r.ctl == ctlError && r.err.Kind.Wrapped() {
			r.err = &value.Error{Kind: value.ErrorInFunctionCall, Name: "eval", Inner: r.err, Pos: argPos}
		}
		return out
	}
}

func (fr *frame) evalText(u *unit, here *site, global bool, text string) Value {
	r := fr.run
	opts := u.engine.parseOptions(nil)
	opts.Vars = nil // with Strict the text sees no variables but its own, as in the reference
	if text = strings.TrimSpace(text); text == "" {
		return value.Unit
	}
	if !fr.spend(int64(len(text)), Pos{}) {
		return Value{}
	}
	room, ok := r.roomForCode(text)
	if !ok {
		return Value{}
	}
	opts.MaxSize = room
	p, err := syntax.Parse(text, "", opts)
	if err == nil && p.HasFuncs {
		const why = "Function definitions must be at global level and cannot be inside a block or another function"
		err = &syntax.Error{Kind: "WrongFnDefinition", Text: why}
	}
	if err != nil {
		return fr.fail(parsing(err))
	}
	// Each run of an eval deepens the site by one, so that eval in eval in a
	// loop is bounded like calls are.
	if r.calls >= r.engine.maxCalls() {
		return fr.overflow(Pos{})
	}
	inner := &unit{engine: u.engine, prog: p, fns: u.fns, methods: u.methods, names: u.names}
	r.evals = append(r.evals, inner)
	defer func(n int) { r.evals = r.evals[:n] }(len(r.evals) - 1)
	if !fr.charge(int(p.Size), Pos{}) {
		return Value{}
	}
	c := &fnc{unit: inner, site: here, global: global, allCells: true, captured: capturedNames(p.Body)}
	body := c.statements(p.Body, own)
	callee := r.enter(c.max)
	callee.env, callee.outer, callee.this, callee.thisConst = fr.env, fr, fr.this, fr.thisConst
	if !fr.spend(c.cost, Pos{}) {
		r.leave(callee)
		return Value{}
	}
	v := body(callee)
	r.leave(callee)
	if v.IsNone() && r.ctl == ctlReturn {
		v, r.ctl, r.ret = r.ret, ctlNone, Value{} // ends the text, not what is around it
	}
	return v
}

// shortCode is a text so short that what becomes of it need not be bounded
// beforehand.
const shortCode = 1 << 10 // bytes

// roomForCode says how much the code of text may take, 0 for no bound.
func (r *run) roomForCode(text string) (bytes int64, ok bool) {
	if len(text) <= shortCode {
		return 0, true
	}
	return r.left(Pos{})
}

// callAmong does call!(f, args): the body of a function of this script, named by f, runs
// among the variables of here; a closure has brought its own. Which function it is, only
// the call knows.
func (fr *frame) callAmong(u *unit, here *site, f Value, args []Value, pos Pos) Value {
	p := f.AsFn()
	def := u.fns[fnKey{p.Name, len(p.Curry) + len(args)}]
	if p.Def != nil || def == nil || def.unit != u || fr.envOf(p) != fr.env {
		return fr.callFn(f, nil, false, args, pos)
	}
	return fr.callAnew(def, here, append(p.Curry[:len(p.Curry):len(p.Curry)], args...), pos)
}

// callAnew runs the body of f among the variables of here. It is compiled for this call,
// and charged, as the text of an eval is.
func (fr *frame) callAnew(f *function, here *site, args []Value, pos Pos) Value {
	r := fr.run
	if r.calls >= r.engine.maxCalls() {
		return fr.overflow(pos)
	}
	size := int64(f.unit.prog.Size) // of all its functions: no less than that of this one
	if !fr.spend(size/128, pos) || !fr.charge(int(size), pos) {
		return Value{}
	}
	c := f.among(here)
	body := c.statements(f.def.Body.Body, own)
	callee := r.enter(c.max)
	callee.env, callee.outer = fr.env, fr
	for i, a := range args {
		callee.slots[i] = a.Keep()
	}
	r.fuel -= c.cost
	return fr.finish(f, callee, body(callee), pos)
}

// among begins to compile f where it sees the variables of here.
func (f *function) among(here *site) *fnc {
	c := &fnc{unit: f.unit, site: here, block: 1, allCells: true, captured: map[string]bool{}}
	for _, p := range f.def.Params {
		c.declareNew(p.Name, false)
	}
	return c
}

// keptCode bounds the code of bodies that run among the variables of a caller and are
// compiled once for each place that calls them so.
const keptCode = 1 << 20 // bytes

// capturingCall compiles f!(args): the function's body runs among the caller's variables.
func (c *fnc) capturingCall(n *syntax.Call) node {
	f := c.unit.fns[fnKey{n.Name, len(n.Args)}]
	if f == nil {
		return c.nativeCall(n)
	}
	args, here, pos := c.nodes(n.Args, own), c.here(), n.Pos
	// Code of a place within such a body, or of one of many places, is not kept: a
	// function that calls itself twice in this way has places without end.
	keep := c.site == nil && c.unit.kept.Add(int64(c.unit.prog.Size)) <= keptCode
	limit := c.unit.engine.maxCalls()
	var body node
	var slots int
	var cost int64
	// Compiled when first called: a function may call itself in this way.
	var once sync.Once

	compile := func() {
		in := f.among(here)
		b := in.statements(f.def.Body.Body, own)
		slots, cost = in.max, in.cost
		body = b
	}
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(len(args))
		defer r.release(vals)
		for i, a := range args {
			if vals[i] = a(fr); vals[i].IsNone() {
				return Value{}
			}
		}
		if !keep {
			return fr.callAnew(f, here, vals, pos)
		}
		once.Do(compile)
		if r.calls >= limit {
			return fr.overflow(pos)
		}
		callee := r.enter(slots)
		callee.env, callee.outer = fr.env, fr
		copy(callee.slots, vals)
		r.fuel -= cost
		return fr.finish(f, callee, body(callee), pos)
	}
}
