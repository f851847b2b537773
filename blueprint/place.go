package blueprint

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
)

// This file finds where in the text the things stand that a fault is about.

// place gives a fault that check found its line and column.
func (r *reader) place(f domain.Fault) domain.Fault {
	n := r.find(f.Path)
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
func (r *reader) indent(line int) int {
	rest := r.text
	for ; line > 1; line-- {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	return len(rest) - len(bytes.TrimLeft(rest, " "))
}

// find goes along a path as far as there is something.
func (r *reader) find(path string) *yaml.Node {
	n := r.root
	for _, step := range strings.FieldsFunc(path, func(c rune) bool { return c == '.' || c == '[' || c == ']' }) {
		next := r.enter(n, step)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// enter is one step into a node: to a name, or to an index. A single text
// stands for a list of one.
func (r *reader) enter(n *yaml.Node, step string) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		for _, p := range (&reader{allowance: maxExpanded, broken: map[string]bool{}}).pairs(n, "", 0) {
			if p.key.Value == step {
				return aliased(p.value)
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i < len(n.Content) {
			return aliased(n.Content[i])
		}
	}
	return nil
}

func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
