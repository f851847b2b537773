package api

import (
	"encoding/json"
	"strings"
)

// Redacted stands for the values of environment variables that the caller may
// not read.
const Redacted = "***"

// WhyNotRedacted says why it is refused as a value.
const WhyNotRedacted = Redacted + " stands for a value that is not shown, and would be stored in its place: write the value, name a secret of the context, " +
	"or have somebody change this who may read it"

// RedactedIn reports whether an environment in a JSON text has [Redacted] in the place of a value: all of
// the text is one, or what lies in it under a name by which records have theirs.
func RedactedIn(text string, all bool) bool {
	if text == Redacted {
		return true
	}
	var v any
	return strings.Contains(text, Redacted) && json.Unmarshal([]byte(text), &v) == nil && redactedIn(v, all)
}

func redactedIn(v any, env bool) bool {
	switch v := v.(type) {
	case string:
		return env && v == Redacted
	case []any:
		for _, one := range v {
			if redactedIn(one, env) {
				return true
			}
		}
	case map[string]any:
		for name, one := range v {
			// encoding/json takes names in any case, so others may write them so.
			if redactedIn(one, env || strings.EqualFold(name, "env") || strings.EqualFold(name, "env_vars")) {
				return true
			}
		}
	}
	return false
}
