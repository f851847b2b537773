package migrate

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// fields is a mapping of YAML or JSON. What is asked for is taken out of it; the rest is noted.
type fields struct {
	in   *Imported
	path string
	line int
	keys []*yaml.Node
	vals map[string]*yaml.Node
}

// readFields reads a text whose root is a mapping.
func readFields(in *Imported, text []byte, want string) (*fields, error) {
	root, err := intake.Parse(text, intake.Limits{Bytes: MaxBytes})
	if err != nil {
		return nil, domain.Invalidf("%v", err)
	}
	if root = follow(root); root == nil || root.Kind != yaml.MappingNode {
		return nil, domain.Invalidf("want %s", want)
	}
	if err := intake.Unique(root); err != nil {
		return nil, domain.Invalidf("%v", err)
	}
	return fieldsOf(in, "", root), nil
}

// follow goes behind an alias, and into a document.
func follow(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		return follow(n.Content[0])
	}
	return n
}

func fieldsOf(in *Imported, path string, n *yaml.Node) *fields {
	f := &fields{in: in, path: path, line: n.Line, vals: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		f.keys = append(f.keys, n.Content[i])
		f.vals[n.Content[i].Value] = follow(n.Content[i+1])
	}
	return f
}

// take takes out the first of these fields that is there; nil: none is.
func (f *fields) take(names ...string) *yaml.Node {
	var found *yaml.Node
	for _, name := range names {
		if v := f.vals[name]; v != nil && found == nil {
			delete(f.vals, name)
			if v.Tag != "!!null" {
				found = v
			}
		}
	}
	return found
}

func (f *fields) at(name string) string { return strings.TrimPrefix(f.path+"."+name, ".") }

// note notes something about a node.
func (f *fields) note(n *yaml.Node, format string, args ...any) { f.in.note(n.Line, format, args...) }

// odd notes that a field cannot be read.
func (f *fields) odd(name string, n *yaml.Node, want string) {
	f.note(n, "%s: left out; want %s", f.at(name), want)
}

func (f *fields) text(names ...string) string {
	n := f.take(names...)
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		f.odd(names[0], n, "a text")
		return ""
	}
	return n.Value
}

// number is a whole number from 0 to most.
func (f *fields) number(most int, names ...string) int {
	n := f.take(names...)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 || v != v {
		f.odd(names[0], n, "a number")
		return 0
	}
	if v > float64(most) {
		f.note(n, "%s: %s is more than the %d there are here; it became that", f.at(names[0]), n.Value, most)
		return most
	}
	return int(v)
}

func (f *fields) flag(names ...string) bool {
	n := f.take(names...)
	if n == nil {
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
		f.odd(names[0], n, "true or false")
		return false
	}
	return n.Value == "true"
}

// texts is a list of texts, or one.
func (f *fields) texts(names ...string) (list []string) {
	n := f.take(names...)
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		list = []string{n.Value}
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			if item = follow(item); item.Kind == yaml.ScalarNode {
				list = append(list, item.Value)
			} else {
				f.odd(names[0], item, "a text")
			}
		}
	default:
		f.odd(names[0], n, "a list of texts")
	}
	return list
}

// object is a field with fields of its own; nil where it is not there.
func (f *fields) object(names ...string) *fields {
	n := f.take(names...)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		f.odd(names[0], n, "names and values")
		return nil
	}
	return fieldsOf(f.in, f.at(names[0]), n)
}

// values are names and texts: of a mapping, of a list of such, or of a list of NAME=value.
func (f *fields) values(names ...string) map[string]string {
	n := f.take(names...)
	if n == nil {
		return nil
	}
	return f.valuesOf(names[0], n)
}

func (f *fields) valuesOf(name string, n *yaml.Node) map[string]string {
	m := map[string]string{}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := follow(n.Content[i+1]); v.Kind == yaml.ScalarNode {
				m[n.Content[i].Value] = v.Value
			} else {
				f.odd(name+"."+n.Content[i].Value, v, "a text")
			}
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			item = follow(item)
			if item.Kind == yaml.SequenceNode {
				f.odd(name, item, "NAME=value")
				continue
			}
			for k, v := range f.valuesOf(name, item) {
				m[k] = v
			}
		}
	case yaml.ScalarNode:
		if name == "env" { // one, whose value has no end but that of the text
			k, v, ok := strings.Cut(n.Value, "=")
			if !ok {
				f.odd(name, n, "NAME=value")
				return nil
			}
			return map[string]string{k: v}
		}
		words, err := quotedWords(n.Value)
		if err != nil {
			f.in.fault(domain.Invalidf("line %d: %s: %v", n.Line, f.at(name), err))
		}
		for _, word := range words {
			k, v, ok := strings.Cut(word, "=")
			if !ok {
				f.odd(name, n, "NAME=value, not "+strconv.Quote(word)+": params have names here")
				continue
			}
			m[k] = v
		}
	}
	return m
}

// quotedWords are the words of a text, in which quotes hold together what they enclose. What is between
// backquotes keeps them.
func quotedWords(text string) (words []string, err error) {
	var word strings.Builder
	within, begun := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case within == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
			continue
		case within == 0 && strings.IndexByte("\"'`", c) >= 0:
			if within = c; c == '`' {
				word.WriteByte(c)
			}
		case c == within:
			if within = 0; c == '`' {
				word.WriteByte(c)
			}
		case c == '\\' && within == '"' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
		begun = true
	}
	if within != 0 {
		return nil, fmt.Errorf("the quote %c in %q has no end", within, document.Clip(text, 80))
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// lineOf is the line of the first of these fields that is there, else that of all of them.
func (f *fields) lineOf(names ...string) int {
	for _, name := range names {
		if n := f.vals[name]; n != nil {
			return n.Line
		}
	}
	return f.line
}

// rest notes what nobody has asked for.
func (f *fields) rest() {
	for _, k := range f.keys {
		if v := f.vals[k.Value]; v != nil {
			text := v.Value
			if v.Kind != yaml.ScalarNode {
				text = map[yaml.Kind]string{yaml.MappingNode: "{…}", yaml.SequenceNode: "[…]"}[v.Kind]
			}
			f.in.note(k.Line, "%s: no counterpart, left out: %s", f.at(k.Value), document.Clip(text, 80))
		}
	}
}
