package lib

import (
	"math"
	"strconv"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file computes with floats. They are compared with a tolerance: the
// difference counts relative to the larger one, or as it is next to zero. With
// NaN (but see gap), and between infinities, no comparison holds.

const epsilon = 0x1p-52

// gap gives (y - x) / m, where m is 1 next to zero, else the larger of |x|, |y|.
// The reference takes the larger one without NaN, and nought as no gap: so
// zero equals NaN, which nothing else does.
func gap(x, y float64) float64 {
	if x*y == 0 {
		return y - x
	}
	if x == 0 || y == 0 { // and the other is NaN or infinite, or the product were 0
		if x != x || y != y {
			return 0
		}
	}
	return (y - x) / max(math.Abs(x), math.Abs(y))
}

// FloatEqual is x == y.
func FloatEqual(x, y float64) bool { return math.Abs(gap(x, y)) <= epsilon }

// FloatDiffers is x != y, which is not the opposite of == where NaN comes in.
func FloatDiffers(x, y float64) bool { return math.Abs(gap(x, y)) > epsilon }

// FloatLess is x < y; with the operands changed it is >.
func FloatLess(x, y float64) bool { return gap(x, y) > epsilon }

// FloatAtMost is x <= y; with the operands changed it is >=.
func FloatAtMost(x, y float64) bool { return gap(x, y) > -epsilon }

// floatOp does an operator of two floats; ok is false when there is none.
func floatOp(op value.Op, x, y float64) (v value.Value, ok bool) {
	switch op {
	case value.Eq:
		return value.Bool(FloatEqual(x, y)), true
	case value.Ne:
		return value.Bool(FloatDiffers(x, y)), true
	case value.Lt:
		return value.Bool(FloatLess(x, y)), true
	case value.Le:
		return value.Bool(FloatAtMost(x, y)), true
	case value.Gt:
		return value.Bool(FloatLess(y, x)), true
	case value.Ge:
		return value.Bool(FloatAtMost(y, x)), true
	}
	f, ok := floatArithmetic(op, x, y)
	return value.Float(f), ok
}

func floatArithmetic(op value.Op, x, y float64) (f float64, ok bool) {
	switch op {
	case value.Add:
		return x + y, true
	case value.Sub:
		return x - y, true
	case value.Mul:
		return x * y, true
	case value.Div:
		return x / y, true
	case value.Mod:
		return math.Mod(x, y), true
	case value.Pow:
		return pow(x, y), true
	}
	return 0, false
}

// rustFloat renders f as the texts of errors show it: shortest, no exponent.
func rustFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
