package rhai

import (
	"fmt"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file calls methods: step i of a chain on the value that the walk has reached.

// specialMethod are methods that belong to the language.
var specialMethod = map[string]bool{"call": true, "curry": true, "is_shared": true, "type_of": true}

// call finds what x.f(args) means, in the reference's order: a function
// pointer kept in a map, methods of the language, the script's typed methods, its other
// functions with this bound, the modules', native functions.
func (w *walker) call(i int, s *step) Value {
	fr := w.fr
	args := w.vals[s.at : s.at+len(s.args)]
	if w.cur.Is(value.MapKind) {
		if f := w.cur.AsMap().Get(s.name); f.Is(value.FnKind) {
			this := w.hold(i, s)
			if this == nil {
				return Value{}
			}
			return w.let(fr.callFn(f, this, w.readonly, args, s.pos))
		}
	}
	if w.cell != nil && w.races(s, args) {
		return Value{}
	}
	if specialMethod[s.name] {
		if v, ok := w.special(i, s, args); ok {
			return v
		}
	}
	if f, env := w.scriptMethod(s); f != nil {
		for k := range args {
			args[k].Keep()
		}
		this := w.hold(i, s)
		if this == nil {
			return Value{}
		}
		return w.let(fr.callIn(f, env, this, w.readonly, args, s.pos))
	}
	w.vals[s.home] = w.cur
	this := &w.vals[s.home]
	f := s.method.native(fr, this, args)
	if f == nil {
		if g := fr.functionAround(s.name, &w.cur, len(args)); g != nil {
			for k := range args {
				args[k].Keep()
			}
			if this = w.hold(i, s); this == nil {
				return Value{}
			}
			return w.let(fr.callIn(g.fn, g.env, this, w.readonly, args, s.pos))
		}
		if g := fr.globalFunction(s.name, len(args)+1); g != nil {
			return g.call(fr, append([]Value{w.cur.Keep()}, args...), s.pos)
		}
		return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature(s.name, append([]Value{w.cur}, args...)...), Pos: s.pos})
	}
	if f.Mutates && w.readonly {
		return fr.fail(&value.Error{Kind: value.ErrorNonPureMethodCallOnConstant, Name: s.name, Pos: s.pos})
	}
	if !f.Mutates && !takesCallback(f) {
		w.lock()
		v := fr.invoke(f, this, args, s.pos)
		w.unlock()
		return v
	}
	if this = w.hold(i, s); this == nil {
		return Value{}
	}
	return w.let(fr.invoke(f, this, args, s.pos))
}

// races refuses a closure as an argument of a method on the very variable that
// it has captured. Containers are not looked into, as the reference does: who
// fills one would have all of it gone through at each call.
func (w *walker) races(s *step, args []Value) bool {
	name := s.name
	for i, a := range args {
		if !a.Is(value.FnKind) {
			continue
		}
		f := a.AsFn()
		if i == 0 && name == "call" {
			name = f.Name // what is called, with the variable as this
		}
		for _, v := range f.Curry {
			if v.Is(value.CellKind) && v.AsCell() == w.cell {
				what := fmt.Sprintf("argument #%d of function '%s'", i+1, value.Clip(name))
				w.fr.fail(&value.Error{Kind: value.ErrorDataRace, Name: what})
				return true
			}
		}
	}
	return false
}

// takesCallback reports a function that calls back with elements of its first
// argument, which the callback may change.
func takesCallback(f *value.Native) bool {
	if r := f.Params[0].Kinds; !r.Has(value.ArrayKind) && !r.Has(value.MapKind) {
		return false
	}
	for _, p := range f.Params[1:] {
		// A callback may be given by its name too.
		if p.Kinds.Has(value.FnKind) || p.Kinds.Has(value.StringKind) {
			return true
		}
	}
	return false
}

// hold gives the place that the walk has reached, for a call that may change
// it: nil when there is none. let ends what hold began.
func (w *walker) hold(i int, s *step) *Value {
	this := w.place(i)
	w.called = s.pos
	if this != nil {
		w.lock()
	}
	return this
}

// let takes the result of the call, and gives back what came through getters.
func (w *walker) let(v Value) Value {
	w.unlock()
	if v.IsNone() || len(w.backs) > 0 && !w.giveBack(false) {
		return Value{}
	}
	return v
}

// lock marks the root's cell as in use: whoever meets it then has a data race.
func (w *walker) lock() {
	w.fr.run.ctx.Const = w.readonly
	if w.cell != nil {
		w.cell.InUse++
	}
}

func (w *walker) unlock() {
	w.fr.run.ctx.Const = false
	if w.cell != nil {
		w.cell.InUse--
	}
}

// special does the methods of the language; false: not for this receiver.
func (w *walker) special(i int, s *step, args []Value) (Value, bool) {
	fr := w.fr
	switch s.name {
	case "call":
		if w.cur.Is(value.FnKind) {
			f := w.cur
			return fr.callFn(f, nil, false, args, s.pos), true
		}
		if len(args) > 0 {
			if !args[0].Is(value.FnKind) {
				return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: args[0].TypeName(), Want: "Fn", Pos: w.ch.argPos(s)}), true
			}
			this := w.hold(i, s)
			if this == nil {
				return Value{}, true
			}
			return w.let(fr.callFn(args[0], this, w.readonly, args[1:], s.pos)), true
		}
		return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: w.cur.TypeName(), Want: "Fn", Pos: s.pos}), true
	case "curry":
		if !w.cur.Is(value.FnKind) {
			return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: w.cur.TypeName(), Want: "Fn", Pos: s.pos}), true
		}
		return fr.curry(w.cur, args, s.pos), true
	case "is_shared":
		if len(args) == 0 {
			return value.Bool(w.cell != nil && i == 0), true
		}
	case "type_of":
		if len(args) == 0 {
			return value.Str(w.cur.TypeName()), true
		}
	}
	return Value{}, false
}

// argPos is where the first argument of a step stands, as well as that is known.
func (ch *chain) argPos(s *step) Pos {
	if !s.indexPos.IsZero() {
		return s.indexPos
	}
	return s.pos
}

// curry gives a pointer that carries more leading arguments.
func (fr *frame) curry(f Value, args []Value, pos Pos) Value {
	p := f.AsFn()
	size := fnBytes + slotBytes*int64(len(p.Curry)+len(args))
	if !fr.spend(int64(len(p.Curry)/8), pos) {
		return Value{}
	}
	if r := fr.run; r.measureAt > 0 && !r.spendMemory(size, size, pos) {
		return Value{}
	}
	all := make([]Value, 0, len(p.Curry)+len(args))
	all = append(all, p.Curry...)
	for _, a := range args {
		all = append(all, a.Keep())
	}
	return value.NewFn(p.Name, all, p.Def, p.Env)
}

// scriptMethod finds the script function that x.f(args) calls with this = x,
// and what that function sees.
func (w *walker) scriptMethod(s *step) (*function, *environ) {
	fr := w.fr
	env := fr.env
	if s.typed {
		if f := env.unit.methods[methodKey{w.cur.TypeName(), s.name, len(s.args)}]; f != nil {
			return f, env
		}
	}
	if f := fr.importedMethod(w.cur, s.name, len(s.args)); f != nil {
		return f.fn, f.env
	}
	if s.fn != nil {
		return s.fn, env
	}
	for _, m := range fr.run.engine.global {
		if f := m.function(s.name, len(s.args)); f != nil && f.fn != nil {
			return f.fn, f.env
		}
	}
	return nil, nil
}

// importedMethod finds a typed method of the modules imported so far.
func (fr *frame) importedMethod(v Value, name string, arity int) *moduleFunction {
	list := fr.run.imported
	if len(list) == 0 && len(fr.run.engine.global) == 0 {
		return nil
	}
	key := methodKey{v.TypeName(), name, arity}
	for i := len(list) - 1; i >= 0; i-- {
		if f := list[i].method(key); f != nil {
			return f
		}
	}
	for _, m := range fr.run.engine.global {
		if f := m.method(key); f != nil {
			return f
		}
	}
	return nil
}
