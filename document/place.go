package document

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// This file finds where in the text the things stand that a fault is about.

// Find gives a fault its line and column in the text; those that it has are
// within an expression.
func (r *Reader) Find(f domain.Fault) domain.Fault {
	if r.root == nil {
		return f
	}
	n := r.find(r.root, f.Path)
	line, column := f.Line, f.Column // within an expression
	f.Line, f.Column = n.Line, n.Column
	if line == 0 {
		return f
	}
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		f.Line += line
		f.Column = r.indent(f.Line-line+1) + column
	case n.Style&yaml.FoldedStyle == 0 && line == 1 && !strings.Contains(n.Value, "\n"):
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			column++
		}
		f.Column += column - 1
	}
	return f
}

// indent counts the spaces before a line of the text.
func (r *Reader) indent(line int) int {
	rest := r.text
	for ; line > 1; line-- {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	return len(rest) - len(bytes.TrimLeft(rest, " "))
}

// leads reports whether there is something at the end of a path.
func (r *Reader) leads(path string) bool {
	for n := r.root; path != ""; {
		next, rest := r.step(n, path)
		if next == nil {
			return path == "[0]" && n.Kind == yaml.ScalarNode // one stands for a list of one
		}
		n, path = next, rest
	}
	return true
}

// find goes along a path as far as there is something.
func (r *Reader) find(n *yaml.Node, path string) *yaml.Node {
	for path != "" {
		next, rest := r.step(n, path)
		if next == nil {
			return n
		}
		n, path = next, rest
	}
	return n
}

// step is one step along a path: to an index, or to the longest name that the
// path begins with, for there are names with dots.
func (r *Reader) step(n *yaml.Node, path string) (next *yaml.Node, rest string) {
	path = strings.TrimLeft(path, ".[]")
	list := ends(path)
	if i, err := strconv.Atoi(path[:list[0]]); err == nil && n.Kind == yaml.SequenceNode {
		if i < 0 || i >= len(n.Content) {
			return nil, ""
		}
		return aliased(n.Content[i]), path[list[0]:]
	}
	for _, i := range slices.Backward(list) {
		if next := r.enter(n, path[:i]); next != nil {
			return next, path[i:]
		}
	}
	return nil, ""
}

// ends are where names may end that a path begins with.
func ends(path string) (list []int) {
	for i := range path {
		if path[i] == '.' || path[i] == '[' || path[i] == ']' {
			list = append(list, i)
		}
	}
	return append(list, len(path))
}

// enter goes to a name in a mapping, or to the item of a list that has it.
func (r *Reader) enter(n *yaml.Node, step string) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		for _, p := range (&Reader{allowance: 2 * r.options.MaxBytes, options: r.options, broken: map[string]bool{}}).pairs(n, "", 0) {
			if p.key.Value == step {
				return aliased(p.value)
			}
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if name := r.name(aliased(item)); name != "" && name == step {
				return aliased(item)
			}
		}
	}
	return nil
}

// name is that of an object in a list of those, "" where it has none.
func (r *Reader) name(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		for _, key := range []string{"name", "type"} {
			if v := r.enter(n, key); v != nil {
				return v.Value
			}
		}
	}
	return ""
}

func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
