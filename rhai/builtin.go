package rhai

import (
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles the functions that belong to the language, because they
// see the place they are called from.

// languageNames are their names.
var languageNames = []string{"print", "debug", "exit", "type_of", "Fn", "is_shared", "is_def_var", "eval", "call", "curry", "is_def_fn"}

// languages reports that a call of name with n arguments is one of these, unless
// the script has a function of that name.
func languages(name string, n int) bool {
	switch name {
	case "print", "debug", "exit":
		return n <= 1
	case "type_of", "Fn", "is_shared", "is_def_var", "eval":
		return n == 1
	case "call":
		return n >= 1
	case "curry":
		return n > 1
	case "is_def_fn":
		return n == 2 || n == 3
	}
	return false
}

// builtin compiles a call of such a function; nil when n is none.
func (c *fnc) builtin(n *syntax.Call) node {
	if !languages(n.Name, len(n.Args)) || c.unit.fns[fnKey{n.Name, len(n.Args)}] != nil {
		return nil
	}
	pos := n.Pos
	arg := func(i int) Pos { return n.Args[i].Start() }
	switch n.Name {
	case "print", "debug":
		return c.printing(n)
	case "type_of":
		x := c.node(n.Args[0], borrow)
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			return value.Str(v.TypeName())
		}
	case "exit":
		var x syntax.Node
		if len(n.Args) == 1 {
			x = n.Args[0]
		}
		return c.jump(x, ctlExit)
	case "Fn":
		x := c.node(n.Args[0], borrow)
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			if !v.Is(value.StringKind) {
				return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(v), Want: "string", Pos: arg(0)})
			}
			return fr.fnOf(v.AsString(), arg(0))
		}
	case "call":
		return c.pointerCall(n)
	case "curry":
		args := c.nodes(n.Args, own)
		return func(fr *frame) Value {
			vals, ok := fr.pointerArgs(args, arg(0))
			if !ok {
				return Value{}
			}
			return fr.curry(vals[0], vals[1:], pos)
		}
	case "is_shared":
		if name, ok := n.Args[0].(*syntax.Name); ok && len(name.Path) == 0 {
			r := c.look(name.Name, name.Pos)
			return func(fr *frame) Value {
				p, _ := fr.lookup(&r)
				if p == nil {
					return fr.fail(&value.Error{Kind: value.ErrorVariableNotFound, Name: r.name, Pos: r.pos})
				}
				return value.Bool(p.Is(value.CellKind))
			}
		}
		x := c.node(n.Args[0], borrow)
		return func(fr *frame) Value {
			if v := x(fr); v.IsNone() {
				return v
			}
			return value.False
		}
	case "is_def_var":
		return c.isDefVar(n)
	case "is_def_fn":
		return c.isDefFn(n)
	case "eval":
		return c.eval(n)
	}
	return nil
}

func (c *fnc) printing(n *syntax.Call) node {
	x := constant(value.Str(""))
	if len(n.Args) == 1 {
		x = c.node(n.Args[0], borrow)
	}
	pos := n.Pos
	debug := n.Name == "debug"
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		return fr.print(v, debug && n.Args != nil, debug, pos)
	}
}

func (fr *frame) print(v Value, quoted, debug bool, pos Pos) Value {
	r := fr.run
	r.ctx.Pos = pos
	text, ok := "", true
	switch {
	case !debug:
		text, ok = value.RenderDisplay(v, r.pacing())
	case quoted:
		text, ok = value.RenderDebug(v, r.pacing())
	}
	switch {
	case !ok:
		return fr.failed(pos)
	case debug:
		r.engine.debug(text, fr.env.source(), pos)
	default:
		r.engine.print(text)
	}
	return value.Unit
}

// languageFunction does functions of the language that were called through a pointer.
func (fr *frame) languageFunction(name string, args []Value, pos Pos) (Value, bool) {
	if len(args) != 1 {
		return Value{}, false
	}
	switch name {
	case "print":
		return fr.print(args[0], false, false, pos), true
	case "debug":
		return fr.print(args[0], true, true, pos), true
	case "type_of":
		return value.Str(args[0].TypeName()), true
	}
	return Value{}, false
}

// fnOf makes a function pointer of a name.
func (fr *frame) fnOf(name string, pos Pos) Value {
	switch {
	case syntax.ValidFunctionName(name):
	case syntax.Reserved(name):
		what := "symbol"
		if c := name[0] | 0x20; c >= 'a' && c <= 'z' {
			what = "keyword"
		}
		return fr.fail(&value.Error{Kind: value.ErrorParsing, Pos: pos,
			Parse: &syntax.Error{Kind: "Reserved", Text: "'" + name + "' is a reserved " + what, Pos: pos}})
	default:
		return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: name, Pos: pos})
	}
	if !fr.charge(fnBytes+len(name), pos) {
		return Value{}
	}
	return value.NewFn(name, nil, nil, fr.env)
}

func (c *fnc) isDefVar(n *syntax.Call) node {
	x, here := c.node(n.Args[0], borrow), c.here()
	pos := n.Args[0].Start()
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		if !v.Is(value.StringKind) {
			return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(v), Want: "string", Pos: pos})
		}
		at := fnc{unit: c.unit, site: here}
		r := at.look(v.AsString(), pos)
		// The site is this very frame, not one further in.
		inner := frame{run: fr.run, outer: fr, env: fr.env}
		p, _ := inner.lookup(&r)
		return value.Bool(p != nil)
	}
}

func (c *fnc) isDefFn(n *syntax.Call) node {
	args := c.nodes(n.Args, borrow)
	return func(fr *frame) Value {
		var typ, name string
		arity := int64(0)
		for i, a := range args {
			v := a(fr)
			if v.IsNone() {
				return v
			}
			want := value.StringKind
			if i == len(args)-1 {
				want = value.IntKind
			}
			if !v.Is(want) {
				return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(v), Want: want.String(), Pos: n.Pos})
			}
			switch {
			case want == value.IntKind:
				arity = v.AsInt()
			case i == 0 && len(args) == 3:
				typ = v.AsString()
			default:
				name = v.AsString()
			}
		}
		if arity < 0 || arity > 1<<20 {
			return value.False
		}
		u := fr.env.unit
		if typ != "" {
			return value.Bool(u.methods[methodKey{typ, name, int(arity)}] != nil)
		}
		return value.Bool(u.fns[fnKey{name, int(arity)}] != nil)
	}
}

// pointerCall compiles call(f, args), and call!(f, args).
func (c *fnc) pointerCall(n *syntax.Call) node {
	pos := n.Pos
	args := c.nodes(n.Args, own)
	u := c.unit
	var here *site
	if n.Capture {
		here = c.here()
		c.evals++
	}
	return func(fr *frame) Value {
		vals, ok := fr.pointerArgs(args, n.Args[0].Start())
		if !ok {
			return Value{}
		}
		if here != nil {
			return fr.callAmong(u, here, vals[0], vals[1:], pos)
		}
		return fr.callFn(vals[0], nil, false, vals[1:], pos)
	}
}

// pointerArgs evaluates arguments of which the first is a function pointer; ok is
// false where that has failed.
func (fr *frame) pointerArgs(args []node, first syntax.Pos) (vals []Value, ok bool) {
	vals = make([]Value, len(args))
	for i, a := range args {
		if vals[i] = a(fr); vals[i].IsNone() {
			return nil, false
		}
	}
	if !vals[0].Is(value.FnKind) {
		fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: vals[0].TypeName(), Want: "Fn", Pos: first})
		return nil, false
	}
	return vals, true
}
