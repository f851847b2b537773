package domain

import (
	"slices"
	"strconv"
	"strings"
)

// FlowStatus is the seeds' word for where a flow stands.
type FlowStatus string

// The flow statuses: dispatched while all its jobs wait, started from when the first of
// them begins.
//
// Source: seeds 000 and 002, "FlowStatus".
const (
	FlowDispatched FlowStatus = "dispatched"
	FlowStarted    FlowStatus = "started"
	FlowError      FlowStatus = "error"
	FlowFinished   FlowStatus = "finished"
)

// Final reports whether the flow has ended.
func (s FlowStatus) Final() bool { return s == FlowError || s == FlowFinished }

// Known reports whether s is one of the four words.
func (s FlowStatus) Known() bool { return s == FlowDispatched || s == FlowStarted || s.Final() }

// flowMoves is the whole state machine of a flow. error -> started is a retry.
var flowMoves = map[FlowStatus][]FlowStatus{
	FlowDispatched: {FlowStarted, FlowError, FlowFinished}, // finished at once: no jobs
	FlowStarted:    {FlowError, FlowFinished},
	FlowError:      {FlowStarted},
}

// CanBecome reports whether a flow may pass from s to next.
func (s FlowStatus) CanBecome(next FlowStatus) bool { return slices.Contains(flowMoves[s], next) }

// FlowReason says how a flow ended.
type FlowReason string

// The reasons.
const (
	FlowSucceeded FlowReason = "succeeded"
	FlowFailed    FlowReason = "failed"  // a script said so
	FlowErrored   FlowReason = "errored" // something unexpected
	FlowCancelled FlowReason = "cancelled"
	FlowStuck     FlowReason = "stuck"
)

// Known reports whether r is one of the five.
func (r FlowReason) Known() bool {
	return slices.Contains([]FlowReason{FlowSucceeded, FlowFailed, FlowErrored, FlowCancelled, FlowStuck}, r)
}

// FlowAwaits says what a flow that has not ended waits for.
type FlowAwaits string

// What flows wait for.
const (
	AwaitsJobs     FlowAwaits = "jobs"     // jobs of it run, or wait for a runner
	AwaitsDecision FlowAwaits = "decision" // somebody has to approve or reject a step
	AwaitsOthers   FlowAwaits = "others"   // no step is under way: a time has to come, or a ban to end
)

// Known reports whether a is one of the three words.
func (a FlowAwaits) Known() bool {
	return a == AwaitsJobs || a == AwaitsDecision || a == AwaitsOthers
}

// Flow is a graph of jobs that belong together.
//
// Source: seeds 000 and 002, "Flow", for the fields up to Status.
type Flow struct {
	ID        FlowID            `json:"id"`
	CallerID  ActorID           `json:"caller_id"`
	ContextID TenantID          `json:"context_id"`
	Jobs      List[JobID]       `json:"jobs"`
	EnvVars   map[string]string `json:"env_vars"`
	Result    map[string]string `json:"result"`
	CreatedAt UnixTime          `json:"created_at"`
	UpdatedAt UnixTime          `json:"updated_at"`
	Status    FlowStatus        `json:"status"`

	Reason    FlowReason `json:"reason,omitzero"`
	Error     string     `json:"error,omitzero"`     // what went wrong first
	Blueprint string     `json:"blueprint,omitzero"` // the name it was made from
	Version   int        `json:"version,omitzero"`   // of that blueprint
	Hash      string     `json:"hash,omitzero"`      // of the text it runs by
	Trigger   string     `json:"trigger,omitzero"`
	OnError   OnError    `json:"on_error,omitzero"`
	// HookJobs are the jobs of its hooks that were called.
	HookJobs FlowHooks `json:"hook_jobs,omitzero"`
	Priority int       `json:"priority,omitzero"`
	// Params are those of the flow, without what its jobs have added since.
	Params   map[string]string `json:"params,omitzero"`
	Paused   bool              `json:"paused,omitzero"`
	Cancel   string            `json:"cancel,omitzero"` // who asked
	Schedule string            `json:"schedule,omitzero"`
	// Backfill is set of a flow that the schedule's backfill made.
	Backfill bool `json:"backfill,omitzero"`
	// Parent is the step of another flow that made it.
	Parent *FlowParent `json:"parent,omitzero"`
	// CalledBy is the durable script that has made it by a call.
	CalledBy *CalledBy `json:"called_by,omitzero"`
	// Message is the message that asked for it, by its key here.
	Message string `json:"message,omitzero"`
	// Sender is who sent the message that brought its plan, where it runs one of these once more: what
	// it takes for itself is of that actor's own, as of the first.
	Sender ActorID `json:"sender,omitzero"`
	// TraceID is the trace that it belongs to, and its jobs.
	TraceID    string `json:"trace_id,omitzero"`
	StartedMs  int64  `json:"started_ms,omitzero"`
	FinishedMs int64  `json:"finished_ms,omitzero"`
	AfterMs    int64  `json:"after_ms,omitzero"`
	// Duration is how long it is expected to take, in seconds.
	Duration  uint32 `json:"duration,omitzero"`
	Retention uint32 `json:"retention,omitzero"` // seconds
	// Stepped is set where the keeper makes the jobs, by the steps of a
	// blueprint; else all jobs are there from the start.
	Stepped bool `json:"stepped,omitzero"`
	// Progress is in percent, with two decimals, as the keeper saw it last.
	Progress string `json:"progress,omitzero"`
	// Awaits is what it waits for beside its jobs, as the keeper saw it last: see [Flow.WaitsFor].
	Awaits FlowAwaits `json:"awaits,omitzero"`
	// Retried counts how often it was started again by hand.
	Retried int `json:"retried,omitzero"`
	// RerunOf is the flow that it was made of once more, RerunBy the last that was made
	// so of it.
	RerunOf FlowID `json:"rerun_of,omitzero"`
	RerunBy FlowID `json:"rerun_by,omitzero"`
}

// FlowKey is a flow's key on its context's board: "flow:33".
func FlowKey(id FlowID) string { return "flow:" + strconv.FormatUint(uint64(id), 10) }

// Key is the flow's key on its context's board.
func (f *Flow) Key() string { return FlowKey(f.ID) }

// ParseFlowKey reads "flow:<id>" or "<id>".
//
// Errors: [ErrInvalid].
func ParseFlowKey(s string) (FlowID, error) {
	id, err := parseID(strings.TrimPrefix(s, "flow:"))
	if err != nil || id == 0 {
		return 0, Invalidf("flow %q: want its number, or flow:<number>", s)
	}
	return FlowID(id), nil
}

// BroughtPlan reports whether the flow runs by a plan that a message has brought, for that or once
// more: by none of its context's blueprints, which have a version.
func (f *Flow) BroughtPlan() bool { return (f.Message != "" || f.Sender != 0) && f.Version == 0 }

// Final reports whether the flow has ended.
func (f *Flow) Final() bool { return f.Status.Final() }

// WaitsFor is what the flow waits for; "" once it has ended.
func (f *Flow) WaitsFor() FlowAwaits {
	switch {
	case f.Final():
		return ""
	case f.Awaits != "":
		return f.Awaits
	case f.Status == FlowDispatched:
		return AwaitsOthers
	}
	return AwaitsJobs
}

// MarshalJSON writes empty maps as such: readers in other languages need not
// deal with null.
func (f Flow) MarshalJSON() ([]byte, error) {
	type plain Flow // without this method
	p := plain(f)
	if p.EnvVars == nil {
		p.EnvVars = map[string]string{}
	}
	if p.Result == nil {
		p.Result = map[string]string{}
	}
	return plainJSON(p)
}
