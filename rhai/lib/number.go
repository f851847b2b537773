package lib

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what ints and floats do, but for mathematics: see math.go.

var numberFns = slices.Concat(
	property("is_zero", func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Bool(this.AsInt() == 0)
	}, anInt),
	property("is_odd", func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Bool(this.AsInt()&1 != 0)
	}, anInt),
	property("is_even", func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Bool(this.AsInt()&1 == 0)
	}, anInt),
	[]*value.Native{
		reads("abs", absInt, anInt),
		reads("abs", ofFloat(math.Abs), aFloat),
		reads("sign", signInt, anInt),
		reads("sign", signFloat, aFloat),
		reads("to_int", same, anInt),
		reads("to_int", charToInt, aChar),
		reads("to_int", floatToInt, aFloat),
		reads("to_float", intToFloat, anInt),
		reads("to_float", same, aFloat),
		reads("to_hex", inRadix(16), anInt),
		reads("to_octal", inRadix(8), anInt),
		reads("to_binary", inRadix(2), anInt),
		reads("parse_int", parseIntText, aString),
		reads("parse_int", parseIntText, aString, anInt),
		reads("parse_float", parseFloatText, aString),
	},
	extremes("max", value.Ge),
	extremes("min", value.Le),
)

// same gives a number as it is, but for its tag.
func same(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value { return this.Plain() }

func absInt(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	if n := this.AsInt(); n < 0 {
		return negate(c, n)
	}
	return this.Plain()
}

func signInt(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	switch n := this.AsInt(); {
	case n > 0:
		return value.Int(1)
	case n < 0:
		return value.Int(-1)
	}
	return value.Int(0)
}

func signFloat(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	switch f := this.AsFloat(); {
	case f > 0:
		return value.Int(1)
	case f < 0:
		return value.Int(-1)
	case f == 0:
		return value.Int(0)
	}
	return c.Arithmetic("Sign of NaN is undefined")
}

func charToInt(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(int64(this.AsChar()))
}

func intToFloat(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Float(float64(this.AsInt()))
}

// floatToInt cuts off the fraction. 2^63 itself, which is no int, is let
// through by the reference and becomes the largest int.
func floatToInt(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	switch f := this.AsFloat(); {
	case f != f:
		return value.Int(0)
	case f > 1<<63 || f < -1<<63:
		return c.Arithmetic("Integer overflow: to_int(%s)", rustFloat(f))
	case f == 1<<63:
		return value.Int(math.MaxInt64)
	default:
		return value.Int(int64(f))
	}
}

// inRadix renders ints with their sign bit as one of the digits.
func inRadix(radix int) value.Func {
	return func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Str(strconv.FormatUint(uint64(this.AsInt()), radix))
	}
}

// trimmed is text without white-space around it.
func trimmed(text string) string { return strings.TrimFunc(text, unicode.IsSpace) }

func parseIntText(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	radix := int64(10)
	if len(args) > 0 {
		radix = args[0].AsInt()
	}
	if radix < 2 || radix > 36 {
		return c.Arithmetic("Invalid radix: '%d'", radix)
	}
	n, problem := readInt(trimmed(this.AsString()), uint64(radix))
	if problem != "" {
		return c.Arithmetic("Error parsing integer number '%s': %s", this.AsString(), problem)
	}
	return value.Int(n)
}

// readInt reads an int: a sign, then digits, nothing else.
func readInt(s string, radix uint64) (n int64, problem string) {
	const invalid = "invalid digit found in string"
	if s == "" {
		return 0, "cannot parse integer from empty string"
	}
	negative := s[0] == '-'
	digits := s
	if s[0] == '-' || s[0] == '+' {
		digits = s[1:]
	}
	if digits == "" {
		return 0, invalid
	}
	limit, sum, over := uint64(math.MaxInt64), uint64(0), false
	if negative {
		limit++
	}
	for i := range len(digits) {
		d := digitOf(digits[i])
		if d >= radix {
			return 0, invalid
		}
		if over = sum > (limit-d)/radix; over {
			break
		}
		sum = sum*radix + d
	}
	switch {
	case over && negative:
		return 0, "number too small to fit in target type"
	case over:
		return 0, "number too large to fit in target type"
	case negative:
		return -int64(sum), ""
	}
	return int64(sum), ""
}

func digitOf(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c >= 'a' && c <= 'z':
		return uint64(c-'a') + 10
	case c >= 'A' && c <= 'Z':
		return uint64(c-'A') + 10
	}
	return math.MaxUint64
}

func parseFloatText(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	text := trimmed(this.AsString())
	if text == "" {
		return c.Arithmetic("Error parsing floating-point number '%s': cannot parse float from empty string", this.AsString())
	}
	f, err := strconv.ParseFloat(text, 64)
	// Go reads more than decimals: hexadecimal floats and digits with underscores.
	if err != nil && !isRange(err) || strings.ContainsAny(text, "xX_pP") {
		return c.Arithmetic("Error parsing floating-point number '%s': invalid float literal", this.AsString())
	}
	return value.Float(f)
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// extremes declares max or min: the first argument where first op second
// holds, else the second. An int next to a float becomes one.
func extremes(name string, op value.Op) []*value.Native {
	pick := func(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
		a, b := *this, args[0]
		if first(op, a, b) {
			return a.Plain().Keep()
		}
		return b.Plain().Keep()
	}
	mixed := func(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
		a, b := asFloat(*this), asFloat(args[0])
		if op == value.Ge && a >= b || op == value.Le && a <= b {
			return value.Float(a)
		}
		return value.Float(b)
	}
	return []*value.Native{
		reads(name, pick, anInt, anInt),
		reads(name, pick, aChar, aChar),
		reads(name, pick, aString, aString),
		reads(name, mixed, aFloat, aFloat|anInt),
		reads(name, mixed, anInt, aFloat),
	}
}

// first reports a op b for two ints, chars or strings.
func first(op value.Op, a, b value.Value) bool {
	var v value.Value
	if a.Is(stringKind) {
		v, _ = compareText(op, a.AsString(), b.AsString())
	} else {
		v, _ = compareNumbers(op, a.AsInt(), b.AsInt())
	}
	return v.AsBool()
}

func asFloat(v value.Value) float64 {
	if v.Is(intKind) {
		return float64(v.AsInt())
	}
	return v.AsFloat()
}
