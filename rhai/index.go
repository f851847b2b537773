package rhai

import (
	"github.com/ramet-run/ramet/rhai/value"
)

// This file says what container[index] and container.property mean for each
// kind of container.

// index reads cur[vals[s.at]].
func (fr *frame) index(s *step, cur Value, vals []Value) Value {
	i := vals[s.at]
	switch cur.Kind() {
	case value.ArrayKind:
		items := cur.AsArray().Items
		if !i.Is(value.IntKind) {
			return fr.wrongIndex(i, "i64", s)
		}
		n, ok := at(i.AsInt(), len(items))
		if !ok {
			return fr.fail(&value.Error{Kind: value.ErrorArrayBounds, Index: i.AsInt(), Len: len(items), Pos: s.indexPos})
		}
		return items[n]
	case value.MapKind:
		if !i.Is(value.StringKind) {
			return fr.wrongIndex(i, "string", s)
		}
		if v := cur.AsMap().Get(i.AsString()); !v.IsNone() {
			return v
		}
		if fr.run.engine.FailOnMissingProperty {
			return fr.fail(&value.Error{Kind: value.ErrorPropertyNotFound, Name: i.AsString(), Pos: s.indexPos})
		}
		return value.Unit
	case value.BlobKind:
		b := cur.AsBlob().Bytes
		if !i.Is(value.IntKind) {
			return fr.wrongIndex(i, "i64", s)
		}
		n, ok := at(i.AsInt(), len(b))
		if !ok {
			return fr.fail(&value.Error{Kind: value.ErrorArrayBounds, Index: i.AsInt(), Len: len(b), Pos: s.indexPos})
		}
		return value.Int(int64(b[n]))
	case value.StringKind:
		return fr.indexString(s, cur, i)
	case value.IntKind:
		return fr.indexBits(s, cur.AsInt(), i)
	}
	vals[s.home] = cur
	args := vals[s.at : s.at+1]
	if f := s.method.native(fr, &vals[s.home], args); f != nil {
		return fr.invoke(f, &vals[s.home], args, s.indexPos)
	}
	return fr.fail(&value.Error{Kind: value.ErrorIndexingType, Name: cur.TypeName() + " [" + i.TypeName() + "]", Pos: s.pos})
}

func (fr *frame) wrongIndex(i Value, want string, s *step) Value {
	return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(i), Want: want, Pos: s.indexPos})
}

// rustName is the type's name in the places where the reference forgets to
// translate the name that Rust has for it.
func rustName(v Value) string {
	switch v.Kind() {
	case value.RangeKind:
		return "core::ops::range::Range<i64>"
	case value.RangeInclKind:
		return "core::ops::range::RangeInclusive<i64>"
	}
	return v.TypeName()
}

func (fr *frame) indexString(s *step, cur, i Value) Value {
	n := cur.Chars()
	if !cur.IsASCII() && !fr.spend(int64(n/64), s.indexPos) {
		return Value{} // characters of different lengths are counted through
	}
	switch i.Kind() {
	case value.IntKind:
		k, ok := at(i.AsInt(), n)
		if !ok {
			return fr.fail(&value.Error{Kind: value.ErrorStringBounds, Index: i.AsInt(), Len: n, Pos: s.indexPos})
		}
		return value.Char(cur.CharAt(k))
	case value.RangeKind, value.RangeInclKind:
		from, to, ok := fr.stringSpan(s, i.AsRange(), n)
		if !ok {
			return Value{}
		}
		if i.AsRange().Inclusive() {
			// An inclusive range of one character gives nothing, unless it is the whole string.
			if from == to && !(from == 0 && to >= n-1) {
				return value.Str("")
			}
			to++
		}
		from, to = min(from, n), min(to, n)
		return cur.Part(cur.Substring(from, max(from, to)))
	}
	return fr.wrongIndex(i, "i64", s)
}

// stringSpan gives the ends of a range within a string of n characters; they
// may lie behind its end. Negative ones count from there; a start must lie within.
func (fr *frame) stringSpan(s *step, r *value.Range, n int) (from, to int, ok bool) {
	if n == 0 {
		return 0, 0, true
	}
	if r.From < 0 {
		if from, ok = at(r.From, n); !ok {
			fr.fail(&value.Error{Kind: value.ErrorStringBounds, Index: r.From, Len: n, Pos: s.indexPos})
			return 0, 0, false
		}
	} else {
		from = int(min(r.From, int64(n)))
	}
	if r.To < 0 {
		if to, ok = at(r.To, n); !ok {
			to = 0
		}
	} else {
		to = int(min(r.To, int64(n)))
	}
	return from, to, true
}

// bitSpan gives the first bit and the number of bits of a range within an int.
func (fr *frame) bitSpan(s *step, r *value.Range) (from, bits uint, ok bool) {
	first, end, most := r.From, r.To, int64(64)
	if r.Inclusive() {
		most = 63
	}
	if end == 1<<63-1 {
		end = most
	}
	for _, i := range []struct{ at, most int64 }{{first, 63}, {end, most}} {
		if i.at < 0 || i.at > i.most {
			fr.fail(&value.Error{Kind: value.ErrorBitFieldBounds, Index: i.at, Len: 64, Pos: s.indexPos})
			return 0, 0, false
		}
	}
	if r.Inclusive() {
		end++
	}
	if end <= first {
		return 0, 0, true
	}
	return uint(first), uint(end - first), true
}

func bitMask(from, bits uint) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return (uint64(1)<<bits - 1) << from
}

func (fr *frame) indexBits(s *step, n int64, i Value) Value {
	switch i.Kind() {
	case value.IntKind:
		k, ok := at(i.AsInt(), 64)
		if !ok {
			return fr.fail(&value.Error{Kind: value.ErrorBitFieldBounds, Index: i.AsInt(), Len: 64, Pos: s.indexPos})
		}
		return value.Bool(uint64(n)>>k&1 != 0)
	case value.RangeKind, value.RangeInclKind:
		from, bits, ok := fr.bitSpan(s, i.AsRange())
		if !ok {
			return Value{}
		}
		// Bits up to the sign bit keep the sign, as in the reference.
		return value.Int(n & int64(bitMask(from, bits)) >> from)
	}
	return fr.wrongIndex(i, "i64", s)
}

// setIndex does *p[vals[s.at]] = v. back says that a changed element goes back
// to where it came from, where the lack of a setter is no error.
func (w *walker) setIndex(p *Value, s *step, v Value, pos Pos, back bool) bool {
	fr, i := w.fr, w.vals[s.at]
	switch p.Kind() {
	case value.ArrayKind:
		if !i.Is(value.IntKind) {
			fr.wrongIndex(i, "i64", s)
			return false
		}
		items := value.MutArray(p).Items
		n, ok := at(i.AsInt(), len(items))
		if !ok {
			fr.fail(&value.Error{Kind: value.ErrorArrayBounds, Index: i.AsInt(), Len: len(items), Pos: s.indexPos})
			return false
		}
		items[n] = v
		return true
	case value.MapKind:
		if !i.Is(value.StringKind) {
			fr.wrongIndex(i, "string", s)
			return false
		}
		value.MutMap(p).Set(i.AsString(), v)
		return true
	case value.BlobKind:
		return fr.setByte(p, s, i, v, pos)
	case value.StringKind:
		return fr.setChar(p, s, i, v, pos)
	case value.IntKind:
		return fr.setBits(p, s, i, v, pos)
	}
	args := fr.run.scratch(2)
	defer fr.run.release(args)
	args[0], args[1] = i, v
	if f := s.setter.native(fr, p, args); f != nil {
		return w.set(f, p, args, s.indexPos)
	}
	if back {
		return true
	}
	fr.fail(&value.Error{Kind: value.ErrorIndexingType, Name: p.TypeName() + " [" + i.TypeName() + "] = " + v.TypeName(), Pos: s.pos})
	return false
}

// set calls a setter.
func (w *walker) set(f *value.Native, p *Value, args []Value, pos Pos) bool {
	if f.Mutates && w.readonly {
		w.fr.fail(&value.Error{Kind: value.ErrorNonPureMethodCallOnConstant, Name: f.Name, Pos: pos})
		return false
	}
	return !w.fr.invoke(f, p, args, pos).IsNone()
}

func (fr *frame) wrongType(v Value, want string, pos Pos) bool {
	fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(v), Want: want, Pos: pos})
	return false
}

func (fr *frame) setByte(p *Value, s *step, i, v Value, pos Pos) bool {
	if !i.Is(value.IntKind) {
		fr.wrongIndex(i, "i64", s)
		return false
	}
	b := value.MutBlob(p).Bytes
	n, ok := at(i.AsInt(), len(b))
	if !ok {
		fr.fail(&value.Error{Kind: value.ErrorArrayBounds, Index: i.AsInt(), Len: len(b), Pos: s.indexPos})
		return false
	}
	if !v.Is(value.IntKind) {
		return fr.wrongType(v, "INT", pos)
	}
	b[n] = byte(v.AsInt())
	return true
}

func (fr *frame) setChar(p *Value, s *step, i, v Value, pos Pos) bool {
	n := p.Chars()
	text := p.AsString()
	switch i.Kind() {
	case value.IntKind:
		k, ok := at(i.AsInt(), n)
		if !ok {
			fr.fail(&value.Error{Kind: value.ErrorStringBounds, Index: i.AsInt(), Len: n, Pos: s.indexPos})
			return false
		}
		if !v.Is(value.CharKind) {
			return fr.wrongType(v, "char", pos)
		}
		// The reference writes at the absolute value of a negative index. So do
		// we: it is what scripts that run there rely on.
		if i.AsInt() < 0 {
			if k = int(-i.AsInt()); k >= n {
				return true
			}
		}
		from := value.ByteOffset(text, k)
		to := from + value.ByteOffset(text[from:], 1)
		*p = value.Str(text[:from] + string(v.AsChar()) + text[to:]).WithTag(p.Tag())
		return true
	case value.RangeKind, value.RangeInclKind:
		from, to, ok := fr.stringSpan(s, i.AsRange(), n)
		if !ok {
			return false
		}
		if i.AsRange().Inclusive() {
			to++
		}
		*p = value.Str(p.Substring(0, min(from, n)) + v.Display() + p.Substring(min(to, n), n)).WithTag(p.Tag())
		return true
	}
	fr.wrongIndex(i, "i64", s)
	return false
}

func (fr *frame) setBits(p *Value, s *step, i, v Value, pos Pos) bool {
	n := uint64(p.AsInt())
	switch i.Kind() {
	case value.IntKind:
		k, ok := at(i.AsInt(), 64)
		if !ok {
			fr.fail(&value.Error{Kind: value.ErrorBitFieldBounds, Index: i.AsInt(), Len: 64, Pos: s.indexPos})
			return false
		}
		if !v.Is(value.BoolKind) {
			return fr.wrongType(v, "bool", pos)
		}
		n &^= 1 << k
		if v.AsBool() {
			n |= 1 << k
		}
	case value.RangeKind, value.RangeInclKind:
		from, bits, ok := fr.bitSpan(s, i.AsRange())
		if !ok {
			return false
		}
		if !v.Is(value.IntKind) {
			return fr.wrongType(v, "integer", pos)
		}
		mask := bitMask(from, bits)
		n = n&^mask | uint64(v.AsInt())<<from&mask
	default:
		fr.wrongIndex(i, "i64", s)
		return false
	}
	p.SetInt(int64(n))
	return true
}

// setProperty does p.name = v.
func (w *walker) setProperty(p *Value, s *step, v Value, back bool) bool {
	fr := w.fr
	if p.Is(value.MapKind) {
		m := value.MutMap(p)
		if h := int(s.hint.Load()); h < m.Len() {
			if e := m.At(h); e.Key == s.name {
				e.Value = v
				return true
			}
		}
		s.hint.Store(int32(m.Set(s.name, v)))
		return true
	}
	args := fr.run.scratch(1)
	defer fr.run.release(args)
	args[0] = v
	if f := s.setter.native(fr, p, args); f != nil {
		return w.set(f, p, args, s.pos)
	}
	if p.Is(value.CustomKind) {
		if _, ok := fr.registered("index$set$", s.pos, *p, value.Str(s.name), v); ok {
			return fr.run.ctl == ctlNone
		}
	}
	if back {
		return true
	}
	fr.fail(&value.Error{Kind: value.ErrorDotExpr, Pos: s.pos,
		Name: "No writable property '" + s.name + "' - a setter is not registered for type '" + p.TypeName() + "' to handle '" + v.TypeName() + "'"})
	return false
}
