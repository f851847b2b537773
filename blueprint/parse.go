package blueprint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// Parse reads a blueprint of YAML or JSON. name is the text's, for errors; it
// may be "". Scripts must stand in the text.
//
// Errors: *[Error] with all that is wrong.
func Parse(name string, text []byte) (*domain.Blueprint, error) { return parse(name, text, nil) }

// parse reads scripts by readScript; nil refuses to.
func parse(name string, text []byte, readScript func(file string) (string, error)) (*domain.Blueprint, error) {
	root, wrong := readNode(text)
	if wrong.Text != "" {
		return nil, newError(name, []domain.Fault{wrong})
	}
	r := &reader{text: text, root: root, readScript: readScript, allowance: maxExpanded, broken: map[string]bool{}}
	b := r.blueprint()
	if len(r.faults) > 0 {
		return nil, newError(name, r.faults)
	}
	return b, nil
}

const (
	// maxExpanded bounds the characters and nodes that a text comes to when
	// what its anchors stand for is written out. A text without any has less.
	maxExpanded = 2 * domain.MaxBlueprintBytes
	// maxMerges bounds how deep "<<" may refer to what has one itself.
	maxMerges = 8
)

// reader makes a blueprint of nodes.
type reader struct {
	text       []byte
	root       *yaml.Node
	readScript func(file string) (string, error)
	allowance  int // what is left of maxExpanded
	faults     []domain.Fault
	broken     map[string]bool // steps, or "" for what is none, that have a fault
}

// fault places what is wrong at a node, which may be nil.
func fault(n *yaml.Node, format string, args ...any) domain.Fault {
	f := domain.Fault{Text: fmt.Sprintf(format, args...)}
	if n != nil {
		f.Line, f.Column = n.Line, n.Column
	}
	return f
}

func (r *reader) fault(n *yaml.Node, path, format string, args ...any) {
	r.broken[owner(path)] = true
	if len(r.faults) < maxFaults {
		f := fault(n, format, args...)
		f.Path = path
		r.faults = append(r.faults, f)
	}
}

// owner is the step that a path is about, or "".
func owner(path string) string {
	if i := strings.IndexByte(path, ']'); i > 0 && strings.HasPrefix(path, "steps[") {
		return path[:i+1]
	}
	return ""
}

// blueprint reads the whole; r.faults says whether it is right.
func (r *reader) blueprint() *domain.Blueprint {
	text, err := json.Marshal(r.object(r.root, "", aBlueprint))
	if err != nil {
		panic("BUG: what was read cannot be written: " + err.Error())
	}
	b, err := decode(text)
	if err != nil {
		panic("BUG: what was read does not fit: " + err.Error())
	}
	if r.allowance < 0 {
		return b // it is not whole
	}
	nameless := slices.ContainsFunc(b.Steps, func(s domain.Step) bool { return s.Name == "" })
	for _, f := range check(b) {
		// What follows from another fault is not said.
		follows := r.broken[owner(f.Path)] || nameless && (strings.Contains(f.Path, ".needs[") || strings.HasPrefix(f.Path, "output."))
		if !follows {
			r.faults = append(r.faults, r.place(f))
		}
	}
	return b
}

// resolve gives what stands at a node; nil for nothing, or when the text has
// come to too much.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if !r.spend(n) || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	return n
}

// spend counts a node, and reports whether the text has not yet come to too
// much.
func (r *reader) spend(n *yaml.Node) bool {
	if r.allowance < 0 {
		return false
	}
	if r.allowance -= 1 + len(n.Value); r.allowance < 0 {
		r.fault(n, "", "with what its anchors stand for written out, the text is longer than %d characters", maxExpanded)
		return false
	}
	return true
}

// pair is a name in a mapping, and its value.
type pair struct{ key, value *yaml.Node }

// pairs are the names of a mapping, then those that "<<" brings in from
// others and the mapping does not have itself. Faults are said at path.
func (r *reader) pairs(n *yaml.Node, path string, merges int) []pair {
	var list []pair
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	var others []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if !r.spend(key) {
			return list
		}
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.fault(key, path, "want a name here, got %s", describe(key))
		case key.ShortTag() == "!!merge":
			others = append(others, value)
		case first != nil:
			r.fault(key, join(path, key.Value), "it stands twice, at line %d too", first.Line)
		default:
			seen[key.Value] = key
			list = append(list, pair{key, value})
		}
	}
	for _, n := range others {
		list = r.merge(list, seen, n, path, merges+1)
	}
	return list
}

// merge adds the pairs of one mapping, or of a list of them, as far as they
// are not there.
func (r *reader) merge(list []pair, seen map[string]*yaml.Node, n *yaml.Node, path string, merges int) []pair {
	m := r.resolve(n)
	switch {
	case m == nil:
	case merges > maxMerges:
		r.fault(n, path, "\"<<\" refers to what has one itself, more than %d deep", maxMerges)
	case m.Kind == yaml.SequenceNode:
		for _, item := range m.Content {
			list = r.merge(list, seen, item, path, merges+1)
		}
	case m.Kind == yaml.MappingNode:
		for _, p := range r.pairs(m, path, merges) {
			if seen[p.key.Value] == nil {
				seen[p.key.Value] = p.key
				list = append(list, p)
			}
		}
	default:
		r.fault(n, path, "\"<<\" wants an alias of fields, got %s", describe(m))
	}
	return list
}

// object reads a mapping by the table; nil where there is none.
func (r *reader) object(n *yaml.Node, path string, o *object) map[string]any {
	m := r.resolve(n)
	if m == nil && path != "" {
		return nil
	}
	if m == nil || m.Kind != yaml.MappingNode {
		r.fault(n, path, "got %s, want fields such as `%s:`", describe(m), o.fields[0].name)
		return nil
	}
	values := make(map[string]any, len(m.Content)/2)
	for _, p := range r.pairs(m, path, 0) {
		name := p.key.Value
		f := o.known(name)
		if f == nil {
			meant := ""
			if len(r.faults) < maxFaults { // to look for near names takes a while
				meant = o.meant(name)
			}
			r.fault(p.key, join(path, name), "unknown field %q%s", name, meant)
			continue
		}
		if v := r.value(p.value, join(path, name), f); v != nil {
			values[name] = v
		}
	}
	if o == aStep {
		r.inline(m, path, values)
	}
	return values
}

// meant suggests a field.
func (o *object) meant(name string) string {
	near := cmp.Or(o.others[name], domain.Nearest(name, o.names))
	if near == "" {
		return "; known are " + strings.Join(o.names, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// value reads the value of a field; nil where there is none, or a wrong one.
func (r *reader) value(n *yaml.Node, path string, f *field) any {
	switch f.kind {
	case anObject:
		if m := r.object(n, path, f.of); m != nil {
			return m
		}
		return nil
	case someObjects:
		return r.objects(n, path, f)
	case aMap:
		return r.textMap(n, path, f)
	case someTexts:
		return r.texts(n, path, f)
	}
	v := r.resolve(n)
	if v == nil {
		return nil
	}
	out, ok := scalar(v, f.kind)
	if !ok {
		r.fault(n, path, "got %s, want %s", describe(v), f.want())
		return nil
	}
	return out
}

// scalar reads a single value.
func scalar(n *yaml.Node, k kind) (any, bool) {
	if n.Kind != yaml.ScalarNode {
		return nil, false
	}
	tag := n.ShortTag()
	switch k {
	case aText:
		return n.Value, tag == "!!str"
	case aValue:
		return n.Value, slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp"}, tag)
	case aNumber:
		var v int64
		return &v, tag == "!!int" && n.Decode(&v) == nil
	case aFlag:
		var v bool
		return &v, tag == "!!bool" && n.Decode(&v) == nil
	case aSpan:
		v, err := domain.ParseSpan(n.Value)
		return v, err == nil && (tag == "!!int" || tag == "!!str")
	case anInstant:
		v, err := domain.ParseInstant(n.Value)
		return v, err == nil && (tag == "!!int" || tag == "!!str" || tag == "!!timestamp")
	}
	panic(fmt.Sprintf("BUG: kind %d is no scalar", k))
}

// objects reads a list of objects. One that is wrong keeps its place, so that
// paths are right.
func (r *reader) objects(n *yaml.Node, path string, f *field) any {
	list := r.resolve(n)
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		r.fault(n, path, "got %s, want %s", describe(list), f.want())
		return nil
	}
	if n := len(list.Content); n > f.most {
		r.fault(list, path, "%d %s, the limit is %d", n, path, f.most)
		return nil
	}
	out := make([]map[string]any, len(list.Content))
	for i, item := range list.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if out[i] = r.object(item, at, f.of); out[i] == nil && !r.broken[owner(at)] {
			r.fault(item, at, "got nothing, want fields such as `%s:`", f.of.fields[0].name)
		}
	}
	return out
}

// texts reads a list of texts, or one.
func (r *reader) texts(n *yaml.Node, path string, f *field) any {
	list := r.resolve(n)
	if list == nil {
		return nil
	}
	if v, ok := scalar(list, aText); ok {
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
			v, ok = scalar(t, aText)
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
func (r *reader) textMap(n *yaml.Node, path string, f *field) any {
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
		} else if text, ok := scalar(v, aValue); ok {
			out[p.key.Value] = text
		} else {
			r.fault(p.value, at, "got %s, want a text, a number, true or false", describe(v))
		}
	}
	return out
}

// inline puts the script's file into a step.
func (r *reader) inline(n *yaml.Node, path string, step map[string]any) {
	file, ok := step["file"].(string)
	if !ok {
		return
	}
	delete(step, "file")
	at := join(path, "file")
	n = r.enter(n, "file")
	switch {
	case r.readScript == nil:
		r.fault(n, at, "a file is read only by the command line, next to the blueprint's own file; give its text as script")
		return
	case step["script"] != nil:
		r.fault(n, at, "script and file are both given; want one of them")
		return
	}
	text, err := r.readScript(file)
	if err != nil {
		r.fault(n, at, "%v", err)
		return
	}
	step["script"] = text
	if step["script_type"] == nil {
		t := domain.GuessScriptType(file, text)
		if t == "" {
			r.fault(n, at, "neither the extension of %q nor a #! line says what script it is; want script_type, for example shell", file)
			return
		}
		step["script_type"] = t
	}
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

// join goes a step into a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
