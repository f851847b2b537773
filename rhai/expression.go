package rhai

import (
	"fmt"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles expressions other than operators, calls and chains.

// node compiles any statement or expression.
func (c *fnc) node(n syntax.Node, m mode) node {
	c.cost++
	switch n := n.(type) {
	case nil:
		return constant(value.Unit)
	case *syntax.Literal:
		return constant(literal(n))
	case *syntax.Interpolated:
		return c.interpolated(n)
	case *syntax.ArrayLit:
		return c.array(n)
	case *syntax.MapLit:
		return c.mapLit(n)
	case *syntax.Name:
		if len(n.Path) > 0 {
			return c.qualifiedName(n)
		}
		return c.name(n, m)
	case *syntax.This:
		return c.this(n, m)
	case *syntax.Unary:
		return c.unary(n)
	case *syntax.Binary:
		return c.binary(n, m)
	case *syntax.Call:
		return c.call(n, m)
	case *syntax.Chain:
		return c.chain(n, m)
	case *syntax.Block:
		return c.blockNode(n, m)
	case *syntax.If:
		return c.ifNode(n, m)
	case *syntax.Switch:
		return c.switchNode(n, m)
	case *syntax.While:
		return c.while(n)
	case *syntax.Do:
		return c.do(n)
	case *syntax.For:
		return c.forNode(n)
	case *syntax.Closure:
		return c.closure(n)
	case *syntax.Custom:
		return c.custom(n)
	case *syntax.Let:
		return c.let(n)
	case *syntax.Assign:
		return c.assign(n)
	case *syntax.Break:
		return c.jump(n.Value, ctlBreak)
	case *syntax.Continue:
		return c.jump(nil, ctlContinue)
	case *syntax.Return:
		if m == tail && c.fnBody {
			return c.node(n.Value, tail)
		}
		return c.jump(n.Value, ctlReturn)
	case *syntax.Throw:
		return c.throw(n)
	case *syntax.Try:
		return c.try(n, m)
	case *syntax.Import:
		return c.importNode(n)
	case *syntax.Export:
		return c.export(n)
	case *syntax.Noop:
		return constant(value.Unit)
	}
	panic(fmt.Sprintf("BUG: no way to compile %T", n))
}

func constant(v Value) node { return func(*frame) Value { return v } }

func literal(n *syntax.Literal) Value {
	switch n.Kind {
	case syntax.BoolLit:
		return value.Bool(n.Bool)
	case syntax.IntLit:
		return value.Int(n.Int)
	case syntax.FloatLit:
		return value.Float(n.Float)
	case syntax.CharLit:
		return value.Char(rune(n.Int))
	case syntax.StringLit:
		return value.Constant(n.Str)
	}
	return value.Unit
}

// nodes compiles several expressions.
func (c *fnc) nodes(ns []syntax.Node, m mode) []node {
	out := make([]node, len(ns))
	for i, n := range ns {
		out[i] = c.node(n, m)
	}
	return out
}

func (c *fnc) interpolated(n *syntax.Interpolated) node {
	parts := c.nodes(n.Parts, borrow)
	pos := n.Pos
	return func(fr *frame) Value {
		r := fr.run
		// Parts may interpolate too: each level takes the buffer away while it works.
		buf, around := r.text[:0], r.texts
		r.text = nil
		for i, part := range parts {
			r.texts = around + int64(cap(buf))
			v := part(fr)
			r.texts = around
			if v.IsNone() {
				return v
			}
			was := len(buf)
			if r.measureAt == 0 {
				buf = value.AppendDisplay(buf, v)
			} else if buf = fr.appendText(buf, v, pos); buf == nil || !r.spendMemory(int64(len(buf)-was), int64(2*cap(buf)), pos) {
				return Value{}
			}
			if r.sizes {
				r.ctx.Pos = n.Parts[i].Start()
				if !r.ctx.FitsString(len(buf)) {
					return fr.failed(pos)
				}
			}
		}
		if len(buf) > keptText {
			return value.Text(buf)
		}
		v := value.Str(string(buf))
		r.text = buf
		return v
	}
}

// keptText is how large a text interpolation copies, to use its room again.
const keptText = 16 << 10 // bytes

// appendText adds v to an interpolated text, nil when the run may not.
func (fr *frame) appendText(buf []byte, v Value, pos Pos) []byte {
	r := fr.run
	r.ctx.Pos = pos
	buf, ok := value.AppendPaced(buf, v, r.pacing())
	if !ok {
		fr.failed(pos)
		return nil
	}
	if buf == nil {
		buf = []byte{}
	}
	return buf
}

func (c *fnc) array(n *syntax.ArrayLit) node {
	items := c.nodes(n.Items, own)
	pos := n.Pos
	return func(fr *frame) Value {
		list := make([]Value, len(items))
		var total sizes
		r := fr.run
		held := len(r.held)
		for i, item := range items {
			v := item(fr)
			if v.IsNone() {
				return v
			}
			list[i] = v
			r.hold(v)
			if fr.run.sizes && !fr.fitsItem(&total, v, n.Items[i].Start()) {
				return Value{}
			}
		}
		r.held = r.held[:held]
		v := value.NewArray(list)
		if !fr.charge(32+16*len(list), pos) {
			return Value{}
		}
		return v
	}
}

func (c *fnc) mapLit(n *syntax.MapLit) node {
	values := c.nodes(n.Values, own)
	keys := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		keys[i] = k.Name
	}
	pos := n.Pos
	return func(fr *frame) Value {
		v := value.NewMap(len(keys))
		m := v.AsMap()
		var total sizes
		r := fr.run
		held := len(r.held)
		for i, key := range keys {
			item := values[i](fr)
			if item.IsNone() {
				return item
			}
			m.Set(key, item)
			r.hold(item)
			if fr.run.sizes && !fr.fitsEntry(&total, item, n.Values[i].Start()) {
				return Value{}
			}
		}
		r.held = r.held[:held]
		if !fr.charge(64+48*len(keys), pos) {
			return Value{}
		}
		return v
	}
}

func (c *fnc) this(n *syntax.This, m mode) node {
	pos := n.Pos
	return func(fr *frame) Value {
		if fr.this == nil {
			return fr.fail(&value.Error{Kind: value.ErrorUnboundThis, Pos: pos})
		}
		v := fr.this.Flatten()
		if m != borrow {
			v.Keep()
		}
		return v
	}
}

// closure compiles |params| body: making its value turns what it captures into cells.
func (c *fnc) closure(n *syntax.Closure) node {
	f := &function{def: n.Fn, unit: c.unit, name: n.Fn.Name, captures: n.Captures, params: len(n.Captures) + len(n.Fn.Params)}
	refs := make([]ref, len(n.Captures))
	for i, id := range n.Captures {
		refs[i] = c.look(id.Name, id.Pos)
	}
	return func(fr *frame) Value {
		var curry []Value
		if len(refs) > 0 {
			curry = make([]Value, len(refs))
		}
		for i := range refs {
			p, readonly := fr.lookup(&refs[i])
			if p == nil {
				return fr.fail(&value.Error{Kind: value.ErrorVariableNotFound, Name: refs[i].name, Pos: refs[i].pos})
			}
			if !p.Is(value.CellKind) {
				*p = value.NewCell(*p)
				p.AsCell().Const = readonly
			}
			curry[i] = *p
		}
		if !fr.charge(96+64*len(refs), n.Pos) {
			return Value{}
		}
		return value.NewFn(f.name, curry, f, fr.env)
	}
}

// jump compiles break, continue and return.
func (c *fnc) jump(result syntax.Node, why ctl) node {
	if result == nil {
		return func(fr *frame) Value {
			fr.run.ctl, fr.run.ret = why, value.Unit
			return Value{}
		}
	}
	x := c.node(result, own)
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		fr.run.ctl, fr.run.ret = why, v
		return Value{}
	}
}

func (c *fnc) throw(n *syntax.Throw) node {
	x, pos := c.node(n.Value, own), n.Pos
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		return fr.fail(&value.Error{Kind: value.ErrorRuntime, Value: v, Pos: pos})
	}
}

// position is where the reference says an expression is when its value does
// not fit: at its operator, or at the first dot or bracket of a chain.
func position(n syntax.Node) Pos {
	switch n := n.(type) {
	case *syntax.Chain:
		return n.Steps[0].OpPos
	case *syntax.Binary:
		return n.Pos
	}
	return n.Start()
}
