package setting

import (
	"encoding"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// maxFile bounds a config file in bytes.
const maxFile = 4 << 20

// Given is a setting that a flag gives, as it was typed: a list with spaces between.
type Given struct{ Flag, Text string }

// Value is what a setting is, and where that comes from.
type Value struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Source is default, file FILE:LINE, environment $NAME or flag --NAME.
	Source string `json:"source"`
}

// Fault is something that is wrong with a config file, or with a variable or flag that
// stands for a line of it.
type Fault struct {
	// Place is FILE:LINE:COLUMN, as far as it is known; else $NAME or --NAME.
	Place string `json:"place"`
	Line  int    `json:"line,omitempty"`
	Col   int    `json:"column,omitempty"`
	Text  string `json:"text"`
}

// String is the fault in one line.
func (f Fault) String() string { return f.Place + ": " + f.Text }

// Faults are those of one config.
type Faults []Fault

// Error says all of them in one line.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, one := range f {
		texts[i] = one.String()
	}
	return strings.Join(texts, "; ")
}

// Unwrap makes faults errors of the kind invalid.
func (f Faults) Unwrap() error { return domain.ErrInvalid }

// Reading is a config that was read.
type Reading struct {
	file string
	root *yaml.Node
	// from says of values that are not in the file where they come from: "$NAME" or "--NAME".
	from   map[*yaml.Node]string
	faults Faults
}

// Read reads a config file into a pointer to a struct with yaml tags; file "" is the
// empty one. Over it go what variable has, a look-up of environment variables, and over
// that what is given. Check says what else is wrong with the struct: each error begins
// with the key of what it is about, and several are joined.
//
// All that is wrong is found at once, each with its place.
//
// Errors: those of [domain.FileErrorf]; [Faults].
func Read(file string, variable func(name string) string, given []Given, into any, check func() error) (*Reading, error) {
	r := &Reading{file: file, from: map[*yaml.Node]string{}}
	if err := r.parse(); err != nil {
		return r, err
	}
	for _, s := range All() {
		if name := s.Variable(); s.Key != "" && name != "" {
			if text := variable(name); text != "" {
				r.put(s, text, "$"+name)
			}
		}
	}
	for _, g := range given {
		if s := ByFlag(g.Flag); s.Key != "" {
			r.put(s, g.Text, "--"+g.Flag)
		}
	}
	if r.root == nil {
		r.faults = append(r.faults, r.placeless(check())...)
		return r, r.error()
	}
	if r.walk(r.root, reflect.TypeOf(into).Elem(), ""); len(r.faults) > 0 {
		// The rest is looked at as if what is wrong were not there.
		var typeError *yaml.TypeError
		if err := r.root.Decode(into); err == nil || errors.As(err, &typeError) {
			r.more(r.placeless(check()))
		}
		return r, r.error()
	}
	if err := r.root.Decode(into); err != nil { // what each value is was looked at: this is about all of them
		r.fault(r.root, plain(err))
		return r, r.error()
	}
	r.faults = append(r.faults, r.placeless(check())...)
	return r, r.error()
}

// more takes faults of places that have none yet: what is said of those may come of it.
func (r *Reading) more(faults Faults) {
	for _, f := range faults {
		if f.Line > 0 && !slices.ContainsFunc(r.faults, func(o Fault) bool { return o.Line == f.Line }) {
			r.faults = append(r.faults, f)
		}
	}
}

func (r *Reading) error() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int { return a.Line - b.Line })
	return r.faults
}

// parse reads the file's text.
func (r *Reading) parse() error {
	if r.file == "" {
		return nil
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		return domain.FileErrorf(err, "config file: %v", err)
	}
	if r.root, err = intake.Parse(text, intake.Limits{Bytes: maxFile}); err == nil && r.root != nil {
		err = intake.Unique(r.root)
	}
	if err == nil && r.root != nil && r.root.Kind != yaml.MappingNode && (r.root.Kind != yaml.ScalarNode || r.root.Tag != "!!null") {
		err = &intake.Error{Line: r.root.Line, Column: r.root.Column, Text: "want fields, such as lease: 30s"}
	}
	if err == nil && r.root != nil && r.root.Kind == yaml.ScalarNode {
		r.root = nil
	}
	if wrong := (*intake.Error)(nil); errors.As(err, &wrong) {
		f := Fault{Place: r.file, Line: wrong.Line, Col: wrong.Column, Text: wrong.Text}
		if f.Line > 0 {
			f.Place = fmt.Sprintf("%s:%d:%d", r.file, f.Line, max(f.Col, 1))
		}
		return Faults{f}
	}
	return err
}

// put gives a setting a value over that of the file.
func (r *Reading) put(s Setting, text, source string) {
	if r.root == nil {
		r.root = &yaml.Node{Kind: yaml.MappingNode}
	}
	at := r.root
	keys := strings.Split(strings.TrimSuffix(s.Key, ".*"), ".")
	for _, key := range keys[:len(keys)-1] {
		block := child(at, key)
		if block == nil || block.Kind != yaml.MappingNode { // what else it may be is found by walk
			block = &yaml.Node{Kind: yaml.MappingNode}
			set(at, key, block)
		}
		at = block
	}
	last, n := keys[len(keys)-1], s.node(text)
	if had := child(at, last); s.Kind == Map && had != nil && had.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			set(had, n.Content[i].Value, n.Content[i+1])
			r.from[n.Content[i+1]] = source
		}
		return
	}
	set(at, last, n)
	r.from[n] = source
	for _, item := range n.Content {
		r.from[item] = source
	}
}

// node is a text as the file would have it.
func (s Setting) node(text string) *yaml.Node {
	scalar := func(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }
	switch s.Kind {
	case List:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, word := range strings.Fields(text) {
			n.Content = append(n.Content, scalar(word))
		}
		return n
	case Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, word := range strings.Fields(text) {
			name, value, _ := strings.Cut(word, "=")
			n.Content = append(n.Content, scalar(name), scalar(value))
		}
		return n
	case Text:
		n := scalar(text)
		n.Tag = "!!str"
		return n
	}
	return scalar(text)
}

// child is the value of a name in a mapping; nil where there is none.
func child(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			if v := n.Content[i+1]; v.Kind != yaml.AliasNode {
				return v
			}
			return n.Content[i+1].Alias
		}
	}
	return nil
}

func set(n *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
}

// fault writes down what is wrong with a node.
func (r *Reading) fault(n *yaml.Node, text string) {
	if source := r.from[n]; source != "" {
		r.faults = append(r.faults, Fault{Place: source, Text: text})
		return
	}
	f := Fault{Place: r.file, Line: n.Line, Col: n.Column, Text: text}
	if n.Line > 0 {
		f.Place = fmt.Sprintf("%s:%d:%d", r.file, n.Line, n.Column)
	}
	r.faults = append(r.faults, f)
}

// keyAhead is the key with which an error of a check begins.
var keyAhead = regexp.MustCompile(`^[a-z_]+(\.[^\s.:]+)*`)

// placeless are the faults of errors that say no place: it is that of the key with which
// they begin, as far as there is such.
func (r *Reading) placeless(err error) (faults Faults) {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			faults = append(faults, r.placeless(one)...)
		}
		return faults
	}
	n := r.root
	for _, name := range strings.Split(keyAhead.FindString(err.Error()), ".") {
		if n != nil && n.Kind == yaml.MappingNode {
			if c := child(n, name); c != nil {
				n = c
			}
		}
	}
	had := r.faults
	if r.faults = nil; n == nil || n == r.root {
		r.faults = Faults{{Place: r.file, Text: err.Error()}}
	} else {
		r.fault(n, err.Error())
	}
	faults, r.faults = r.faults, had
	return faults
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	yamlType     = reflect.TypeFor[yaml.Unmarshaler]()
)

// walk looks at a node that is to become a value of a type: names that are not known,
// values of another type, out of bounds, or not among those that there may be.
func (r *Reading) walk(n *yaml.Node, t reflect.Type, key string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	switch {
	case t == durationType || p.Implements(textType) || p.Implements(yamlType):
		r.leaf(n, t, key)
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		// as if it were left out
	case t.Kind() == reflect.Struct:
		r.fields(n, t, key)
	case t.Kind() == reflect.Map:
		if n.Kind != yaml.MappingNode {
			r.fault(n, key+": want names and values")
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.walk(n.Content[i+1], t.Elem(), join(key, n.Content[i].Value))
		}
	case t.Kind() == reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			r.fault(n, key+": want "+listOf(t.Elem()))
			return
		}
		for _, item := range n.Content {
			r.walk(item, t.Elem(), key)
		}
	default:
		r.leaf(n, t, key)
	}
}

// listOf says how a list of such items is written.
func listOf(item reflect.Type) string {
	if item.Kind() == reflect.Struct && item.NumField() > 0 && !reflect.PointerTo(item).Implements(textType) {
		if name, _, _ := strings.Cut(item.Field(0).Tag.Get("yaml"), ","); name != "" {
			return "a list of blocks, each of which begins as - " + name + ": …"
		}
	}
	return "a list, such as [a, b]"
}

func join(key, name string) string { return strings.TrimPrefix(key+"."+name, ".") }

// fields looks at a mapping that is to become a struct.
func (r *Reading) fields(n *yaml.Node, t reflect.Type, key string) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, key+": want fields")
		return
	}
	known, open := fieldsOf(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		switch field, ok := known[name.Value]; {
		case ok:
			r.walk(n.Content[i+1], field, join(key, name.Value))
		case name.Tag == "!!merge":
			for _, more := range merged(n.Content[i+1]) {
				r.fields(more, t, key)
			}
		case !open:
			r.fault(name, unknown(domain.PlainText(name.Value, 100), known))
		}
	}
}

// merged are the mappings that << names.
func merged(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode {
		var list []*yaml.Node
		for _, item := range n.Content {
			list = append(list, merged(item)...)
		}
		return list
	}
	return []*yaml.Node{n}
}

func unknown(name string, known map[string]reflect.Type) string {
	var names []string
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := domain.Nearest(name, names); near != "" {
		return fmt.Sprintf("unknown field %q; did you mean %q?", name, near)
	}
	if len(names) > 20 {
		return fmt.Sprintf("unknown field %q; `ramet config example` shows all that there are", name)
	}
	return fmt.Sprintf("unknown field %q; known are %s", name, strings.Join(names, ", "))
}

// fieldsOf are the names that a struct has in a file, with their types; open tells
// whether it takes others, too.
func fieldsOf(t reflect.Type) (known map[string]reflect.Type, open bool) {
	known = map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case rest == "inline" && f.Type.Kind() == reflect.Map:
			open = true
		case rest == "inline":
			more, also := fieldsOf(f.Type)
			for k, v := range more {
				known[k] = v
			}
			open = open || also
		case name != "":
			known[name] = f.Type
		}
	}
	return known, open
}

// leaf looks at one value.
func (r *Reading) leaf(n *yaml.Node, t reflect.Type, key string) {
	v := reflect.New(t)
	if err := n.Decode(v.Interface()); err != nil {
		r.fault(n, key+": "+mismatch(n, t, err))
		return
	}
	s, ok := ByKey(key)
	if !ok {
		return
	}
	v = v.Elem()
	if v.CanInt() && s.Kind != List || v.CanUint() && s.Kind != List {
		number := int64(0)
		if v.CanInt() {
			number = v.Int()
		} else {
			number = int64(min(v.Uint(), 1<<62))
		}
		if err := s.check(key, number); err != nil {
			r.fault(n, err.Error())
		}
	}
	if v.Kind() == reflect.String && len(s.Words) > 0 && v.String() != "" && !slices.Contains(s.Words, v.String()) {
		text := fmt.Sprintf("%s is %q, want %s", key, domain.PlainText(v.String(), 100), s.Bounds())
		if near := domain.Nearest(v.String(), s.Words); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		r.fault(n, text)
	}
}

// network is how the library says that something is no network.
var network = regexp.MustCompile(`netip\.ParsePrefix\(("[^"]*")\): .*`)

// mismatch says what a value is not.
func mismatch(n *yaml.Node, t reflect.Type, err error) string {
	got := strconv.Quote(domain.PlainText(n.Value, 100))
	switch n.Kind {
	case yaml.SequenceNode:
		got = "a list"
	case yaml.MappingNode:
		got = "fields"
	}
	want := ""
	switch k := t.Kind(); {
	case t == durationType:
		want = "a duration such as 30s"
	case k == reflect.Bool:
		want = "true or false"
	case reflect.Int <= k && k <= reflect.Int64:
		want = "a whole number"
	case reflect.Uint <= k && k <= reflect.Uint64:
		want = "a whole number that is not negative"
	case k == reflect.Float64:
		want = "a number such as 0.1"
	case k == reflect.String:
		want = "a text"
	case network.MatchString(err.Error()):
		want = "an address and how many bits of it count, such as 10.0.0.5/32 or 2001:db8::/48"
	default:
		return plain(err)
	}
	return "want " + want + ", not " + got
}

// lineOf is how the library says where.
var lineOf = regexp.MustCompile(`line \d+: `)

// plain is an error of the library in one line.
func plain(err error) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n")
	lines := strings.Split(lineOf.ReplaceAllString(text, ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// hidden stands for a value that is not shown.
const hidden = "(hidden)"

// Values are all settings as they are, those that are not set with their defaults, in the
// order of the table; secrets are hidden.
func (r *Reading) Values() (list []Value) {
	for _, s := range All() {
		if s.Key == "" {
			continue
		}
		found := r.find(r.root, nil, strings.Split(s.Key, "."), s)
		if len(found) == 0 && !strings.Contains(s.Key, ".*") {
			found = []Value{{Key: s.Key, Value: s.Default, Source: "default"}}
		}
		list = append(list, found...)
	}
	return list
}

// find are the values of the keys below n that fit a pattern.
func (r *Reading) find(n *yaml.Node, path, pattern []string, s Setting) (list []Value) {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n == nil:
		return nil
	case len(pattern) == 0 && s.Kind == Map && n.Kind == yaml.MappingNode:
		return r.find(n, path, []string{"*"}, Setting{Kind: Text, Secret: s.Secret})
	case len(pattern) == 0:
		return []Value{{Key: strings.Join(path, "."), Value: s.show(n), Source: r.source(n)}}
	case n.Kind != yaml.MappingNode:
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i].Value; pattern[0] == "*" || pattern[0] == name {
			list = append(list, r.find(n.Content[i+1], append(slices.Clone(path), name), pattern[1:], s)...)
		}
	}
	return list
}

func (r *Reading) source(n *yaml.Node) string {
	switch from := r.from[n]; {
	case strings.HasPrefix(from, "$"):
		return "environment " + from
	case from != "":
		return "flag " + from
	}
	return fmt.Sprintf("file %s:%d", r.file, n.Line)
}

// show is a value in one line, as the file would have it.
func (s Setting) show(n *yaml.Node) string {
	if s.Secret {
		return hidden
	}
	one := func(n *yaml.Node) string {
		if s.URL {
			return domain.HideURL(n.Value)
		}
		return n.Value
	}
	var parts []string
	switch {
	case s.Kind == Blocks: // they may have passwords: the names will do
		for _, item := range n.Content {
			if name := child(item, "name"); name != nil {
				parts = append(parts, name.Value)
			}
		}
	case n.Kind == yaml.ScalarNode:
		return one(n)
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+"="+one(n.Content[i+1]))
		}
	default:
		for _, item := range n.Content {
			parts = append(parts, one(item))
		}
	}
	return strings.Join(parts, " ")
}
