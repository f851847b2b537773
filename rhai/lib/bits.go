package lib

import (
	"slices"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file treats ints as fields of 64 bits, the lowest first. Negative
// indices count from the highest bit.

var bitFns = slices.Concat(
	[]*value.Native{
		reads("get_bit", getBit, anInt, anInt),
		changes("set_bit", setBit, anInt, anInt, value.Of(boolKind)),
	},
	fields(reads, "get_bits", func(c *value.Ctx, this *value.Value, from, n int64, _ []value.Value) value.Value {
		return GetBits(c, this.AsInt(), from, n)
	}),
	fields(changes, "set_bits", func(c *value.Ctx, this *value.Value, from, n int64, rest []value.Value) value.Value {
		return SetBits(c, this, from, n, rest[0].AsInt())
	}, anInt),
)

// fields declares the forms of a function of bits: by start and length, by ranges.
func fields(how declare, name string, f partFunc, rest ...value.Kinds) []*value.Native {
	byNumbers := func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
		return f(c, this, args[0].AsInt(), args[1].AsInt(), args[2:])
	}
	byRange := func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
		from, n, ok := bitRange(c, args[0].AsRange())
		if !ok {
			return value.Value{}
		}
		return f(c, this, from, n, args[1:])
	}
	return []*value.Native{
		how(name, byNumbers, append([]value.Kinds{anInt, anInt, anInt}, rest...)...),
		how(name, byRange, append([]value.Kinds{anInt, aRange}, rest...)...),
		how(name, byRange, append([]value.Kinds{anInt, aRangeIncl}, rest...)...),
	}
}

// bitRange gives start and length of a range of bits. Only a..=b is refused when
// it ends beyond the last bit; a..b is clipped.
func bitRange(c *value.Ctx, r *value.Range) (from, n int64, ok bool) {
	if r.Inclusive() && r.From > intBits && r.From > r.To {
		noBit(c, r.From-1) // the last bit of nothing, which the reference looks at too
		return 0, 0, false
	}
	if r.Inclusive() && r.To >= intBits {
		noBit(c, r.To)
		return 0, 0, false
	}
	from, n = streamPart(r)
	return from, n, true
}

func noBit(c *value.Ctx, i int64) value.Value {
	return c.Fail(&value.Error{Kind: value.ErrorBitFieldBounds, Index: i, Len: intBits})
}

// Bit gives the place of bit i; when there is none, ok is false and c has failed.
func Bit(c *value.Ctx, i int64) (at uint, ok bool) {
	place, ok := strictPlace(intBits, i)
	if !ok {
		noBit(c, i)
	}
	return uint(place), ok
}

func getBit(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	at, ok := Bit(c, args[0].AsInt())
	if !ok {
		return value.Value{}
	}
	return value.Bool(this.AsInt()>>at&1 != 0)
}

func setBit(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	at, ok := Bit(c, args[0].AsInt())
	if !ok {
		return value.Value{}
	}
	n := this.AsInt() &^ (1 << at)
	if args[1].AsBool() {
		n |= 1 << at
	}
	replace(this, value.Int(n))
	return value.Unit
}

// GetBits gives n bits of v from bit from on, as an int.
func GetBits(c *value.Ctx, v, from, n int64) value.Value {
	if n <= 0 {
		return value.Int(0)
	}
	at, ok := Bit(c, from)
	if !ok {
		return value.Value{}
	}
	return value.Int(int64(uint64(v) >> at & mask(at, n)))
}

// SetBits puts the lowest n bits of v in the place of those from bit from on.
func SetBits(c *value.Ctx, target *value.Value, from, n, v int64) value.Value {
	if n <= 0 {
		return value.Unit
	}
	at, ok := Bit(c, from)
	if !ok {
		return value.Value{}
	}
	m := mask(at, n)
	replace(target, value.Int(target.AsInt()&^int64(m<<at)|int64((uint64(v)&m)<<at)))
	return value.Unit
}

// mask gives n ones, but not more than there are bits from bit at on.
func mask(at uint, n int64) uint64 {
	return 1<<min(uint64(n), intBits-uint64(at)) - 1
}
