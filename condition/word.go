package condition

import "github.com/ramet-run/ramet/rhai/value"

var words = map[value.Kind]string{value.UnitKind: "nothing", value.BoolKind: "true or false", value.IntKind: "a number", value.FloatKind: "a number",
	value.CharKind: "a character", value.StringKind: "a text", value.ArrayKind: "a list", value.MapKind: "an object"}

// Word is what a value is, in words of people who know no Rhai: "a text", "nothing".
func Word(v value.Value) string {
	for kind, word := range words {
		if v.Is(kind) {
			return word
		}
	}
	return "a " + v.TypeName()
}
