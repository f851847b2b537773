package api

import (
	"bytes"
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// The operations on jobs.
var (
	JobSubmit = op[JobSubmitted](Operation{
		Name: "job.submit", Method: "POST", Path: "/v1/contexts/{context}/jobs", Right: domain.VerbCreate,
		Summary: "Submit one job (its fields in the body) or many ({\"jobs\": [...]}).",
	}, SubmitParams{Context: 7, JobInput: JobInput{Job: domain.Job{Script: "echo hello", ScriptType: domain.ScriptShell}}})
	JobList = op[JobPage](Operation{
		Name: "job.list", Method: "GET", Path: "/v1/contexts/{context}/jobs", Right: domain.VerbRead, Much: true,
		Summary: "List jobs page by page, without scripts, environment and results.",
	}, ListJobsParams{Context: 7, JobFilter: JobFilter{Status: domain.JobError}, Limit: 100})
	JobShow = op[*domain.Job](Operation{
		Name: "job.show", Method: "GET", Path: "/v1/contexts/{context}/jobs/{caller}/{id}", Right: domain.VerbRead,
		Summary: "Show one job.",
	}, JobParams{Context: 7, Caller: 12, ID: 2001})
	JobLogs = op[LogPage](Operation{
		Name: "job.logs", Method: "GET", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/logs", Right: domain.VerbRead,
		Follows: []string{EventLog, EventEnd}, Much: true,
		Summary: "Read a job's log, or follow it until the job has ended.",
	}, LogParams{JobParams: JobParams{Context: 7, Caller: 12, ID: 2001}, From: 100})
	JobWait = op[*domain.Job](Operation{
		Name: "job.wait", Method: "GET", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/wait", Right: domain.VerbRead,
		Follows: []string{EventJob, EventEnd}, Waits: true,
		Summary: "Wait until a job has ended.",
	}, WaitParams{JobParams: JobParams{Context: 7, Caller: 12, ID: 2001}, TimeoutMs: 30_000})
	JobCancel = op[*domain.Job](Operation{
		Name: "job.cancel", Method: "POST", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/cancel", Right: domain.VerbStop, ByHand: true,
		Summary: "End a job that waits; tell one that runs to stop.",
	}, JobParams{Context: 7, Caller: 12, ID: 2001})
	JobRetry = op[*domain.Job](Operation{
		Name: "job.retry", Method: "POST", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/retry", Right: domain.VerbRetry, ByHand: true,
		Summary: "Start a job again that ended in error.",
	}, JobParams{Context: 7, Caller: 12, ID: 2001})
	JobExplain = op[domain.JobExplanation](Operation{
		Name: "job.explain", Method: "GET", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/explain", Right: domain.VerbRead,
		Summary: "Say what a job waits for, who holds it, and what will wake it.",
	}, JobParams{Context: 7, Caller: 12, ID: 2001})
	JobSignal = op[*domain.Job](Operation{
		Name: "job.signal", Method: "POST", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/signal", Right: domain.VerbStart, ByHand: true,
		Errors:  []error{domain.ErrLimit},
		Summary: "Tell a job what its durable script waits for, or will wait for.",
	}, SignalParams{JobParams: JobParams{Context: 7, Caller: 12, ID: 2001}, Name: "click", Payload: json.RawMessage(`{"by":"ann"}`)})
	JobHistory = op[JobHistoryPage](Operation{
		Name: "job.history", Method: "GET", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/history", Right: domain.VerbRead, Much: true,
		Summary: "Read what a job's durable script remembers: its steps, sleeps, waits.",
	}, JobHistoryParams{JobParams: JobParams{Context: 7, Caller: 12, ID: 2001}, Limit: 100})
	JobFork = op[*domain.Job](Operation{
		Name: "job.fork", Method: "POST", Path: "/v1/contexts/{context}/jobs/{caller}/{id}/fork", Right: domain.VerbCreate, ByHand: true,
		Errors:  []error{domain.ErrLimit},
		Summary: "Submit a job's script again as a new job that remembers what this one did before a step.",
	}, ForkParams{JobParams: JobParams{Context: 7, Caller: 12, ID: 2001}, From: "charge"})
)

// Redacted stands for the values of environment variables that the caller may
// not read.
const Redacted = "***"

// SubmitParams are the parameters of job.submit: a list of up to [work.MaxSubmit] jobs,
// or the fields of one.
type SubmitParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	JobInputs
	JobInput
}

// JobParams name a job.
type JobParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Caller  domain.ActorID  `json:"-" path:"caller"`
	ID      domain.JobID    `json:"-" path:"id"`
}

// Key names the job within its context.
func (p JobParams) Key() domain.JobKey { return domain.JobKey{Caller: p.Caller, ID: p.ID} }

// JobFilter says which jobs are meant. Empty filters do not filter.
type JobFilter struct {
	Status domain.JobStatus  `json:"-" query:"status"`
	Type   domain.ScriptType `json:"-" query:"type"`
	Caller domain.ActorID    `json:"-" query:"caller"`
	// Flow is the number of the flow that they belong to.
	Flow domain.FlowID `json:"-" query:"flow"`
	// Phase takes the ones that are queued: wait for a runner; blocked: wait for others, their time or
	// another context; whose script is running or suspended; or retrying: wait for their next attempt.
	Phase domain.JobPhase `json:"-" query:"phase"`
	// Where is a Rhai expression over `job`, such as job.losses > 0.
	Where string `json:"-" query:"where"`
	Narrowing
}

// ListJobsParams are the parameters of job.list.
type ListJobsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	JobFilter
	// Sort is newest; oldest, of what has not ended; or ended, of what ended in error.
	// "": oldest or ended where the status allows it, else newest.
	Sort string `json:"-" query:"sort"`
	// Count counts what the filter fits, and lists nothing.
	Count bool `json:"-" query:"count"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most. 0: as many as the board gives
	// at once, about 500.
	Limit int `json:"-" query:"limit"`
}

// WaitParams are the parameters of job.wait.
type WaitParams struct {
	JobParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that. A stream waits as
	// long as it takes.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// LogParams are the parameters of job.logs.
type LogParams struct {
	JobParams
	// From is the number of the first line wanted, from 0 on.
	From int `json:"-" query:"from"`
	// Limit is how many lines at most, up to 10,000. 0: 1,000. A stream has
	// no limit.
	Limit int `json:"-" query:"limit"`
	LogWanted
	// Attempt wants the lines of that attempt only, from 1 on.
	Attempt int `json:"-" query:"attempt"`
}

// LogWanted says which lines of a log are wanted.
type LogWanted struct {
	// Tail is how many of the last lines that fit are wanted, up to 10,000; what comes
	// later follows. It counts where the reading begins, and not where it goes on.
	Tail int `json:"-" query:"tail"`
	// SinceMs is the instant of the first line wanted, in Unix ms.
	SinceMs int64 `json:"-" query:"since_ms"`
}

// SignalParams are the parameters of job.signal.
type SignalParams struct {
	JobParams
	// Name is what the script waits for, 1 to 100 bytes.
	Name string `json:"name"`
	// Payload is what its wait gives: any JSON, up to 1 MiB. Default: null.
	Payload json.RawMessage `json:"payload,omitzero"`
}

// JobHistoryParams are the parameters of job.history.
type JobHistoryParams struct {
	JobParams
	// From is the number of the first event wanted, from 0 on.
	From int `json:"-" query:"from"`
	// Limit is how many at most, up to 1,000. 0: 100. A page of large ones ends early.
	Limit int `json:"-" query:"limit"`
}

// ForkParams are the parameters of job.fork.
type ForkParams struct {
	JobParams
	// From is the first step that the new job does itself: its name, or <name>#<n> for
	// the nth of that name.
	From string `json:"from"`
}

// JobHistoryPage is a part of a job's history.
type JobHistoryPage struct {
	From   int                   `json:"from"`
	Total  int                   `json:"total"` // how many events it has
	Events []domain.HistoryEvent `json:"events"`
	// Signals are those that were sent and that the script has not waited for yet,
	// without their payloads.
	Signals []domain.Signal `json:"signals,omitzero"`
}

// JobInputs asks for jobs of one context to be submitted.
type JobInputs struct {
	// Jobs have the seeds' fields; "depends" is accepted for "dependends". id 0
	// asks for the next free one; caller_id may be left out.
	Jobs []JobInput `json:"jobs"`
}

// JobInput is a job as callers write it.
type JobInput struct {
	domain.Job
	// Depends is accepted for Dependends.
	Depends []domain.JobID `json:"depends,omitzero"`
}

// MarshalJSON writes both: the method of the job in it would leave Depends out.
func (in JobInput) MarshalJSON() ([]byte, error) {
	b, err := in.Job.MarshalJSON()
	if err != nil || in.Depends == nil {
		return b, err
	}
	ids, err := json.Marshal(in.Depends)
	b = append(bytes.TrimSuffix(bytes.TrimSpace(b), []byte("}")), `,"depends":`...)
	return append(append(b, ids...), '}'), err
}

// JobSubmitted answers for each job in order.
type JobSubmitted struct {
	Jobs []Submitted `json:"jobs"`
	// Durability is what the acknowledged jobs survive: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// Submitted is the answer for one job: its key, or why it was refused.
type Submitted struct {
	Key      string   `json:"key,omitzero"` // job:<caller>:<id>
	Existing bool     `json:"existing,omitzero"`
	Error    *Problem `json:"error,omitzero"`
}

// JobPage is a page of jobs. Scripts, environment and results are left out: a
// page of large ones would be hundreds of megabytes.
type JobPage struct {
	Jobs []*domain.Job `json:"jobs"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
	// Looked is how many jobs were looked at for this page.
	Looked int `json:"looked"`
	// Count is there where it was asked for.
	Count *Counted `json:"count,omitzero"`
}

// LogPage is a part of a job's log.
type LogPage struct {
	// From is the number of the first of the lines.
	From int          `json:"from"`
	Logs []domain.Log `json:"logs"`
}
