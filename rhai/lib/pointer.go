package lib

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what function pointers tell of themselves.

var pointerFns = slices.Concat(
	property("name", func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Str(this.AsFn().Name)
	}, aFn),
	property("is_anonymous", func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Bool(strings.HasPrefix(this.AsFn().Name, anonymous))
	}, aFn),
)

// anonymous is how the names of closures begin.
const anonymous = "anon$"
