package rhai

import (
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file assigns to what a chain leads to.

// assignChain compiles a.b[i] = v and a.b[i] op= v.
func (c *fnc) assignChain(n *syntax.Assign, t *syntax.Chain) node {
	ch := c.compileChain(t.Root, t.Steps)
	x := c.node(n.Value, own)
	op, opName, pos := value.OpOf(n.Op), n.Op, n.Pos
	general := func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		r := fr.run
		vals := r.scratch(ch.vals)
		if !ch.fill(fr, vals) {
			r.release(vals)
			return Value{}
		}
		out := ch.put(fr, vals, v, op, opName, pos)
		r.release(vals)
		return out
	}
	if f := quickAssign(ch, x, op, opName, pos); f != nil && !c.unit.engine.sized() {
		return f
	}
	return general
}

// quickAssign makes the forms of assignments that scripts use most: to
// local[i], local[i][j] and local.name.
func quickAssign(ch *chain, x node, op value.Op, opName string, pos Pos) node {
	local := ch.slot >= 0 && !ch.ref.cell && !ch.readonly
	if !local && !(ch.isThis && len(ch.steps) == 1) || ch.steps[0].nullSafe {
		return nil
	}
	first, slot := ch.steps[0], ch.slot
	// do finishes in an element's own place.
	do := func(fr *frame, q *Value, v Value) Value {
		if opName == "" {
			*q = v
			return value.Unit
		}
		if op == value.Add && v.PlainInt() && q.PlainInt() {
			a, b := q.AsInt(), v.AsInt()
			if s := a + b; (a^s)&(b^s) >= 0 {
				q.SetInt(s)
				return value.Unit
			}
		}
		return fr.operate(q, op, opName, v, pos)
	}
	// slow takes over with what has been evaluated.
	slow := func(fr *frame, v, i, j Value) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		if first.index != nil {
			vals[first.at] = i
		}
		if len(ch.steps) > 1 {
			vals[ch.steps[1].at] = j
		}
		out := ch.put(fr, vals, v, op, opName, pos)
		r.release(vals)
		return out
	}
	switch {
	case ch.isThis && first.kind == syntax.PropertyStep:
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			if p := fr.this; p != nil && !fr.thisConst && p.Is(value.MapKind) {
				m := value.MutMap(p)
				if h := int(first.hint.Load()); h < m.Len() {
					if e := m.At(h); e.Key == first.name {
						return do(fr, &e.Value, v)
					}
				}
			}
			return slow(fr, v, Value{}, Value{})
		}
	case ch.isThis:
		return nil
	case len(ch.steps) == 1 && first.kind == syntax.PropertyStep:
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			if p := &fr.slots[slot]; p.Is(value.MapKind) {
				m := value.MutMap(p)
				if h := int(first.hint.Load()); h < m.Len() {
					if e := m.At(h); e.Key == first.name {
						return do(fr, &e.Value, v)
					}
				}
			}
			return slow(fr, v, Value{}, Value{})
		}
	case len(ch.steps) == 1 && first.kind == syntax.IndexStep:
		index := first.index
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			i := index(fr)
			if i.IsNone() {
				return i
			}
			if p := &fr.slots[slot]; i.PlainInt() && p.Is(value.ArrayKind) {
				if items := value.MutArray(p).Items; uint64(i.AsInt()) < uint64(len(items)) {
					if opName == "" {
						items[i.AsInt()] = v
						return value.Unit
					}
					return do(fr, &items[i.AsInt()], v)
				}
			}
			return slow(fr, v, i, Value{})
		}
	case len(ch.steps) == 2 && first.kind == syntax.IndexStep && ch.steps[1].kind == syntax.IndexStep && !ch.steps[1].nullSafe:
		index, index2 := first.index, ch.steps[1].index
		return func(fr *frame) Value {
			v := x(fr)
			if v.IsNone() {
				return v
			}
			i := index(fr)
			if i.IsNone() {
				return i
			}
			j := index2(fr)
			if j.IsNone() {
				return j
			}
			if p := &fr.slots[slot]; i.PlainInt() && j.PlainInt() && p.Is(value.ArrayKind) {
				if rows := value.MutArray(p).Items; uint64(i.AsInt()) < uint64(len(rows)) && rows[i.AsInt()].Is(value.ArrayKind) {
					if items := value.MutArray(&rows[i.AsInt()]).Items; uint64(j.AsInt()) < uint64(len(items)) {
						return do(fr, &items[j.AsInt()], v)
					}
				}
			}
			return slow(fr, v, i, j)
		}
	}
	return nil
}

// put walks to the last step and assigns there.
func (ch *chain) put(fr *frame, vals []Value, v Value, op value.Op, opName string, pos Pos) Value {
	w := walker{ch: ch, fr: fr, vals: vals}
	last := len(ch.steps) - 1
	if !w.start() {
		return Value{}
	}
	if !w.walk(last) {
		return Value{}
	}
	s := ch.steps[last]
	if w.skipped || s.nullSafe && w.cur.IsUnit() {
		return value.Unit
	}
	if w.readonly && !w.mayChange(s) {
		return Value{}
	}
	p := w.place(last)
	if p == nil || !fr.chargeCopy(p, s.pos) {
		return Value{}
	}
	keys := keysOf(*p)
	if opName != "" {
		if q := direct(p, s, vals); q != nil {
			if out := fr.operate(q, op, opName, v, pos); out.IsNone() {
				return out
			}
		} else {
			temp := Value{}
			if s.kind == syntax.PropertyStep {
				temp = fr.property(s, *p, vals)
			} else {
				temp = fr.index(s, *p, vals)
			}
			switch {
			case !temp.IsNone():
				temp.Keep()
				if out := fr.operate(&temp, op, opName, v, pos); out.IsNone() {
					return out
				}
				v = temp
			case fr.run.ctl != ctlError || fr.run.err.Kind != value.ErrorIndexingType:
				return temp
			default:
				// What cannot be read by index is set all the same; the lack of a setter is the error then.
				fr.run.ctl, fr.run.err = ctlNone, nil
			}
			opName = ""
		}
	}
	if opName == "" {
		ok := false
		if s.kind == syntax.PropertyStep {
			ok = w.setProperty(p, s, v, false)
		} else {
			ok = w.setIndex(p, s, v, pos, false)
		}
		if !ok {
			return Value{}
		}
	}
	if !w.giveBack(true) {
		return Value{}
	}
	// An element is measured by itself, as the reference does; what an array holds in all is
	// measured when it grows.
	grown := p
	if s.kind == syntax.IndexStep {
		grown = &v
		if p.Is(value.MapKind) && fr.run.sizes && !fr.within(sizes{maps: p.AsMap().Len()}, pos) {
			return Value{}
		}
	}
	if !fr.fits(*grown, pos) || !fr.charge(16+keyBytes*(keysOf(*p)-keys), pos) {
		return Value{}
	}
	return value.Unit
}

// keysOf counts the keys of a map; other values have none.
func keysOf(v Value) int {
	if v.Is(value.MapKind) {
		return v.AsMap().Len()
	}
	return 0
}

// mayChange says whether the last step of a chain from a constant may be
// assigned to. What the constant holds is constant too: elements, values of
// keys. Setters see to it themselves. As in the reference, the rest is not:
// new keys of a map, and bits, characters and bytes.
func (w *walker) mayChange(s *step) bool {
	fr, vals, cur := w.fr, w.vals, w.cur
	taken := false
	switch {
	case s.kind == syntax.IndexStep && cur.Is(value.ArrayKind):
		if fr.index(s, cur, vals).IsNone() {
			return false
		}
		taken = true
	case s.kind == syntax.IndexStep && cur.Is(value.MapKind):
		taken = vals[s.at].Is(value.StringKind) && cur.AsMap().Find(vals[s.at].AsString()) >= 0
	case s.kind == syntax.PropertyStep && cur.Is(value.MapKind):
		taken = cur.AsMap().Find(s.name) >= 0
	}
	if taken {
		fr.fail(&value.Error{Kind: value.ErrorAssignmentToConstant, Name: w.ch.ref.name, Pos: w.ch.pos})
	}
	return !taken
}

// direct gives the element's own place where it has one, for changing it there.
func direct(p *Value, s *step, vals []Value) *Value {
	var q *Value
	switch {
	case s.kind == syntax.PropertyStep && p.Is(value.MapKind):
		q = refOrNew(value.MutMap(p), s.name)
	case s.kind == syntax.IndexStep && p.Is(value.ArrayKind) && vals[s.at].Is(value.IntKind):
		items := value.MutArray(p).Items
		if i, ok := at(vals[s.at].AsInt(), len(items)); ok {
			q = &items[i]
		}
	case s.kind == syntax.IndexStep && p.Is(value.MapKind) && vals[s.at].Is(value.StringKind):
		q = refOrNew(value.MutMap(p), vals[s.at].AsString())
	}
	if q != nil && q.Is(value.CellKind) {
		q = &q.AsCell().V
	}
	return q
}

// refOrNew gives the place of a key, which is added when the map does not have it.
func refOrNew(m *value.Map, key string) *Value {
	if q := m.Ref(key); q != nil {
		return q
	}
	return &m.At(m.Set(key, value.Unit)).Value
}
