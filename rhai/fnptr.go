package rhai

import (
	"time"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file calls function pointers, for scripts and for the library.

// callFn calls f with args, which are borrowed.
func (fr *frame) callFn(f Value, this *Value, thisConst bool, args []Value, pos Pos) Value {
	p := f.AsFn()
	r := fr.run
	if def, ok := p.Def.(*function); ok && def.params == len(p.Curry)+len(args) {
		if r.calls >= r.engine.maxCalls() {
			return fr.overflow(pos)
		}
		code := def.compiled()
		callee := r.enter(code.slots)
		callee.env, callee.this, callee.thisConst = fr.envOf(p), this, thisConst
		n := copy(callee.slots, p.Curry)
		for i, a := range args {
			callee.slots[n+i] = a.Keep()
		}
		r.fuel -= code.cost
		return fr.finish(def, callee, code.body(callee), pos)
	}
	all := r.scratch(len(p.Curry) + len(args))
	defer r.release(all)
	copy(all, p.Curry)
	for i, a := range args {
		all[len(p.Curry)+i] = a.Keep()
	}
	if p.Def != nil {
		return fr.notFoundFn(p.Name, this, all, pos) // another number of parameters
	}
	return fr.callNamed(p.Name, fr.envOf(p), this, thisConst, all, pos)
}

func (fr *frame) envOf(p *value.Fn) *environ {
	if env, ok := p.Env.(*environ); ok && env != nil {
		return env
	}
	return fr.env
}

// callNamed calls what a name leads to in env.
func (fr *frame) callNamed(name string, env *environ, this *Value, thisConst bool, args []Value, pos Pos) Value {
	if f := fr.namedFunction(name, env, this, len(args)); f != nil {
		return fr.callIn(f.fn, f.env, this, thisConst, args, pos)
	}
	// A native function that calls back may be given a pointer to itself.
	r := fr.run
	if r.calls >= max(r.engine.maxCalls(), 64) {
		return fr.overflow(pos)
	}
	r.calls++
	defer func() { r.calls-- }()
	if !fr.spend(1, pos) {
		return Value{}
	}
	t := target{name: name, pos: pos}
	if this != nil {
		if f := t.native(fr, this, args); f != nil {
			if f.Mutates && thisConst {
				return fr.fail(&value.Error{Kind: value.ErrorNonPureMethodCallOnConstant, Name: name, Pos: pos})
			}
			return fr.invoke(f, this, args, pos)
		}
		return fr.notFoundFn(name, this, args, pos)
	}
	if len(args) == 0 {
		if f := t.native(fr, nil, nil); f != nil {
			return fr.invoke(f, nil, nil, pos)
		}
		return fr.notFoundFn(name, nil, nil, pos)
	}
	if v, ok := fr.languageFunction(name, args, pos); ok {
		return v
	}
	if f := t.native(fr, &args[0], args[1:]); f != nil {
		return fr.invoke(f, &args[0], args[1:], pos)
	}
	switch len(args) {
	case 1:
		if name == "-" || name == "+" || name == "!" {
			return fr.unaryOp(name[0], name, args[0], pos)
		}
	case 2:
		if op := value.OpOf(name); op != value.NoOp && op < value.And {
			return fr.binary(op, name, args[0], args[1], pos)
		}
	}
	return fr.notFoundFn(name, nil, args, pos)
}

// namedFunction finds a script function by name.
func (fr *frame) namedFunction(name string, env *environ, this *Value, arity int) *moduleFunction {
	if this != nil {
		if f := env.unit.methods[methodKey{this.TypeName(), name, arity}]; f != nil {
			return &moduleFunction{fn: f, env: env}
		}
		if f := fr.importedMethod(*this, name, arity); f != nil {
			return f
		}
	}
	if f := env.unit.fns[fnKey{name, arity}]; f != nil {
		return &moduleFunction{fn: f, env: env}
	}
	if f := fr.globalFunction(name, arity); f != nil && f.fn != nil {
		return f
	}
	return fr.functionAround(name, this, arity)
}

func (fr *frame) notFoundFn(name string, this *Value, args []Value, pos Pos) Value {
	if this != nil {
		args = append([]Value{*this}, args...)
	}
	return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature(name, args...), Pos: pos})
}

// current is the frame that runs now.
func (r *run) current() *frame { return r.frames[r.depth] }

// hand moves what went wrong from the run to the context, where native
// functions expect it.
func (r *run) hand(c *value.Ctx, v Value) Value {
	if v.IsNone() && r.ctl == ctlError {
		c.Err, r.err, r.ctl = r.err, nil, ctlNone
	}
	return v
}

// CallFn is for native functions: see value.Host.
func (r *run) CallFn(c *value.Ctx, fn Value, this *Value, args []Value) Value {
	pos := c.Pos
	if !fn.Is(value.FnKind) {
		return c.Fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: fn.TypeName(), Want: "Fn"})
	}
	v := r.hand(c, r.current().callFn(fn, this, c.Const, args, pos))
	c.Pos = pos
	return v
}

// Named makes what Fn(name) makes.
func (r *run) Named(c *value.Ctx, name string) Value {
	pos := c.Pos
	return r.hand(c, r.current().fnOf(name, pos))
}

// Print writes a line of print.
func (r *run) Print(text string) { r.engine.print(text) }

// Debug writes a line of debug.
func (r *run) Debug(text, source string, pos Pos) { r.engine.debug(text, source, pos) }

// Alive counts n steps of a native function.
func (r *run) Alive(c *value.Ctx, n int) bool {
	r.fuel -= int64(n)
	if r.fuel >= 0 || r.burn(c.Pos) {
		return true
	}
	r.hand(c, Value{})
	return false
}

// Charge counts memory.
func (r *run) Charge(c *value.Ctx, bytes int) bool {
	if r.measureAt == 0 || r.spendMemory(int64(bytes), int64(bytes), c.Pos) {
		return true
	}
	r.hand(c, Value{})
	return false
}

// Functions lists the script's functions.
func (r *run) Functions(name string, arity int) []*syntax.Func {
	var out []*syntax.Func
	for _, f := range r.root.unit.prog.Funcs {
		if (name == "" || f.Name == name) && (arity < 0 || len(f.Params) == arity) {
			out = append(out, f)
		}
	}
	return out
}

// Now is the clock.
func (r *run) Now() time.Time {
	if r.engine.Clock != nil {
		return r.engine.Clock()
	}
	return time.Now()
}

// Sleep waits, no longer than the run may last.
func (r *run) Sleep(c *value.Ctx, d time.Duration) bool {
	switch {
	case r.engine.Pause != nil:
		r.engine.Pause(d)
	case r.cancel == nil:
		time.Sleep(d)
	default:
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.cancel.Done():
		}
	}
	r.ops += r.quantum - r.fuel
	r.quantum, r.fuel = 0, 0 // counted; burn looks at limits and cancellation
	if r.burn(c.Pos) {
		return true
	}
	r.hand(c, Value{})
	return false
}

// callback is a function pointer made ready for the library.
type callback struct {
	r     *run
	fr    *frame
	f     *value.Fn
	fn    Value
	def   *function
	env   *environ
	pos   Pos
	konst bool
	// where the name led the last time, as a method and as a function
	asThis, asArg target
}

// Callback prepares fn for repeated calls: see value.Host.
func (r *run) Callback(c *value.Ctx, fn Value) value.Callback {
	fr := r.current()
	cb := &callback{r: r, fr: fr, f: fn.AsFn(), fn: fn, pos: c.Pos, konst: c.Const}
	cb.env = fr.envOf(cb.f)
	cb.asThis.name, cb.asArg.name = cb.f.Name, cb.f.Name
	if def, ok := cb.f.Def.(*function); ok {
		cb.def = def
	}
	return cb
}

// Call calls the function for one element: see value.Callback.
func (cb *callback) Call(c *value.Ctx, el *Value, fixed []Value, at int, extra []Value) Value {
	r := cb.r
	if el != nil && el.Is(value.CellKind) {
		el = &el.AsCell().V
	}
	var v Value
	if cb.def != nil {
		v = cb.direct(el, fixed, at, extra)
	} else {
		v = cb.named(el, fixed, at, extra)
	}
	c.Pos, c.Const = cb.pos, cb.konst
	if r.holding {
		r.hold(v)
	}
	return r.hand(c, v)
}

// direct calls a known script function: its number of parameters chooses the form.
func (cb *callback) direct(el *Value, fixed []Value, at int, extra []Value) Value {
	r, def := cb.r, cb.def
	n := def.params - len(cb.f.Curry)
	var this *Value
	withEl, withExtra := false, false
	switch {
	case n == len(fixed):
		this = el
	case el != nil && at >= 0 && n == len(fixed)+1:
		withEl = true
	case el != nil && at >= 0 && n == len(fixed)+1+len(extra):
		withEl, withExtra = true, true
	case (el == nil || at < 0) && n == len(fixed)+len(extra):
		this, withExtra = el, true
	default:
		return cb.noForm(el, fixed, at, extra)
	}
	fr := cb.fr
	if r.calls >= r.engine.maxCalls() {
		return fr.overflow(cb.pos)
	}
	code := def.compiled()
	callee := r.enter(code.slots)
	callee.env, callee.this, callee.thisConst = cb.env, this, cb.konst
	slots := callee.slots
	k := copy(slots, cb.f.Curry)
	for i, a := range fixed {
		if withEl && i == at {
			slots[k] = el.Keep()
			k++
		}
		slots[k] = a
		k++
	}
	if withEl && at >= len(fixed) {
		slots[k] = el.Keep()
		k++
	}
	if withExtra {
		copy(slots[k:], extra)
	}
	r.fuel -= code.cost
	return fr.finish(def, callee, code.body(callee), cb.pos)
}

// named calls a pointer that is known by name, in the first form that exists
// for these values.
func (cb *callback) named(el *Value, fixed []Value, at int, extra []Value) Value {
	fr, r := cb.fr, cb.r
	args := r.scratch(len(cb.f.Curry) + len(fixed) + len(extra) + 1)
	defer r.release(args)
	forms := [...]form{{this: true}, {el: true}, {el: true, extra: true}}
	n := 3
	if el == nil || at < 0 {
		forms[1], n = form{this: true, extra: true}, 2
	}
	var last []Value
	for _, f := range forms[:n] {
		var this *Value
		if f.this {
			this = el
		}
		k := copy(args, cb.f.Curry)
		for i, a := range fixed {
			if f.el && i == at {
				args[k] = el.Keep()
				k++
			}
			args[k] = a
			k++
		}
		if f.el && at >= len(fixed) {
			args[k] = el.Keep()
			k++
		}
		if f.extra {
			k += copy(args[k:], extra)
		}
		last = args[:k]
		if cb.exists(this, last) {
			return fr.callNamed(cb.f.Name, cb.env, this, cb.konst, last, cb.pos)
		}
	}
	var this *Value
	if forms[n-1].this {
		this = el
	}
	return fr.notFoundFn(cb.f.Name, this, last, cb.pos)
}

// form is a way to hand an element to a callback.
type form struct{ this, el, extra bool }

// exists reports whether the name leads to something for these arguments.
func (cb *callback) exists(this *Value, args []Value) bool {
	fr, name := cb.fr, cb.f.Name
	switch {
	case fr.namedFunction(name, cb.env, this, len(args)) != nil:
		return true
	case this != nil:
		return cb.asThis.native(fr, this, args) != nil
	case len(args) == 0:
		return cb.asArg.native(fr, nil, nil) != nil
	case cb.asArg.native(fr, &args[0], args[1:]) != nil:
		return true
	}
	return len(args) == 2 && value.OpOf(name) != value.NoOp
}

// noForm reports a function whose parameters fit no form, with the last form tried.
func (cb *callback) noForm(el *Value, fixed []Value, at int, extra []Value) Value {
	args := append([]Value{}, cb.f.Curry...)
	var this *Value
	for i, a := range fixed {
		if el != nil && i == at {
			args = append(args, *el)
		}
		args = append(args, a)
	}
	if el != nil && at >= len(fixed) {
		args = append(args, *el)
	}
	if at < 0 {
		this = el
	}
	args = append(args, extra...)
	return cb.fr.notFoundFn(cb.f.Name, this, args, cb.pos)
}
