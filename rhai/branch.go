package rhai

import (
	"math"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file compiles if and switch.

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
