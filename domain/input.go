package domain

// Input is what the script of a job finds beside its environment: in $RAMET_INPUT, as
// `input` in Rhai, and with the assignment of a worker.
type Input struct {
	Params map[string]string `json:"params"`
	// Needs are the results of what the job needed: by the step's name in a
	// flow of steps, by the job's id otherwise, or by both.
	Needs map[string]Needed `json:"needs"`
	Flow  FlowID            `json:"flow,omitzero"`
	Step  string            `json:"step,omitzero"`
	Shard *ShardPart        `json:"shard,omitzero"`
	Pack  *PackRange        `json:"pack,omitzero"`
}

// Needed is what a script is told of a job, or step, that it needed.
type Needed struct {
	State  string            `json:"state,omitzero"` // of a step
	Status JobStatus         `json:"status,omitzero"`
	Reason Reason            `json:"reason,omitzero"`
	Result map[string]string `json:"result"`
}

// ShardPart is which job of a shard a job is. All of it is there for scripts, also
// what is zero.
type ShardPart struct {
	Index int64 `json:"index"`
	Total int64 `json:"total"`
}

// PackRange is which range of a pack a job does.
type PackRange struct {
	ID    int64 `json:"id"`
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}
