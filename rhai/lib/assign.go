package lib

import "github.com/ramet-run/ramet/rhai/value"

// This file does assignments with an operator in place.

// Assign does *target op= b. Not done means that the language has no form of
// its own for these types: then it is target = target op b. When ok is false,
// c.Err tells why. What is changed keeps its tag.
func Assign(c *value.Ctx, op value.Op, target *value.Value, b value.Value) (done, ok bool) {
	switch pairOf(target.Kind(), b.Kind()) {
	case pairOf(intKind, intKind):
		n, ok, defined := intOp(op, target.AsInt(), b.AsInt())
		if !ok {
			c.Fail(IntError(op, target.AsInt(), b.AsInt()))
			return true, false
		}
		switch {
		case defined && op >= value.Shl: // shifts and operators of bits make a new int, as in the reference
			target.SetInt(n)
		case defined:
			replace(target, value.Int(n))
		}
		return defined, true
	case pairOf(floatKind, floatKind):
		return assignFloat(op, target, b.AsFloat()), true
	case pairOf(floatKind, intKind):
		return assignFloat(op, target, float64(b.AsInt())), true
	case pairOf(boolKind, boolKind):
		switch op {
		case value.BitAnd, value.BitOr, value.BitXor:
			v, _ := binaryBool(op, *target, b)
			replace(target, v)
			return true, true
		}
		return false, true
	case pairOf(charKind, charKind), pairOf(charKind, stringKind):
		return false, true // a string takes the char's place: nothing to gain here
	}
	switch kind := target.Kind(); {
	case kind == stringKind:
		return assignText(c, op, target, b)
	case op != value.Add:
		return false, true
	case kind == arrayKind && b.Is(arrayKind):
		return true, !arrayAppend(c, target, []value.Value{b}).IsNone()
	case kind == arrayKind:
		return true, !arrayPush(c, target, []value.Value{b}).IsNone()
	case kind == mapKind && b.Is(mapKind):
		return true, !mapMixin(c, target, []value.Value{b}).IsNone()
	case kind == blobKind:
		return assignBlob(c, target, b)
	}
	return false, true
}

// replace puts a new value in the place of an old one, whose tag stays.
func replace(target *value.Value, v value.Value) {
	if tag := target.Tag(); tag != 0 {
		v = v.WithTag(tag)
	}
	*target = v
}

func assignFloat(op value.Op, target *value.Value, y float64) bool {
	f, ok := floatArithmetic(op, target.AsFloat(), y)
	if ok {
		replace(target, value.Float(f))
	}
	return ok
}

func assignText(c *value.Ctx, op value.Op, target *value.Value, b value.Value) (done, ok bool) {
	switch op {
	case value.Add:
		text, ok := textOf(c, b)
		return true, ok && appendText(c, target, text)
	case value.Sub:
		if b.Is(stringKind) || b.Is(charKind) {
			v := without(c, *target, b)
			if v.IsNone() {
				return true, false
			}
			replace(target, v)
			return true, true
		}
	}
	return false, true
}

// textOf is what adding b to a string adds. When not ok, c has failed.
func textOf(c *value.Ctx, b value.Value) (text string, ok bool) {
	switch b.Kind() {
	case stringKind:
		return b.AsString(), true
	case blobKind:
		return lossy(c, b.AsBlob().Bytes)
	}
	return c.Display(b)
}

// appendText adds text to the string at p, within the limits.
func appendText(c *value.Ctx, p *value.Value, text string) bool {
	if text == "" {
		return true
	}
	if !roomForText(c, len(p.AsString()), len(text)) {
		return false
	}
	// The copy that a text may need before it grows.
	if n := 2 * (len(p.AsString()) + len(text)); !p.GrowsInPlace() && n >= chargedFrom && !(worth(c, n) && c.Host.Charge(c, n)) {
		return false
	}
	value.AppendString(p, text)
	return true
}

// Prepend puts text, a string or a char, before the string at p, in place where only p
// holds it. When not ok, c.Err tells why.
func Prepend(c *value.Ctx, p *value.Value, text value.Value) (ok bool) {
	add, ok := textOf(c, text)
	if !ok || add == "" {
		return ok
	}
	if !roomForText(c, len(p.AsString()), len(add)) {
		return false
	}
	if n := 2 * (len(p.AsString()) + len(add)); !p.GrowsAtFront(len(add)) && n >= chargedFrom && !(worth(c, n) && c.Host.Charge(c, n)) {
		return false
	}
	value.PrependString(p, add)
	return true
}

func assignBlob(c *value.Ctx, target *value.Value, b value.Value) (done, ok bool) {
	var add value.Func
	switch b.Kind() {
	case intKind:
		add = blobPush
	case charKind:
		add = blobAppendChar
	case stringKind:
		add = blobAppendString
	case blobKind:
		add = blobAppendBlob
	default:
		return false, true
	}
	return true, !add(c, target, []value.Value{b}).IsNone()
}
