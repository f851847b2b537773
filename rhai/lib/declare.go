package lib

import "github.com/ramet-run/ramet/rhai/value"

// This file has what the declarations of containers, iterators and times share.

// The parameter types.
var (
	anArray    = value.Of(value.ArrayKind)
	aBlob      = value.Of(value.BlobKind)
	aMap       = value.Of(value.MapKind)
	aString    = value.Of(value.StringKind)
	aChar      = value.Of(value.CharKind)
	anInt      = value.Of(value.IntKind)
	aFloat     = value.Of(value.FloatKind)
	aFn        = value.Of(value.FnKind)
	aTime      = value.Of(value.TimeKind)
	aRange     = value.Of(value.RangeKind)
	aRangeIncl = value.Of(value.RangeInclKind)
	anything   = value.AnyKind
)

// declare is how a function is declared: reads or changes.
type declare func(name string, call value.Func, params ...value.Kinds) *value.Native

// reads declares a function that constants may be the first argument of.
func reads(name string, call value.Func, params ...value.Kinds) *value.Native {
	n := &value.Native{Name: name, Call: call, Params: make([]value.Param, len(params))}
	for i, kinds := range params {
		n.Params[i].Kinds = kinds
	}
	return n
}

// changes declares a function that is refused as a method of a constant:
// because it changes its first argument, or because the reference says so.
func changes(name string, call value.Func, params ...value.Kinds) *value.Native {
	n := reads(name, call, params...)
	n.Mutates = true
	return n
}

// property declares a function that is a property too.
func property(name string, call value.Func, of value.Kinds) []*value.Native {
	return []*value.Native{reads(name, call, of), reads("get$"+name, call, of)}
}

// partFunc works on a part of its first argument, which its start and length tell.
type partFunc func(c *value.Ctx, this *value.Value, start, length int64, rest []value.Value) value.Value

// parts declares the forms of a function that works on a part of something:
// (start, length, rest...), (a..b, rest...) and (a..=b, rest...).
func parts(how declare, name string, f partFunc, of value.Kinds, rest ...value.Kinds) []*value.Native {
	byNumbers := func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
		return f(c, this, args[0].AsInt(), args[1].AsInt(), args[2:])
	}
	byRange := func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
		start, length := partOf(args[0].AsRange())
		return f(c, this, start, length, args[1:])
	}
	return []*value.Native{
		how(name, byNumbers, append([]value.Kinds{of, anInt, anInt}, rest...)...),
		how(name, byRange, append([]value.Kinds{of, aRange}, rest...)...),
		how(name, byRange, append([]value.Kinds{of, aRangeIncl}, rest...)...),
	}
}
