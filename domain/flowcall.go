package domain

const (
	// MaxFlowDepth is how deep flows may be within each other: one that no step made is 1.
	MaxFlowDepth = 8
	// MaxTemplateBytes bounds a text in which ${name} stands for something else.
	MaxTemplateBytes = 8 << 10
)

// FlowCall is the flow that a step makes.
type FlowCall struct {
	// Blueprint is the name of a stored one, Version which of it. 0: the newest when the
	// flow with the step is submitted.
	Blueprint string `json:"blueprint"`
	Version   int    `json:"version,omitzero"`
	// Params are those of the new flow, and Trigger is its name: texts in which ${name}
	// stands for a param of the step, ${needs.<step>.<key>} for a result, ${item},
	// ${item.<field>}, ${index} and ${key} for the element.
	Params  map[string]string `json:"params,omitzero"`
	Trigger string            `json:"trigger,omitzero"`
}

// FlowParent is the step that made a flow.
type FlowParent struct {
	Flow FlowID `json:"flow"`
	Step string `json:"step"`
	// Index is the place of the element in the step's list, and Key its name.
	Index int64  `json:"index,omitzero"`
	Key   string `json:"key,omitzero"`
	// Depth is how many flows are above.
	Depth int `json:"depth"`
	// List is the first record of the results of the step; see [Need.List].
	List int `json:"list"`
	// One says that the step has made this flow only.
	One bool `json:"one,omitzero"`
}
