package domain

import (
	"cmp"
	"fmt"
	"strconv"
)

// Graph is a blueprint's graph, or a flow's with the states of its steps, to
// be drawn. It has a node for each step, in their order.
type Graph struct {
	Title string      `json:"title"`
	Nodes []GraphNode `json:"nodes"`
	Edges []GraphEdge `json:"edges"`
}

// GraphNode is a step.
type GraphNode struct {
	Name  string   `json:"name"`
	Kind  StepKind `json:"kind"`
	Phase int      `json:"phase,omitzero"`
	// State colours it: one of the words in states; others have no colour.
	State string `json:"state,omitzero"`
	// Note is shown below the name, such as how far it is.
	Note string `json:"note,omitzero"`
}

// GraphEdge says that the node To needs the node From; both are indexes.
type GraphEdge struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// FlowGraph is the graph of a flow with the states of its steps.
func FlowGraph(v *FlowView) *Graph {
	g := &Graph{Title: cmp.Or(v.Blueprint, "flow") + " " + cmp.Or(v.Trigger, strconv.FormatUint(uint64(v.ID), 10)), Edges: []GraphEdge{}}
	index := make(map[string]int, len(v.Steps))
	for i := range v.Steps {
		s := &v.Steps[i]
		index[s.Name] = i
		g.Nodes = append(g.Nodes, GraphNode{Name: s.Name, Kind: s.Kind, Phase: s.Phase, State: string(s.Status), Note: stepNote(s)})
	}
	for i := range v.Steps {
		for _, need := range v.Steps[i].Needs {
			if from, known := index[need]; known {
				g.Edges = append(g.Edges, GraphEdge{From: from, To: i})
			}
		}
	}
	return g
}

// stepNote is how far a step of many jobs is.
func stepNote(s *StepView) string {
	switch {
	case s.Kind.One() || s.Kind == StepApproval || s.SinceMs == 0:
		return ""
	case s.Endless:
		return fmt.Sprintf("%s, %d done", s.Status, s.Done)
	}
	return fmt.Sprintf("%s, %d of %d", s.Status, s.Done, s.Total)
}
