package domain

import (
	"bytes"
	"encoding/json"
)

// List is a list that JSON shows as [] where there is none: readers in other
// languages need not deal with null. It is a type, not a method of what has
// the list: a method would write what embeds that too, without its own fields.
type List[T any] []T

// MarshalJSON writes an empty list as such.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return plainJSON([]T(l))
}

// once is a list without what it has before, in the order it came.
func once[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	var out []T
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// plainJSON is json.Marshal without the escapes for HTML, of which scripts are
// full.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
