package hide

import (
	"encoding/json"
	"slices"
	"strings"
)

// WhyNot says why it is refused as a value.
const WhyNot = Mask + " stands for a value that is not shown, and would be stored in its place: write the value, name a secret of the context, " +
	"or have somebody change this who may read it"

// In reports whether an environment in a JSON text has [Mask] in the place of a value: all of
// the text is one, or what lies in it under a name by which records have theirs.
func In(text string, all bool) bool {
	if text == Mask {
		return true
	}
	var v any // what is not plain JSON is read, too: its letters may be written by their numbers
	return strings.ContainsAny(text, `*\`) && json.Unmarshal([]byte(text), &v) == nil && maskIn(v, all, false)
}

// named are the fields of records whose values have names that people choose, such as env: params, secrets by the
// variables that they are for, results, labels, and the axes of a matrix and what is in its objects and in lists.
var named = []string{"params", "secrets", "output", "result", "affinity", "matrix", "include", "exclude", "each"}

// maskIn reports whether v, an environment or something else, has [Mask] for a value of one; theirs says that its
// names are people's own.
func maskIn(v any, env, theirs bool) bool {
	switch v := v.(type) {
	case string:
		return env && v == Mask
	case []any:
		for _, one := range v {
			if maskIn(one, env, theirs) {
				return true
			}
		}
	case map[string]any:
		for name, one := range v {
			// encoding/json takes names in any case, so others may write them so. A text or list among params is a param that
			// somebody calls so; an object there belongs to something called params, such as a step.
			_, object := one.(map[string]any)
			is := (object || !theirs) && (strings.EqualFold(name, "env") || strings.EqualFold(name, "env_vars"))
			if maskIn(one, env || is, slices.ContainsFunc(named, func(n string) bool { return strings.EqualFold(name, n) })) {
				return true
			}
		}
	}
	return false
}
