package rhai

import (
	"slices"
	"sync/atomic"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file turns names into slots. The other compile files turn each kind of
// tree node into a closure.

// mode tells what becomes of a node's value.
type mode uint8

const (
	// borrow: looked at and dropped before anything else can change it.
	borrow mode = iota
	// own: put into another place, so a variable's object is marked as shared.
	own
	// tail: the function's result; its own locals may give their objects away.
	tail
)

// unit is one compiled script: what never changes however often it runs.
type unit struct {
	engine  *Engine
	prog    *syntax.Program
	fns     map[fnKey]*function
	methods map[methodKey]*function
	names   map[string]bool // of fns
	body    node
	slots   int
	cost    int64
	// vars are the top-level variables in the order of their slots' last
	// declaration, left in the host's scope at the end.
	vars []local
	// expr is set for expression-only scripts.
	hash [32]byte
	kept atomic.Int64 // see keptCode
}

type methodKey struct {
	typ   string
	name  string
	arity int
}

// function is a compiled script function or closure.
type function struct {
	def    *syntax.Func
	unit   *unit
	name   string
	params int // captures included
	// captures are the hidden leading parameters of a closure.
	captures []syntax.Ident
	// code is made when the function is first called: much of a large script is
	// never called.
	code atomic.Pointer[code]
}

// code is the compiled body of a function.
type code struct {
	slots int
	cost  int64
	body  node
}

// compiled gives the function's code.
func (f *function) compiled() *code {
	if c := f.code.Load(); c != nil {
		return c
	}
	return f.compile()
}

// local is a variable that the compiler knows.
type local struct {
	name     string
	slot     int
	readonly bool
	// cell says that a closure may capture it, so that its slot may hold a cell.
	cell bool
	// module says that the slot holds an imported module.
	module bool
	block  int // depth of the block that declares it
	evals  int // how many evals stood before it
}

// site is what code that comes later (eval, f!) sees at a place: the locals
// there, and the sites around that.
type site struct {
	locals  []local
	top     bool
	dynamic bool
	outer   *site
}

// scope compiles one function, or the script's body.
type fnc struct {
	unit     *unit
	locals   []local
	next     int // first free slot
	max      int // slots needed
	block    int
	captured map[string]bool // names that closures in here capture
	allCells bool            // any local may be captured: by code in an eval
	evals    int
	sited    bool // a site shares locals, which must not be overwritten
	top      bool // the script's own body: sees the host's scope
	global   bool // the text of an eval that stands there, not in a block
	site     *site
	cost     int64
	fnBody   bool // result leaves the frame for good
}

// compileUnit compiles a parsed script.
func compileUnit(e *Engine, p *syntax.Program) *unit {
	u := &unit{engine: e, prog: p, fns: map[fnKey]*function{}, methods: map[methodKey]*function{}, names: map[string]bool{}}
	for _, f := range p.Funcs {
		u.declare(f)
	}
	c := &fnc{unit: u, top: true, allCells: p.UsesEval, captured: capturedNames(p.Body)}
	u.body = c.statements(p.Body, own)
	u.slots, u.cost, u.vars = c.max, c.cost, c.locals
	return u
}

func (u *unit) declare(def *syntax.Func) {
	f := &function{def: def, unit: u, name: def.Name, params: len(def.Params)}
	if def.ThisType != "" {
		u.methods[methodKey{def.ThisType, def.Name, len(def.Params)}] = f
		return
	}
	u.fns[fnKey{def.Name, len(def.Params)}] = f
	u.names[def.Name] = true
}

// compile makes the code. Two goroutines that meet here make it twice, alike.
func (f *function) compile() *code {
	c := &fnc{unit: f.unit, fnBody: true, allCells: f.def.UsesEval, captured: capturedNames(f.def.Body.Body)}
	for _, p := range f.captures {
		c.declare(p.Name, false)
		c.locals[len(c.locals)-1].cell = true
	}
	for _, p := range f.def.Params {
		c.declareNew(p.Name, false)
	}
	body := c.statements(f.def.Body.Body, tail)
	if most := f.unit.engine.MaxVariables; most > 0 && f.params > most && len(f.def.Body.Body) > 0 {
		body = func(fr *frame) Value { return fr.fail(&value.Error{Kind: value.ErrorTooManyVariables}) }
	}
	f.code.CompareAndSwap(nil, &code{c.max, c.cost, body})
	return f.code.Load()
}

// declare gives name a slot; again in the same block it is the same slot.
func (c *fnc) declare(name string, readonly bool) int {
	for i := len(c.locals) - 1; i >= 0 && c.locals[i].block == c.block; i-- {
		if c.locals[i].name == name && !c.locals[i].module {
			if c.sited {
				c.locals = slices.Clone(c.locals) // a site keeps what it has seen
			}
			l := &c.locals[i]
			l.readonly, l.evals = readonly, c.evals
			l.cell = l.cell || c.allCells || c.captured[name]
			return l.slot
		}
	}
	return c.declareNew(name, readonly)
}

// declareNew gives name a slot of its own.
func (c *fnc) declareNew(name string, readonly bool) int {
	if c.top && c.block == 0 {
		// What the host gets at the end must not be what an ended block has left.
		c.next = c.max
	}
	slot := c.next
	c.next++
	c.max = max(c.max, c.next)
	c.locals = append(c.locals, local{
		name: name, slot: slot, readonly: readonly, block: c.block, evals: c.evals,
		cell: c.allCells || c.captured[name],
	})
	return slot
}

// open begins a block; the result ends it.
func (c *fnc) open() (shut func()) {
	locals, next := len(c.locals), c.next
	c.block++
	return func() {
		c.locals, c.next = c.locals[:locals], next
		if c.sited {
			c.locals = c.locals[:locals:locals] // a site keeps what stood behind
		}
		c.block--
	}
}

// where a name leads.
type refKind uint8

const (
	refNone  refKind = iota // nowhere that is known yet
	refSlot                 // a slot, hops frames out
	refHost                 // the host's scope
	refNamed                // by name when it runs: eval has been at work
)

type ref struct {
	kind     refKind
	name     string
	hops     int
	slot     int
	cell     bool
	readonly bool
	own      bool // of the frame itself: may be given away in its tail
	// static is where it leads when no eval has declared it.
	static *ref
	pos    Pos
}

// look resolves a name.
func (c *fnc) look(name string, pos Pos) ref {
	dynamic := false
	static := ref{kind: refNone, name: name, pos: pos}
	if l := find(c.locals, name, false); l != nil {
		static = ref{kind: refSlot, name: name, slot: l.slot, cell: l.cell, readonly: l.readonly, pos: pos, own: true}
		dynamic = c.evals > l.evals
	} else {
		dynamic = c.evals > 0
		hops, top := 0, c.top
		for s := c.site; s != nil; s = s.outer {
			hops++
			dynamic = dynamic || s.dynamic
			if l := find(s.locals, name, false); l != nil {
				static = ref{kind: refSlot, name: name, hops: hops, slot: l.slot, cell: true, readonly: l.readonly, pos: pos}
				break
			}
			top = top || s.top
		}
		if static.kind == refNone && top {
			static.kind = refHost
		}
		// Code of an eval declares by name in the frame around it.
		dynamic = dynamic || c.site != nil
	}
	if !dynamic {
		return static
	}
	return ref{kind: refNamed, name: name, static: &static, pos: pos}
}

func find(locals []local, name string, module bool) *local {
	for i := len(locals) - 1; i >= 0; i-- {
		if locals[i].name == name && locals[i].module == module {
			return &locals[i]
		}
	}
	return nil
}

// here is the site at this place.
func (c *fnc) here() *site {
	c.sited = true
	return &site{locals: c.locals[:len(c.locals):len(c.locals)], top: c.top, dynamic: true, outer: c.site}
}

// place gives a variable's home, following hops; cells are not opened.
func (fr *frame) place(r *ref) *Value {
	f := fr
	for range r.hops {
		f = f.outer
	}
	return &f.slots[r.slot]
}

// lookup finds the home of a name that is known only now. Cells are not opened.
func (fr *frame) lookup(r *ref) (p *Value, readonly bool) {
	switch r.kind {
	case refSlot:
		return fr.place(r), r.readonly
	case refHost:
		if v := fr.run.scope.find(r.name); v != nil {
			return v.v, v.readonly
		}
	case refNamed:
		hops := 0
		if r.static.kind == refSlot {
			hops = r.static.hops
		} else {
			hops = 1 << 30
		}
		for f, i := fr, 0; f != nil && i <= hops; f, i = f.outer, i+1 {
			for j := len(f.extras) - 1; j >= 0; j-- {
				if f.extras[j].name == r.name {
					return f.extras[j].v, f.extras[j].readonly
				}
			}
		}
		return fr.lookup(r.static)
	}
	return nil, false
}

// name compiles the reading of a name without a path.
func (c *fnc) name(n *syntax.Name, m mode) node {
	e := c.unit.engine
	r := c.look(n.Name, n.Pos)
	if e.OnVar != nil {
		read := c.read(r, m)
		return func(fr *frame) Value {
			if v := e.OnVar(n.Name); !v.IsNone() {
				return v.Keep()
			}
			return read(fr)
		}
	}
	return c.read(r, m)
}

// read compiles the reading of what a name leads to.
func (c *fnc) read(r ref, m mode) node {
	if r.kind == refSlot && r.hops == 0 {
		slot := r.slot
		switch {
		case r.cell && m == borrow:
			return func(fr *frame) Value {
				if p := fr.open(&fr.slots[slot]); p != nil {
					return *p
				}
				return Value{}
			}
		case r.cell:
			return func(fr *frame) Value {
				if p := fr.open(&fr.slots[slot]); p != nil {
					return p.Keep()
				}
				return Value{}
			}
		case m == borrow || m == tail && r.own && c.fnBody:
			return func(fr *frame) Value { return fr.slots[slot] }
		}
		return func(fr *frame) Value { return fr.slots[slot].Keep() }
	}
	isFn := c.unit.names[r.name]
	return func(fr *frame) Value {
		if p, _ := fr.lookup(&r); p != nil {
			if p = fr.open(p); p == nil {
				return Value{}
			}
			return p.Keep()
		}
		if isFn {
			return value.NewFn(r.name, nil, nil, fr.env)
		}
		return fr.fail(&value.Error{Kind: value.ErrorVariableNotFound, Name: r.name, Pos: r.pos})
	}
}

// capturedNames lists the names that closures inside nodes capture, at any depth.
func capturedNames(nodes []syntax.Node) map[string]bool {
	names := map[string]bool{}
	for _, n := range nodes {
		syntax.Walk(n, func(n syntax.Node) bool {
			if cl, ok := n.(*syntax.Closure); ok {
				for _, id := range cl.Captures {
					names[id.Name] = true
				}
				// What an inner closure captures this one captures too, or declares itself.
				return false
			}
			return true
		})
	}
	return names
}
