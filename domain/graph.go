package domain

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
