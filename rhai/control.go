package rhai

import (
	"math"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles branches and loops.

func (c *fnc) ifNode(n *syntax.If, m mode) node {
	test := c.cond(n.Cond, position(n.Cond))
	then := c.blockNode(n.Then, m)
	var other node
	if n.Else != nil {
		other = c.node(n.Else, m)
	} else {
		other = constant(value.Unit)
	}
	return func(fr *frame) Value {
		switch test(fr) {
		case yes:
			return then(fr)
		case no:
			return other(fr)
		}
		return Value{}
	}
}

// arm is one arm of a switch.
type arm struct {
	cond cond // nil: always
	body node
}

// switchKey makes values of different types differ, as switch compares.
type switchKey struct {
	kind value.Kind
	n    uint64
	s    string
}

type switchRange struct {
	from, to  int64
	inclusive bool
	arm       int
}

func (r switchRange) has(v Value) bool {
	switch v.Kind() {
	case value.IntKind:
		i := v.AsInt()
		return i >= r.from && (i < r.to || r.inclusive && i == r.to)
	case value.FloatKind:
		f := v.AsFloat()
		return f >= float64(r.from) && (f < float64(r.to) || r.inclusive && f <= float64(r.to))
	}
	return false
}

// keyOf gives the key of a scalar or string, false for what needs a deep look.
func keyOf(v Value) (switchKey, bool) {
	switch v.Kind() {
	case value.UnitKind:
		return switchKey{kind: value.UnitKind}, true
	case value.BoolKind:
		if v.AsBool() {
			return switchKey{kind: value.BoolKind, n: 1}, true
		}
		return switchKey{kind: value.BoolKind}, true
	case value.IntKind:
		return switchKey{kind: value.IntKind, n: uint64(v.AsInt())}, true
	case value.FloatKind:
		return switchKey{kind: value.FloatKind, n: math.Float64bits(v.AsFloat())}, true
	case value.CharKind:
		return switchKey{kind: value.CharKind, n: uint64(v.AsChar())}, true
	case value.StringKind:
		return switchKey{kind: value.StringKind, s: v.AsString()}, true
	case value.RangeKind, value.RangeInclKind:
		return switchKey{kind: v.Kind(), s: v.Display()}, true
	case value.FnKind:
		if f := v.AsFn(); len(f.Curry) == 0 {
			return switchKey{kind: value.FnKind, s: f.Name}, true
		}
	}
	return switchKey{}, false
}

// switchNode compiles a switch: exact values through a table, then ranges in order.
func (c *fnc) switchNode(n *syntax.Switch, m mode) node {
	m2 := borrow
	for _, k := range n.Cases {
		if k.Cond != nil && !harmless(k.Cond) {
			m2 = own // a condition may change what is switched on
		}
	}
	x := c.node(n.X, m2)
	var (
		arms   []arm
		table  = map[switchKey][]int{}
		deep   []Value // arrays and maps
		deepAt []int
		ranges []switchRange
	)
	for i, k := range n.Cases {
		a := arm{}
		if k.Cond != nil {
			a.cond = c.cond(k.Cond, position(k.Cond))
		}
		a.body = c.node(k.Body, m)
		arms = append(arms, a)
		for _, v := range k.Values {
			if v.Range {
				ranges = append(ranges, switchRange{v.From, v.To, v.Inclusive, i})
				// A range that is switched on matches the same range.
				whole := value.NewRange(v.From, v.To)
				if v.Inclusive {
					whole = value.NewRangeIncl(v.From, v.To)
				}
				key, _ := keyOf(whole)
				table[key] = append(table[key], i)
				continue
			}
			lit := literalValue(v.Value)
			if key, ok := keyOf(lit); ok {
				table[key] = append(table[key], i)
			} else {
				deep, deepAt = append(deep, lit), append(deepAt, i)
			}
		}
	}
	other := constant(value.Unit)
	if n.Default != nil {
		other = c.node(n.Default, m)
	}
	// Ints close together get a jump table.
	var jump []int32
	var base int64
	if lo, hi, ok := intSpan(table); ok && len(ranges) == 0 {
		base = lo
		jump = make([]int32, hi-lo+1)
		for i := range jump {
			jump[i] = -1
		}
		for k, at := range table {
			if k.kind == value.IntKind && len(at) == 1 && arms[at[0]].cond == nil {
				jump[int64(k.n)-lo] = int32(at[0])
			} else if k.kind == value.IntKind {
				jump = nil
				break
			}
		}
	}
	try := func(fr *frame, i int) (Value, bool) {
		a := &arms[i]
		if a.cond != nil {
			switch a.cond(fr) {
			case no:
				return Value{}, false
			case abrupt:
				return Value{}, true
			}
		}
		return a.body(fr), true
	}
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		if jump != nil && v.PlainInt() {
			if i := v.AsInt() - base; i >= 0 && i < int64(len(jump)) && jump[i] >= 0 {
				return arms[jump[i]].body(fr)
			}
			return other(fr)
		}
		if key, ok := keyOf(v); ok {
			for _, i := range table[key] {
				if out, done := try(fr, i); done {
					return out
				}
			}
		} else {
			for i, d := range deep {
				if sameDeep(d, v) {
					if out, done := try(fr, deepAt[i]); done {
						return out
					}
				}
			}
		}
		for _, r := range ranges {
			if r.has(v) {
				if out, done := try(fr, r.arm); done {
					return out
				}
			}
		}
		return other(fr)
	}
}

// intSpan gives the least and the largest int of a table, when they lie close.
func intSpan(table map[switchKey][]int) (lo, hi int64, ok bool) {
	for k := range table {
		if k.kind != value.IntKind {
			continue
		}
		i := int64(k.n)
		if !ok {
			lo, hi, ok = i, i, true
		}
		lo, hi = min(lo, i), max(hi, i)
	}
	return lo, hi, ok && hi-lo >= 0 && hi-lo < 256
}

// literalValue is the value of a tree of literals.
func literalValue(n syntax.Node) Value {
	switch n := n.(type) {
	case *syntax.Literal:
		return literal(n)
	case *syntax.ArrayLit:
		items := make([]Value, len(n.Items))
		for i, x := range n.Items {
			items[i] = literalValue(x)
		}
		return value.NewArray(items).Keep()
	case *syntax.MapLit:
		v := value.NewMap(len(n.Keys))
		for i, k := range n.Keys {
			v.AsMap().Set(k.Name, literalValue(n.Values[i]))
		}
		v.AsMap().Entries() // sorted now: later it is read by many
		return v.Keep()
	case *syntax.Unary:
		if v := literalValue(n.X); n.Op == "-" && v.Is(value.IntKind) {
			return value.Int(-v.AsInt())
		} else if n.Op == "-" && v.Is(value.FloatKind) {
			return value.Float(-v.AsFloat())
		}
	case *syntax.Block:
		if len(n.Body) == 1 {
			return literalValue(n.Body[0])
		}
	case *syntax.Call: // Fn("name")
		if l, ok := n.Args[0].(*syntax.Literal); ok && n.Name == "Fn" {
			return value.NewFn(l.Str, nil, nil, nil)
		}
	case *syntax.Closure:
		return value.NewFn(n.Fn.Name, nil, nil, nil)
	}
	return value.Unit
}

// sameDeep compares by type and value, as switch does.
func sameDeep(a, b Value) bool {
	b = b.Flatten()
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case value.ArrayKind:
		x, y := a.AsArray().Items, b.AsArray().Items
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameDeep(x[i], y[i]) {
				return false
			}
		}
		return true
	case value.MapKind:
		x, y := a.AsMap().Entries(), b.AsMap().Entries()
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i].Key != y[i].Key || !sameDeep(x[i].Value, y[i].Value) {
				return false
			}
		}
		return true
	}
	ka, ok := keyOf(a)
	kb, _ := keyOf(b)
	return ok && ka == kb
}

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
	if step == 0 || fr.run.ctl != ctlNone {
		if fr.run.ctl != ctlNone {
			return Value{}
		}
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
