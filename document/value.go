package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// value reads the value of a field; nil where there is none, or a wrong one.
func (r *Reader) value(n *yaml.Node, path string, f *Field) any {
	switch f.Kind {
	case AnObject:
		if m := r.object(n, path, f.Of, nil); m != nil {
			return m
		}
		return nil
	case SomeObjects:
		return r.objects(n, path, f, nil)
	case NamedObjects:
		return r.named(n, path, f)
	case AMap:
		return r.textMap(n, path, f)
	case SomeChoices:
		return r.choices(n, path, f)
	case SomeTexts:
		return r.texts(n, path, f, AText)
	case SomeValues:
		return r.texts(n, path, f, AValue)
	case SomeNumbers:
		return r.numbers(n, path, f)
	case SomeData:
		return r.data(n, path, f)
	case AnyData:
		return r.any(n, path, 0)
	}
	v := r.resolve(n)
	if v == nil {
		return nil
	}
	out, ok := scalar(v, f.Kind)
	switch hint := ""; {
	case !ok && f.Hint != "":
		hint = "; " + f.Hint
		fallthrough
	case !ok:
		r.fault(n, path, "got %s, want %s%s", describe(v), f.want(), hint)
		return nil
	case f.Full && out == "":
		r.fault(n, path, "it is empty: %s", f.Hint)
	}
	return out
}

// scalar reads a single value.
func scalar(n *yaml.Node, k Kind) (any, bool) {
	if n.Kind != yaml.ScalarNode {
		return nil, false
	}
	tag := n.ShortTag()
	switch k {
	case AText:
		return n.Value, tag == "!!str"
	case AValue:
		return n.Value, slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp"}, tag)
	case ANumber:
		var v int64
		return &v, tag == "!!int" && n.Decode(&v) == nil
	case ADecimal:
		var v float64
		// JSON, which the value becomes, has neither ".nan" nor ".inf".
		return &v, (tag == "!!int" || tag == "!!float") && n.Decode(&v) == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
	case AFlag:
		var v bool
		return &v, tag == "!!bool" && n.Decode(&v) == nil
	case ASpan:
		v, err := domain.ParseSpan(n.Value)
		return v, err == nil && (tag == "!!int" || tag == "!!str")
	case AnInstant:
		v, err := domain.ParseInstant(n.Value)
		return v, err == nil && (tag == "!!int" || tag == "!!str" || tag == "!!timestamp")
	}
	panic(fmt.Sprintf("BUG: kind %d is no scalar", k))
}

// sequence is n where that is a list, else nil.
func (r *Reader) sequence(n *yaml.Node, path string, f *Field) *yaml.Node {
	list := r.resolve(n)
	if list != nil && list.Kind != yaml.SequenceNode {
		r.fault(n, path, "got %s, want %s", describe(list), f.want())
		return nil
	}
	return list
}

// numbers reads a list of numbers.
func (r *Reader) numbers(n *yaml.Node, path string, f *Field) any {
	list := r.sequence(n, path, f)
	if list == nil {
		return nil
	}
	out := make([]any, 0, len(list.Content))
	for i, item := range list.Content {
		v := r.resolve(item)
		if v == nil {
			continue
		}
		number, ok := scalar(v, ANumber)
		if !ok {
			r.fault(item, fmt.Sprintf("%s[%d]", path, i), "got %s, want a whole number", describe(v))
			continue
		}
		out = append(out, number)
	}
	return out
}

// objects reads a list of objects. One that is wrong keeps its place, so that
// paths are right.
func (r *Reader) objects(n *yaml.Node, path string, f, key *Field) any {
	list := r.sequence(n, path, f)
	if list == nil {
		return nil
	}
	if n := len(list.Content); n > f.Most {
		r.fault(list, path, "%d %s, the limit is %d", n, path, f.Most)
		return nil
	}
	out := make([]map[string]any, len(list.Content))
	for i, item := range list.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if out[i] = r.object(item, at, f.Of, key); out[i] == nil && !r.Broken(at) {
			r.fault(item, at, "got nothing, want fields such as `%s:`", f.Of.Fields[0].Name)
		}
	}
	return out
}

// named reads objects by their names, in the order in which they stand.
func (r *Reader) named(n *yaml.Node, path string, f *Field) any {
	m := r.resolve(n)
	if m == nil {
		return nil
	}
	kind := AText
	if f.KeyNumber {
		kind = ANumber
	}
	if m.Kind == yaml.SequenceNode {
		return r.objects(n, path, f, &Field{Name: f.Key, Kind: kind})
	}
	if m.Kind != yaml.MappingNode {
		r.fault(n, path, "got %s, want %s", describe(m), f.want())
		return nil
	}
	pairs := r.pairs(m, path, 0)
	if len(pairs) > f.Most {
		r.fault(m, path, "%d %s, the limit is %d", len(pairs), path, f.Most)
		return nil
	}
	out := make([]map[string]any, 0, len(pairs))
	for _, p := range pairs {
		at := join(path, p.key.Value)
		item := r.item(p.value, at, f)
		if item == nil {
			continue
		}
		item[f.Key] = p.key.Value
		if f.KeyNumber {
			v, err := strconv.ParseInt(p.key.Value, 10, 64) // in JSON all names are texts
			if err != nil {
				r.fault(p.key, at, "got %s, want a whole number", describe(p.key))
				continue
			}
			item[f.Key] = v
		}
		out = append(out, item)
	}
	return out
}

// item reads one of the objects; nil where it is wrong.
func (r *Reader) item(n *yaml.Node, path string, f *Field) map[string]any {
	v := r.resolve(n)
	if v == nil {
		if !r.Whole() {
			return nil
		}
		return map[string]any{}
	}
	if f.Short != "" && v.Kind != yaml.MappingNode {
		text, ok := scalar(v, AValue)
		if !ok {
			r.fault(n, path, "got %s, want a text, or fields such as `%s:`", describe(v), f.Of.Fields[0].Name)
			return nil
		}
		return map[string]any{f.Short: text}
	}
	return r.object(n, path, f.Of, nil)
}

// texts reads a list of texts, or one, each of which is of a kind.
func (r *Reader) texts(n *yaml.Node, path string, f *Field, kind Kind) any {
	list := r.resolve(n)
	if list == nil {
		return nil
	}
	if v, ok := scalar(list, kind); ok {
		return []any{v}
	}
	if list.Kind != yaml.SequenceNode {
		r.fault(n, path, "got %s, want %s", describe(list), f.want())
		return nil
	}
	out := make([]any, len(list.Content))
	for i, item := range list.Content {
		v, ok := any(""), false
		if t := r.resolve(item); t != nil {
			v, ok = scalar(t, kind)
		}
		if !ok {
			r.fault(item, fmt.Sprintf("%s[%d]", path, i), "got %s, want a text", describe(item))
			continue
		}
		out[i] = v
	}
	return out
}

// textMap reads names and their values.
func (r *Reader) textMap(n *yaml.Node, path string, f *Field) any {
	return r.each(n, path, f, func(v *yaml.Node, at string) (any, bool) {
		text, ok := scalar(v, AValue)
		if !ok {
			r.fault(v, at, "got %s, want a text, a number, true or false", describe(v))
		}
		return text, ok
	})
}

// choices reads names and the word of each.
func (r *Reader) choices(n *yaml.Node, path string, f *Field) any {
	return r.each(n, path, f, func(v *yaml.Node, at string) (any, bool) {
		text, ok := scalar(v, AText)
		if !ok || !slices.Contains(f.Enum, text.(string)) {
			meant := ""
			if near := domain.Nearest(v.Value, f.Enum); near != "" {
				meant = fmt.Sprintf("; did you mean %q?", near)
			}
			r.fault(v, at, "got %s, want %s%s", describe(v), oneOf(f.Enum), meant)
			return nil, false
		}
		return text, ok
	})
}

// each reads the values of a mapping with any names.
func (r *Reader) each(n *yaml.Node, path string, f *Field, read func(v *yaml.Node, at string) (any, bool)) any {
	m := r.resolve(n)
	if m == nil {
		return nil
	}
	if m.Kind != yaml.MappingNode {
		r.fault(n, path, "got %s, want %s", describe(m), f.want())
		return nil
	}
	out := map[string]any{}
	for _, p := range r.pairs(m, path, 0) {
		at := join(path, p.key.Value)
		v := r.resolve(p.value)
		if v == nil {
			r.fault(p.value, at, "it has no value; write \"\" for an empty one")
		} else if value, ok := read(v, at); ok {
			out[p.key.Value] = value
		}
	}
	return out
}

// describe says what a node is, for people.
func describe(n *yaml.Node) string {
	if n == nil {
		return "nothing"
	}
	switch n.Kind {
	case yaml.AliasNode:
		return describe(n.Alias)
	case yaml.MappingNode:
		return "fields"
	case yaml.SequenceNode:
		return "a list"
	}
	const most = 40
	text := n.Value
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!str":
		return fmt.Sprintf("the text %q", text)
	case "!!int", "!!float":
		return "the number " + text
	}
	return fmt.Sprintf("%q", text)
}
