package lib

import "github.com/ramet-run/ramet/rhai/value"

// This file compares values deeply.

// equals leads to the == of a host's type.
var equals = value.NewFn("==", nil, nil, nil)

// Equal is a == b as it is used on the parts of containers: the built-in
// operator, else the host's. The answer is a bool, None for an error.
func Equal(c *value.Ctx, a, b value.Value) value.Value {
	if a.PlainInt() && b.PlainInt() {
		return value.Bool(a.AsInt() == b.AsInt())
	}
	a, b = a.Flatten(), b.Flatten()
	switch pairOf(a.Kind(), b.Kind()) {
	case pairOf(arrayKind, arrayKind):
		return equalArrays(c, a.AsArray().Items, b.AsArray().Items)
	case pairOf(mapKind, mapKind):
		return equalMaps(c, a.AsMap(), b.AsMap())
	case pairOf(value.TimeKind, value.TimeKind):
		return value.Bool(a.AsTime().T.Equal(b.AsTime().T))
	}
	if !a.Is(value.CustomKind) && !b.Is(value.CustomKind) {
		if v, ok := Binary(c, value.Eq, a, b); ok {
			return v
		}
		return notComparable(c, a, b)
	}
	v := c.Host.CallFn(c, equals, nil, []value.Value{a, b})
	switch {
	case v.IsNone() && missing(c.Err):
		if a.TypeName() == b.TypeName() {
			return notComparable(c, a, b)
		}
		c.Err = nil
		return value.False
	case v.IsNone():
		return v
	}
	return value.Bool(v.Is(boolKind) && v.AsBool())
}

func equalArrays(c *value.Ctx, x, y []value.Value) value.Value {
	if len(x) != len(y) {
		return value.False
	}
	if !c.Host.Alive(c, len(x)) || !c.Deeper() {
		return value.Value{}
	}
	defer func() { c.Depth-- }()
	for i := range x {
		same := Equal(c, x[i], y[i])
		if same.IsNone() && missing(c.Err) && x[i].TypeName() != y[i].TypeName() {
			c.Err = nil
			return value.False
		}
		if same.IsNone() || !same.AsBool() {
			return same
		}
	}
	return value.True
}

func equalMaps(c *value.Ctx, x, y *value.Map) value.Value {
	if x.Len() != y.Len() {
		return value.False
	}
	if !c.Host.Alive(c, x.Len()) || !c.Deeper() {
		return value.Value{}
	}
	defer func() { c.Depth-- }()
	for _, e := range x.Entries() {
		other := y.Get(e.Key)
		if other.IsNone() {
			return value.False
		}
		if same := Equal(c, e.Value, other); same.IsNone() || !same.AsBool() {
			return same
		}
	}
	return value.True
}

func missing(e *value.Error) bool { return e != nil && e.Kind == value.ErrorFunctionNotFound }

func notComparable(c *value.Ctx, a, b value.Value) value.Value {
	return c.Fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: "== (" + a.SignatureName() + ", " + b.SignatureName() + ")"})
}
