package blueprint

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file writes graphs in the languages of other programs.

// Mermaid writes the graph as a Mermaid flowchart.
//
// Source: https://mermaid.js.org/syntax/flowchart.html
func Mermaid(g *domain.Graph, w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "flowchart LR")
	clusters(g, func(phase int) {
		fmt.Fprintf(out, "  subgraph p%d [\"phase %d\"]\n", phase, phase)
	}, func(i int) {
		n := &g.Nodes[i]
		name, note := label(n)
		text := mermaidText(name)
		if note != "" {
			text += "<br/>" + mermaidText(note)
		}
		left, right := mermaidShape(n.Kind)
		fmt.Fprintf(out, "  n%d%s\"%s\"%s\n", i, left, text, right)
	}, func() { fmt.Fprintln(out, "  end") })
	for _, e := range g.Edges {
		fmt.Fprintf(out, "  n%d --> n%d\n", e.From, e.To)
	}
	used := map[tone]bool{}
	for i := range g.Nodes {
		if t := toneOf(&g.Nodes[i]); t != "" {
			used[t] = true
			fmt.Fprintf(out, "  class n%d %s\n", i, t)
		}
	}
	for _, p := range paints {
		if used[p.tone] {
			fmt.Fprintf(out, "  classDef %s fill:%s,stroke:%s,color:%s\n", p.tone, p.fill, p.line, p.text)
		}
	}
	return out.Flush()
}

func mermaidShape(k domain.StepKind) (left, right string) {
	switch k {
	case domain.StepShard, domain.StepPack, domain.StepEach:
		return "[[", "]]"
	case domain.StepFlow:
		return "[/", "/]"
	case domain.StepApproval:
		return "{{", "}}"
	case domain.StepEffect:
		return ">", "]"
	}
	return "[", "]"
}

// mermaidText writes what could mean something as an entity.
func mermaidText(s string) string {
	var b strings.Builder
	for _, c := range printable(s) {
		if strings.ContainsRune("\"#;<>&`|[](){}\\", c) {
			fmt.Fprintf(&b, "#%d;", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// DOT writes the graph for Graphviz.
//
// Source: https://graphviz.org/doc/info/lang.html
func DOT(g *domain.Graph, w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph %s {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n", dotText(g.Title))
	clusters(g, func(phase int) {
		fmt.Fprintf(out, "  subgraph cluster_%d {\n  label=\"phase %d\";\n", phase, phase)
	}, func(i int) {
		n := &g.Nodes[i]
		name, note := label(n)
		if note != "" {
			name += "\n" + note
		}
		fmt.Fprintf(out, "  n%d [label=%s%s", i, dotText(name), dotShape(n.Kind))
		for _, p := range paints {
			if p.tone == toneOf(n) {
				fmt.Fprintf(out, ", fillcolor=%q, color=%q, fontcolor=%q", p.fill, p.line, p.text)
			}
		}
		fmt.Fprintln(out, "];")
	}, func() { fmt.Fprintln(out, "  }") })
	for _, e := range g.Edges {
		fmt.Fprintf(out, "  n%d -> n%d;\n", e.From, e.To)
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

func dotShape(k domain.StepKind) string {
	switch k {
	case domain.StepShard, domain.StepPack, domain.StepEach:
		return ", peripheries=2"
	case domain.StepFlow:
		return ", shape=component"
	case domain.StepApproval:
		return ", shape=hexagon"
	case domain.StepEffect:
		return ", shape=cds"
	}
	return ""
}

// dotText quotes a text, of which lines stay lines.
func dotText(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// clusters goes through the nodes by phase; begin and end are not called where
// there is one phase only.
func clusters(g *domain.Graph, begin func(phase int), node func(i int), end func()) {
	numbers, nodes := phases(g)
	for _, phase := range numbers {
		if len(numbers) > 1 {
			begin(phase)
		}
		for _, i := range nodes[phase] {
			node(i)
		}
		if len(numbers) > 1 {
			end()
		}
	}
}
