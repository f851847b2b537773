package trial

import (
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// Player plays a flow of a blueprint without a node: each job ends as end says, one after
// the other in the order in which they were made; jobs that are made are taken to be run.
// Time passes where there is nothing else to wait for.
//
// Errors: [domain.ErrInvalid] where the flow cannot be submitted so.
type Player func(ctx context.Context, b *domain.Blueprint, ask Ask, end func(Job) End) (Played, error)

// Ask is how a flow is submitted.
type Ask struct {
	Params map[string]string
	Skip   []string
}

// Job is a job as it is begun, a flow that a step makes, or an approval that waits.
type Job struct {
	Step string `json:"step"`
	// Index is the index of a shard, of an element, or the number of a range.
	Index int64 `json:"index"`
	// Round is which round of a step that is repeated it is, from 1 on.
	Round int `json:"round,omitzero"`
	// Range is that of a pack: "0-99".
	Range string `json:"range,omitzero"`
	// Item is the element that it is for.
	Item json.RawMessage `json:"item,omitzero"`
	// Params are what its script finds as such, or what a flow is submitted with.
	Params map[string]string `json:"params,omitzero"`
	// Trigger is that of a flow.
	Trigger string `json:"trigger,omitzero"`
	// Payload is what an effect is told.
	Payload json.RawMessage `json:"payload,omitzero"`
	// Approval is set where a person has to decide, and no job is there.
	Approval bool `json:"approval,omitzero"`
	// End is how it ended.
	End string `json:"end"`
}

// Hook is a hook that was called.
type Hook struct {
	On string `json:"on"`
	// Params are what its script finds as such, Payload what an effect is told.
	Params  map[string]string `json:"params,omitzero"`
	Payload json.RawMessage   `json:"payload,omitzero"`
	// Fault is why there is no payload.
	Fault string `json:"fault,omitzero"`
}

// How jobs and approvals end.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	Errored   = "errored"
	Approved  = "approved"
	Rejected  = "rejected"
	// Waits is an approval that nobody decides, and a flow that waits for one.
	Waits = "waits"
)

// End is how a job ends.
type End struct {
	End    string
	Text   string // what went wrong, or what the person says
	Result map[string]string
}

// Played is what came of a flow.
type Played struct {
	// End is how it ended, or waits.
	End string `json:"end"`
	// Why is what went wrong first.
	Why string `json:"why,omitzero"`
	// States are those of its steps, by name; Texts says why.
	States map[string]string `json:"states"`
	Texts  map[string]string `json:"texts,omitzero"`
	// Order has the steps in the order in which they began.
	Order []string `json:"order"`
	// Jobs are those that were run, in their order.
	Jobs []Job `json:"jobs"`
	// Result is that of the flow.
	Result map[string]string `json:"result"`
	// Hook is what its end called; nil where that has no hook.
	Hook *Hook `json:"hook,omitzero"`
	// Whens are the values that conditions had, by their steps.
	Whens map[string]bool `json:"whens,omitzero"`
}
