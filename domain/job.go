package domain

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JobStatus is the seeds' word for where a job stands.
type JobStatus string

// The job statuses.
//
// Source: seeds 000 and 002, "JobStatus".
const (
	JobDispatched JobStatus = "dispatched"
	JobWaiting    JobStatus = "waiting_for_prerequisites"
	JobStarted    JobStatus = "started"
	JobError      JobStatus = "error"
	JobFinished   JobStatus = "finished"
)

// jobMoves is the whole state machine of a job. started -> started is the next
// attempt; a job between attempts stays started.
var jobMoves = map[JobStatus][]JobStatus{
	JobDispatched: {JobWaiting, JobStarted, JobError},
	JobWaiting:    {JobStarted, JobError},
	JobStarted:    {JobStarted, JobError, JobFinished},
}

// CanBecome reports whether a job may pass from s to next.
func (s JobStatus) CanBecome(next JobStatus) bool { return slices.Contains(jobMoves[s], next) }

// EndStatus is the status with which the engine had the job end: an error has a reason,
// and nothing else has. The record may say another, for a foreign runner can write
// its status after the end.
func (j *Job) EndStatus() JobStatus {
	if j.Reason != "" {
		return JobError
	}
	return JobFinished
}

// Final reports whether the job has ended.
func (s JobStatus) Final() bool { return s == JobError || s == JobFinished }

// Known reports whether s is one of the five words.
func (s JobStatus) Known() bool {
	return s == JobDispatched || s == JobWaiting || s == JobStarted || s.Final()
}

// JobPhase is what a job that has not ended is at, which its status does not tell: of a job that
// waited for others it goes on to say so while the job waits for a runner.
type JobPhase string

// The phases. Of one that has begun the status says started; the first two are those of one that has not.
const (
	PhaseQueued    JobPhase = "queued"    // it waits for a runner, and for nothing else
	PhaseBlocked   JobPhase = "blocked"   // it waits for others, for its time, or for another context
	PhaseRunning   JobPhase = "running"   // its script runs
	PhaseSuspended JobPhase = "suspended" // its durable script waits, and holds no slot
	PhaseRetrying  JobPhase = "retrying"  // an attempt has ended, and the next has not begun
)

// JobPhases are all there are.
var JobPhases = []JobPhase{PhaseQueued, PhaseBlocked, PhaseRunning, PhaseSuspended, PhaseRetrying}

// Known reports whether p is one of the five words.
func (p JobPhase) Known() bool { return slices.Contains(JobPhases, p) }

// Phase is what a job is at; "" of one that has ended.
func (j *Job) Phase() JobPhase {
	switch {
	case j.Final():
		return ""
	case j.Status == JobDispatched && j.Waits == 0 && j.At == "", j.Status == JobWaiting && j.Waits == 0 && j.QueuedMs != 0:
		return PhaseQueued
	case j.Status != JobStarted:
		return PhaseBlocked
	case j.Suspended != nil:
		return PhaseSuspended
	case j.NextRetryMs != 0 || j.StartedMs != 0 && j.QueuedMs > j.StartedMs:
		return PhaseRetrying
	}
	return PhaseRunning
}

// Reason says more than the status word: why a job ended in error.
type Reason string

// The reasons.
const (
	ReasonScriptFailed           Reason = "script_failed"
	ReasonTimeout                Reason = "timeout"
	ReasonRunnerLost             Reason = "runner_lost"
	ReasonCancelled              Reason = "cancelled"
	ReasonPrerequisiteTimeout    Reason = "prerequisite_timeout"
	ReasonPrerequisiteImpossible Reason = "prerequisite_impossible"
	ReasonDependencyFailed       Reason = "dependency_failed"
	ReasonFlowAborted            Reason = "flow_aborted"
	ReasonInvalid                Reason = "invalid"
	// ReasonRefused says that the other side of a message did not take the job.
	ReasonRefused Reason = "refused"
)

// Limits of a job, and its defaults.
const (
	MaxScriptBytes       = 1 << 20 // one field of a record
	MaxEnvVars           = 512
	MaxEnvBytes          = 256 << 10 // all names and values together
	MaxPrerequisites     = 64
	MaxPrerequisiteBytes = 200 // it is part of a key
	// MaxDependends keeps a submit within one batch: each costs up to five
	// guards and operations of the board's 1,024.
	MaxDependends = 180
	MaxPriority   = 9
	MaxTimeout    = 30 * 24 * 3600 // seconds
	// MaxNotBefore is the end of the year 9999, in Unix milliseconds.
	MaxNotBefore = 253_402_300_799_999

	DefaultTimeout = 3600 // seconds, where a job says 0
	DefaultLosses  = 5    // leases that may run out before the job ends as runner_lost
	// DefaultPrerequisiteTimeout bounds the wait for prerequisites, in seconds.
	DefaultPrerequisiteTimeout = 24 * 3600
)

// Job is one script to run once, with retries.
//
// Source: seeds 000 and 002, "RunnerJob", for the fields up to Status.
type Job struct {
	ID            JobID             `json:"id"`
	CallerID      ActorID           `json:"caller_id"`
	ContextID     TenantID          `json:"context_id"`
	Script        string            `json:"script"`
	ScriptType    ScriptType        `json:"script_type"`
	Timeout       uint32            `json:"timeout"` // seconds; 0 is the default
	Retries       uint8             `json:"retries"`
	EnvVars       map[string]string `json:"env_vars"`
	Result        map[string]string `json:"result"`
	Prerequisites []string          `json:"prerequisites"`
	Dependends    []JobID           `json:"dependends"` // jobs of the same caller
	CreatedAt     UnixTime          `json:"created_at"`
	UpdatedAt     UnixTime          `json:"updated_at"`
	Status        JobStatus         `json:"status"`

	// What a caller may ask for beyond the seeds.
	// Secrets are secrets of the context that the script finds as environment variables:
	// variable -> name of the secret. Their values stand on no record.
	Secrets             map[string]string `json:"secrets,omitzero"`
	Retry               *Retry            `json:"retry,omitzero"`                // which ends are tried again; default: all
	Priority            int               `json:"priority,omitzero"`             // 1..9, tried highest first; 0 is the plain queue
	NotBefore           int64             `json:"not_before,omitzero"`           // Unix ms
	ForRunner           RunnerID          `json:"for_runner,omitzero"`           // only that runner may take it
	PrerequisiteTimeout uint32            `json:"prerequisite_timeout,omitzero"` // seconds; 0 is the default
	TraceID             string            `json:"trace_id,omitzero"`
	Affinity            Labels            `json:"affinity,omitzero"` // only nodes with these labels may take it
	// At is another context that is to run it: "7" here, "7@acme" at a peer,
	// "runner:20" where that runner is.
	At string `json:"at,omitzero"`
	// Artifacts are the files that it leaves in its work folder for those after it: paths,
	// with * and **.
	Artifacts []string `json:"artifacts,omitzero"`

	// What becomes of it.
	Reason      Reason   `json:"reason,omitzero"`
	Error       string   `json:"error,omitzero"`
	ExitCode    *int     `json:"exit_code,omitzero"`
	Attempt     int64    `json:"attempt,omitzero"`  // runs begun: the fencing token
	Losses      int      `json:"losses,omitzero"`   // leases that ran out
	LostAttempt int64    `json:"-"`                 // the last that was given up with its lease
	Failures    int      `json:"failures,omitzero"` // attempts that failed: what retries are counted by
	RunnerID    RunnerID `json:"runner_id,omitzero"`
	LeaseOwner  string   `json:"lease_owner,omitzero"`
	Cancel      string   `json:"cancel,omitzero"` // who asked, when a cancel is under way
	Waits       int      `json:"waits,omitzero"`  // what it still waits for, counted
	Followers   int      `json:"followers,omitzero"`
	QueuedMs    int64    `json:"queued_ms,omitzero"`
	StartedMs   int64    `json:"started_ms,omitzero"`
	FinishedMs  int64    `json:"finished_ms,omitzero"`
	NextRetryMs int64    `json:"next_retry_ms,omitzero"`
	Parked      string   `json:"parked,omitzero"` // the scope of the ban that took it from its queue

	// Remembered is how many events its history has, as of the end of its last attempt:
	// of a durable script. Signals is how many were sent to it and not waited for yet.
	Remembered int `json:"remembered,omitzero"`
	Signals    int `json:"signals,omitzero"`
	// Suspended is what its script waits for that has given its slot up; nil where it
	// is not suspended.
	Suspended *Suspension `json:"suspended,omitzero"`
	// Calls is how many jobs and flows its script has made.
	Calls int `json:"calls,omitzero"`
	// History is there in the archive alone; of a job on the board job.history tells it.
	History []HistoryEvent `json:"history,omitzero"`

	// What foreign runners do with it, who take no leases.
	TakenBy    ActorID  `json:"taken_by,omitzero"`    // who popped it from its queue at the Redis door
	EndedBy    ActorID  `json:"ended_by,omitzero"`    // who wrote its end there
	AliveUntil UnixTime `json:"alive_until,omitzero"` // until when its runner says that it has it; 0: for its timeout

	// Odd are numbers of the engine's own that another program has written in
	// another way than the engine does, as they stand in the record, by their
	// fields: guards name what stands there. Nil for nearly every job.
	Odd map[string]string `json:"-"`

	// Where it belongs.
	FlowID FlowID `json:"flow_id,omitzero"`
	Step   string `json:"step,omitzero"`
	// CalledBy is the script that has made it by a call; nil for others.
	CalledBy *CalledBy `json:"called_by,omitzero"`
	Shard    string    `json:"shard,omitzero"` // "<index>/<count>"
	Pack     string    `json:"pack,omitzero"`  // "<id>:<start>-<end>"
	// Round is which round of a step that is repeated it is, from 1 on.
	Round int `json:"round,omitzero"`
	// Item is the element that the job is done for, as JSON, of a step that is done for
	// each of a list; Shard says which of how many it is. List is the first record in
	// which the flow keeps the results of that step.
	Item   string `json:"item,omitzero"`
	List   int    `json:"list,omitzero"`
	Origin string `json:"origin,omitzero"`
	// Message is the message it came with, or was sent by, by its key here.
	Message string `json:"message,omitzero"`
	// Routine is the instance whose round it is: "<name>:<scale>.<index>".
	Routine string `json:"routine,omitzero"`
	// Stepped says that the flow's keeper made it and wants to know its end.
	Stepped bool `json:"stepped,omitzero"`
	// FlowEnv says that the flow has an environment, which goes under the job's.
	FlowEnv bool `json:"flow_env,omitzero"`
	// EnvFill says that values of its environment, and of its flow's, are templates: texts in
	// which ${name} stands for something else.
	EnvFill bool `json:"env_fill,omitzero"`
	// Params are what the script finds as such, under what the flow's jobs add.
	Params map[string]string `json:"params,omitzero"`
	// Needs is how the steps before it ended, by name.
	Needs map[string]Need `json:"needs,omitzero"`
	// Hook is what it is told of the flow whose hook it is.
	Hook *HookInput `json:"hook,omitzero"`
}

// TriesAgain reports whether the error that a foreign runner wrote is that of one
// attempt, and the engine has yet to say when the next begins.
func (j *Job) TriesAgain() bool {
	end, code := RetryFailed, 0
	if j.ExitCode != nil {
		code = *j.ExitCode
	}
	if code >= 125 {
		end = RetryErrored
	}
	return j.Status == JobError && j.FinishedMs == 0 && j.Reason == "" && j.Cancel == "" && j.Failures < j.MaxRetries() && !j.Retry.Final(end, code)
}

// Need is what a job of a step is told of a step before it.
type Need struct {
	State string `json:"state"`
	// Status and Reason are those of the job, where it ran elsewhere.
	Status JobStatus `json:"status,omitzero"`
	Reason Reason    `json:"reason,omitzero"`
	// Job is the step's only one, whose result the script finds; 0 for others.
	Job JobID `json:"job,omitzero"`
	// Items is how many jobs a step has that was done for each element of a list, List
	// the first record of their results; see [Job.List].
	Items int64 `json:"items,omitzero"`
	List  int   `json:"list,omitzero"`
	// One says that its only flow left the first of these, which is its result.
	One bool `json:"one,omitzero"`
	// Results are those of its jobs, where they ran elsewhere.
	Results Results `json:"results,omitzero"`
	// Artifacts says that the step's jobs leave files, where it has more than one.
	Artifacts bool `json:"artifacts,omitzero"`
	// LeftBy is the job of another flow whose files the script finds, where the step's result
	// was taken from the cache: job:<caller>:<id>.
	LeftBy string `json:"left_by,omitzero"`
	// Result is that of a step without jobs: who approved, and why.
	Result map[string]string `json:"result,omitzero"`
}

// MarshalJSON writes empty lists and maps as such: readers in other languages
// need not deal with null.
func (j Job) MarshalJSON() ([]byte, error) {
	type plain Job // without this method
	p := plain(j)
	if p.EnvVars == nil {
		p.EnvVars = map[string]string{}
	}
	if p.Result == nil {
		p.Result = map[string]string{}
	}
	if p.Prerequisites == nil {
		p.Prerequisites = []string{}
	}
	if p.Dependends == nil {
		p.Dependends = []JobID{}
	}
	return plainJSON(p)
}

// Key names the job.
func (j *Job) Key() JobKey { return JobKey{j.CallerID, j.ID} }

// Final reports whether the job has ended.
func (j *Job) Final() bool { return j.Status.Final() }

// TimeoutOr is how long the script may run, def where the job does not say.
func (j *Job) TimeoutOr(def time.Duration) time.Duration {
	if j.Timeout == 0 {
		return def
	}
	return time.Duration(j.Timeout) * time.Second
}

// Same reports whether two submits ask for the same work, whatever became of
// it since: then the second is a no-op.
func (j *Job) Same(o *Job) bool {
	return j.Key() == o.Key() && j.ContextID == o.ContextID && j.Script == o.Script && j.ScriptType == o.ScriptType &&
		j.Timeout == o.Timeout && j.Retries == o.Retries && j.Retry.Equal(o.Retry) && maps.Equal(j.EnvVars, o.EnvVars) && maps.Equal(j.Secrets, o.Secrets) &&
		slices.Equal(j.Prerequisites, o.Prerequisites) && slices.Equal(j.Dependends, o.Dependends) &&
		j.Priority == o.Priority && j.NotBefore == o.NotBefore && j.ForRunner == o.ForRunner &&
		j.PrerequisiteTimeout == o.PrerequisiteTimeout && maps.Equal(j.Affinity, o.Affinity) && j.At == o.At && slices.Equal(j.Artifacts, o.Artifacts) &&
		(j.Message == o.Message || j.At != "") // one that is sent gets its message afterwards
}

// Validate checks what a caller gave, not what became of it.
//
// Errors: [ErrInvalid], naming the field and what would be right.
func (j *Job) Validate() error {
	if err := j.ScriptType.Validate(); err != nil {
		return err
	}
	switch {
	case j.CallerID == 0:
		return Invalidf("caller_id 0: want the id of an actor")
	case j.Script == "":
		return Invalidf("script is empty")
	case len(j.Script) > MaxScriptBytes:
		return Invalidf("script has %d bytes, the limit is %d; put large data into a file or a prerequisite", len(j.Script), MaxScriptBytes)
	case strings.IndexByte(j.Script, 0) >= 0:
		return Invalidf("script has a NUL byte")
	case j.Timeout > MaxTimeout:
		return Invalidf("timeout of %d s, the limit is %d (30 days)", j.Timeout, MaxTimeout)
	case j.Priority < 0 || j.Priority > MaxPriority:
		return Invalidf("priority %d: want 0 to %d", j.Priority, MaxPriority)
	case j.NotBefore < 0 || j.NotBefore > MaxNotBefore:
		return Invalidf("not_before %d: want Unix milliseconds, up to the year 9999", j.NotBefore)
	case len(j.TraceID) > 64:
		return Invalidf("trace_id has %d bytes, the limit is 64", len(j.TraceID))
	}
	if err := j.Retry.Validate(int(j.Retries)); err != nil {
		return err
	}
	if err := ValidateEnv(j.EnvVars); err != nil {
		return err
	}
	if err := ValidateSecrets(j.Secrets, j.EnvVars); err != nil {
		return err
	}
	if err := j.noSecretsElsewhere(); err != nil {
		return err
	}
	if err := j.validateAffinity(); err != nil {
		return err
	}
	if err := ValidateArtifacts(j.Artifacts); err != nil {
		return err
	}
	if len(j.Artifacts) > 0 && j.ScriptType == ScriptRhai {
		return Invalidf("artifacts: a script of type rhai has no folder to leave files in; want another script_type, or the result for what is small")
	}
	return j.validateWaits()
}

// validateAffinity checks who may run it.
func (j *Job) validateAffinity() error {
	if j.At != "" {
		if _, err := ParsePlace(j.At); err != nil {
			return err
		}
		if len(j.Artifacts) > 0 {
			return Invalidf("artifacts and at: want one of them; files stay in the context where the job runs")
		}
		if j.ForRunner != 0 {
			return Invalidf("for_runner and at: want one of them; at runner:%d names a runner that is elsewhere", j.ForRunner)
		}
	}
	if len(j.Affinity) == 0 {
		return nil
	}
	if j.ForRunner != 0 {
		return Invalidf("for_runner and affinity: want one of them")
	}
	if n := len(j.Affinity.String()); n > MaxLabelBytes {
		return Invalidf("affinity has %d bytes as text, the limit is %d", n, MaxLabelBytes)
	}
	if err := j.Affinity.Validate(); err != nil {
		return fmt.Errorf("affinity: %w", err)
	}
	return nil
}

func (j *Job) validateWaits() error {
	if len(j.Prerequisites) > MaxPrerequisites {
		return Invalidf("%d prerequisites, the limit is %d", len(j.Prerequisites), MaxPrerequisites)
	}
	for i, p := range j.Prerequisites {
		if p == "" || len(p) > MaxPrerequisiteBytes || strings.IndexByte(p, 0) >= 0 {
			return Invalidf("prerequisite %q: want 1 to %d bytes", p, MaxPrerequisiteBytes)
		}
		if slices.Contains(j.Prerequisites[:i], p) {
			return Invalidf("prerequisite %q is named twice", p)
		}
		if key, err := ParseJobKey(p); err == nil && key == j.Key() {
			return Invalidf("prerequisite %q: job %d waits for itself", p, j.ID)
		}
	}
	if len(j.Dependends) > MaxDependends {
		return Invalidf("%d dependends, the limit is %d", len(j.Dependends), MaxDependends)
	}
	for i, d := range j.Dependends {
		switch {
		case d == 0:
			return Invalidf("dependends: job id 0 does not exist")
		case d == j.ID:
			return Invalidf("job %d depends on itself", j.ID)
		case slices.Contains(j.Dependends[:i], d):
			return Invalidf("dependends: job %d is named twice", d)
		}
	}
	return nil
}

var envNamePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ValidateEnv checks environment variables that a caller gave. Names that
// begin with RAMET_ are the runner's own.
//
// Errors: [ErrInvalid].
func ValidateEnv(env map[string]string) error {
	if len(env) > MaxEnvVars {
		return Invalidf("%d env_vars, the limit is %d", len(env), MaxEnvVars)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		total += len(name) + len(env[name])
		if fault := EnvFault(name, env[name]); fault != "" {
			return Invalidf("env_vars: %s", fault)
		}
	}
	if total > MaxEnvBytes {
		return Invalidf("env_vars have %d bytes together, the limit is %d", total, MaxEnvBytes)
	}
	return nil
}

// EnvFault says what is wrong with one of them; "" where nothing is.
func EnvFault(name, value string) string {
	switch {
	case !envNamePattern.MatchString(name):
		return fmt.Sprintf("%q is no name of an environment variable", name)
	case strings.HasPrefix(name, "RAMET_"):
		return fmt.Sprintf("%q: names that begin with RAMET_ are set by the runner", name)
	case strings.IndexByte(value, 0) >= 0:
		return name + " has a NUL byte"
	}
	return ""
}

// OrderJobs sorts jobs that are submitted together so that each comes after
// those of the same set that it depends on.
//
// Errors: [ErrInvalid] naming the jobs of a cycle.
func OrderJobs(jobs []*Job) ([]*Job, error) {
	byKey := make(map[JobKey]*Job, len(jobs))
	edges := false
	for _, j := range jobs {
		byKey[j.Key()] = j
		edges = edges || len(j.Dependends) > 0
	}
	if !edges {
		return jobs, nil
	}
	s := sorter{byKey: byKey, state: make(map[JobKey]int, len(jobs)), out: make([]*Job, 0, len(jobs))}
	for _, j := range jobs {
		if cycle := s.visit(j); cycle != nil {
			return nil, Invalidf("jobs depend on each other in a circle: %s", strings.Join(cycle, " -> "))
		}
	}
	return s.out, nil
}

// sorter is a depth-first topological sort with its own stack: a chain of
// jobs may be longer than the goroutine's stack should be.
type sorter struct {
	byKey map[JobKey]*Job
	state map[JobKey]int // 0 unseen, 1 on the stack, 2 placed
	out   []*Job
}

func (s *sorter) visit(root *Job) (cycle []string) {
	type frame struct {
		job  *Job
		next int
	}
	if s.state[root.Key()] != 0 {
		return nil
	}
	stack := []frame{{job: root}}
	s.state[root.Key()] = 1
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.job.Dependends) {
			s.state[top.job.Key()] = 2
			s.out = append(s.out, top.job)
			stack = stack[:len(stack)-1]
			continue
		}
		key := JobKey{top.job.CallerID, top.job.Dependends[top.next]}
		top.next++
		dep, here := s.byKey[key]
		if !here || s.state[key] == 2 {
			continue
		}
		if s.state[key] == 1 {
			for _, f := range stack {
				if len(cycle) > 0 || f.job == dep {
					cycle = append(cycle, f.job.Key().String())
				}
			}
			return append(cycle, key.String())
		}
		s.state[key] = 1
		stack = append(stack, frame{job: dep})
	}
	return nil
}

// CancelledText says who had a job or a flow ended: an actor by number; 0 is the
// flow of a job, which goes on without it. Others may have written anything.
func CancelledText(by string) string {
	switch n, err := strconv.ParseUint(by, 10, 32); {
	case by == CancelledFull:
		return "its concurrency key was held by others, and its blueprint says when_full: skip"
	case err != nil:
		return fmt.Sprintf("cancelled by whoever wrote %.40q on its record", by)
	case n == 0:
		return "cancelled by its flow, which goes on without it"
	}
	return "cancelled by actor " + by
}
