package lib

import (
	"math"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has timestamps and their operators. Seconds are ints or floats;
// floats count to the millisecond.

var timeFns = []*value.Native{
	volatile(reads("timestamp", timestamp)),
	volatile(reads("elapsed", elapsed, aTime)),
	volatile(reads("get$elapsed", elapsed, aTime)),

	reads("-", timeDifference, aTime, aTime),
	reads("+", timeAdd, aTime, anInt|aFloat),
	reads("-", timeSubtract, aTime, anInt|aFloat),
	changes("+=", assigned(timeAdd), aTime, anInt|aFloat),
	changes("-=", assigned(timeSubtract), aTime, anInt|aFloat),

	reads("==", comparesTimes(func(order int) bool { return order == 0 }), aTime, aTime),
	reads("!=", comparesTimes(func(order int) bool { return order != 0 }), aTime, aTime),
	reads("<", comparesTimes(func(order int) bool { return order < 0 }), aTime, aTime),
	reads("<=", comparesTimes(func(order int) bool { return order <= 0 }), aTime, aTime),
	reads(">", comparesTimes(func(order int) bool { return order > 0 }), aTime, aTime),
	reads(">=", comparesTimes(func(order int) bool { return order >= 0 }), aTime, aTime),
}

// volatile says that a function depends on more than its arguments.
func volatile(n *value.Native) *value.Native {
	n.Volatile = true
	return n
}

func timestamp(c *value.Ctx, _ *value.Value, _ []value.Value) value.Value {
	return value.NewTime(c.Host.Now())
}

func elapsed(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	passed := c.Host.Now().Sub(this.AsTime().T)
	if passed < 0 {
		return c.Arithmetic("Time-stamp is later than now")
	}
	return value.Float(passed.Seconds())
}

func comparesTimes(holds func(order int) bool) value.Func {
	return func(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
		return value.Bool(holds(this.AsTime().T.Compare(args[0].AsTime().T)))
	}
}

func timeDifference(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return value.Float(this.AsTime().T.Sub(args[0].AsTime().T).Seconds())
}

func timeAdd(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return shifted(c, this.AsTime().T, args[0], 1)
}

func timeSubtract(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return shifted(c, this.AsTime().T, args[0], -1)
}

// assigned makes the assigning form of an operator.
func assigned(op value.Func) value.Func {
	return func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
		v := op(c, this, args)
		if v.IsNone() {
			return v
		}
		put(this, v)
		return value.Unit
	}
}

// longest is how many seconds a timestamp can be moved at once.
const longest = math.MaxInt64 / 1_000_000_000

// shifted moves t by seconds forth (1) or back (-1).
func shifted(c *value.Ctx, t time.Time, seconds value.Value, direction time.Duration) value.Value {
	if seconds.Is(value.IntKind) {
		i := seconds.AsInt()
		if i < -longest || i > longest {
			return tooFar(c, strconv.FormatInt(i, 10), direction)
		}
		return value.NewTime(t.Add(direction * time.Duration(i) * time.Second))
	}
	f := seconds.AsFloat()
	if f < 0 {
		f, direction = -f, -direction // and errors tell of the opposite
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	switch {
	case f > math.MaxInt64 && direction > 0:
		return c.Arithmetic("Integer overflow for timestamp add: %s", text)
	case f > math.MaxInt64:
		return c.Arithmetic("Integer overflow for timestamp subtract: %s", text)
	case f > longest:
		return tooFar(c, text, direction)
	case f != f:
		f = 0
	}
	return value.NewTime(t.Add(direction * time.Duration(f*1000) * time.Millisecond))
}

func tooFar(c *value.Ctx, seconds string, direction time.Duration) value.Value {
	if direction > 0 {
		return c.Arithmetic("Timestamp overflow when adding %s second(s)", seconds)
	}
	return c.Arithmetic("Timestamp overflow when subtracting %s second(s)", seconds)
}
