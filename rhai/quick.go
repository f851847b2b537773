package rhai

import (
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the quick forms of operators whose operands are ints (and
// floats): one closure for each shape of the operands that scripts use most,
// so that a loop's condition or sum is one call. What does not fit a quick
// form goes to slow, with the values it has found.

// shape is what the compiler knows of the two operands.
type shape struct {
	x, y     node
	xs, ys   int   // slots of plain locals, else -1
	k        int64 // the constant on the right
	constant bool
	op       value.Op
	name     string
	pos      Pos
}

func (s *shape) add() node {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) Value {
			if v := fr.slots[xs]; v.PlainInt() {
				a := v.AsInt()
				if s := a + k; (a^s)&(k^s) >= 0 {
					return value.Int(s)
				}
			}
			return s.slow(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) Value {
			v := x(fr)
			if v.PlainInt() {
				a := v.AsInt()
				if s := a + k; (a^s)&(k^s) >= 0 {
					return value.Int(s)
				}
			}
			return s.slow(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				a, b := v.AsInt(), w.AsInt()
				if s := a + b; (a^s)&(b^s) >= 0 {
					return value.Int(s)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			a, b := v.AsInt(), w.AsInt()
			if s := a + b; (a^s)&(b^s) >= 0 {
				return value.Int(s)
			}
		}
		return s.slow(fr, v, w)
	}
}

func (s *shape) sub() node {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) Value {
			if v := fr.slots[xs]; v.PlainInt() {
				a := v.AsInt()
				if s := a - k; (a^k)&(a^s) >= 0 {
					return value.Int(s)
				}
			}
			return s.slow(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) Value {
			v := x(fr)
			if v.PlainInt() {
				a := v.AsInt()
				if s := a - k; (a^k)&(a^s) >= 0 {
					return value.Int(s)
				}
			}
			return s.slow(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				a, b := v.AsInt(), w.AsInt()
				if s := a - b; (a^b)&(a^s) >= 0 {
					return value.Int(s)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			a, b := v.AsInt(), w.AsInt()
			if s := a - b; (a^b)&(a^s) >= 0 {
				return value.Int(s)
			}
		}
		return s.slow(fr, v, w)
	}
}

// arithmetic is the rarer operators on two ints; ok is false where the result
// or the error is not for here.
var arithmetic = map[value.Op]func(a, b int64) (n int64, ok bool){
	value.Mul: func(a, b int64) (int64, bool) {
		// A product of two numbers of 32 bits cannot overflow.
		return a * b, a == int64(int32(a)) && b == int64(int32(b))
	},
	value.Div: func(a, b int64) (int64, bool) {
		if b <= 0 {
			return 0, false
		}
		return a / b, true
	},
	value.Mod: func(a, b int64) (int64, bool) {
		if b <= 0 {
			return 0, false
		}
		return a % b, true
	},
	value.BitAnd: func(a, b int64) (int64, bool) { return a & b, true },
	value.BitOr:  func(a, b int64) (int64, bool) { return a | b, true },
	value.BitXor: func(a, b int64) (int64, bool) { return a ^ b, true },
}

func (s *shape) ints(do func(a, b int64) (int64, bool)) node {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	if xs >= 0 && s.constant {
		return func(fr *frame) Value {
			v := fr.slots[xs]
			if v.PlainInt() {
				if n, ok := do(v.AsInt(), k); ok {
					return value.Int(n)
				}
			}
			return s.slow(fr, v, value.Int(k))
		}
	}
	if xs >= 0 && ys >= 0 {
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				if n, ok := do(v.AsInt(), w.AsInt()); ok {
					return value.Int(n)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			if n, ok := do(v.AsInt(), w.AsInt()); ok {
				return value.Int(n)
			}
		}
		return s.slow(fr, v, w)
	}
}

func (s *shape) condLt() cond {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) truth {
			if v := fr.slots[xs]; v.PlainInt() {
				return truthOf(v.AsInt() < k)
			}
			return s.slowCond(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) truth {
			v := x(fr)
			if v.PlainInt() {
				return truthOf(v.AsInt() < k)
			}
			return s.slowCond(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) truth {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				return truthOf(v.AsInt() < w.AsInt())
			}
			return s.slowCond(fr, v, w)
		}
	}
	return func(fr *frame) truth {
		v := x(fr)
		if v.IsNone() {
			return abrupt
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			return truthOf(v.AsInt() < w.AsInt())
		}
		return s.slowCond(fr, v, w)
	}
}

func (s *shape) condLe() cond {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) truth {
			if v := fr.slots[xs]; v.PlainInt() {
				return truthOf(v.AsInt() <= k)
			}
			return s.slowCond(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) truth {
			v := x(fr)
			if v.PlainInt() {
				return truthOf(v.AsInt() <= k)
			}
			return s.slowCond(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) truth {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				return truthOf(v.AsInt() <= w.AsInt())
			}
			return s.slowCond(fr, v, w)
		}
	}
	return func(fr *frame) truth {
		v := x(fr)
		if v.IsNone() {
			return abrupt
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			return truthOf(v.AsInt() <= w.AsInt())
		}
		return s.slowCond(fr, v, w)
	}
}

func (s *shape) condGt() cond {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) truth {
			if v := fr.slots[xs]; v.PlainInt() {
				return truthOf(v.AsInt() > k)
			}
			return s.slowCond(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) truth {
			v := x(fr)
			if v.PlainInt() {
				return truthOf(v.AsInt() > k)
			}
			return s.slowCond(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) truth {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				return truthOf(v.AsInt() > w.AsInt())
			}
			return s.slowCond(fr, v, w)
		}
	}
	return func(fr *frame) truth {
		v := x(fr)
		if v.IsNone() {
			return abrupt
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			return truthOf(v.AsInt() > w.AsInt())
		}
		return s.slowCond(fr, v, w)
	}
}

func (s *shape) condGe() cond {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) truth {
			if v := fr.slots[xs]; v.PlainInt() {
				return truthOf(v.AsInt() >= k)
			}
			return s.slowCond(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) truth {
			v := x(fr)
			if v.PlainInt() {
				return truthOf(v.AsInt() >= k)
			}
			return s.slowCond(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) truth {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				return truthOf(v.AsInt() >= w.AsInt())
			}
			return s.slowCond(fr, v, w)
		}
	}
	return func(fr *frame) truth {
		v := x(fr)
		if v.IsNone() {
			return abrupt
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			return truthOf(v.AsInt() >= w.AsInt())
		}
		return s.slowCond(fr, v, w)
	}
}

func (s *shape) condEq() cond {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) truth {
			if v := fr.slots[xs]; v.PlainInt() {
				return truthOf(v.AsInt() == k)
			}
			return s.slowCond(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) truth {
			v := x(fr)
			if v.PlainInt() {
				return truthOf(v.AsInt() == k)
			}
			return s.slowCond(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) truth {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				return truthOf(v.AsInt() == w.AsInt())
			}
			return s.slowCond(fr, v, w)
		}
	}
	return func(fr *frame) truth {
		v := x(fr)
		if v.IsNone() {
			return abrupt
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			return truthOf(v.AsInt() == w.AsInt())
		}
		return s.slowCond(fr, v, w)
	}
}

func (s *shape) condNe() cond {
	xs, ys, x, y, k := s.xs, s.ys, s.x, s.y, s.k
	switch {
	case xs >= 0 && s.constant:
		return func(fr *frame) truth {
			if v := fr.slots[xs]; v.PlainInt() {
				return truthOf(v.AsInt() != k)
			}
			return s.slowCond(fr, fr.slots[xs], value.Int(k))
		}
	case s.constant:
		return func(fr *frame) truth {
			v := x(fr)
			if v.PlainInt() {
				return truthOf(v.AsInt() != k)
			}
			return s.slowCond(fr, v, value.Int(k))
		}
	case xs >= 0 && ys >= 0:
		return func(fr *frame) truth {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				return truthOf(v.AsInt() != w.AsInt())
			}
			return s.slowCond(fr, v, w)
		}
	}
	return func(fr *frame) truth {
		v := x(fr)
		if v.IsNone() {
			return abrupt
		}
		w := y(fr)
		if v.PlainInt() && w.PlainInt() {
			return truthOf(v.AsInt() != w.AsInt())
		}
		return s.slowCond(fr, v, w)
	}
}
