package document

import (
	"encoding/json"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/internal/pattern"
)

// maxDataDepth bounds how deep data nests.
const maxDataDepth = 100

// data reads names with any values, as JSON has them: ints stay ints, and
// floats keep a fraction.
func (r *Reader) data(n *yaml.Node, path string, f *Field) any {
	m := r.resolve(n)
	if m == nil {
		return nil
	}
	if m.Kind != yaml.MappingNode {
		r.fault(n, path, "got %s, want %s", describe(m), f.want())
		return nil
	}
	return r.any(m, path, 0)
}

// any reads what stands at a node.
func (r *Reader) any(n *yaml.Node, path string, depth int) any {
	v := r.resolve(n)
	if v == nil {
		return nil
	}
	if depth > maxDataDepth {
		r.fault(n, path, "it nests more than %d deep", maxDataDepth)
		return nil
	}
	switch v.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for _, p := range r.pairs(v, path, 0) {
			out[p.key.Value] = r.any(p.value, join(path, p.key.Value), depth+1)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(v.Content))
		for i, item := range v.Content {
			out[i] = r.any(item, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
		return out
	}
	return r.number(v, path)
}

// tooLarge is a number that YAML takes for a text, as it has no room for it: without quotes.
var tooLarge = pattern.Late(`^[-+]?[0-9]{1,400}(\.[0-9]{0,400})?[eE][-+]?[0-9]{1,9}$`)

// number reads a single value, of which numbers are written as JSON has them.
func (r *Reader) number(v *yaml.Node, path string) any {
	switch v.ShortTag() {
	case "!!bool":
		var b bool
		if v.Decode(&b) == nil {
			return b
		}
	case "!!int":
		var i int64
		if v.Decode(&i) == nil {
			return json.Number(strconv.FormatInt(i, 10))
		}
	case "!!float":
		var f float64
		if v.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return float(f)
		}
	default:
		if v.Style != 0 || !tooLarge().MatchString(v.Value) {
			return v.Value
		}
		r.fault(v, path, "%s is larger than a number can be; put it in quotes where it is a text", v.Value)
		return nil
	}
	r.fault(v, path, "got %s, want a value that JSON can hold", describe(v))
	return nil
}

// float keeps a fraction, or an exponent, so that it stays one.
func float(f float64) json.Number {
	if f == math.Trunc(f) && math.Abs(f) < 1e16 {
		return json.Number(strconv.FormatFloat(f, 'f', 1, 64))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
