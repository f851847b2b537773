package lib

import (
	"bytes"
	"strings"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the operators that join and compare texts and containers.

// mostText bounds strings of scripts without limits, in bytes.
const mostText = 1 << 30

// roomForText reports whether a string of had bytes may get n more; when not,
// c has failed. Large ones are charged before they are made.
func roomForText(c *value.Ctx, had, n int) bool {
	total := had + n
	if !c.FitsString(total) {
		return false
	}
	if total > mostText {
		c.Fail(&value.Error{Kind: value.ErrorDataTooLarge, Name: "Length of string"})
		return false
	}
	return n < chargedFrom || worth(c, n) && c.Host.Charge(c, n)
}

// join makes the string a + b.
func join(c *value.Ctx, a, b string) value.Value {
	if !roomForText(c, 0, len(a)+len(b)) {
		return value.Value{}
	}
	return value.Str(a + b)
}

// concat adds text to the string a. Where nothing is added the other side is
// the answer; full is the value of text when it is a string itself.
func concat(c *value.Ctx, a value.Value, text string, full value.Value) value.Value {
	switch s := a.AsString(); {
	case text == "":
		return a.Keep().WithTag(0)
	case s == "" && !full.IsNone():
		return full.Keep().WithTag(0)
	default:
		return join(c, s, text)
	}
}

// without is a - part, where every occurrence of a string or char is taken
// out. As in the reference, the empty string less another is that other. None
// means that c has failed.
func without(c *value.Ctx, a, part value.Value) value.Value {
	s, gone := a.AsString(), short(part)
	if s == "" && part.Is(stringKind) {
		return part.Keep().WithTag(0)
	}
	if !worth(c, len(s)) {
		return value.Value{}
	}
	n := strings.Count(s, gone)
	if n == 0 || gone == "" {
		return a.Keep().WithTag(0)
	}
	if !roomForText(c, 0, len(s)-n*len(gone)) {
		return value.Value{}
	}
	return value.Str(strings.ReplaceAll(s, gone, ""))
}

func appendBytes(c *value.Ctx, b []byte, text string) value.Value {
	if !room(c, len(b)+len(text), 1) {
		return value.Value{}
	}
	return value.NewBlob(append(append(make([]byte, 0, len(b)+len(text)), b...), text...))
}

func binaryBlob(c *value.Ctx, op value.Op, a, b value.Value) (value.Value, bool) {
	x, y := a.AsBlob().Bytes, b.AsBlob().Bytes
	if op != value.Add {
		return equality(op, bytes.Equal(x, y))
	}
	switch {
	case len(y) == 0:
		return a.Keep(), true
	case len(x) == 0:
		return b.Keep(), true
	case !room(c, len(x)+len(y), 1):
		return value.Value{}, true
	}
	return value.NewBlob(append(append(make([]byte, 0, len(x)+len(y)), x...), y...)), true
}

func binaryArray(c *value.Ctx, op value.Op, a, b value.Value) (value.Value, bool) {
	switch op {
	case value.Add:
		x, y := a.AsArray().Items, b.AsArray().Items
		if !room(c, len(x)+len(y), itemBytes) {
			return value.Value{}, true
		}
		items := make([]value.Value, 0, len(x)+len(y))
		for _, item := range x {
			items = append(items, item.Keep())
		}
		for _, item := range y {
			items = append(items, item.Keep())
		}
		return value.NewArray(items), true
	case value.Eq, value.Ne:
		return deepEquality(op, Equal(c, a, b)), true
	}
	return value.Value{}, false
}

func binaryMap(c *value.Ctx, op value.Op, a, b value.Value) (value.Value, bool) {
	switch op {
	case value.Add:
		return mapMerge(c, &a, []value.Value{b}), true
	case value.Eq, value.Ne:
		return deepEquality(op, Equal(c, a, b)), true
	}
	return value.Value{}, false
}

// deepEquality turns the answer of == into that of op.
func deepEquality(op value.Op, same value.Value) value.Value {
	if op == value.Ne && same.Is(boolKind) {
		return value.Bool(!same.AsBool())
	}
	return same
}
