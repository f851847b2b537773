package domain

// Call is one thing that a durable script has done by a job or a flow of its own: its
// child. The script waits for its end, and remembers what came of it.
type Call struct {
	// Name is the place of the call in the script's history, as that of a step.
	Name string `json:"name"`

	// Blueprint is the stored one that the child is a flow of, Version which of it: 0 is
	// the newest.
	Blueprint string `json:"blueprint,omitzero"`
	Version   int    `json:"version,omitzero"`
	// Script is what the child is a job of, and ScriptType its type. Default: the type of
	// the job that calls.
	Script     string     `json:"script,omitzero"`
	ScriptType ScriptType `json:"script_type,omitzero"`
	Timeout    uint32     `json:"timeout,omitzero"` // of a script, in seconds; default: the node's
	Retries    uint8      `json:"retries,omitzero"` // of a script

	Params map[string]string `json:"params,omitzero"`

	// Approval has a person decide: the child is a flow of that one step.
	Approval *CallApproval `json:"approval,omitzero"`
}

// CallApproval is what a script asks a person.
type CallApproval struct {
	// Text is what it is about, for who decides: up to [MaxSummaryBytes].
	Text string `json:"text,omitzero"`
	Approval
}

// CalledBy is the place of a durable script that has made a job or a flow by a call.
type CalledBy struct {
	Job  string `json:"job"`  // "job:12:7", of the same context and caller
	Name string `json:"name"` // of the call
	N    int64  `json:"n"`    // which of that name
	// Depth is how many calls and flows are above, from 1.
	Depth int `json:"depth"`
}

// ChildEnd is how the child of a call has ended.
type ChildEnd struct {
	// Failure is set where it has not ended well.
	Failure *StepFailure
	// Result is what it has left.
	Result map[string]string
	// Decided is set for one that a person was to decide, Late where nobody did in time.
	Decided, Late bool
}
