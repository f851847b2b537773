package rhai

import (
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the quick forms of chains that are read or called.

// quickChain makes the forms that scripts use most: local.name, local[i],
// local[i][j] and local.method(args).
func (c *fnc) quickChain(n *syntax.Chain, ch *chain, m mode) node {
	slow := func(fr *frame, first, second Value) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		if ch.steps[0].index != nil {
			vals[ch.steps[0].at] = first
		}
		if len(ch.steps) > 1 {
			vals[ch.steps[1].at] = second
		}
		v := ch.get(fr, vals, m)
		r.release(vals)
		return v
	}
	plain := ch.slot >= 0 && !ch.ref.cell
	first := ch.steps[0]
	slot := ch.slot
	switch {
	case len(n.Steps) == 1 && first.kind == syntax.PropertyStep && plain && !first.nullSafe:
		return func(fr *frame) Value {
			v := fr.slots[slot]
			switch v.Kind() {
			case value.MapKind:
				m2 := v.AsMap()
				if h := int(first.hint.Load()); h < m2.Len() {
					if e := m2.At(h); e.Key == first.name {
						x := e.Value
						if m != borrow {
							x.Keep()
						}
						return x
					}
				}
			case value.ArrayKind:
				if first.name == "len" {
					return value.Int(int64(len(v.AsArray().Items)))
				}
			}
			return slow(fr, Value{}, Value{})
		}
	case len(n.Steps) == 1 && first.kind == syntax.PropertyStep && ch.isThis && !first.nullSafe:
		return func(fr *frame) Value {
			if p := fr.this; p != nil && p.Is(value.MapKind) {
				m2 := p.AsMap()
				if h := int(first.hint.Load()); h < m2.Len() {
					if e := m2.At(h); e.Key == first.name {
						x := e.Value
						if m != borrow {
							x.Keep()
						}
						return x
					}
				}
			}
			return slow(fr, Value{}, Value{})
		}
	case len(n.Steps) == 1 && first.kind == syntax.IndexStep && plain && !first.nullSafe:
		index := first.index
		return func(fr *frame) Value {
			i := index(fr)
			if i.IsNone() {
				return i
			}
			if v := fr.slots[slot]; i.PlainInt() && v.Is(value.ArrayKind) {
				if items := v.AsArray().Items; uint64(i.AsInt()) < uint64(len(items)) {
					x := items[i.AsInt()]
					if m != borrow {
						x.Keep()
					}
					return x
				}
			}
			return slow(fr, i, Value{})
		}
	case len(n.Steps) == 2 && first.kind == syntax.IndexStep && plain && !first.nullSafe &&
		ch.steps[1].kind == syntax.IndexStep && !ch.steps[1].nullSafe:
		index, index2 := first.index, ch.steps[1].index
		return func(fr *frame) Value {
			i := index(fr)
			if i.IsNone() {
				return i
			}
			j := index2(fr)
			if j.IsNone() {
				return j
			}
			if v := fr.slots[slot]; i.PlainInt() && j.PlainInt() && v.Is(value.ArrayKind) {
				if items := v.AsArray().Items; uint64(i.AsInt()) < uint64(len(items)) {
					if row := items[i.AsInt()]; row.Is(value.ArrayKind) {
						if cells := row.AsArray().Items; uint64(j.AsInt()) < uint64(len(cells)) {
							x := cells[j.AsInt()]
							if m != borrow {
								x.Keep()
							}
							return x
						}
					}
				}
			}
			return slow(fr, i, j)
		}
	case len(n.Steps) == 1 && first.kind == syntax.MethodStep && plain && !first.nullSafe && !ch.readonly &&
		first.fn == nil && !first.typed && !specialMethod[first.name]:
		return quickMethod(ch, first, slot, m)
	case len(n.Steps) == 1 && first.kind == syntax.MethodStep && plain && !first.nullSafe && first.name == "call":
		return quickPointer(ch, first, slot, m)
	}
	return nil
}

// quickPointer calls the function pointer in a plain local: f.call(args).
func quickPointer(ch *chain, s *step, slot int, m mode) node {
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		for i, a := range s.args {
			v := a(fr)
			if v.IsNone() {
				r.release(vals)
				return v
			}
			vals[s.at+i] = v
		}
		var v Value
		if f := fr.slots[slot]; f.Is(value.FnKind) {
			v = fr.callFn(f, nil, false, vals[s.at:s.at+len(s.args)], s.pos)
		} else {
			v = ch.get(fr, vals, m)
		}
		r.release(vals)
		return v
	}
}

// quickMethod calls a native method on a plain local.
func quickMethod(ch *chain, s *step, slot int, m mode) node {
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(ch.vals)
		for i, a := range s.args {
			v := a(fr)
			if v.IsNone() {
				r.release(vals)
				return v
			}
			vals[s.at+i] = v
		}
		this := &fr.slots[slot]
		if !this.Is(value.MapKind) && len(r.imported) == 0 && len(r.engine.global) == 0 {
			args := vals[s.at : s.at+len(s.args)]
			if f := s.method.native(fr, this, args); f != nil {
				v := fr.invoke(f, this, args, s.pos)
				r.release(vals)
				return v
			}
		}
		v := ch.get(fr, vals, m)
		r.release(vals)
		return v
	}
}
