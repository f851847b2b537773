package blueprint

import (
	"io"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// Graph is a blueprint's graph, or a flow's with the states of its steps, to
// be drawn. It has a node for each step, in their order.
type Graph struct {
	Title string `json:"title"`
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is a step.
type Node struct {
	Name  string          `json:"name"`
	Kind  domain.StepKind `json:"kind"`
	Phase int             `json:"phase,omitzero"`
	// State colours it: one of the words in states; others have no colour.
	State string `json:"state,omitzero"`
	// Note is shown below the name, such as how far it is.
	Note string `json:"note,omitzero"`
}

// Edge says that the node To needs the node From; both are indexes.
type Edge struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// NewGraph is the graph of a valid blueprint.
func NewGraph(b *domain.Blueprint) *Graph {
	g := &Graph{Title: b.Name, Nodes: make([]Node, len(b.Steps)), Edges: []Edge{}}
	index := make(map[string]int, len(b.Steps))
	for i := range b.Steps {
		s := &b.Steps[i]
		index[s.Name] = i
		g.Nodes[i] = Node{Name: s.Name, Kind: s.KindOr(), Phase: s.Phase}
	}
	for i := range b.Steps {
		for _, need := range b.Steps[i].Needs {
			if from, known := index[need]; known {
				g.Edges = append(g.Edges, Edge{from, i})
			}
		}
	}
	return g
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

// tone is a node's, "" where it has no state that is known.
func (n *Node) tone() tone { return states[n.State] }

// label is what stands in a node, in one or two lines.
func (n *Node) label() (name, note string) {
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
func (g *Graph) phases() (numbers []int, nodes map[int][]int) {
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
func (g *Graph) Draw(w io.Writer, format string) error {
	switch format {
	case "mermaid":
		return g.Mermaid(w)
	case "dot":
		return g.DOT(w)
	case "svg":
		return g.SVG(w)
	}
	return domain.Invalidf("format %q: want mermaid, dot or svg", format)
}
