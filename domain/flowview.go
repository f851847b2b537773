package domain

import (
	"bytes"
	"encoding/json"
)

// StepChange is what a request changes of a step; zero fields change nothing.
type StepChange struct {
	Params  map[string]string `json:"params,omitzero"`
	After   Instant           `json:"after,omitzero"`
	Retries *int              `json:"retries,omitzero"`
	Timeout Span              `json:"timeout,omitzero"`
	MayFail *bool             `json:"may_fail,omitzero"`
	Window  int               `json:"window,omitzero"`
	// Count, Size, Start, End, Endless change how the step is split.
	Count   int    `json:"count,omitzero"`
	Size    int64  `json:"size,omitzero"`
	Start   *int64 `json:"start,omitzero"`
	End     *int64 `json:"end,omitzero"`
	Endless *bool  `json:"endless,omitzero"`
}

// FlowView is a flow as people see it.
type FlowView struct {
	Flow
	// Steps are its steps in the blueprint's order, or its jobs.
	Steps List[StepView] `json:"steps"`
	// StepsFrom and StepsTotal are set where these are a page only: which step the first of
	// them is, counted from 0, and how many there are.
	StepsFrom  int `json:"steps_from,omitzero"`
	StepsTotal int `json:"steps_total,omitzero"`
	// Slow is set where it takes longer than expected.
	Slow bool `json:"slow,omitzero"`
	// Added are the params that its jobs have added.
	Added map[string]string `json:"added,omitzero"`
	// Hooks are those that were called, and what came of them.
	Hooks []HookView `json:"hooks,omitzero"`
}

// MarshalJSON writes all of it: the method of the flow in it would leave the
// rest out.
func (v FlowView) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(v.Flow)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(struct {
		Steps      List[StepView]    `json:"steps"`
		StepsFrom  int               `json:"steps_from,omitzero"`
		StepsTotal int               `json:"steps_total,omitzero"`
		Slow       bool              `json:"slow,omitzero"`
		Added      map[string]string `json:"added,omitzero"`
		Hooks      []HookView        `json:"hooks,omitzero"`
	}{v.Steps, v.StepsFrom, v.StepsTotal, v.Slow, v.Added, v.Hooks})
	if err != nil {
		return nil, err
	}
	return JoinObjects(head, rest), nil
}

// JoinObjects makes one JSON object of two that are not empty.
func JoinObjects(a, b []byte) []byte {
	out := append([]byte{}, bytes.TrimSpace(a)...)
	out[len(out)-1] = ','
	return append(out, bytes.TrimSpace(b)[1:]...)
}

// StepView is a step as people see it.
type StepView struct {
	Name string `json:"name"`
	// Summary says what it is for, as its blueprint has it.
	Summary string `json:"summary,omitzero"`

	Kind   StepKind   `json:"kind"`
	Status StepStatus `json:"status"`
	Text   string     `json:"text,omitzero"`
	Needs  []string   `json:"needs,omitzero"`
	Phase  int        `json:"phase,omitzero"`
	// Job is the key of a single step's job, Flow that of the only flow that it has made.
	Job  string `json:"job,omitzero"`
	Flow string `json:"flow,omitzero"`
	// Total is how many units there are; 0 where that is not known, or endless.
	Total int64 `json:"total,omitzero"`
	// Done, Open and Bad count units.
	Done int64 `json:"done,omitzero"`
	Open int   `json:"open,omitzero"`
	Bad  int   `json:"bad,omitzero"`
	// Round is which round of a step that is repeated is the newest, Rounds how many there may
	// be, and RoundMs when the next begins, while none is under way.
	Round   int   `json:"round,omitzero"`
	Rounds  int   `json:"rounds,omitzero"`
	RoundMs int64 `json:"round_ms,omitzero"`
	// Ranges are the indexes or offsets that ended well, Watermark the last up
	// to which none is missing.
	Ranges    string `json:"ranges,omitzero"`
	Watermark *int64 `json:"watermark,omitzero"`
	Endless   bool   `json:"endless,omitzero"`
	// Progress is from 0 to 1.
	Progress float64 `json:"progress"`
	SinceMs  int64   `json:"since_ms,omitzero"`
	EndMs    int64   `json:"end_ms,omitzero"`
	// Units are the open and the bad ones.
	Units []UnitView `json:"units,omitzero"`
	// Approval is there for a step that a person decides.
	Approval *ApprovalView `json:"approval,omitzero"`
	// Cached is there where the result was taken from an earlier flow.
	Cached *CachedFrom `json:"cached,omitzero"`
}

// ApprovalView is what people see of a step that a person decides.
type ApprovalView struct {
	// DueMs is until when it waits; 0 is for ever, or that it has not begun.
	DueMs int64 `json:"due_ms,omitzero"`
	// OnDeadline is what becomes of it then.
	OnDeadline OnDeadline `json:"on_deadline,omitzero"`
	// Approvers are who may decide it, NotSubmitter whether who submitted the flow may not.
	Approvers    []string `json:"approvers,omitzero"`
	NotSubmitter bool     `json:"not_submitter,omitzero"`
	// Answers are what is asked for.
	Answers []TypedField `json:"answers,omitzero"`
	// Result is who decided, why, and what they answered, once somebody has.
	Result map[string]string `json:"result,omitzero"`
}

// UnitView is a part of a step as people see it.
type UnitView struct {
	ID      int64  `json:"id"`
	Start   int64  `json:"start"`
	End     int64  `json:"end"`
	Job     string `json:"job"`              // "" of one that is a flow
	Flow    string `json:"flow,omitzero"`    // that one
	Key     string `json:"key,omitzero"`     // the name of its element, where it has one
	Outcome string `json:"outcome,omitzero"` // failed, errored, aborted, cancelled; "" is open
	Text    string `json:"text,omitzero"`
}
