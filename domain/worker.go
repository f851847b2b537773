package domain

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"
)

// Limits of what a worker may ask for.
const (
	// MaxAssignments is how many jobs one claim brings, and one request ends or extends.
	MaxAssignments = 256
	// MaxWorkerTypes is how many script types one claim is for.
	MaxWorkerTypes = 64
	// MaxWorkerWait is how long a claim waits for the first job.
	MaxWorkerWait = 30 * time.Second
	// MinWorkerLease and MaxWorkerLease bound a worker's leases.
	MinWorkerLease = 5 * time.Second
	MaxWorkerLease = 10 * time.Minute
	// MaxLogLines is how many lines one request brings.
	MaxLogLines = 1000
	// MaxLogGap is by how much the number of a line may be beyond the last one that came: far more than the
	// lines that a log of 1 MiB holds. A number is taken for one that came already up to the highest.
	MaxLogGap = 10_000_000
	// MaxContextTypes is how many script types the workers of one context have.
	MaxContextTypes = 1000
)

// Worker is one life of a program that takes jobs of a context and runs them itself,
// by functions of its own, rather than have a node run their scripts.
type Worker struct {
	Context TenantID
	// Actor is as whom it is logged in: its leases are that actor's.
	Actor ActorID
	// Name tells its lives apart: it is another for each start of the program.
	Name string
	// MayMake says why its jobs may not make jobs and flows of their own; nil where they may.
	MayMake error
}

// OutsideOwner begins the owners of leases that are no node's: "actor:<actor>".
const OutsideOwner = "actor:"

// Owner is what stands on its leases: its actor's, and nobody else's.
func (w Worker) Owner() string { return fmt.Sprintf("%s%d/%s", OutsideOwner, w.Actor, w.Name) }

// RunnerID is the id by which it is listed among the runners of its context, and by
// which jobs ask for it alone: made from its name, far above those that are counted. Other
// names come to the same id, and who looks for one finds it: so a worker takes nothing
// until the record of that id is its own.
func (w Worker) RunnerID() RunnerID {
	h := fnv.New32a()
	_, _ = h.Write([]byte(w.Owner()))
	return RunnerID(h.Sum32()) | FirstWorkerID
}

// FirstWorkerID is where the ids of workers begin.
const FirstWorkerID RunnerID = 1 << 31

// WorkerAsk is what a worker asks for.
type WorkerAsk struct {
	// Types are the script types whose jobs it takes, 1..[MaxWorkerTypes]; those that
	// no node serves are the context's from then on.
	Types []ScriptType `json:"types"`
	// Max is how many jobs it takes now, 1..[MaxAssignments]. Default: 1.
	Max int `json:"max,omitzero"`
	// WaitMs is how long to wait for the first, in milliseconds, at most 30 s.
	// Default: not at all.
	WaitMs int64 `json:"wait_ms,omitzero"`
	// LeaseMs is how long it has them unless it extends that, 5 s to 10 min. Default: 30 s.
	LeaseMs int64 `json:"lease_ms,omitzero"`
	// Labels are what jobs may ask for by affinity.
	Labels Labels `json:"labels,omitzero"`
	// Slots is how many jobs it runs at once, and Running how many it has in hand: for
	// those who look at the list of runners.
	Slots   int `json:"slots,omitzero"`
	Running int `json:"running,omitzero"`
	// Host and Version say for people which program on which machine it is.
	Host    string `json:"host,omitzero"`
	Version string `json:"version,omitzero"`
}

// CheckWorkerLease checks the length of a lease in milliseconds.
//
// Errors: [ErrInvalid].
func CheckWorkerLease(ms int64) error {
	if ms < MinWorkerLease.Milliseconds() || ms > MaxWorkerLease.Milliseconds() {
		return Invalidf("lease_ms %d: want %d to %d", ms, MinWorkerLease.Milliseconds(), MaxWorkerLease.Milliseconds())
	}
	return nil
}

// Assignment is a job that a worker has, until its lease runs out.
type Assignment struct {
	// Job is the job; its script is what the function is called with.
	Job Job `json:"job"`
	// Attempt counts the runs of the job: with it the worker extends and ends its own.
	Attempt int64 `json:"attempt"`
	// LeaseMs is for how long it has the job, from when the claim was answered.
	LeaseMs int64 `json:"lease_ms"`
	// TimeoutMs is how long the attempt may take.
	TimeoutMs int64 `json:"timeout_ms"`
	// Env are the variables of the flow and of the job.
	Env map[string]string `json:"env,omitzero"`
	// TraceParent is the header "traceparent" of W3C Trace Context for what the function
	// calls; absent where the job belongs to no trace. The span in it is the attempt's.
	TraceParent string `json:"traceparent,omitzero"`
	Input       Input  `json:"input"`
}

// HeldAttempt names a job that a worker believes to have.
type HeldAttempt struct {
	Caller  ActorID `json:"caller"`
	ID      JobID   `json:"id"`
	Attempt int64   `json:"attempt"`
	// StartedMs, if given, is the job's as the claim brought it: it tells attempts of two jobs of one number apart, where a board was set back.
	StartedMs int64 `json:"started_ms,omitzero"`
}

// Key is the job's key.
func (h HeldAttempt) Key() JobKey { return JobKey{Caller: h.Caller, ID: h.ID} }

// LeaseState is what became of a lease that was to be extended.
type LeaseState string

// The states.
const (
	LeaseRenewed   LeaseState = "renewed"
	LeaseCancelled LeaseState = "cancelled" // renewed; the job is to be stopped, and ended as stopped
	LeaseTimeout   LeaseState = "timeout"   // the attempt has had its time: stop it
	LeaseLost      LeaseState = "lost"      // another may have the job: stop it, and do not end it
)

// Verdict is how a worker's function ended.
type Verdict string

// The verdicts.
const (
	VerdictSucceeded Verdict = "succeeded"
	VerdictFailed    Verdict = "failed"  // the function said so
	VerdictErrored   Verdict = "errored" // unexpected: it panicked, say
	// VerdictTimeout is of one that was stopped because it had had its time.
	VerdictTimeout Verdict = "timeout"
	// VerdictStopped is of one that was stopped before its end: because it was cancelled, or the worker
	// goes away; then the job goes back to the head of its queue, and nothing is counted.
	VerdictStopped Verdict = "stopped"
	VerdictLost    Verdict = "lost" // given up with a lease that could not be extended: the job goes back, and a loss is counted
	// VerdictSuspended is of one that sleeps or waits, as an answer of worker.step has told it
	// to: no retry is spent, and nothing is counted.
	VerdictSuspended Verdict = "suspended"
)

// AttemptEnd is the end of an attempt.
type AttemptEnd struct {
	HeldAttempt
	Verdict Verdict `json:"verdict"`
	// Result is what the job's record gets, at most 512 KiB and 1024 keys.
	Result map[string]string `json:"result,omitzero"`
	// Error is one line for people.
	Error string `json:"error,omitzero"`
	// Final is set when another attempt would end the same.
	Final bool `json:"final,omitzero"`
	// AfterMs is the least time before the next attempt, in milliseconds.
	AfterMs int64 `json:"after_ms,omitzero"`
	// Suspension is what one that was suspended waits for, as worker.step has said.
	Suspension *Suspension `json:"suspension,omitzero"`
	// Lines are the last ones of the log.
	Lines []LogLine `json:"lines,omitzero"`
}

// WorkerStep asks what a worker's job remembers.
type WorkerStep struct {
	HeldAttempt
	// Request is what a script would ask over its channel, such as {"do":"step","name":"charge"};
	// docs/durable.md has all of them.
	Request json.RawMessage `json:"request"`
	// Asked is how many requests of this attempt were answered before, without those of done
	// and drop, and of step with an n. Such are asked one after the other.
	Asked int64 `json:"asked,omitzero"`
	// Before are these requests, in their order: for a node that does not know of them.
	Before []json.RawMessage `json:"before,omitzero"`
}

// WorkerStepAnswer is what a job remembers.
type WorkerStepAnswer struct {
	// Unknown is set where the node does not know how far the attempt has come: another was
	// asked before, or it was started anew. It is to be asked again, with all that was asked before.
	Unknown bool `json:"unknown,omitzero"`
	// Answer is what a script would be answered over its channel.
	Answer json.RawMessage `json:"answer,omitzero"`
	// Suspension is set where the answer is to suspend: the attempt is to be ended with it.
	Suspension *Suspension `json:"suspension,omitzero"`
}

// LogLine is a line that a worker adds to a job's log.
type LogLine struct {
	// Stream is stdout or stderr. Default: stdout.
	Stream string `json:"stream,omitzero"`
	Line   string `json:"line"`
	// N numbers the lines of an attempt from 1 on, as the worker logs them: one that has come already, as its
	// answer was lost, is not logged again. 0: the worker does not number them.
	N int64 `json:"n,omitzero"`
}

// AttemptEnded is what an attempt's end made of the job.
type AttemptEnded struct {
	// Status is "finished" or "error", or "started" where the job goes on later.
	Status JobStatus `json:"status,omitzero"`
	Reason Reason    `json:"reason,omitzero"`
	Error  string    `json:"error,omitzero"`
}
