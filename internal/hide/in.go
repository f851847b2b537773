package hide

import (
	"encoding/json"
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
	var v any
	return strings.Contains(text, Mask) && json.Unmarshal([]byte(text), &v) == nil && maskIn(v, all)
}

func maskIn(v any, env bool) bool {
	switch v := v.(type) {
	case string:
		return env && v == Mask
	case []any:
		for _, one := range v {
			if maskIn(one, env) {
				return true
			}
		}
	case map[string]any:
		for name, one := range v {
			// encoding/json takes names in any case, so others may write them so.
			if maskIn(one, env || strings.EqualFold(name, "env") || strings.EqualFold(name, "env_vars")) {
				return true
			}
		}
	}
	return false
}
