package machine

import (
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// storable is a payload that can be a part of an instance's JSON.
func storable(text json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(text) == 0:
		return nil, nil
	case !json.Valid(text):
		return nil, failf("the event's payload is no JSON")
	}
	return text, nil
}

// canonical writes a value as JSON in its one form: names sorted, no spaces,
// ints as ints and floats with a fraction. What JSON has no form for is
// refused, so that what is read again is what was written.
func canonical(v value.Value, most int) ([]byte, error) {
	c := checker{left: most}
	if fault := c.value(v, 0); fault != "" {
		return nil, failf("%s", fault)
	}
	if c.left < 0 {
		return nil, failf("it has more than %d bytes as JSON", most)
	}
	text, err := value.AppendJSON(make([]byte, 0, most-c.left+64), v)
	if err != nil {
		return nil, failf("%v", err)
	}
	if len(text) > most {
		return nil, failf("it has %d bytes as JSON, the limit is %d", len(text), most)
	}
	return text, nil
}

// checker looks for what JSON cannot hold. It counts, because a list that has
// another one many times over is small in memory and has no end as a text.
type checker struct{ left int }

// value says what is wrong, "" for nothing.
func (c *checker) value(v value.Value, depth int) string {
	if c.left--; c.left < 0 {
		return ""
	}
	if depth > domain.MaxSagaDepth {
		return "it nests too deep"
	}
	switch v = v.Flatten(); v.Kind() {
	case value.UnitKind, value.BoolKind, value.IntKind, value.CharKind:
	case value.FloatKind:
		if f := v.AsFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			return "it has a float that is no number, which JSON cannot hold"
		}
	case value.StringKind:
		return c.text(v.AsString())
	case value.ArrayKind:
		for _, item := range v.AsArray().Items {
			if fault := c.value(item, depth+1); fault != "" || c.left < 0 {
				return fault
			}
		}
	case value.MapKind:
		for _, e := range v.AsMap().Entries() {
			if fault := c.text(e.Key); fault != "" {
				return fault
			}
			if fault := c.value(e.Value, depth+1); fault != "" || c.left < 0 {
				return fault
			}
		}
	default:
		return "it has a " + v.TypeName() + ", which JSON cannot hold"
	}
	return ""
}

func (c *checker) text(s string) string {
	c.left -= len(s)
	if c.left >= 0 && !utf8.ValidString(s) {
		return "it has a text that is not UTF-8"
	}
	return ""
}
