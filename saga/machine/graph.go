package machine

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file makes a script of a graph of expressions: a function with a
// constant for each node, in an order in which each comes after those that it
// refers to.
//
//	total: event.payload.price * n            fn on_event(state, event) {
//	n: event.payload.count              ──>   const n = (event.payload.count);
//	next: '"paying"'                          const total = (event.payload.price * n);
//	                                          const next = ("paying");
//	                                          #{next: next} }

// graph is a kind of graph: its function's name and parameters, and the nodes
// that are its answer.
type graph struct {
	path, name string
	params     []string
	keys       []string
}

var (
	eventGraph = graph{"nodes", onEvent, []string{"state", "event"}, decisionKeys}
	undoGraph  = graph{"compensation.nodes", compensate, []string{"state", "work"}, undoKeys}
)

// piece is where a text of the definition stands in the script.
type piece struct {
	path        string
	first, last int // lines
}

// vertex is a node with those that it refers to.
type vertex struct {
	*domain.SagaNode
	needs []string
	done  bool
}

// graph compiles one; the zero value where that is wrong.
func (c *compiler) graph(g graph, nodes []domain.SagaNode) function {
	before := len(c.faults)
	list := c.vertices(g, nodes)
	if len(c.faults) > before {
		return function{}
	}
	order := c.order(g, list)
	if order == nil {
		return function{}
	}
	w := writer{line: 1}
	w.text("fn " + g.name + "(" + strings.Join(g.params, ", ") + ") {\n")
	for _, v := range order {
		w.node(g.path, v.SagaNode)
	}
	w.text(g.answer(nodes) + "\n}\n")
	r := function{name: g.name, place: func(e *ProgramError) { w.place(g.path, e) }}
	var err error
	if r.script, err = engine().Compile(w.b.String()); err != nil {
		e := programError(err)
		r.place(e)
		c.faults = append(c.faults, domain.Fault{Path: e.Path, Text: e.Text, Line: e.Line, Column: e.Column})
	}
	return r
}

// vertices compiles each expression by itself, and finds what it refers to.
func (c *compiler) vertices(g graph, nodes []domain.SagaNode) []vertex {
	scope := rhai.NewScope()
	for _, p := range g.params {
		scope.SetConst(p, value.Unit)
	}
	names := map[string]bool{}
	for i := range nodes {
		n := nodes[i].Name
		switch {
		case slices.Contains(g.params, n) && !slices.Contains(g.keys, n):
			c.fault(g.path+"."+n, "the name is that of what nodes are given")
		case syntax.Reserved(n):
			c.fault(g.path+"."+n, "the name is a word of the language")
		case !slices.Contains(g.params, n):
			names[n] = true
			scope.SetConst(n, value.Unit)
		}
	}
	list := make([]vertex, len(nodes))
	for i := range nodes {
		v := &list[i]
		v.SagaNode = &nodes[i]
		path := g.path + "." + v.Name
		for _, part := range []struct{ path, text, name string }{{path + ".expr", v.Expr, v.Name}, {path + ".when", v.When, ""}} {
			if part.text == "" {
				continue
			}
			if body := c.parsed(part.path, part.text, scope); body != nil {
				v.needs = append(v.needs, references(body, names)...)
				c.lintNode(g, part.path, part.name, body)
			}
		}
	}
	named := func(keys ...string) bool {
		return slices.ContainsFunc(nodes, func(n domain.SagaNode) bool { return slices.Contains(keys, n.Name) })
	}
	switch {
	case !named(g.keys...):
		c.fault(g.path, "none of the nodes is named "+oneOf(g.keys)+": they would do nothing")
	case g.name == compensate && !named("effect"):
		c.fault(g.path, "none of the nodes is named effect: they would undo nothing")
	}
	return list
}

// parsed compiles an expression; nil where it is wrong. It is compiled in
// parentheses too: what leaves a comment open would take the rest of the script
// with it.
func (c *compiler) parsed(path, text string, scope *rhai.Scope) []syntax.Node {
	s, err := engine().CompileExpression(text, scope)
	if err == nil {
		_, err = engine().CompileExpression("(\n"+text+"\n)", scope)
	}
	if err != nil {
		c.rhai(path, err)
		return nil
	}
	return s.Tree().Body
}

// references are the nodes that an expression refers to.
func references(body []syntax.Node, names map[string]bool) (list []string) {
	for _, n := range body {
		syntax.Walk(n, func(n syntax.Node) bool {
			if x, ok := n.(*syntax.Name); ok && len(x.Path) == 0 && names[x.Name] {
				list = append(list, x.Name)
			}
			return true
		})
	}
	return list
}

// order sorts nodes so that each comes after those that it needs, else as they
// stand. A node with the name of a parameter is last: the others mean that.
func (c *compiler) order(g graph, list []vertex) []*vertex {
	var out []*vertex
	byName := map[string]*vertex{}
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	var open []string
	var place func(v *vertex) bool
	place = func(v *vertex) bool {
		if v.done {
			return true
		}
		if i := slices.Index(open, v.Name); i >= 0 {
			c.fault(g.path+"."+v.Name, "nodes need each other in a circle: "+strings.Join(append(open[i:], v.Name), " -> "))
			return false
		}
		open = append(open, v.Name)
		for _, need := range v.needs {
			if !place(byName[need]) {
				return false
			}
		}
		open = open[:len(open)-1]
		v.done = true
		out = append(out, v)
		return true
	}
	for _, last := range []bool{false, true} {
		for i := range list {
			if slices.Contains(g.params, list[i].Name) == last && !place(&list[i]) {
				return nil
			}
		}
	}
	return out
}

// answer is the last expression of the function.
func (g graph) answer(nodes []domain.SagaNode) string {
	var parts []string
	for _, key := range g.keys {
		if slices.ContainsFunc(nodes, func(n domain.SagaNode) bool { return n.Name == key }) {
			parts = append(parts, key+": "+key)
		}
	}
	if g.name == compensate { // no effect is nothing to undo
		return "if effect == () { () } else { #{" + strings.Join(parts, ", ") + "} }"
	}
	return "#{" + strings.Join(parts, ", ") + "}"
}

// writer writes the script, and knows what came from where.
type writer struct {
	b      strings.Builder
	line   int
	pieces []piece
}

func (w *writer) text(s string) {
	w.b.WriteString(s)
	w.line += strings.Count(s, "\n")
}

// expr writes an expression on lines of its own.
func (w *writer) expr(path, text string) {
	w.text("(\n")
	first := w.line
	w.text(text + "\n")
	w.pieces = append(w.pieces, piece{path, first, w.line - 1})
	w.text(")")
}

func (w *writer) node(path string, n *domain.SagaNode) {
	path += "." + n.Name
	w.text("const " + n.Name + " = ")
	if n.When != "" {
		w.text("if ")
		w.expr(path+".when", n.When)
		w.text(" { ")
	}
	w.expr(path+".expr", n.Expr)
	if n.When != "" {
		w.text(" } else { () }")
	}
	w.text(";\n")
}

// place says in terms of the definition where an error is.
func (w *writer) place(path string, e *ProgramError) {
	e.Path = path
	for _, p := range w.pieces {
		if p.first <= e.Line && e.Line <= p.last {
			e.Path, e.Line = p.path, e.Line-p.first+1
			return
		}
	}
	e.Line, e.Column = 0, 0
}

func oneOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
