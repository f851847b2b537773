package lib

import (
	"math"
	"slices"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has mathematics. All of it is of floats: an int is not made one by itself.

var mathFns = slices.Concat(
	property("floor", ofFloat(math.Floor), aFloat),
	property("ceiling", ofFloat(math.Ceil), aFloat),
	property("round", ofFloat(math.Round), aFloat),
	property("int", ofFloat(math.Trunc), aFloat),
	property("fraction", ofFloat(fraction), aFloat),
	property("is_nan", isFloat(math.IsNaN), aFloat),
	property("is_infinite", isFloat(func(x float64) bool { return math.IsInf(x, 0) }), aFloat),
	property("is_finite", isFloat(func(x float64) bool { return x-x == 0 }), aFloat),
	property("is_zero", isFloat(func(x float64) bool { return x == 0 }), aFloat),
	[]*value.Native{
		reads("sin", ofFloat(sin), aFloat),
		reads("cos", ofFloat(cos), aFloat),
		reads("tan", ofFloat(tan), aFloat),
		reads("asin", ofFloat(asin), aFloat),
		reads("acos", ofFloat(acos), aFloat),
		reads("atan", ofFloat(atan), aFloat),
		reads("atan", ofFloats(atan2), aFloat, aFloat),
		reads("sinh", ofFloat(sinh), aFloat),
		reads("cosh", ofFloat(cosh), aFloat),
		reads("tanh", ofFloat(tanh), aFloat),
		reads("asinh", ofFloat(asinh), aFloat),
		reads("acosh", ofFloat(acosh), aFloat),
		reads("atanh", ofFloat(atanh), aFloat),
		reads("hypot", ofFloats(hypot), aFloat, aFloat),
		reads("sqrt", ofFloat(math.Sqrt), aFloat),
		reads("exp", ofFloat(exp), aFloat),
		reads("ln", ofFloat(ln), aFloat),
		reads("log", ofFloat(log10), aFloat),
		reads("log", ofFloats(func(x, base float64) float64 { return ln(x) / ln(base) }), aFloat, aFloat),
		reads("to_degrees", ofFloat(func(x float64) float64 { return x * (180 / math.Pi) }), aFloat),
		reads("to_radians", ofFloat(func(x float64) float64 { return x * (math.Pi / 180) }), aFloat),
		reads("PI", constant(math.Pi)),
		reads("E", constant(math.E)),
	},
)

func constant(f float64) value.Func {
	return func(*value.Ctx, *value.Value, []value.Value) value.Value { return value.Float(f) }
}

func ofFloat(f func(float64) float64) value.Func {
	return func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Float(f(this.AsFloat()))
	}
}

func ofFloats(f func(x, y float64) float64) value.Func {
	return func(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
		return value.Float(f(this.AsFloat(), args[0].AsFloat()))
	}
}

func isFloat(f func(float64) bool) value.Func {
	return func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Bool(f(this.AsFloat()))
	}
}

func fraction(x float64) float64 { return x - math.Trunc(x) }
