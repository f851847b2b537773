// Package lib holds the functions and operators that every script has.
package lib

import (
	"slices"

	"github.com/ramet-run/ramet/rhai/value"
)

// Standard lists the native functions of the standard library, each overload
// by itself. Operators are not among them: see [Binary], [Unary] and [Assign].
func Standard() []*value.Native {
	all := slices.Concat(
		coreFns, numberFns, mathFns, bitFns, textFns, charFns, jsonFns, pointerFns,
		arrayFns, blobFns, mapFns, iterFns, timeFns,
	)
	for i, f := range all {
		own := *f // the lists are of all engines
		own.Linear = linear(f)
		all[i] = &own
	}
	return all
}
