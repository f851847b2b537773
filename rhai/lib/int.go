package lib

import (
	"math"
	"math/bits"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file computes with ints. The functions with a second result report
// false where the result is not an int; IntError tells what then went wrong.

// AddInt gives a + b.
func AddInt(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (a^sum)&(b^sum) >= 0
}

// SubInt gives a - b.
func SubInt(a, b int64) (int64, bool) {
	diff := a - b
	return diff, (a^b)&(a^diff) >= 0
}

// MulInt gives a * b.
func MulInt(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The high word of the signed product is that of the unsigned one less
	// what the signs have added.
	hi -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a)
	return int64(lo), hi == uint64(int64(lo)>>63)
}

// DivInt gives a / b, cut off towards zero.
func DivInt(a, b int64) (int64, bool) {
	if b == 0 || b == -1 && a == math.MinInt64 {
		return 0, false
	}
	return a / b, true
}

// ModInt gives the remainder of a / b, which has the sign of a.
func ModInt(a, b int64) (int64, bool) {
	if b == 0 || b == -1 && a == math.MinInt64 {
		return 0, false
	}
	return a % b, true
}

// PowInt gives a ** b.
func PowInt(a, b int64) (int64, bool) {
	if b < 0 || b > math.MaxUint32 {
		return 0, false
	}
	result, ok := int64(1), true
	for b > 0 {
		if b&1 != 0 {
			if result, ok = MulInt(result, a); !ok {
				return 0, false
			}
		}
		if b >>= 1; b > 0 {
			if a, ok = MulInt(a, a); !ok {
				return 0, false
			}
		}
	}
	return result, true
}

// ShlInt gives a << b. A negative b shifts to the right, a large one gives 0.
func ShlInt(a, b int64) int64 {
	if b < 0 {
		return a >> opposite(b)
	}
	return a << uint64(b)
}

// ShrInt gives a >> b, which keeps the sign. A negative b shifts to the left.
func ShrInt(a, b int64) int64 {
	if b < 0 {
		return a << opposite(b)
	}
	return a >> uint64(b)
}

func opposite(b int64) uint64 { return -uint64(b) }

// IntError is why a op b has no result. Its place is
// added by who fails with it.
func IntError(op value.Op, a, b int64) *value.Error {
	what := "Addition overflow"
	switch op {
	case value.Sub:
		what = "Subtraction overflow"
	case value.Mul:
		what = "Multiplication overflow"
	case value.Div:
		what = "Division overflow"
		if b == 0 {
			what = "Division by zero"
		}
	case value.Mod:
		what = "Modulo division by zero or overflow"
	case value.Pow:
		what = "Exponential overflow"
		if b < 0 {
			what = "Integer raised to a negative power"
		}
	}
	return &value.Error{Kind: value.ErrorArithmetic, Name: what + ": " + value.Int(a).Display() + " " + op.String() + " " + value.Int(b).Display()}
}

// intOp does an operator of two ints; ok is false when it has no result,
// defined when it is no operator of ints.
func intOp(op value.Op, a, b int64) (n int64, ok, defined bool) {
	ok = true
	switch op {
	case value.Add:
		n, ok = AddInt(a, b)
	case value.Sub:
		n, ok = SubInt(a, b)
	case value.Mul:
		n, ok = MulInt(a, b)
	case value.Div:
		n, ok = DivInt(a, b)
	case value.Mod:
		n, ok = ModInt(a, b)
	case value.Pow:
		n, ok = PowInt(a, b)
	case value.Shl:
		n = ShlInt(a, b)
	case value.Shr:
		n = ShrInt(a, b)
	case value.BitAnd:
		n = a & b
	case value.BitOr:
		n = a | b
	case value.BitXor:
		n = a ^ b
	default:
		return 0, true, false
	}
	return n, ok, true
}
