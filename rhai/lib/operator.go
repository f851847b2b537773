package lib

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file is the table of operators.

// pair is two kinds as one number to switch on.
type pair uint16

func pairOf(a, b value.Kind) pair { return pair(a)<<5 | pair(b) }

const (
	unitKind   = value.UnitKind
	boolKind   = value.BoolKind
	intKind    = value.IntKind
	floatKind  = value.FloatKind
	charKind   = value.CharKind
	stringKind = value.StringKind
	arrayKind  = value.ArrayKind
	mapKind    = value.MapKind
	blobKind   = value.BlobKind
)

// Binary does a op b. False says that the language has no such operator for
// these types; a native function of the operator's name may do it then, as for
// timestamps and in (contains). None with true is an error, in c.Err.
//
// What goes wrong has c.Pos, as in the reference since 1.27.0.
func Binary(c *value.Ctx, op value.Op, a, b value.Value) (value.Value, bool) {
	ka, kb := a.Kind(), b.Kind()
	switch pairOf(ka, kb) {
	case pairOf(intKind, intKind):
		return binaryInt(c, op, a.AsInt(), b.AsInt())
	case pairOf(floatKind, floatKind):
		return floatOp(op, a.AsFloat(), b.AsFloat())
	case pairOf(floatKind, intKind):
		return floatOp(op, a.AsFloat(), float64(b.AsInt()))
	case pairOf(intKind, floatKind):
		return floatOp(op, float64(a.AsInt()), b.AsFloat())
	case pairOf(stringKind, stringKind):
		switch op {
		case value.Add:
			return concat(c, a, b.AsString(), b), true
		case value.Sub:
			return without(c, a, b), true
		}
		return compareText(op, a.AsString(), b.AsString())
	case pairOf(stringKind, charKind):
		var tmp [utf8.UTFMax]byte
		ch := string(utf8.AppendRune(tmp[:0], b.AsChar()))
		switch op {
		case value.Add:
			return concat(c, a, ch, value.Value{}), true
		case value.Sub:
			return without(c, a, b), true
		}
		return compareText(op, a.AsString(), ch)
	case pairOf(charKind, stringKind):
		if op == value.Add {
			return join(c, string(a.AsChar()), b.AsString()), true
		}
		return compareText(op, string(a.AsChar()), b.AsString())
	case pairOf(charKind, charKind):
		if op == value.Add {
			return join(c, string(a.AsChar()), string(b.AsChar())), true
		}
		return compareNumbers(op, a.AsChar(), b.AsChar())
	case pairOf(boolKind, boolKind):
		return binaryBool(op, a, b)
	case pairOf(unitKind, unitKind):
		switch op {
		case value.Eq:
			return value.True, true
		case value.Ne, value.Lt, value.Le, value.Gt, value.Ge:
			return value.False, true
		}
		return value.Value{}, false
	case pairOf(intKind, unitKind), pairOf(unitKind, intKind):
		if v, ok := openRange(op, a, b); ok {
			return v, true
		}
	case pairOf(blobKind, blobKind):
		return binaryBlob(c, op, a, b)
	case pairOf(blobKind, charKind):
		if op == value.Add {
			return appendBytes(c, a.AsBlob().Bytes, string(b.AsChar())), true
		}
		// The reference has no comparison of these two.
		return value.Value{}, false
	case pairOf(blobKind, stringKind):
		if op == value.Add {
			text, ok := lossy(c, a.AsBlob().Bytes)
			if !ok {
				return value.Value{}, true
			}
			return join(c, text, b.AsString()), true
		}
	case pairOf(stringKind, blobKind):
		if op == value.Add {
			text, ok := lossy(c, b.AsBlob().Bytes)
			if !ok {
				return value.Value{}, true
			}
			return join(c, a.AsString(), text), true
		}
	case pairOf(arrayKind, arrayKind):
		return binaryArray(c, op, a, b)
	case pairOf(mapKind, mapKind):
		return binaryMap(c, op, a, b)
	case pairOf(value.RangeKind, value.RangeKind), pairOf(value.RangeInclKind, value.RangeInclKind):
		x, y := a.AsRange(), b.AsRange()
		return equality(op, x.From == y.From && x.To == y.To)
	case pairOf(value.RangeKind, value.RangeInclKind), pairOf(value.RangeInclKind, value.RangeKind):
		// == of these two is missing in the reference too.
		return value.True, op == value.Ne
	default:
		if op == value.Add && (ka == stringKind || kb == stringKind) {
			other := b
			if ka != stringKind {
				other = a
			}
			text, ok := c.Display(other)
			switch {
			case !ok:
				return value.Value{}, true
			case ka == stringKind:
				return concat(c, a, text, value.Value{}), true
			}
			return concat(c, value.Str(text), b.AsString(), value.Value{}), true
		}
	}
	if ka == kb && a.TypeName() == b.TypeName() && (ka != value.IterKind || a.AsIter().Name == b.AsIter().Name) {
		return value.Value{}, false
	}
	switch op {
	case value.Ne:
		return value.True, true
	case value.Eq, value.Lt, value.Le, value.Gt, value.Ge:
		return value.False, true
	}
	if op == value.Add {
		if ka == stringKind && kb == unitKind {
			return a.Keep(), true
		}
		if ka == unitKind && kb == stringKind {
			return b.Keep(), true
		}
	}
	return value.Value{}, false
}

func binaryInt(c *value.Ctx, op value.Op, a, b int64) (value.Value, bool) {
	switch op {
	case value.RangeOp:
		return value.NewRange(a, b), true
	case value.RangeInclOp:
		return value.NewRangeIncl(a, b), true
	}
	if v, ok := compareNumbers(op, a, b); ok {
		return v, true
	}
	n, ok, defined := intOp(op, a, b)
	if !ok {
		return c.Fail(IntError(op, a, b)), true
	}
	return value.Int(n), defined
}

// openRange makes a range that lacks one end.
func openRange(op value.Op, a, b value.Value) (value.Value, bool) {
	from, to := int64(0), int64(math.MaxInt64)
	if a.Is(intKind) {
		from = a.AsInt()
	} else {
		to = b.AsInt()
	}
	switch op {
	case value.RangeOp:
		return value.NewRange(from, to), true
	case value.RangeInclOp:
		return value.NewRangeIncl(from, to), true
	}
	return value.Value{}, false
}

func binaryBool(op value.Op, a, b value.Value) (value.Value, bool) {
	x, y := a.AsBool(), b.AsBool()
	switch op {
	case value.BitAnd:
		return value.Bool(x && y), true
	case value.BitOr:
		return value.Bool(x || y), true
	case value.BitXor:
		return value.Bool(x != y), true
	}
	rank := map[bool]int{true: 1}
	return compareNumbers(op, rank[x], rank[y])
}

func compareNumbers[T int | int64 | rune](op value.Op, a, b T) (value.Value, bool) {
	switch op {
	case value.Eq:
		return value.Bool(a == b), true
	case value.Ne:
		return value.Bool(a != b), true
	case value.Lt:
		return value.Bool(a < b), true
	case value.Le:
		return value.Bool(a <= b), true
	case value.Gt:
		return value.Bool(a > b), true
	case value.Ge:
		return value.Bool(a >= b), true
	}
	return value.Value{}, false
}

// compareText compares by bytes, which is the order of the characters.
func compareText(op value.Op, a, b string) (value.Value, bool) {
	switch op {
	case value.Eq:
		return value.Bool(a == b), true
	case value.Ne:
		return value.Bool(a != b), true
	}
	return compareNumbers(op, strings.Compare(a, b), 0)
}

// equality answers == and !=.
func equality(op value.Op, same bool) (value.Value, bool) {
	switch op {
	case value.Eq:
		return value.Bool(same), true
	case value.Ne:
		return value.Bool(!same), true
	}
	return value.Value{}, false
}

// Unary does -v, +v or !v. False says that the language has no such operator
// for the type.
func Unary(c *value.Ctx, op byte, v value.Value) (value.Value, bool) {
	switch k := v.Kind(); {
	case op == '!' && k == boolKind:
		return value.Bool(!v.AsBool()), true
	case op == '+' && (k == intKind || k == floatKind):
		return v.Plain(), true
	case op == '-' && k == floatKind:
		return value.Float(-v.AsFloat()), true
	case op == '-' && k == intKind:
		if v.AsInt() == math.MinInt64 {
			return c.Arithmetic("integer overflow"), true
		}
		return value.Int(-v.AsInt()), true
	}
	return value.Value{}, false
}

func negate(c *value.Ctx, n int64) value.Value {
	if n == math.MinInt64 {
		return c.Arithmetic("Negation overflow: -%d", n)
	}
	return value.Int(-n)
}
