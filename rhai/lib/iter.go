package lib

import (
	"slices"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has ranges and the iterators: range with a step, chars and bits.

var iterFns = slices.Concat(
	property("start", rangeStart, aRange|aRangeIncl),
	property("end", rangeEnd, aRange|aRangeIncl),
	property("is_inclusive", rangeIsInclusive, aRange|aRangeIncl),
	property("is_exclusive", rangeIsExclusive, aRange|aRangeIncl),
	property("is_empty", rangeIsEmpty, aRange|aRangeIncl),
	[]*value.Native{
		changes("contains", rangeContains, aRange|aRangeIncl, anInt),

		reads("range", newRange, anInt, anInt),
		reads("range", newIntSteps, anInt, anInt, anInt),
		reads("range", newRangeSteps, aRange, anInt),
		reads("range", newFloatSteps, aFloat, aFloat, aFloat),

		reads("chars", chars, aString),
		reads("get$chars", chars, aString),
		reads("chars", charsFrom, aString, anInt),
		reads("chars", charsFromLen, aString, anInt, anInt),
		reads("chars", charsOfRange, aString, aRange|aRangeIncl),

		reads("bits", bitsOf, anInt),
		reads("get$bits", bitsOf, anInt),
		reads("bits", bitsFrom, anInt, anInt),
		reads("bits", bitsFromLen, anInt, anInt, anInt),
		reads("bits", bitsOfRange, anInt, aRange|aRangeIncl),
	},
)

// The names of the reference's iterators, which hosts see.
const (
	intSteps   = "rhai::packages::iter_basic::StepRange<i64>"
	floatSteps = "rhai::packages::iter_basic::StepRange<f64>"
	charStream = "rhai::packages::iter_basic::CharsStream"
	bitStream  = "rhai::packages::iter_basic::BitRange"
)

func rangeStart(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(this.AsRange().From)
}

func rangeEnd(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(this.AsRange().To)
}

func rangeIsInclusive(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Bool(this.AsRange().Inclusive())
}

func rangeIsExclusive(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Bool(!this.AsRange().Inclusive())
}

func rangeIsEmpty(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	r := this.AsRange()
	return value.Bool(r.From > r.To || r.From == r.To && !r.Inclusive())
}

func rangeContains(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	r, i := this.AsRange(), args[0].AsInt()
	return value.Bool(r.From <= i && (i < r.To || i == r.To && r.Inclusive()))
}

func newRange(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return value.NewRange(this.AsInt(), args[0].AsInt())
}

func newIntSteps(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return stepInts(c, this.AsInt(), args[0].AsInt(), args[1].AsInt())
}

func newRangeSteps(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	r := this.AsRange()
	return stepInts(c, r.From, r.To, args[0].AsInt())
}

func newFloatSteps(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	add := func(a, b float64) (float64, bool) { return a + b, true }
	return steps(c, floatSteps, this.AsFloat(), args[0].AsFloat(), args[1].AsFloat(), add, value.Float)
}

func stepInts(c *value.Ctx, from, to, step int64) value.Value {
	add := func(a, b int64) (int64, bool) {
		sum := a + b
		return sum, (sum > a) == (b > 0)
	}
	return steps(c, intSteps, from, to, step, add, value.Int)
}

// steps makes an iterator of from, from + step, ... before to. It is empty
// where the step leads away from to, and ends before a sum that overflows.
func steps[N int64 | float64](c *value.Ctx, name string, from, to, step N, add func(a, b N) (N, bool), number func(N) value.Value) value.Value {
	second, ok := add(from, step)
	if ok && second == from {
		inner := &value.Error{Kind: value.ErrorArithmetic, Name: "step value cannot be zero"}
		return c.Fail(&value.Error{Kind: value.ErrorInFunctionCall, Name: "range", Inner: inner})
	}
	up, down := ok && from < to && second > from, ok && from > to && second < from
	return value.NewIter(name, func() func() value.Value {
		at, more := from, up || down
		return func() value.Value {
			if !more {
				return value.Value{}
			}
			next, ok := add(at, step)
			if !ok {
				// The last number before the overflow is lost, too: so it is in the reference.
				more = false
				return value.Value{}
			}
			out := number(at)
			at = next
			more = !(up && at >= to || down && at <= to)
			return out
		}
	})
}

func chars(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return charsOf(c, *this, 0, int64(this.Chars()))
}

func charsFrom(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return charsOf(c, *this, args[0].AsInt(), int64(this.Chars()))
}

func charsFromLen(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return charsOf(c, *this, args[0].AsInt(), args[1].AsInt())
}

func charsOfRange(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	start, length := streamPart(args[0].AsRange())
	return charsOf(c, *this, start, length)
}

// charsOf makes an iterator of a part of a string's characters.
func charsOf(c *value.Ctx, s value.Value, start, length int64) value.Value {
	if !s.IsASCII() && !worth(c, 4*len(s.AsString())) {
		return value.Value{}
	}
	from, n := clip(s.Chars(), start, length)
	text := s.Substring(from, from+n)
	it := value.NewIter(charStream, func() func() value.Value {
		rest := text
		return func() value.Value {
			if rest == "" {
				return value.Value{}
			}
			r, size := utf8.DecodeRuneInString(rest)
			rest = rest[size:]
			return value.Char(r)
		}
	})
	it.AsIter().Bytes = len(s.AsString())
	return it
}

const intBits = 64

func bitsOf(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return bitsOfPart(c, this.AsInt(), 0, intBits)
}

func bitsFrom(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return bitsOfPart(c, this.AsInt(), args[0].AsInt(), intBits)
}

func bitsFromLen(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return bitsOfPart(c, this.AsInt(), args[0].AsInt(), args[1].AsInt())
}

func bitsOfRange(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	start, length := streamPart(args[0].AsRange())
	return bitsOfPart(c, this.AsInt(), start, length)
}

// bitsOfPart makes an iterator of length bits of an int from bit start on.
func bitsOfPart(c *value.Ctx, i, start, length int64) value.Value {
	from, ok := strictPlace(intBits, start)
	if !ok {
		return c.Fail(&value.Error{Kind: value.ErrorBitFieldBounds, Index: start, Len: intBits})
	}
	_, n := clip(intBits, int64(from), length)
	return value.NewIter(bitStream, func() func() value.Value {
		bit := from
		return func() value.Value {
			if bit == from+n {
				return value.Value{}
			}
			bit++
			return value.Bool(i>>(bit-1)&1 != 0)
		}
	})
}
