package effectscript

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// keyAnswer is the key of a result that has the whole answer, as JSON.
const keyAnswer = "answer"

// Limits of the fields of an answer that are keys of the result: the answer is
// there as a whole, too, and both must fit.
const (
	maxFieldBytes  = 64 << 10
	maxFieldsBytes = 128 << 10
	maxFields      = 200
)

// resultOf is the result of a job whose call was answered: all of it, and the
// fields of an object as keys of their own, texts as they are and all else as
// JSON. Fields that are too long, or no names, are in the whole only: a target
// must not be able to set what means something to the flow, as "params.x" does.
func resultOf(answer json.RawMessage) map[string]string {
	result := map[string]string{}
	if len(answer) == 0 {
		return result
	}
	result[keyAnswer] = string(answer)
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(answer, &fields) != nil {
		return result
	}
	room := maxFieldsBytes
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if domain.ValidateName("field", name) != nil || name == keyAnswer || name == script.KeyExitCode {
			continue
		}
		text := string(fields[name])
		var s string
		if text[0] == '"' && json.Unmarshal(fields[name], &s) == nil {
			text = s
		}
		if n := len(name) + len(text); len(text) <= maxFieldBytes && n <= room && len(result) <= maxFields {
			result[name] = text
			room -= n
		}
	}
	return result
}
