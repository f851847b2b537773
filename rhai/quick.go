package rhai

import (
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the quick forms of operators whose operands are ints (and
// floats): one closure for each shape of the operands that scripts use most,
// so that a loop's condition or sum is one call. What does not fit a quick
// form goes to slowOperator, with the values it has found.

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

// small reports that a product with another small int cannot overflow.
func small(a int64) bool { return a == int64(int32(a)) }

func (s *shape) mul() node {
	xs, ys, x, y := s.xs, s.ys, s.x, s.y
	if xs >= 0 && s.constant {
		w := value.Int(s.k)
		return func(fr *frame) Value {
			v := fr.slots[xs]
			if v.PlainInt() {
				if a, b := v.AsInt(), w.AsInt(); small(a) && small(b) {
					return value.Int(a * b)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	if xs >= 0 && ys >= 0 {
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				if a, b := v.AsInt(), w.AsInt(); small(a) && small(b) {
					return value.Int(a * b)
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
			if a, b := v.AsInt(), w.AsInt(); small(a) && small(b) {
				return value.Int(a * b)
			}
		}
		return s.slow(fr, v, w)
	}
}

func (s *shape) mod() node {
	xs, ys, x, y := s.xs, s.ys, s.x, s.y
	if xs >= 0 && s.constant {
		w := value.Int(s.k)
		return func(fr *frame) Value {
			v := fr.slots[xs]
			if v.PlainInt() {
				if a, b := v.AsInt(), w.AsInt(); b > 0 {
					return value.Int(a % b)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	if xs >= 0 && ys >= 0 {
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				if a, b := v.AsInt(), w.AsInt(); b > 0 {
					return value.Int(a % b)
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
			if a, b := v.AsInt(), w.AsInt(); b > 0 {
				return value.Int(a % b)
			}
		}
		return s.slow(fr, v, w)
	}
}

func (s *shape) div() node {
	xs, ys, x, y := s.xs, s.ys, s.x, s.y
	if xs >= 0 && s.constant {
		w := value.Int(s.k)
		return func(fr *frame) Value {
			v := fr.slots[xs]
			if v.PlainInt() {
				if a, b := v.AsInt(), w.AsInt(); b > 0 {
					return value.Int(a / b)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	if xs >= 0 && ys >= 0 {
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				if a, b := v.AsInt(), w.AsInt(); b > 0 {
					return value.Int(a / b)
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
			if a, b := v.AsInt(), w.AsInt(); b > 0 {
				return value.Int(a / b)
			}
		}
		return s.slow(fr, v, w)
	}
}

func (s *shape) bitAnd() node {
	xs, ys, x, y := s.xs, s.ys, s.x, s.y
	if xs >= 0 && s.constant {
		w := value.Int(s.k)
		return func(fr *frame) Value {
			v := fr.slots[xs]
			if v.PlainInt() {
				{
					a, b := v.AsInt(), w.AsInt()
					return value.Int(a & b)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	if xs >= 0 && ys >= 0 {
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				{
					a, b := v.AsInt(), w.AsInt()
					return value.Int(a & b)
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
			{
				a, b := v.AsInt(), w.AsInt()
				return value.Int(a & b)
			}
		}
		return s.slow(fr, v, w)
	}
}

func (s *shape) bitOr() node {
	xs, ys, x, y := s.xs, s.ys, s.x, s.y
	if xs >= 0 && s.constant {
		w := value.Int(s.k)
		return func(fr *frame) Value {
			v := fr.slots[xs]
			if v.PlainInt() {
				{
					a, b := v.AsInt(), w.AsInt()
					return value.Int(a | b)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	if xs >= 0 && ys >= 0 {
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				{
					a, b := v.AsInt(), w.AsInt()
					return value.Int(a | b)
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
			{
				a, b := v.AsInt(), w.AsInt()
				return value.Int(a | b)
			}
		}
		return s.slow(fr, v, w)
	}
}

func (s *shape) bitXor() node {
	xs, ys, x, y := s.xs, s.ys, s.x, s.y
	if xs >= 0 && s.constant {
		w := value.Int(s.k)
		return func(fr *frame) Value {
			v := fr.slots[xs]
			if v.PlainInt() {
				{
					a, b := v.AsInt(), w.AsInt()
					return value.Int(a ^ b)
				}
			}
			return s.slow(fr, v, w)
		}
	}
	if xs >= 0 && ys >= 0 {
		return func(fr *frame) Value {
			v, w := fr.slots[xs], fr.slots[ys]
			if v.PlainInt() && w.PlainInt() {
				{
					a, b := v.AsInt(), w.AsInt()
					return value.Int(a ^ b)
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
			{
				a, b := v.AsInt(), w.AsInt()
				return value.Int(a ^ b)
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
