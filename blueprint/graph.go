package blueprint

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// NewGraph is the graph of a valid blueprint.
func NewGraph(b *domain.Blueprint) *domain.Graph {
	g := &domain.Graph{Title: b.Name, Nodes: make([]domain.GraphNode, len(b.Steps)), Edges: []domain.GraphEdge{}}
	index := make(map[string]int, len(b.Steps))
	for i := range b.Steps {
		s := &b.Steps[i]
		index[s.Name] = i
		g.Nodes[i] = domain.GraphNode{Name: s.Name, Kind: s.KindOr(), Phase: s.Phase, Note: noteOf(s)}
	}
	for i := range b.Steps {
		for _, need := range b.Steps[i].Needs {
			if from, known := index[need]; known {
				g.Edges = append(g.Edges, domain.GraphEdge{From: from, To: i})
			}
		}
	}
	return g
}

// noteOf says what a step is split by, or calls; "" of one that is neither.
func noteOf(s *domain.Step) string {
	note := ""
	switch {
	case s.Each != "":
		note = "of " + strings.Join(strings.Fields(s.Each), " ")
	case s.Matrix != nil:
		note = matrixNote(s.Matrix)
	case s.Shard != nil:
		note = fmt.Sprintf("%d jobs", s.Shard.Count-s.Shard.Start)
	case s.Pack != nil && s.Pack.Endless:
		note = fmt.Sprintf("%d at a time, without an end", s.Pack.Size)
	case s.Pack != nil:
		note = fmt.Sprintf("%d at a time", s.Pack.Size)
	}
	switch {
	case s.Flow != nil && note != "":
		return s.Flow.Blueprint + " for each " + note
	case s.Flow != nil:
		return s.Flow.Blueprint
	case s.Effect != nil:
		return s.Effect.Target
	}
	return note
}

// matrixNote names the axes, and says how many combinations there are where that is written.
func matrixNote(m domain.Matrix) string {
	count := 1
	for _, name := range m.Axes() {
		expression, values := m.Axis(name)
		if count *= len(values); expression != "" || count > domain.MaxEach {
			count = 0
		}
	}
	note := "of " + strings.Join(m.Axes(), " × ")
	if len(m.Axes()) == 0 {
		note = "of what it includes"
	}
	if count > 0 && m[domain.MatrixInclude] == nil && m[domain.MatrixExclude] == nil {
		note += fmt.Sprintf(", %d jobs", count)
	}
	return note
}

// tone is what a state looks like.
type tone string

// The tones.
const (
	calm tone = "calm" // nothing yet
	busy tone = "busy"
	good tone = "good"
	fair tone = "fair" // ended well, though not as meant
	bad  tone = "bad"
	none tone = "none" // left out
)

// states are the tones of the words for a step's state.
var states = map[string]tone{
	"dormant": calm, "open": busy, "running": busy, "succeeded": good, "failed": bad, "errored": bad, "skipped": none,
	"skipped_by_failure": none, "skipped_by_error": none, "failed_accepted": fair,
}

// toneOf is a node's tone, "" where it has no state that is known.
func toneOf(n *domain.GraphNode) tone { return states[n.State] }

// label is what stands in a node, in one or two lines.
func label(n *domain.GraphNode) (name, note string) {
	note = n.Note
	if note == "" {
		note = n.State
	}
	if n.Kind != domain.StepSingle {
		if note == "" {
			return n.Name, string(n.Kind)
		}
		note = string(n.Kind) + ", " + note
	}
	return n.Name, note
}

// phases are the nodes by phase, ascending; one phase is no grouping.
func phases(g *domain.Graph) (numbers []int, nodes map[int][]int) {
	nodes = map[int][]int{}
	for i := range g.Nodes {
		p := g.Nodes[i].Phase
		nodes[p] = append(nodes[p], i)
	}
	for p := range nodes {
		numbers = append(numbers, p)
	}
	slices.Sort(numbers)
	return numbers, nodes
}

// Draw writes the graph as mermaid, dot or svg.
//
// Errors: [domain.ErrInvalid] for another format; the writer's.
func Draw(g *domain.Graph, w io.Writer, format string) error {
	switch format {
	case "mermaid":
		return Mermaid(g, w)
	case "dot":
		return DOT(g, w)
	case "svg":
		return SVG(g, w)
	}
	return domain.Invalidf("format %q: want mermaid, dot or svg", format)
}

// FlowGraph is the graph of a flow with the states of its steps.
func FlowGraph(v *domain.FlowView) *domain.Graph {
	g := &domain.Graph{Title: cmp.Or(v.Blueprint, "flow") + " " + cmp.Or(v.Trigger, strconv.FormatUint(uint64(v.ID), 10)), Edges: []domain.GraphEdge{}}
	index := make(map[string]int, len(v.Steps))
	for i := range v.Steps {
		s := &v.Steps[i]
		index[s.Name] = i
		g.Nodes = append(g.Nodes, domain.GraphNode{Name: s.Name, Kind: s.Kind, Phase: s.Phase, State: string(s.Status), Note: stepNote(s)})
	}
	for i := range v.Steps {
		for _, need := range v.Steps[i].Needs {
			if from, known := index[need]; known {
				g.Edges = append(g.Edges, domain.GraphEdge{From: from, To: i})
			}
		}
	}
	return g
}

// stepNote is how far a step of many jobs is.
func stepNote(s *domain.StepView) string {
	switch {
	case s.Kind.One() || s.Kind == domain.StepApproval || s.SinceMs == 0:
		return ""
	case s.Endless:
		return fmt.Sprintf("%s, %d done", s.Status, s.Done)
	}
	return fmt.Sprintf("%s, %d of %d", s.Status, s.Done, s.Total)
}
