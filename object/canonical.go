package object

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/domain"
)

// This file compares the values of fields.

// canonical writes a value so that equal values have equal texts: keys
// sorted, no space, numbers by value. Nothing is null.
//
// Errors: [domain.ErrInvalid].
func canonical(raw []byte) (string, error) {
	if len(raw) == 0 {
		return "null", nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", domain.Invalidf("value %q is no JSON: %v", domain.PlainText(string(raw), 64), err)
	}
	return string(appendCanonical(nil, v)), nil
}

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		return append(b, canonicalNumber(string(v))...)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendCanonical(b, k), ':')
			b = appendCanonical(b, v[k])
		}
		return append(b, '}')
	}
	text, err := json.Marshal(v) // a string, a bool or nil
	if err != nil {
		panic("BUG: a decoded JSON value cannot be written: " + err.Error())
	}
	return append(b, text...)
}

// canonicalNumber writes ints as ints, also those written as floats.
func canonicalNumber(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
