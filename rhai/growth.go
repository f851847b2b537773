package rhai

import (
	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles s = s + x, s = x + s and s = `${s}…` for a local s. Made as they are
// written they copy all of a text, an array or a blob that a loop builds, each time; here
// it grows in place.

// growth is such an assignment.
type growth struct {
	slot  int
	parts []node // what is added, in order
	pos   []Pos  // of each +
	front bool   // one part, before s
	text  bool   // an interpolation: s is to be a text
}

// growing compiles the assignment with x as the node of its value; nil when it is none of these.
func (c *fnc) growing(n *syntax.Assign, slot int, x node) node {
	if !c.unit.engine.fastOperators() {
		return nil
	}
	cost := c.cost // counted with x
	g := c.growth(n, slot)
	c.cost = cost
	if g == nil {
		return nil
	}
	return func(fr *frame) Value {
		if p := &fr.slots[slot]; !p.PlainInt() && p.Tag() == 0 && g.takes(fr.run, p) {
			return g.grow(fr, p)
		}
		v := x(fr)
		if v.IsNone() {
			return v
		}
		fr.slots[slot] = v
		return value.Unit
	}
}

// growth is the assignment as one of these; nil when it is none.
func (c *fnc) growth(n *syntax.Assign, slot int) *growth {
	name := n.Target.(*syntax.Name).Name
	g := &growth{slot: slot}
	if i, ok := n.Value.(*syntax.Interpolated); ok {
		if len(i.Parts) < 2 || c.plainSlot(only(i.Parts[0])) != slot || !allUndisturbing(i.Parts[1:], name) {
			return nil
		}
		rest := &syntax.Interpolated{Parts: i.Parts[1:], Pos: i.Pos}
		g.text, g.parts, g.pos = true, []node{c.node(rest, own)}, []Pos{i.Pos}
		return g
	}
	sum, ok := plus(n.Value)
	if !ok {
		return nil
	}
	if c.plainSlot(sum.Y) == slot && undisturbing(sum.X, name) && c.plainSlot(sum.X) != slot {
		g.front, g.parts, g.pos = true, []node{c.node(sum.X, own)}, []Pos{sum.Pos}
	} else {
		var added []*syntax.Binary
		for ok && undisturbing(sum.Y, name) && c.plainSlot(sum.X) != slot {
			added = append(added, sum)
			sum, ok = plus(sum.X)
		}
		if !ok || !undisturbing(sum.Y, name) {
			return nil
		}
		added = append(added, sum)
		for i := len(added) - 1; i >= 0; i-- {
			g.parts, g.pos = append(g.parts, c.node(added[i].Y, own)), append(g.pos, added[i].Pos)
		}
	}
	return g
}

// takes reports whether what p holds may grow. Where sizes are bounded interpolations
// measure each part.
func (g *growth) takes(r *run, p *Value) bool {
	if g.text {
		return p.Is(value.StringKind) && !r.sizes
	}
	return p.Is(value.StringKind) || p.Is(value.ArrayKind) || p.Is(value.BlobKind)
}

// only is what a block has that has nothing else.
func only(n syntax.Node) syntax.Node {
	if b, ok := n.(*syntax.Block); ok && len(b.Body) == 1 {
		return b.Body[0]
	}
	return n
}

// plus is n where that is a sum.
func plus(n syntax.Node) (*syntax.Binary, bool) {
	b, ok := n.(*syntax.Binary)
	return b, ok && b.Op == "+"
}

// undisturbing reports that evaluating n leaves the local of that name as it is, which no
// closure has captured: only what takes it as this or by reference could change it.
func undisturbing(n syntax.Node, name string) bool {
	switch n := n.(type) {
	case *syntax.Unary:
		return undisturbing(n.X, name)
	case *syntax.Binary:
		return undisturbing(n.X, name) && undisturbing(n.Y, name)
	case *syntax.Call:
		return !n.Capture && (len(n.Args) == 0 || rootName(n.Args[0]) != name) && allUndisturbing(n.Args, name)
	case *syntax.Chain:
		for _, s := range n.Steps {
			if s.Index != nil && !undisturbing(s.Index, name) || !allUndisturbing(s.Args, name) {
				return false
			}
		}
		return undisturbing(n.Root, name) && rootName(n.Root) != name
	case *syntax.Interpolated:
		return allUndisturbing(n.Parts, name)
	case *syntax.ArrayLit:
		return allUndisturbing(n.Items, name)
	case *syntax.MapLit:
		return allUndisturbing(n.Values, name)
	case *syntax.Block:
		return allUndisturbing(n.Body, name)
	case *syntax.If:
		return undisturbing(n.Cond, name) && undisturbing(n.Then, name) && (n.Else == nil || undisturbing(n.Else, name))
	}
	return harmless(n)
}

func allUndisturbing(list []syntax.Node, name string) bool {
	for _, n := range list {
		if !undisturbing(n, name) {
			return false
		}
	}
	return true
}

// grow does it where p holds what g takes; what cannot be added in place is done as written.
func (g *growth) grow(fr *frame, p *Value) Value {
	r := fr.run
	vals := r.scratch(len(g.parts))
	defer r.release(vals)
	inPlace := true
	for i, part := range g.parts {
		v := part(fr)
		if v.IsNone() {
			return v
		}
		vals[i] = v
		inPlace = inPlace && g.fits(r, p, v)
	}
	if !inPlace {
		return g.sum(fr, p, vals)
	}
	if g.front {
		r.ctx.Pos = g.pos[0]
		if !lib.Prepend(&r.ctx, p, vals[0]) {
			return fr.failed(g.pos[0])
		}
		if (r.sizes || r.measureAt > 0) && (!fr.fits(*p, g.pos[0]) || !fr.charge(16, g.pos[0])) {
			return Value{}
		}
		return value.Unit
	}
	for i, v := range vals {
		if out := fr.operate(p, value.Add, "+", v, g.pos[i]); out.IsNone() {
			return out
		}
	}
	return value.Unit
}

// fits reports that adding v in place gives what the sum would be. Where sizes are bounded
// arrays and blobs are not: += measures them after, + before.
func (g *growth) fits(r *run, p *Value, v Value) bool {
	for _, kind := range []value.Kind{value.ArrayKind, value.BlobKind} {
		if p.Is(kind) {
			return !g.front && v.Is(kind) && !r.sizes
		}
	}
	switch v.Kind() {
	case value.StringKind, value.CharKind:
		return true
	case value.IntKind, value.FloatKind, value.BoolKind:
		return !g.front
	}
	return false
}

// sum makes the sum as it is written, and puts it into p.
func (g *growth) sum(fr *frame, p *Value, vals []Value) Value {
	out := p.Keep()
	for i, v := range vals {
		a, b := out, v
		if g.front {
			a, b = v, out
		}
		if out = fr.binary(value.Add, "+", a, b, g.pos[i]); out.IsNone() {
			return out
		}
	}
	fr.slots[g.slot] = out
	return value.Unit
}
