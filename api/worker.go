package api

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// The operations of workers.
var (
	WorkerRegister = op[RegisterParams](Operation{
		Name: "worker.register", Method: "POST", Path: "/v1/contexts/{context}/workers", Right: domain.VerbCreate,
		Summary: "Have jobs be of types that workers serve, before the first worker has asked for one.", Again: true,
	}, RegisterParams{Context: 7, Types: []domain.ScriptType{"send_mail"}})
	WorkerClaim = op[Assignments](Operation{
		Name: "worker.claim", Method: "POST", Path: "/v1/contexts/{context}/workers/{worker}/claim", Right: domain.VerbClaim, Much: true, Waits: true,
		Summary: "Take jobs for a worker, by type and label; wait for the first if asked.",
		Errors:  []error{domain.ErrLimit, domain.ErrConflict},
	}, ClaimParams{WorkerParams: WorkerParams{Context: 7, Worker: "web-1"}, WorkerAsk: domain.WorkerAsk{Types: []domain.ScriptType{"send_mail"}, Max: 16}})
	WorkerExtend = op[Extended](Operation{
		Name: "worker.extend", Method: "POST", Path: "/v1/contexts/{context}/workers/{worker}/extend", Right: domain.VerbExtend, Waits: true,
		Summary: "Renew the leases of a worker's jobs, and learn which are to be stopped; wait for the first if asked.",
		Errors:  []error{domain.ErrLimit},
	}, ExtendParams{WorkerParams: WorkerParams{Context: 7, Worker: "web-1"}, LeaseMs: 30_000,
		Jobs: []domain.HeldAttempt{{Caller: 12, ID: 2001, Attempt: 1}}})
	WorkerFinish = op[Finished](Operation{
		Name: "worker.finish", Method: "POST", Path: "/v1/contexts/{context}/workers/{worker}/finish", Right: domain.VerbFinish,
		Summary: "End attempts of a worker, each judged alone.",
		Errors:  []error{domain.ErrLimit},
	}, FinishParams{WorkerParams: WorkerParams{Context: 7, Worker: "web-1"}, Jobs: []domain.AttemptEnd{{
		HeldAttempt: domain.HeldAttempt{Caller: 12, ID: 2001, Attempt: 1}, Verdict: domain.VerdictSucceeded, Result: map[string]string{"sent": "1"}}}})
	WorkerStep = op[domain.WorkerStepAnswer](Operation{
		Name: "worker.step", Method: "POST", Path: "/v1/contexts/{context}/workers/{worker}/step", Right: domain.VerbExtend, Waits: true,
		Summary: "Ask what a worker's job remembers: steps, sleeps, waits for signals.",
		Errors:  []error{domain.ErrLimit},
	}, WorkerStepParams{WorkerParams: WorkerParams{Context: 7, Worker: "web-1"}, WorkerStep: domain.WorkerStep{
		HeldAttempt: domain.HeldAttempt{Caller: 12, ID: 2001, Attempt: 1}, Request: json.RawMessage(`{"do":"step","name":"charge"}`)}})
	WorkerLog = op[struct{}](Operation{
		Name: "worker.log", Method: "POST", Path: "/v1/contexts/{context}/workers/{worker}/log", Right: domain.VerbAppendLog,
		Summary: "Add lines to the log of a worker's job.",
	}, WorkerLogParams{WorkerParams: WorkerParams{Context: 7, Worker: "web-1"}, HeldAttempt: domain.HeldAttempt{Caller: 12, ID: 2001, Attempt: 1},
		Lines: []domain.LogLine{{Stream: "stdout", Line: "hello"}}})
	WorkerLeave = op[struct{}](Operation{
		Name: "worker.leave", Method: "POST", Path: "/v1/contexts/{context}/workers/{worker}/leave", Right: domain.VerbClaim, Again: true,
		Summary: "Say that a worker stops: it is listed no more.",
	}, WorkerParams{Context: 7, Worker: "web-1"})
)

// WorkerParams name a worker: one life of a program, in the name of who is logged in.
type WorkerParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Worker  string          `json:"-" path:"worker"`
}

// ClaimParams are the parameters of worker.claim.
type ClaimParams struct {
	WorkerParams
	domain.WorkerAsk
}

// Assignments are the jobs that a worker got.
type Assignments struct {
	Jobs []domain.Assignment `json:"jobs"`
}

// ExtendParams are the parameters of worker.extend.
type ExtendParams struct {
	WorkerParams
	// LeaseMs is how long the leases are from now on. Default: 30 s.
	LeaseMs int64 `json:"lease_ms,omitzero"`
	// WaitMs is how long to wait until one of the worker's jobs is to stop, in milliseconds, at most 30 s. Default: not at all.
	WaitMs int64 `json:"wait_ms,omitzero"`
	// Jobs are those in hand, 1..[domain.MaxAssignments].
	Jobs []domain.HeldAttempt `json:"jobs"`
}

// Extended says of each job whether it goes on, in the order of the request.
type Extended struct {
	States []domain.LeaseState `json:"states"`
}

// FinishParams are the parameters of worker.finish.
type FinishParams struct {
	WorkerParams
	// Jobs are the attempts that have ended, 1..[domain.MaxAssignments].
	Jobs []domain.AttemptEnd `json:"jobs"`
}

// Finished says of each attempt what it made of its job, in the order of the request.
type Finished struct {
	Jobs []FinishedJob `json:"jobs"`
}

// FinishedJob is one of them: what has become of the job, or why the end was not taken.
type FinishedJob struct {
	domain.AttemptEnded
	Problem *Problem `json:"problem,omitzero"`
}

// WorkerStepParams are the parameters of worker.step.
type WorkerStepParams struct {
	WorkerParams
	domain.WorkerStep
}

// WorkerLogParams are the parameters of worker.log.
type WorkerLogParams struct {
	WorkerParams
	domain.HeldAttempt
	// Lines are at most 1,000 of 16 KiB each.
	Lines []domain.LogLine `json:"lines"`
}

// RegisterParams are the parameters of worker.register.
type RegisterParams struct {
	Context domain.TenantID     `json:"-" path:"context"`
	Types   []domain.ScriptType `json:"types"`
}
