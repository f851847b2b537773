package condition

import (
	"fmt"
	"regexp"
)

// unknown is how Rhai says that a value has no such field.
var unknown = regexp.MustCompile(`Unknown property '(.*)' - a getter is not registered for type '([^']*)'`)

// types are the types of values, as people call them who wrote an expression and no program.
var types = map[string]string{"string": "a text", "i64": "a whole number", "f64": "a number", "bool": "yes or no", "array": "a list", "char": "a character"}

// plainly says in words of those who write expressions, and send what these are about, that a
// field is not there.
func plainly(text string) string {
	return unknown.ReplaceAllStringFunc(text, func(found string) string {
		parts := unknown.FindStringSubmatch(found)
		of, known := types[parts[2]]
		switch {
		case parts[2] == "()":
			return fmt.Sprintf("there is no field %q: that of which it is to be is not there", parts[1])
		case !known:
			of = parts[2]
		}
		return fmt.Sprintf("there is no field %q: that of which it is to be is %s", parts[1], of)
	})
}
