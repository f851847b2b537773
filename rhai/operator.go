package rhai

import (
	"strings"

	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles operators: quick forms for ints in quick.go, all else by
// way of lib.Binary and registered functions here.

// fastOperators says that operators of standard types mean what they mean.
func (e *Engine) fastOperators() bool { return !e.SlowOperators }

func intLiteral(n syntax.Node) (int64, bool) {
	l, ok := n.(*syntax.Literal)
	if !ok || l.Kind != syntax.IntLit {
		return 0, false
	}
	return l.Int, true
}

// plainSlot gives the slot of a local that no closure captures.
func (c *fnc) plainSlot(n syntax.Node) int {
	name, ok := n.(*syntax.Name)
	if !ok || len(name.Path) > 0 || c.unit.engine.OnVar != nil {
		return -1
	}
	if r := c.look(name.Name, name.Pos); r.kind == refSlot && r.hops == 0 && !r.cell {
		return r.slot
	}
	return -1
}

// harmless reports that evaluating n changes no variable, so that what was
// borrowed before may still be used after.
func harmless(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Literal, *syntax.Name, *syntax.This:
		return true
	case *syntax.Unary:
		return harmless(n.X)
	case *syntax.Binary:
		return harmless(n.X) && harmless(n.Y)
	case *syntax.Interpolated:
		return allHarmless(n.Parts)
	case *syntax.ArrayLit:
		return allHarmless(n.Items)
	case *syntax.MapLit:
		return allHarmless(n.Values)
	case *syntax.Block:
		return len(n.Body) == 1 && harmless(n.Body[0])
	case *syntax.Chain:
		for _, s := range n.Steps {
			if s.Kind == syntax.MethodStep || s.Index != nil && !harmless(s.Index) {
				return false
			}
		}
		return harmless(n.Root)
	}
	return false
}

func allHarmless(list []syntax.Node) bool {
	for _, n := range list {
		if !harmless(n) {
			return false
		}
	}
	return true
}

// operandMode is how a left operand may be read when right comes after it.
func operandMode(right syntax.Node) mode {
	if harmless(right) {
		return borrow
	}
	return own
}

func (c *fnc) unary(n *syntax.Unary) node {
	if n.Op == "!" {
		return c.valueOf(c.not(n))
	}
	x, pos, name := c.node(n.X, borrow), n.Pos, n.Op
	op := name[0]
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		if v.PlainFloat() && op == '-' {
			return value.Float(-v.AsFloat())
		}
		return fr.unaryOp(op, name, v, pos)
	}
}

func (fr *frame) unaryOp(op byte, name string, v Value, pos Pos) Value {
	r := fr.run
	r.ctx.Pos = pos
	if out, ok := lib.Unary(&r.ctx, op, v); ok {
		if out.IsNone() {
			return fr.failed(pos)
		}
		return out
	}
	if out, ok := fr.registered(name, pos, v); ok {
		return out
	}
	return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature(name, v), Pos: pos})
}

// registered calls a native function that takes exactly these arguments, if there is one.
func (fr *frame) registered(name string, pos Pos, args ...Value) (Value, bool) {
	r := fr.run
	o := r.engine.natives[fnKey{name, len(args)}]
	if o == nil {
		return Value{}, false
	}
	f := o.find(&args[0], args[1:], len(args))
	if f == nil {
		return Value{}, false
	}
	r.ctx.Pos = pos
	v := f.Call(&r.ctx, &args[0], args[1:])
	if v.IsNone() {
		return fr.failed(pos), true
	}
	return v, true
}

// overridden reports that a function of the host replaces an operator of
// standard types (only with SlowOperators).
func (fr *frame) overridden(name string, a, b Value) bool {
	o := fr.run.engine.natives[fnKey{name, 2}]
	return o != nil && o.find(&a, []Value{b}, 2) != nil
}

// binary does a op b, whatever they are.
func (fr *frame) binary(op value.Op, name string, a, b Value, pos Pos) Value {
	r := fr.run
	if a.IsNone() || b.IsNone() {
		return Value{}
	}
	if op == value.In || op == value.NotIn {
		return fr.in(op, a, b, pos)
	}
	// What the host has for its own types comes before what holds of any two types.
	if r.engine.SlowOperators || a.Is(value.CustomKind) || b.Is(value.CustomKind) {
		if v, ok := fr.registered(name, pos, a, b); ok {
			return v
		}
	}
	if op != value.NoOp {
		r.ctx.Pos = pos
		if v, ok := lib.Binary(&r.ctx, op, a, b); ok {
			if v.IsNone() {
				return fr.failed(pos)
			}
			if r.sizes && !fr.fits(v, r.ctx.Pos) {
				return Value{}
			}
			return v
		}
	}
	if op == value.NoOp {
		if f := fr.env.unit.fns[fnKey{name, 2}]; f != nil {
			return fr.callValues(f, nil, false, []Value{a.Keep(), b.Keep()}, pos)
		}
	}
	if v, ok := fr.registered(name, pos, a, b); ok {
		return v
	}
	return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature(name, a, b), Pos: pos})
}

// in does a in b and a !in b: contains(b, a).
func (fr *frame) in(op value.Op, a, b Value, pos Pos) Value {
	if a.Is(value.StringKind) && b.Is(value.MapKind) && !fr.run.engine.SlowOperators {
		return value.Bool((b.AsMap().Find(a.AsString()) >= 0) == (op == value.In))
	}
	v, ok := fr.registered("contains", pos, b, a)
	if !ok {
		if b.Is(value.CustomKind) || fr.run.engine.natives[fnKey{"contains", 2}] == nil {
			if w, ok := lib.Binary(&fr.run.ctx, value.In, a, b); ok && !w.IsNone() {
				v = w
			}
		}
		if v.IsNone() {
			return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature("contains", b, a), Pos: pos})
		}
	}
	if op == value.NotIn && v.Is(value.BoolKind) {
		return value.Bool(!v.AsBool())
	}
	return v
}

// signature renders a call as errors show it: f (i64, map).
func signature(name string, args ...Value) string {
	var b strings.Builder
	b.WriteString(value.Clip(name) + " (")
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.Flatten().SignatureName())
	}
	return b.String() + ")"
}

func (c *fnc) binary(n *syntax.Binary, m mode) node {
	op := value.OpOf(n.Op)
	switch op {
	case value.And, value.Or:
		return c.valueOf(c.cond(n, n.Pos))
	case value.Coalesce:
		return c.coalesce(n, m)
	case value.In, value.NotIn:
		return c.contains(n, op)
	case value.Lt, value.Le, value.Gt, value.Ge:
		if c.unit.engine.fastOperators() {
			return c.comparison(n, op)
		}
	}
	s := c.shape(n, op)
	if c.unit.engine.fastOperators() {
		switch op {
		case value.Add:
			return s.add()
		case value.Sub:
			return s.sub()
		case value.Mul, value.Div, value.Mod, value.BitAnd, value.BitOr, value.BitXor:
			return s.ints(arithmetic[op])
		case value.Eq, value.Ne:
			return c.comparison(n, op)
		}
	}
	x, y, open := s.x, s.y, n.Open
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		w := y(fr)
		if open && !v.Is(value.IntKind) {
			w = value.Unit // the end that is not written: there is none but for ints
		}
		return s.slow(fr, v, w)
	}
}

// contains compiles a in b, which is contains(b, a): b comes first.
func (c *fnc) contains(n *syntax.Binary, op value.Op) node {
	y, x := c.node(n.Y, operandMode(n.X)), c.node(n.X, borrow)
	name, pos := n.Op, n.Pos
	return func(fr *frame) Value {
		w := y(fr)
		if w.IsNone() {
			return w
		}
		v := x(fr)
		if v.IsNone() {
			return v
		}
		return fr.binary(op, name, v, w, pos)
	}
}

func (c *fnc) shape(n *syntax.Binary, op value.Op) *shape {
	s := &shape{op: op, name: n.Op, pos: n.Pos, xs: -1, ys: -1}
	s.x, s.y = c.node(n.X, operandMode(n.Y)), c.node(n.Y, borrow)
	s.xs, s.ys = c.plainSlot(n.X), c.plainSlot(n.Y)
	s.k, s.constant = intLiteral(n.Y)
	return s
}

// slow does the operator for operands that the quick forms leave.
func (s *shape) slow(fr *frame, a, b Value) Value {
	if a.PlainFloat() && b.PlainFloat() {
		x, y := a.AsFloat(), b.AsFloat()
		switch s.op {
		case value.Add:
			return value.Float(x + y)
		case value.Sub:
			return value.Float(x - y)
		case value.Mul:
			return value.Float(x * y)
		case value.Div:
			return value.Float(x / y)
		}
	}
	return fr.binary(s.op, s.name, a, b, s.pos)
}

// comparison compiles a comparison for its value. An operator of the host may
// give something else than a bool.
func (c *fnc) comparison(n *syntax.Binary, op value.Op) node {
	return c.valueOf(c.shape(n, op).cond())
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// odd is a comparison that gave no bool: the value lies in run.ret.
const odd truth = 2

func (s *shape) slowCond(fr *frame, a, b Value) truth {
	v := s.slow(fr, a, b)
	switch {
	case v.Is(value.BoolKind):
		return truthOf(v.AsBool())
	case v.IsNone():
		return abrupt
	}
	fr.run.ret = v
	return odd
}

// cond picks the form of a comparison.
func (s *shape) cond() cond {
	switch s.op {
	case value.Lt:
		return s.condLt()
	case value.Le:
		return s.condLe()
	case value.Gt:
		return s.condGt()
	case value.Ge:
		return s.condGe()
	case value.Eq:
		return s.condEq()
	}
	return s.condNe()
}

// cond compiles an expression whose value must be a bool; pos is where to complain.
func (c *fnc) cond(n syntax.Node, pos Pos) cond {
	c.cost++
	switch b := n.(type) {
	case *syntax.Binary:
		op := value.OpOf(b.Op)
		switch op {
		case value.And:
			x, y := c.cond(b.X, position(b.X)), c.cond(b.Y, position(b.Y))
			return func(fr *frame) truth {
				if t := x(fr); t != yes {
					return t
				}
				return y(fr)
			}
		case value.Or:
			x, y := c.cond(b.X, position(b.X)), c.cond(b.Y, position(b.Y))
			return func(fr *frame) truth {
				if t := x(fr); t != no {
					return t
				}
				return y(fr)
			}
		case value.Lt, value.Le, value.Gt, value.Ge, value.Eq, value.Ne:
			if c.unit.engine.fastOperators() {
				return onlyBool(c.shape(b, op).cond(), pos)
			}
		}
	case *syntax.Literal:
		if b.Kind == syntax.BoolLit {
			t := truthOf(b.Bool)
			return func(*frame) truth { return t }
		}
	case *syntax.Unary:
		if b.Op == "!" {
			return onlyBool(c.not(b), pos)
		}
	}
	x := c.node(n, borrow)
	return func(fr *frame) truth {
		v := x(fr)
		switch {
		case v.Is(value.BoolKind):
			return truthOf(v.AsBool())
		case v.IsNone():
			return abrupt
		}
		return fr.notBool(v, pos)
	}
}

// onlyBool refuses what is no bool, where a condition stands.
func onlyBool(test cond, pos Pos) cond {
	return func(fr *frame) truth {
		t := test(fr)
		if t == odd {
			return fr.notBool(fr.run.ret, pos)
		}
		return t
	}
}

func (fr *frame) notBool(v Value, pos Pos) truth {
	fr.run.ret = Value{}
	fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(v), Want: "bool", Pos: pos})
	return abrupt
}

func (c *fnc) not(n *syntax.Unary) cond {
	x, pos := c.node(n.X, borrow), n.Pos
	return func(fr *frame) truth {
		v := x(fr)
		switch {
		case v.Is(value.BoolKind):
			return truthOf(!v.AsBool())
		case v.IsNone():
			return abrupt
		}
		out := fr.unaryOp('!', "!", v, pos)
		switch {
		case out.Is(value.BoolKind):
			return truthOf(out.AsBool())
		case out.IsNone():
			return abrupt
		}
		fr.run.ret = out
		return odd
	}
}

// valueOf turns a condition into a value.
func (c *fnc) valueOf(test cond) node {
	return func(fr *frame) Value {
		switch test(fr) {
		case yes:
			return value.True
		case no:
			return value.False
		case odd:
			v := fr.run.ret
			fr.run.ret = Value{}
			return v
		}
		return Value{}
	}
}

func (c *fnc) coalesce(n *syntax.Binary, m mode) node {
	x, y := c.node(n.X, max(m, operandMode(n.Y))), c.node(n.Y, m)
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsUnit() {
			return y(fr)
		}
		return v
	}
}
