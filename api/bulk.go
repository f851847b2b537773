package api

import "github.com/ramet-run/ramet/domain"

// The operations on bulk operations: those that do something to everything a filter fits.
var (
	BulkList = op[BulkPage](Operation{
		Name: "bulk.list", Method: "GET", Path: "/v1/contexts/{context}/bulk", Right: domain.VerbRead, Much: true,
		Summary: "List bulk operations, newest first: those under way, and what has ended within 7 days.",
	}, ListBulkParams{Context: 7})
	BulkShow = op[*domain.Bulk](Operation{
		Name: "bulk.show", Method: "GET", Path: "/v1/contexts/{context}/bulk/{bulk}", Right: domain.VerbRead,
		Summary: "Show how far a bulk operation has come.",
	}, BulkParams{Context: 7, ID: 3})
	BulkWait = op[*domain.Bulk](Operation{
		Name: "bulk.wait", Method: "GET", Path: "/v1/contexts/{context}/bulk/{bulk}/wait", Right: domain.VerbRead,
		Follows: []string{EventBulk, EventEnd}, Waits: true,
		Summary: "Wait until a bulk operation has ended, or follow it.",
	}, WaitBulkParams{BulkParams: BulkParams{Context: 7, ID: 3}, TimeoutMs: 30_000})
	BulkCancel = op[*domain.Bulk](Operation{
		Name: "bulk.cancel", Method: "POST", Path: "/v1/contexts/{context}/bulk/{bulk}/cancel", Right: domain.VerbCancel, ByHand: true,
		Summary: "End a bulk operation; what was done stays done.",
	}, BulkParams{Context: 7, ID: 3})

	JobCancelAll = op[*domain.Bulk](Operation{
		Name: "job.cancel_all", Method: "POST", Path: "/v1/contexts/{context}/jobs/all/cancel", Right: domain.VerbCancel, Keyed: true,
		Summary: "Cancel all jobs that a filter fits and that have not ended; with dry_run, say how many.",
	}, BulkJobsParams{Context: 7, JobFilter: JobFilter{Type: domain.ScriptShell}, DryRun: true})
	JobRetryAll = op[*domain.Bulk](Operation{
		Name: "job.retry_all", Method: "POST", Path: "/v1/contexts/{context}/jobs/all/retry", Right: domain.VerbRetry, Keyed: true,
		Summary: "Start all jobs again that a filter fits and that ended in error; with dry_run, say how many.",
	}, BulkJobsParams{Context: 7, JobFilter: JobFilter{Where: `job.reason == "runner_lost"`}})
	FlowCancelAll = op[*domain.Bulk](Operation{
		Name: "flow.cancel_all", Method: "POST", Path: "/v1/contexts/{context}/flows/all/cancel", Right: domain.VerbCancel, Keyed: true,
		Summary: "Cancel all flows that a filter fits and that have not ended; with dry_run, say how many.",
	}, BulkFlowsParams{Context: 7, FlowFilter: FlowFilter{Blueprint: "nightly"}, DryRun: true})
	FlowRetryAll = op[*domain.Bulk](Operation{
		Name: "flow.retry_all", Method: "POST", Path: "/v1/contexts/{context}/flows/all/retry", Right: domain.VerbRetry, Keyed: true,
		Summary: "Start all flows again that a filter fits and that ended in error; with dry_run, say how many.",
	}, BulkRetryFlowsParams{BulkFlowsParams: BulkFlowsParams{Context: 7, FlowFilter: FlowFilter{Blueprint: "nightly"}}, Failed: true})
	FlowDeleteAll = op[*domain.Bulk](Operation{
		Name: "flow.delete_all", Method: "POST", Path: "/v1/contexts/{context}/flows/all/delete", Right: domain.VerbDelete, Keyed: true,
		Summary: "Remove all flows that a filter fits, with their jobs; with dry_run, say how many.",
	}, BulkFlowsParams{Context: 7, FlowFilter: FlowFilter{Status: domain.FlowFinished, Narrowing: Narrowing{ToMs: 1_767_225_600_000}}, DryRun: true})
	DeadLetterReplayAll = op[*domain.Bulk](Operation{
		Name: "deadletter.replay_all", Method: "POST", Path: "/v1/contexts/{context}/deadletters/all/replay", Right: domain.VerbRetry, Keyed: true,
		Summary: "Give all dead letters another chance that a filter fits; with dry_run, say how many.",
	}, BulkDeadLettersParams{Context: 7, DeadLetterFilter: DeadLetterFilter{Saga: "order"}})
	DeadLetterDropAll = op[*domain.Bulk](Operation{
		Name: "deadletter.drop_all", Method: "POST", Path: "/v1/contexts/{context}/deadletters/all/drop", Right: domain.VerbDelete, Keyed: true,
		Summary: "Forget all dead letters that a filter fits; with dry_run, say how many.",
	}, BulkDeadLettersParams{Context: 7, DeadLetterFilter: DeadLetterFilter{Cause: "negative"}})
	SagaPauseAll = op[*domain.Bulk](Operation{
		Name: "saga.pause_all", Method: "POST", Path: "/v1/contexts/{context}/sagas/{saga}/instances/all/pause", Right: domain.VerbCancel, Keyed: true,
		Summary: "Let all instances of a saga keep their events that a filter fits; with dry_run, say how many.",
	}, BulkInstancesParams{Context: 7, Name: "order", InstanceFilter: InstanceFilter{State: "Paying"}})
	SagaResumeAll = op[*domain.Bulk](Operation{
		Name: "saga.resume_all", Method: "POST", Path: "/v1/contexts/{context}/sagas/{saga}/instances/all/resume", Right: domain.VerbStart, Keyed: true,
		Summary: "Let all paused instances of a saga go on that a filter fits; with dry_run, say how many.",
	}, BulkInstancesParams{Context: 7, Name: "order"})
)

// BulkPage is a page of bulk operations, newest first.
type BulkPage struct {
	Bulk domain.List[*domain.Bulk] `json:"bulk"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// ListBulkParams are the parameters of bulk.list.
type ListBulkParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
}

// BulkParams name a bulk operation.
type BulkParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	ID      domain.BulkID   `json:"-" path:"bulk"`
}

// WaitBulkParams are the parameters of bulk.wait.
type WaitBulkParams struct {
	BulkParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that. A stream waits as
	// long as it takes.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// BulkJobsParams are the parameters of job.cancel_all and job.retry_all.
type BulkJobsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	JobFilter
	// DryRun says how many there are, and does nothing.
	DryRun bool `json:"-" query:"dry_run"`
}

// BulkRetryFlowsParams are the parameters of flow.retry_all.
type BulkRetryFlowsParams struct {
	BulkFlowsParams
	// Failed starts failed parts again too, not only those that ended in error.
	Failed bool `json:"-" query:"failed"`
}

// BulkFlowsParams are the parameters of flow.cancel_all and flow.delete_all.
type BulkFlowsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	FlowFilter
	// DryRun says how many there are, and does nothing.
	DryRun bool `json:"-" query:"dry_run"`
}

// BulkDeadLettersParams are the parameters of deadletter.replay_all and deadletter.drop_all.
type BulkDeadLettersParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	DeadLetterFilter
	// DryRun says how many there are, and does nothing.
	DryRun bool `json:"-" query:"dry_run"`
}

// BulkInstancesParams are the parameters of saga.pause_all and saga.resume_all.
type BulkInstancesParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	InstanceFilter
	// DryRun says how many there are, and does nothing.
	DryRun bool `json:"-" query:"dry_run"`
}
