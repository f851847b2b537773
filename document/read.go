package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// maxMerges bounds how deep "<<" may refer to what has one itself.
const maxMerges = 8

// Options say what a text is read for.
type Options struct {
	// What is wanted, for a text that is empty: "a blueprint, with `name:`".
	What string
	// Hint says what to do about a text that is too long.
	Hint string
	// MaxBytes bounds the text, and twice that the characters and nodes that
	// it comes to when what its anchors stand for is written out. A text without
	// any has less.
	MaxBytes int
	// ReadFile reads a file next to the document; nil refuses to.
	ReadFile func(file string) (string, error)
	// Owner is the part of a document that a path is about, "" for the whole:
	// what follows from a fault in the same part is not said. Nil: all is one.
	Owner func(path string) string
}

// Read reads a text of YAML or JSON by a table. The values are what the JSON of
// it has; where there are faults they are not whole.
func Read(text []byte, o *Object, opts Options) (*Reader, map[string]any) {
	r := &Reader{text: text, allowance: 2 * opts.MaxBytes, broken: map[string]bool{}, options: opts}
	root, wrong := readNode(text, opts)
	if wrong.Text != "" {
		r.faults = append(r.faults, wrong)
		r.allowance = -1
		return r, nil
	}
	r.root = root
	return r, r.object(root, "", o, nil)
}

// Reader has read a text, and knows where in it things stand.
type Reader struct {
	text      []byte
	root      *yaml.Node
	options   Options
	allowance int // how much more the text may come to
	faults    []domain.Fault
	broken    map[string]bool // owners that have a fault
}

// Faults are what is wrong.
func (r *Reader) Faults() []domain.Fault { return r.faults }

// Whole reports whether the text was read to its end: else what is missing
// in it is no fault of its own.
func (r *Reader) Whole() bool { return r.allowance >= 0 }

// Broken reports whether the part that a path is about has a fault already.
func (r *Reader) Broken(path string) bool { return r.broken[r.owner(path)] }

// Given reports whether the text has something at a path, of which nothing is wrong yet.
func (r *Reader) Given(path string) bool {
	if r.root == nil || !r.leads(path) {
		return false
	}
	return !slices.ContainsFunc(r.faults, func(f domain.Fault) bool { return under(f.Path, path) || under(path, f.Path) })
}

// under reports whether a path leads to another one or to something in it.
func under(path, in string) bool {
	rest, ok := strings.CutPrefix(path, in)
	return ok && in != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (r *Reader) owner(path string) string {
	if r.options.Owner == nil {
		return ""
	}
	return r.options.Owner(path)
}

// Add adds a fault that was found in what was read; its line and column are
// those within an expression, 0 where it is about none.
func (r *Reader) Add(f domain.Fault) { r.faults = append(r.faults, r.Find(f)) }

// Line is where in the text the thing stands that a path leads to.
func (r *Reader) Line(path string) int { return r.Find(domain.Fault{Path: path}).Line }

// Position is where a mapping stands.
type Position struct {
	Path string
	node *yaml.Node
}

// Fault adds a fault of a field of a mapping.
func (r *Reader) Fault(at Position, field, format string, args ...any) {
	n := at.node
	if f := r.enter(n, field); f != nil {
		n = f
	}
	r.fault(n, join(at.Path, field), format, args...)
}

// ReadFile reads the file that a field of a mapping names; nil where that
// cannot be, which is a fault then.
func (r *Reader) ReadFile(at Position, field, file, instead string) *string {
	if r.options.ReadFile == nil {
		r.Fault(at, field, "a file is read only by the command line, next to the %s's own file; give its text as %s", r.options.noun(), instead)
		return nil
	}
	text, err := r.options.ReadFile(file)
	if err != nil {
		r.Fault(at, field, "%v", err)
		return nil
	}
	return &text
}

// fault places what is wrong at a node, which may be nil.
func fault(n *yaml.Node, format string, args ...any) domain.Fault {
	f := domain.Fault{Text: fmt.Sprintf(format, args...)}
	if n != nil {
		f.Line, f.Column = n.Line, n.Column
	}
	return f
}

func (r *Reader) fault(n *yaml.Node, path, format string, args ...any) {
	r.broken[r.owner(path)] = true
	if len(r.faults) < MaxFaults {
		f := fault(n, format, args...)
		f.Path = path
		r.faults = append(r.faults, f)
	}
}

// resolve gives what stands at a node; nil for nothing, or when the text has
// come to too much.
func (r *Reader) resolve(n *yaml.Node) *yaml.Node {
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
func (r *Reader) spend(n *yaml.Node) bool {
	if r.allowance < 0 {
		return false
	}
	if r.allowance -= 1 + len(n.Value); r.allowance < 0 {
		r.fault(n, "", "with what its anchors stand for written out, the text is longer than %d characters", 2*r.options.MaxBytes)
		return false
	}
	return true
}

// pair is a name in a mapping, and its value.
type pair struct{ key, value *yaml.Node }

// pairs are the names of a mapping, then those that "<<" brings in from
// others and the mapping does not have itself. Faults are said at path.
func (r *Reader) pairs(n *yaml.Node, path string, merges int) []pair {
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
func (r *Reader) merge(list []pair, seen map[string]*yaml.Node, n *yaml.Node, path string, merges int) []pair {
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

// object reads a mapping by its table; nil where there is none. key is a field
// that is known beside those of the table, or nil.
func (r *Reader) object(n *yaml.Node, path string, o *Object, key *Field) map[string]any {
	m := r.resolve(n)
	if m == nil && path != "" {
		return nil
	}
	if m == nil || m.Kind != yaml.MappingNode {
		r.fault(n, path, "got %s, want fields such as `%s:`", describe(m), o.Fields[0].Name)
		return nil
	}
	values := make(map[string]any, len(m.Content)/2)
	for _, p := range r.pairs(m, path, 0) {
		name := p.key.Value
		f := o.Known(name)
		if f == nil && key != nil && name == key.Name {
			f = key
		}
		if f == nil {
			meant := ""
			if len(r.faults) < MaxFaults { // to look for near names takes a while
				meant = o.meant(name)
			}
			r.fault(p.key, join(path, name), "unknown field %q%s", name, meant)
			continue
		}
		if v := r.value(p.value, join(path, name), f); v != nil {
			values[name] = v
		}
	}
	if o.After != nil {
		o.After(r, Position{path, m}, values)
	}
	return values
}

// meant suggests a field.
func (o *Object) meant(name string) string {
	near := cmp.Or(o.Others[name], domain.Nearest(name, o.names))
	if near == "" {
		return "; known are " + strings.Join(o.names, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// join goes a step into a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
