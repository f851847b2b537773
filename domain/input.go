package domain

import "encoding/json"

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
	// Item is the element that the job is done for, of a step with `each`, and Index its
	// place in the list.
	Item  json.RawMessage `json:"item,omitempty"`
	Index *int64          `json:"index,omitzero"`
	// Round is which round of a step that is repeated the job is, from 1 on.
	Round int `json:"round,omitzero"`
	// Hook is what a hook is told of its flow.
	Hook *HookInput `json:"hook,omitzero"`
}

// Results are what the jobs of a step left that was done for each element of a list, in
// the list's order; empty of one that did not end well.
type Results []map[string]string

// Needed is what a script is told of a job, or step, that it needed.
type Needed struct {
	State  string            `json:"state,omitzero"` // of a step
	Status JobStatus         `json:"status,omitzero"`
	Reason Reason            `json:"reason,omitzero"`
	Result map[string]string `json:"result"`
	// Results are those of a step that was done for each element of a list.
	Results Results `json:"results,omitzero"`
	// LeftBy is the job whose files the one that needs it finds. They are no part of what it
	// reads.
	LeftBy JobKey `json:"-"`
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
