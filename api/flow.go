package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// The operations on flows.
var (
	FlowSubmit = op[FlowSubmitted](Operation{
		Name: "flow.submit", Method: "POST", Path: "/v1/contexts/{context}/flows", Right: domain.VerbCreate, Large: true,
		Summary: "Submit one flow (of a blueprint, or of jobs) or many ({\"flows\": [...]}).",
	}, SubmitFlowParams{Context: 7, FlowInput: FlowInput{Blueprint: "nightly", Trigger: "2026-12-24", Params: map[string]string{"region": "eu"}}})
	FlowList = op[FlowPage](Operation{
		Name: "flow.list", Method: "GET", Path: "/v1/contexts/{context}/flows", Right: domain.VerbRead, Much: true,
		Summary: "List flows page by page, without their jobs, environment, params and results.",
	}, ListFlowsParams{Context: 7, FlowFilter: FlowFilter{Status: domain.FlowError, Blueprint: "nightly"}})
	FlowShow = op[domain.FlowView](Operation{
		Name: "flow.show", Method: "GET", Path: "/v1/contexts/{context}/flows/{flow}", Right: domain.VerbRead, Much: true,
		Summary: "Show a flow with its steps.",
	}, ShowFlowParams{FlowParams: FlowParams{Context: 7, Flow: 31}})
	FlowWait = op[domain.FlowView](Operation{
		Name: "flow.wait", Method: "GET", Path: "/v1/contexts/{context}/flows/{flow}/wait", Right: domain.VerbRead,
		Follows: []string{EventFlow, EventEnd}, Waits: true,
		Summary: "Wait until a flow has ended, or follow it.",
	}, WaitFlowParams{FlowParams: FlowParams{Context: 7, Flow: 31}, TimeoutMs: 30_000})
	FlowLogs = op[FlowLogPage](Operation{
		Name: "flow.logs", Method: "GET", Path: "/v1/contexts/{context}/flows/{flow}/logs", Right: domain.VerbRead,
		Follows: []string{EventLog, EventEnd}, Much: true,
		Summary: "Read what the jobs of a flow said, in the order of time, or follow it until the flow has ended.",
	}, FlowLogParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Step: "load", LogWanted: LogWanted{Tail: 100}})
	FlowGraph = op[Drawing](Operation{
		Name: "flow.graph", Method: "GET", Path: "/v1/contexts/{context}/flows/{flow}/graph", Right: domain.VerbRead, Much: true,
		Summary: "Draw a flow's steps with their states, as Mermaid, DOT or SVG.",
	}, GraphFlowParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Format: "mermaid"})
	FlowExplain = op[domain.FlowExplanation](Operation{
		Name: "flow.explain", Method: "GET", Path: "/v1/contexts/{context}/flows/{flow}/explain", Right: domain.VerbRead,
		Summary: "Say what a flow waits for, who holds it, and what will wake it.",
	}, FlowParams{Context: 7, Flow: 31})
	FlowCancel = op[FlowDone](Operation{
		Name: "flow.cancel", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/cancel", Right: domain.VerbStop, ByHand: true,
		Summary: "End what a flow has not begun, and tell what runs to stop.",
	}, FlowParams{Context: 7, Flow: 31})
	FlowRetry = op[FlowDone](Operation{
		Name: "flow.retry", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/retry", Right: domain.VerbRetry, ByHand: true,
		Summary: "Start again what ended in error, keeping checkpoints; what failed too, if asked.",
	}, RetryFlowParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Failed: true})
	FlowSkip = op[FlowDone](Operation{
		Name: "flow.skip", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/skip", Right: domain.VerbStart, ByHand: true,
		Summary: "Skip a step that allows it, or accept one that ended badly.",
	}, StepParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Step: "report"})
	FlowMarkDone = op[FlowDone](Operation{
		Name: "flow.done", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/done", Right: domain.VerbStart, ByHand: true,
		Summary: "Mark a step as done that has not begun, or ended badly, with the result that it should have had.",
	}, DoneParams{StepParams: StepParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Step: "load", Comment: "loaded by hand"},
		Result: map[string]string{"rows": "4800"}})
	FlowRerun = op[SubmittedFlow](Operation{
		Name: "flow.rerun", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/rerun", Right: domain.VerbCreate, ByHand: true,
		Summary: "Make a new flow of one that has ended; from a step on, what ended well before it is taken over.",
	}, RerunFlowParams{FlowParams: FlowParams{Context: 7, Flow: 31}, From: "report"})
	FlowApprove = op[FlowDone](Operation{
		Name: "flow.approve", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/approve", Right: domain.VerbStart, ByHand: true,
		Summary: "Let a step succeed that waits for a decision.",
	}, DecideParams{StepParams: StepParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Step: "release", Comment: "figures checked"},
		Answers: map[string]string{"amount": "1200"}})
	FlowReject = op[FlowDone](Operation{
		Name: "flow.reject", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/reject", Right: domain.VerbStart, ByHand: true,
		Summary: "Let a step fail that waits for a decision.",
	}, DecideParams{StepParams: StepParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Step: "release", Comment: "wrong month"}})
	FlowUpdate = op[FlowDone](Operation{
		Name: "flow.update", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/update", Right: domain.VerbCreate, ByHand: true,
		Summary: "Change sizes, windows, ends and retries of a flow that lives.",
	}, UpdateFlowParams{FlowParams: FlowParams{Context: 7, Flow: 31}, Steps: map[string]domain.StepChange{"load": {Window: 4}}})
	FlowPause = op[FlowDone](Operation{
		Name: "flow.pause", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/pause", Right: domain.VerbCancel, ByHand: true,
		Summary: "Hold a flow up: nothing more of it is begun.",
	}, FlowParams{Context: 7, Flow: 31})
	FlowResume = op[FlowDone](Operation{
		Name: "flow.resume", Method: "POST", Path: "/v1/contexts/{context}/flows/{flow}/resume", Right: domain.VerbStart, ByHand: true,
		Summary: "Let a flow go on that was paused.",
	}, FlowParams{Context: 7, Flow: 31})
	FlowDelete = op[FlowDone](Operation{
		Name: "flow.delete", Method: "DELETE", Path: "/v1/contexts/{context}/flows/{flow}", Right: domain.VerbDelete, ByHand: true,
		Summary: "Remove a flow with its jobs; one that lives is cancelled first.",
	}, DeleteFlowParams{FlowParams: FlowParams{Context: 7, Flow: 31}})
)

// FlowInput asks for one flow: of a stored blueprint by its name, of a
// blueprint that comes with it (as fields, or as a text), or of jobs.
type FlowInput struct {
	// Blueprint is the name of a stored one, Version which; 0 is the newest.
	Blueprint string `json:"blueprint,omitzero"`
	Version   int    `json:"version,omitzero"`
	// Plan is a blueprint that is not stored; Text is one as YAML or JSON, File
	// its name, for errors.
	Plan *domain.Blueprint `json:"plan,omitzero"`
	Text string            `json:"text,omitzero"`
	File string            `json:"file,omitzero"`
	// Jobs make a plain flow. Their ids name them within it, for dependends;
	// the jobs get ids of their own.
	Jobs []JobInput `json:"jobs,omitzero"`

	// Trigger is the second half of the business name: one flow of a blueprint
	// and a trigger is made, ever.
	Trigger  string            `json:"trigger,omitzero"`
	Params   map[string]string `json:"params,omitzero"`
	EnvVars  map[string]string `json:"env_vars,omitzero"`
	Priority int               `json:"priority,omitzero"`
	// After is an instant, in Unix ms or RFC 3339, before which nothing begins.
	After   domain.Instant `json:"after,omitzero"`
	OnError domain.OnError `json:"on_error,omitzero"` // abort or continue
	// Skip names steps to skip, which must allow it.
	Skip []string `json:"skip,omitzero"`
	// NoCache has no step take what is kept of earlier flows; what it does is kept all the same.
	NoCache bool `json:"no_cache,omitzero"`
	// Steps change steps of the blueprint, by name.
	Steps map[string]domain.StepChange `json:"steps,omitzero"`
}

// FlowSubmitted answers for each flow in order.
type FlowSubmitted struct {
	Flows []SubmittedFlow `json:"flows"`
	// Durability is what the acknowledged flows survive: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// SubmittedFlow is the answer for one flow: its number, or why it was refused.
type SubmittedFlow struct {
	ID  domain.FlowID `json:"id,omitzero"`
	Key string        `json:"key,omitzero"` // flow:<id>
	// Existing is true when a flow of that name was there already; Archived when
	// only the archive still has it.
	Existing bool     `json:"existing,omitzero"`
	Archived bool     `json:"archived,omitzero"`
	Error    *Problem `json:"error,omitzero"`
}

// FlowPage is a page of flows.
type FlowPage struct {
	Flows domain.List[domain.Flow] `json:"flows"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
	// Looked is how many flows were looked at for this page.
	Looked int `json:"looked"`
	// Count is there where it was asked for.
	Count *Counted `json:"count,omitzero"`
	// Archived is true where the flow was found by its name, and only the archive has it.
	Archived bool `json:"archived,omitzero"`
}

// FlowDone answers what a person asked of a flow. It is durably noted in any
// case; Done is false while it has not been carried out yet.
type FlowDone struct {
	Key  string `json:"key"`
	Done bool   `json:"done"`
}

// SubmitFlowParams are the parameters of flow.submit: the fields of one flow, or a list.
type SubmitFlowParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Flows   []FlowInput     `json:"flows"`
	FlowInput
}

// FlowParams name a flow.
type FlowParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Flow    domain.FlowID   `json:"-" path:"flow"`
}

// ShowFlowParams are the parameters of flow.show.
type ShowFlowParams struct {
	FlowParams
	// StepsFrom is the first step to show of a flow of more than 10,000, counted from 0:
	// 1,000 of such a flow are shown at once.
	StepsFrom int `json:"-" query:"steps_from"`
}

// FlowFilter says which flows are meant. Empty filters do not filter.
type FlowFilter struct {
	Status    domain.FlowStatus `json:"-" query:"status"`
	Reason    domain.FlowReason `json:"-" query:"reason"`
	Blueprint string            `json:"-" query:"blueprint"`
	Trigger   string            `json:"-" query:"trigger"`
	Caller    domain.ActorID    `json:"-" query:"caller"`
	// Awaits takes what has not ended and waits for jobs, for a decision, or for others: for a
	// time to come, or a ban to end.
	Awaits domain.FlowAwaits `json:"-" query:"awaits"`
	// Where is a Rhai expression over `flow`, such as flow.retried > 0.
	Where string `json:"-" query:"where"`
	Narrowing
}

// ListFlowsParams are the parameters of flow.list.
type ListFlowsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	FlowFilter
	// Sort is newest; oldest, of what has not ended; or ended, of what ended in error.
	// "": oldest or ended where status and reason allow it, else newest.
	Sort string `json:"-" query:"sort"`
	// Count counts what the filter fits, and lists nothing.
	Count bool `json:"-" query:"count"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most. 0: as many as the board gives at once,
	// about 500.
	Limit int `json:"-" query:"limit"`
}

// WaitFlowParams are the parameters of flow.wait.
type WaitFlowParams struct {
	FlowParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that. A stream waits as
	// long as it takes.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// GraphFlowParams are the parameters of flow.graph.
type GraphFlowParams struct {
	FlowParams
	// Format is mermaid, dot or svg. "": the nodes and edges themselves.
	Format string `json:"-" query:"format"`
}

// RetryFlowParams are the parameters of flow.retry.
type RetryFlowParams struct {
	FlowParams
	// Failed starts failed parts again too, not only those that ended in error.
	Failed bool `json:"failed"`
	// NoCache has no step take what is kept of earlier flows, from now on.
	NoCache bool `json:"no_cache,omitzero"`
	// Step is the only one to start again, Key the only element of its list: whether that
	// failed or ended in error. "": all of the flow, or of the step.
	Step string `json:"step,omitzero"`
	Key  string `json:"key,omitzero"`
}

// StepParams name a step of a flow.
type StepParams struct {
	FlowParams
	Step    string `json:"step"`
	Comment string `json:"comment"`
}

func (p *StepParams) AuditDetail() string {
	return strings.TrimSpace("step " + p.Step + " " + p.Comment)
}

// DoneParams mark a step of a flow as done.
type DoneParams struct {
	StepParams
	// Result is what it should have had as such.
	Result map[string]string `json:"result,omitzero"`
}

// AuditDetail names the result too.
func (p *DoneParams) AuditDetail() string { return detailWith(&p.StepParams, p.Result) }

// RerunFlowParams are the parameters of flow.rerun.
type RerunFlowParams struct {
	FlowParams
	// From is the first step to run anew, with all that follows from it and all that did
	// not end well; what else ended well is taken over with its results. "": all of it is
	// run anew.
	From string `json:"from,omitzero"`
	// Trigger names the new flow. "": that of the old one, with `-rerun-` and the time.
	Trigger string `json:"trigger,omitzero"`
	// NoCache has no step take what is kept of earlier flows.
	NoCache bool `json:"no_cache,omitzero"`
}

// AuditDetail says from where.
func (p *RerunFlowParams) AuditDetail() string {
	if p.From == "" {
		return "whole"
	}
	return "from " + p.From
}

func detailWith(p *StepParams, values map[string]string) string {
	detail := p.AuditDetail()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		detail += " " + name + "=" + values[name]
	}
	return detail
}

// DecideParams decide a step of a flow.
type DecideParams struct {
	StepParams
	// Answers are what the step asks of who decides, by name: results of the step.
	Answers map[string]string `json:"answers,omitzero"`
}

// AuditDetail names the answers too.
func (p *DecideParams) AuditDetail() string { return detailWith(&p.StepParams, p.Answers) }

// UpdateFlowParams are the parameters of flow.update.
type UpdateFlowParams struct {
	FlowParams
	// Steps are the changes by step: size, window, end, endless, retries.
	Steps map[string]domain.StepChange `json:"steps"`
}

// DeleteFlowParams are the parameters of flow.delete.
type DeleteFlowParams struct {
	FlowParams
	// Forget frees the flow's name, so that another may have it.
	Forget bool `json:"-" query:"forget"`
}
