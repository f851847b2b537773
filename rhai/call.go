package rhai

import (
	"sync/atomic"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles calls by name: f(a, b). Calls on a receiver are in chain.go.

// target is a place in the script that calls a native function by name.
type target struct {
	name string
	pos  Pos
	// last is the overload that the last call chose, by the kinds of its
	// arguments. Scripts run in many goroutines: the entry never changes.
	last atomic.Pointer[chosen]
}

type chosen struct {
	kinds uint64
	fn    *value.Native
}

// kindsOf packs the kinds of up to 12 arguments; false when a host's type is
// among them, which a kind does not name.
func kindsOf(this *Value, args []Value) (uint64, bool) {
	k := uint64(1)
	if this != nil {
		t := this.Kind()
		if t == value.CustomKind {
			return 0, false
		}
		k = k<<5 | uint64(t)
	}
	if len(args) > 10 {
		return 0, false
	}
	for i := range args {
		t := args[i].Kind()
		if t == value.CustomKind {
			return 0, false
		}
		k = k<<5 | uint64(t)
	}
	return k, true
}

// native finds the overload for these arguments, nil when there is none.
func (t *target) native(fr *frame, this *Value, args []Value) *value.Native {
	kinds, plain := kindsOf(this, args)
	if plain {
		if c := t.last.Load(); c != nil && c.kinds == kinds {
			return c.fn
		}
	}
	n := len(args)
	if this != nil {
		n++
	}
	o := fr.run.engine.natives[fnKey{t.name, n}]
	if o == nil {
		return nil
	}
	f := o.find(this, args, n)
	if plain && f != nil {
		t.last.Store(&chosen{kinds, f})
	}
	return f
}

// invoke calls a native function. this is its first argument by reference.
func (fr *frame) invoke(f *value.Native, this *Value, args []Value, pos Pos) Value {
	r := fr.run
	if f.Volatile && r.engine.Deterministic {
		return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: f.Name + " (not available in deterministic mode)", Pos: pos})
	}
	if f.Linear && !fr.workThrough(*this, pos) {
		return Value{}
	}
	if f.Mutates && this != nil && !fr.chargeCopy(this, pos) {
		return Value{}
	}
	r.ctx.Pos = pos
	held, holding := len(r.held), r.holding
	r.holding = r.measureAt > 0 && (f.Name == "map" || f.Name == "zip")
	v := f.Call(&r.ctx, this, args)
	r.held, r.holding = r.held[:held], holding
	if v.IsNone() {
		return fr.failed(pos)
	}
	if r.sizes || r.measureAt > 0 {
		// Functions that add to containers see to their sizes: counting all that is in one after
		// each call would make filling it quadratic.
		text := this != nil && this.Is(value.StringKind)
		if !fr.fits(v, pos) || text && !fr.fits(*this, pos) || !fr.chargeValue(v, pos) {
			return Value{}
		}
	}
	return v
}

// workThrough counts the work of going through all of v.
func (fr *frame) workThrough(v Value, pos Pos) bool {
	n := 0
	switch v.Kind() {
	case value.StringKind:
		n = len(v.AsString()) / 16
	case value.ArrayKind:
		n = len(v.AsArray().Items)
	case value.BlobKind:
		n = len(v.AsBlob().Bytes) / 16
	case value.MapKind:
		n = v.AsMap().Len()
	}
	return n < 64 || fr.spend(int64(n/8), pos)
}

// call compiles f(args).
func (c *fnc) call(n *syntax.Call, m mode) node {
	if len(n.Path) > 0 {
		return c.qualifiedCall(n)
	}
	if f := c.builtin(n); f != nil {
		return f
	}
	if n.Capture {
		return c.capturingCall(n)
	}
	if f := c.unit.fns[fnKey{n.Name, len(n.Args)}]; f != nil {
		return c.scriptCall(f, n)
	}
	return c.nativeCall(n)
}

// scriptCall compiles the call of a function of the same script.
func (c *fnc) scriptCall(f *function, n *syntax.Call) node {
	args, pos := c.nodes(n.Args, own), n.Pos
	limit := c.unit.engine.maxCalls()
	switch len(args) {
	case 0:
		return func(fr *frame) Value {
			r := fr.run
			if r.calls >= limit {
				return fr.overflow(pos)
			}
			code := f.compiled()
			callee := r.enter(code.slots)
			callee.env = fr.env
			r.fuel -= code.cost
			return fr.finish(f, callee, code.body(callee), pos)
		}
	case 1:
		a := args[0]
		return func(fr *frame) Value {
			v := a(fr)
			if v.IsNone() {
				return v
			}
			r := fr.run
			if r.calls >= limit {
				return fr.overflow(pos)
			}
			code := f.compiled()
			callee := r.enter(code.slots)
			callee.env = fr.env
			callee.slots[0] = v
			r.fuel -= code.cost
			return fr.finish(f, callee, code.body(callee), pos)
		}
	case 2:
		a, b := args[0], args[1]
		return func(fr *frame) Value {
			v := a(fr)
			if v.IsNone() {
				return v
			}
			w := b(fr)
			if w.IsNone() {
				return w
			}
			r := fr.run
			if r.calls >= limit {
				return fr.overflow(pos)
			}
			code := f.compiled()
			callee := r.enter(code.slots)
			callee.env = fr.env
			callee.slots[0], callee.slots[1] = v, w
			r.fuel -= code.cost
			return fr.finish(f, callee, code.body(callee), pos)
		}
	}
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(len(args))
		defer r.release(vals)
		for i, a := range args {
			v := a(fr)
			if v.IsNone() {
				return v
			}
			vals[i] = v
		}
		return fr.callValues(f, nil, false, vals, pos)
	}
}

// finish takes the result of a function's body, gives its frame back and, on
// an error, adds the call to it.
func (fr *frame) finish(f *function, callee *frame, v Value, pos Pos) Value {
	r := fr.run
	r.leave(callee)
	if v.IsNone() {
		return fr.ended(f, pos)
	}
	if r.fuel < 0 && !r.burn(pos) {
		return fr.ended(f, pos)
	}
	return v
}

// ended is what a call gives whose body did not come to its end.
func (fr *frame) ended(f *function, pos Pos) Value {
	r := fr.run
	switch r.ctl {
	case ctlReturn:
		r.ctl = ctlNone
		v := r.ret
		r.ret = Value{}
		if r.fuel < 0 && !r.burn(pos) {
			return Value{}
		}
		return v
	case ctlError:
		if r.err.Kind.Wrapped() {
			source := ""
			if f.unit.prog.Source != fr.env.source() {
				source = f.unit.prog.Source
			}
			r.err = &value.Error{Kind: value.ErrorInFunctionCall, Name: f.name, Source: source, Inner: r.err, Pos: pos}
			break
		}
		switch r.err.Kind {
		case value.ErrorStackOverflow, value.ErrorTooManyVariables, value.ErrorTooManyModules, value.ErrorDataTooLarge:
			// In the reference these lie where the outermost call is.
			again := *r.err
			again.Pos = pos
			r.err = &again
		}
	}
	return Value{}
}

func (fr *frame) overflow(pos Pos) Value {
	return fr.fail(&value.Error{Kind: value.ErrorStackOverflow, Pos: pos})
}

// callValues calls a script function with values that it then owns.
func (fr *frame) callValues(f *function, this *Value, thisConst bool, args []Value, pos Pos) Value {
	return fr.callIn(f, fr.env, this, thisConst, args, pos)
}

// callIn is callValues for a function that sees env.
func (fr *frame) callIn(f *function, env *environ, this *Value, thisConst bool, args []Value, pos Pos) Value {
	r := fr.run
	if r.calls >= r.engine.maxCalls() {
		return fr.overflow(pos)
	}
	code := f.compiled()
	callee := r.enter(code.slots)
	callee.env, callee.this, callee.thisConst = env, this, thisConst
	copy(callee.slots, args)
	r.fuel -= code.cost
	return fr.finish(f, callee, code.body(callee), pos)
}

// nativeCall compiles the call of a name that this script does not define: a
// native function, or one that is known only when it runs.
func (c *fnc) nativeCall(n *syntax.Call) node {
	t := &target{name: n.Name, pos: n.Pos}
	if len(n.Args) == 0 {
		return func(fr *frame) Value {
			if f := fr.globalFunction(t.name, 0); f != nil {
				return f.call(fr, nil, t.pos)
			}
			if f := t.native(fr, nil, nil); f != nil {
				return fr.invoke(f, nil, nil, t.pos)
			}
			return fr.notFound(t, nil, nil)
		}
	}
	args := make([]node, len(n.Args))
	quiet := quietAfter(n.Args)
	for i, a := range n.Args {
		m := borrow
		if n.Capture || i < quiet || i > 0 && sameRoot(n.Args[0], a) {
			m = own
		}
		args[i] = c.node(a, m)
	}
	first, byRef := c.firstByRef(n.Args[0])
	byRef = byRef && !n.Capture
	_, isThis := n.Args[0].(*syntax.This)
	isThis = isThis && !n.Capture
	rest := args[1:]
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(len(args))
		defer r.release(vals)
		// A plain variable as the first argument is looked at last: the others
		// may still change it.
		if !byRef {
			if vals[0] = args[0](fr); vals[0].IsNone() {
				return Value{}
			}
		}
		for i, a := range rest {
			v := a(fr)
			if v.IsNone() {
				return v
			}
			vals[i+1] = v
		}
		this := &vals[0]
		if isThis && !fr.thisConst {
			if this = fr.this; this.Is(value.CellKind) {
				this = &this.AsCell().V
			}
		}
		if byRef {
			p, readonly := fr.lookup(&first)
			switch {
			case p == nil || p.Is(value.CellKind) || readonly:
				if vals[0] = args[0](fr); vals[0].IsNone() {
					return Value{}
				}
				vals[0].Keep()
			default:
				this = p
			}
		}
		if f := fr.globalFunction(t.name, len(vals)); f != nil {
			vals[0] = *this
			return f.call(fr, vals, t.pos)
		}
		if f := t.native(fr, this, vals[1:]); f != nil {
			if isThis && fr.thisConst && f.Mutates {
				return fr.fail(&value.Error{Kind: value.ErrorNonPureMethodCallOnConstant, Name: t.name, Pos: t.pos})
			}
			if this == &vals[0] && (f.Mutates || takesCallback(f)) {
				this.Keep() // it may belong to a variable, which stays as it is
			}
			return fr.invoke(f, this, vals[1:], t.pos)
		}
		return fr.notFound(t, this, vals[1:])
	}
}

// quietAfter gives the first argument after which no other changes a variable.
func quietAfter(args []syntax.Node) int {
	for i := len(args) - 1; i > 0; i-- {
		if !harmless(args[i]) {
			return i
		}
	}
	return 0
}

// notFound reports a call of what does not exist for these arguments. An
// operator called by its name, as in `+`(a, b), is looked for first.
func (fr *frame) notFound(t *target, this *Value, args []Value) Value {
	all := args
	if this != nil {
		all = append([]Value{*this}, args...)
	}
	if f := fr.functionAround(t.name, nil, len(all)); f != nil {
		for i := range all {
			all[i].Keep()
		}
		return fr.callIn(f.fn, f.env, nil, false, all, t.pos)
	}
	if len(all) == 2 {
		if op := value.OpOf(t.name); op != value.NoOp {
			return fr.binary(op, t.name, all[0], all[1], t.pos)
		}
	}
	return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature(t.name, all...), Pos: t.pos})
}

// firstByRef tells whether an argument is a plain variable, which a native
// function takes by reference.
func (c *fnc) firstByRef(n syntax.Node) (ref, bool) {
	name, ok := n.(*syntax.Name)
	if !ok || len(name.Path) > 0 {
		return ref{}, false
	}
	r := c.look(name.Name, name.Pos)
	return r, c.unit.engine.OnVar == nil
}

// sameRoot reports that two expressions may lead to the same variable.
func sameRoot(a, b syntax.Node) bool {
	ra, rb := rootName(a), rootName(b)
	return ra == "" || rb == "" || ra == rb
}

// rootName is the variable that an expression reads from: "" when that is not
// clear, "#" for none.
func rootName(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Literal, *syntax.Interpolated, *syntax.Unary:
		return "#"
	case *syntax.Binary:
		if n.Op == "??" {
			return "" // gives an operand itself
		}
		return "#"
	case *syntax.Name:
		return n.Name
	case *syntax.Chain:
		return rootName(n.Root)
	}
	return ""
}
