package rhai

import (
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles loops.

// loopEnd looks at why a loop's body gave none. next: go on; else the loop ends with v.
func (fr *frame) loopEnd() (v Value, next bool) {
	r := fr.run
	switch r.ctl {
	case ctlContinue:
		r.ctl = ctlNone
		return Value{}, true
	case ctlBreak:
		r.ctl = ctlNone
		v = r.ret
		r.ret = Value{}
		return v, false
	}
	return Value{}, false
}

// body compiles a loop's body and counts its cost for one round.
func (c *fnc) body(b *syntax.Block) (node, int64) {
	outside := c.cost
	c.cost = 1
	n := c.blockNode(b, borrow)
	cost := c.cost
	c.cost = outside + 1
	return n, cost
}

func (c *fnc) while(n *syntax.While) node {
	test := cond(nil)
	if n.Cond != nil {
		test = c.cond(n.Cond, position(n.Cond))
	}
	body, cost := c.body(n.Body)
	pos := n.Body.Pos
	if test == nil {
		return func(fr *frame) Value {
			for {
				if !fr.spend(cost, pos) {
					return Value{}
				}
				if body(fr).IsNone() {
					if v, next := fr.loopEnd(); !next {
						return v
					}
				}
			}
		}
	}
	return func(fr *frame) Value {
		for {
			switch test(fr) {
			case no:
				return value.Unit
			case abrupt:
				return Value{}
			}
			if !fr.spend(cost, pos) {
				return Value{}
			}
			if body(fr).IsNone() {
				if v, next := fr.loopEnd(); !next {
					return v
				}
			}
		}
	}
}

func (c *fnc) do(n *syntax.Do) node {
	body, cost := c.body(n.Body)
	test := c.cond(n.Cond, position(n.Cond))
	until, pos := truthOf(n.Until), n.Body.Pos
	return func(fr *frame) Value {
		for {
			if !fr.spend(cost, pos) {
				return Value{}
			}
			if body(fr).IsNone() {
				v, next := fr.loopEnd()
				if !next {
					return v
				}
				continue // goes to the next round, as in the reference, without the test
			}
			switch t := test(fr); t {
			case abrupt:
				return Value{}
			case until:
				return value.Unit
			}
		}
	}
}

// forNode compiles for. Ranges of ints written in place make no range object.
func (c *fnc) forNode(n *syntax.For) node {
	known, names := len(c.locals), 1
	if n.Counter != nil {
		names = 2
	}
	return c.room(c.forLoop(n), known, names, n.Var.Pos)
}

func (c *fnc) forLoop(n *syntax.For) node {
	var from, to, x node
	inclusive := false
	b, ok := n.X.(*syntax.Binary)
	steps := c.rangeCall(n.X)
	if ok && (b.Op == ".." || b.Op == "..=") && c.unit.engine.fastOperators() {
		from, to, inclusive = c.node(b.X, operandMode(b.Y)), c.node(b.Y, borrow), b.Op == "..="
	} else {
		x = c.node(n.X, own)
	}
	shut := c.open()
	slot, counter := -1, -1
	if n.Counter != nil {
		counter = c.declareNew(n.Counter.Name, false)
	}
	slot = c.declareNew(n.Var.Name, false)
	v := c.locals[len(c.locals)-1]
	body, cost := c.body(n.Body)
	shut()
	l := &loop{slot: slot, counter: counter, cell: v.cell, body: body, cost: cost, pos: n.Body.Pos, overPos: n.X.Start()}
	if steps != nil {
		return func(fr *frame) Value { return l.steps(fr, steps, x) }
	}
	if from == nil {
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			return l.over(fr, v)
		}
	}
	op, opName, pos, open := value.OpOf(b.Op), b.Op, b.Pos, b.Open
	return func(fr *frame) Value {
		a := from(fr)
		if a.IsNone() {
			return a
		}
		b := to(fr)
		if a.Is(value.IntKind) && b.Is(value.IntKind) {
			end := b.AsInt()
			if inclusive {
				if a.AsInt() > end {
					return value.Unit
				}
				return l.ints(fr, a.AsInt(), end)
			}
			if a.AsInt() >= end {
				return value.Unit
			}
			return l.ints(fr, a.AsInt(), end-1)
		}
		if b.IsNone() {
			return b
		}
		if open && !a.Is(value.IntKind) {
			b = value.Unit // as for a range that is a value
		}
		v := fr.binary(op, opName, a, b, pos)
		if v.IsNone() {
			return v
		}
		return l.over(fr, v)
	}
}

// rangeCall recognises range(from, to, step) of the library: its arguments, or
// nil. They must be harmless, for they are evaluated again when they are no ints.
func (c *fnc) rangeCall(n syntax.Node) []node {
	call, ok := n.(*syntax.Call)
	if !ok || call.Name != "range" || len(call.Path) > 0 || len(call.Args) != 3 || !allHarmless(call.Args) ||
		c.unit.fns[fnKey{"range", 3}] != nil || len(c.unit.engine.global) > 0 ||
		c.unit.engine.natives[fnKey{"range", 3}] != standard[fnKey{"range", 3}] {
		return nil
	}
	return c.nodes(call.Args, borrow)
}

// steps runs over range(from, to, step) without an iterator when all are ints;
// else over whatever x gives.
func (l *loop) steps(fr *frame, args []node, x node) Value {
	var k [3]int64
	for i, a := range args {
		v := a(fr)
		if !v.PlainInt() {
			k[2] = 0
			break
		}
		k[i] = v.AsInt()
	}
	from, to, step := k[0], k[1], k[2]
	if fr.run.ctl != ctlNone {
		return Value{}
	}
	if step == 0 {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		return l.over(fr, v)
	}
	p := &fr.slots[l.slot]
	for n := 0; step > 0 && from < to || step < 0 && from > to; n++ {
		switch {
		case n == 0:
			l.begin(fr, value.Int(from))
		case l.cell || l.counter >= 0:
			l.set(fr, value.Int(from), n)
		default:
			p.SetInt(from)
		}
		if !fr.spend(l.cost, l.pos) {
			return Value{}
		}
		if l.body(fr).IsNone() {
			if v, next := fr.loopEnd(); !next {
				return v
			}
		}
		next := from + step
		if (next > from) != (step > 0) {
			break // past the largest int
		}
		from = next
	}
	return value.Unit
}

// loop is a compiled for loop.
type loop struct {
	slot, counter int // counter is -1 when there is none
	cell          bool
	body          node
	cost          int64
	pos, overPos  Pos // of the body and of what is looped over
}

// begin puts the first element into fresh variables.
func (l *loop) begin(fr *frame, v Value) {
	fr.slots[l.slot] = v
	if l.counter >= 0 {
		fr.slots[l.counter] = value.Int(0)
	}
}

// set puts the next element, i-th from 0, into the loop's variables, which
// closures made in earlier rounds share.
func (l *loop) set(fr *frame, v Value, i int) {
	if p := &fr.slots[l.slot]; l.cell && p.Is(value.CellKind) {
		p.AsCell().V = v
	} else {
		*p = v
	}
	if l.counter >= 0 {
		if p := &fr.slots[l.counter]; p.Is(value.CellKind) {
			p.AsCell().V = value.Int(int64(i))
		} else {
			p.SetInt(int64(i))
		}
	}
}

// ints runs over first..=last, which is not empty.
func (l *loop) ints(fr *frame, first, last int64) Value {
	l.begin(fr, value.Int(first))
	body, cost := l.body, l.cost
	simple := !l.cell && l.counter < 0
	p := &fr.slots[l.slot]
	for i, n := first, 0; ; {
		if !fr.spend(cost, l.pos) {
			return Value{}
		}
		if body(fr).IsNone() {
			if v, next := fr.loopEnd(); !next {
				return v
			}
		}
		if i == last {
			return value.Unit
		}
		i++
		n++
		if simple {
			p.SetInt(i)
		} else {
			l.set(fr, value.Int(i), n)
		}
	}
}

// over runs over any value that can be looped over.
func (l *loop) over(fr *frame, v Value) Value {
	var next func() Value
	switch v.Kind() {
	case value.RangeKind, value.RangeInclKind:
		r := v.AsRange()
		last := r.To
		if r.From > last || !r.Inclusive() && r.From == last {
			return value.Unit
		}
		if !r.Inclusive() {
			last--
		}
		return l.ints(fr, r.From, last)
	case value.ArrayKind:
		return l.array(fr, v.AsArray().Items)
	case value.StringKind:
		s, at := v.AsString(), 0
		next = func() Value {
			if at >= len(s) {
				return Value{}
			}
			r, size := utf8.DecodeRuneInString(s[at:])
			at += size
			return value.Char(r)
		}
	case value.BlobKind:
		b := v.AsBlob().Bytes
		next = func() Value {
			if len(b) == 0 {
				return Value{}
			}
			x := b[0]
			b = b[1:]
			return value.Int(int64(x))
		}
	case value.IterKind:
		next = v.AsIter().Start()
	case value.CustomKind:
		if c := v.AsCustom(); c.Type.Iterate != nil {
			var stop func()
			if next, stop = c.Type.Iterate(c.Data); stop != nil {
				defer stop()
			}
		}
	}
	if next == nil {
		return fr.fail(&value.Error{Kind: value.ErrorFor, Pos: l.overPos})
	}
	for n := 0; ; n++ {
		v := next()
		if v.IsNone() {
			if fr.run.ctx.Err != nil {
				return fr.failed(l.overPos)
			}
			return value.Unit
		}
		if n == 0 {
			l.begin(fr, v)
		} else {
			l.set(fr, v, n)
		}
		if !fr.spend(l.cost, l.pos) {
			return Value{}
		}
		if l.body(fr).IsNone() {
			if v, next := fr.loopEnd(); !next {
				return v
			}
		}
	}
}

// array runs over items, whose array has been kept: nobody changes it now.
func (l *loop) array(fr *frame, items []Value) Value {
	for n, v := range items {
		v = v.Flatten().Keep()
		if n == 0 {
			l.begin(fr, v)
		} else {
			l.set(fr, v, n)
		}
		if !fr.spend(l.cost, l.pos) {
			return Value{}
		}
		if l.body(fr).IsNone() {
			if v, next := fr.loopEnd(); !next {
				return v
			}
		}
	}
	return value.Unit
}
