package layout

import (
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Field names of a job's record. The first block is the seeds'; the second is
// ours and ignored by others.
const (
	jobID            = "id"
	jobCaller        = "caller_id"
	jobContext       = "context_id"
	JobScript        = "script"
	JobScriptType    = "script_type"
	JobTimeout       = "timeout"
	jobRetries       = "retries"
	jobEnvVars       = "env_vars"
	JobResult        = "result"
	jobPrerequisites = "prerequisites"
	jobDependends    = "dependends"
	jobDependsToo    = "depends" // accepted as input
	JobCreatedAt     = "created_at"
	JobUpdatedAt     = "updated_at"
	JobStatus        = "status"

	JobSecrets       = "secrets"
	jobPriority      = "priority"
	jobNotBefore     = "not_before"
	jobForRunner     = "for_runner"
	jobPrereqTimeout = "prerequisite_timeout"
	jobTraceID       = "trace_id"
	jobAffinity      = "affinity"
	jobArtifacts     = "artifacts"
	jobRetry         = "retry"
	JobReason        = "reason"
	JobErrorText     = "error"
	JobExitCode      = "exit_code"
	JobAttempt       = board.FieldAttempt
	JobLosses        = "losses"
	JobLostAttempt   = "lost_attempt"
	JobFailures      = "failures"
	JobRunnerID      = "runner_id"
	JobLeaseOwner    = board.FieldOwner
	JobCancel        = board.FieldCancel
	JobWaits         = "waits"
	JobUnmet         = "unmet" // JSON list: prerequisites not met yet
	JobFollowers     = "followers"
	JobLogBytes      = "log_bytes"
	JobLogMost       = "log_most" // "<attempt>:<bytes>": how many the log may have when that attempt ends
	JobLogSeen       = "log_seen" // "<attempt>:<n>": the last line that its worker has logged; behind another ":" a bit map of those before it that have not come
	JobQueuedMs      = "queued_ms"
	JobStartedMs     = "started_ms"
	JobFinishedMs    = "finished_ms"
	JobNextRetryMs   = "next_retry_ms"
	JobRemembered    = "remembered"
	JobSignals       = "signals"
	JobSignalSent    = "signal_sent"  // how many were ever sent
	JobSignalBytes   = "signal_bytes" // of those that wait
	JobSignalTurns   = "signal_turns" // how often the list of those was changed by who takes them
	JobSuspended     = "suspended"
	JobCalls         = "calls"     // how many jobs and flows its script has made
	jobCalledBy      = "called_by" // the script that has made it
	JobParked        = "parked"    // scope of the ban that took it from its queue
	JobRetried       = "retried"   // retries by hand whose earlier end still stands on Finished
	JobTakenBy       = "taken_by"  // the actor who popped it from its queue as a foreign runner
	JobEndedBy       = "ended_by"  // the actor who wrote its end at the Redis door
	JobAliveUntil    = "alive_until"
	JobFlowID        = "flow_id"
	JobStep          = "step"
	JobShard         = "shard"
	JobPack          = "pack"
	JobItem          = "item"
	JobList          = "list"
	jobOrigin        = "origin"
	JobAt            = "at"
	JobMessage       = "message"
	JobRoutine       = "routine"
	jobStepped       = "stepped"
	jobFlowEnv       = "flow_env"
	jobEnvFill       = "env_fill"
	jobParams        = "params"
	jobNeeds         = "needs"
	jobHook          = "hook"
	jobRound         = "round"
)

var jobTable = newTable(
	number32(jobID, func(j *domain.Job) *domain.JobID { return &j.ID }).fromKey(),
	number32(jobCaller, func(j *domain.Job) *domain.ActorID { return &j.CallerID }).fromKey(),
	number32(jobContext, func(j *domain.Job) *domain.TenantID { return &j.ContextID }),
	text(JobScript, func(j *domain.Job) *string { return &j.Script }).secret().notInPages(),
	text(JobScriptType, func(j *domain.Job) *domain.ScriptType { return &j.ScriptType }),
	number32(JobTimeout, func(j *domain.Job) *uint32 { return &j.Timeout }),
	number8(jobRetries, func(j *domain.Job) *uint8 { return &j.Retries }),
	texts(jobEnvVars, func(j *domain.Job) *map[string]string { return &j.EnvVars }).secret().notInPages(),
	texts(JobResult, func(j *domain.Job) *map[string]string { return &j.Result }).secret().notInPages(),
	list(jobPrerequisites, "a JSON list of strings", func(j *domain.Job) *[]string { return &j.Prerequisites }),
	jobIDs(jobDependends, func(j *domain.Job) *[]domain.JobID { return &j.Dependends }),
	jobIDs(jobDependsToo, func(j *domain.Job) *[]domain.JobID { return &j.Dependends }).readOnly(),
	number32(JobCreatedAt, func(j *domain.Job) *domain.UnixTime { return &j.CreatedAt }),
	number32(JobUpdatedAt, func(j *domain.Job) *domain.UnixTime { return &j.UpdatedAt }),
	text(JobStatus, func(j *domain.Job) *domain.JobStatus { return &j.Status }).then(func(d *decoder, j *domain.Job, f board.Field) {
		if f.Value != "" && !j.Status.Known() {
			d.fail(f, "dispatched, waiting_for_prerequisites, started, error or finished")
		}
	}),

	texts(JobSecrets, func(j *domain.Job) *map[string]string { return &j.Secrets }).notInPages().ours(),
	number(jobPriority, func(j *domain.Job) *int { return &j.Priority }).ours(),
	number(jobNotBefore, func(j *domain.Job) *int64 { return &j.NotBefore }).ours(),
	number32(jobForRunner, func(j *domain.Job) *domain.RunnerID { return &j.ForRunner }).ours(),
	number32(jobPrereqTimeout, func(j *domain.Job) *uint32 { return &j.PrerequisiteTimeout }).ours(),
	text(jobTraceID, func(j *domain.Job) *string { return &j.TraceID }).ours(),
	text(JobReason, func(j *domain.Job) *domain.Reason { return &j.Reason }).ours(),
	text(JobErrorText, func(j *domain.Job) *string { return &j.Error }).secret().ours(),
	exitCode,
	number(JobLosses, func(j *domain.Job) *int { return &j.Losses }).ours(),
	number(JobLostAttempt, func(j *domain.Job) *int64 { return &j.LostAttempt }).ours(),
	number(JobFailures, func(j *domain.Job) *int { return &j.Failures }).ours(),
	number32(JobRunnerID, func(j *domain.Job) *domain.RunnerID { return &j.RunnerID }).ours(),
	text(JobCancel, func(j *domain.Job) *string { return &j.Cancel }).ours(),
	number(JobWaits, func(j *domain.Job) *int { return &j.Waits }).ours(),
	guarded(JobFollowers, func(j *domain.Job) *int { return &j.Followers }).ours(),
	guarded(JobQueuedMs, func(j *domain.Job) *int64 { return &j.QueuedMs }).ours(),
	number(JobStartedMs, func(j *domain.Job) *int64 { return &j.StartedMs }).ours(),
	guarded(JobFinishedMs, func(j *domain.Job) *int64 { return &j.FinishedMs }).ours(),
	guarded(JobNextRetryMs, func(j *domain.Job) *int64 { return &j.NextRetryMs }).ours(),
	number32(JobFlowID, func(j *domain.Job) *domain.FlowID { return &j.FlowID }).ours(),
	text(JobStep, func(j *domain.Job) *string { return &j.Step }).ours(),
	text(JobShard, func(j *domain.Job) *string { return &j.Shard }).ours(),
	text(JobPack, func(j *domain.Job) *string { return &j.Pack }).ours(),
	text(JobItem, func(j *domain.Job) *string { return &j.Item }).secret().notInPages().ours(),
	number(JobList, func(j *domain.Job) *int { return &j.List }).notInPages().ours(),
	text(jobOrigin, func(j *domain.Job) *string { return &j.Origin }).ours(),
	text(JobAt, func(j *domain.Job) *string { return &j.At }).ours(),
	text(JobMessage, func(j *domain.Job) *string { return &j.Message }).ours(),
	text(JobRoutine, func(j *domain.Job) *string { return &j.Routine }).ours(),
	flag(jobStepped, func(j *domain.Job) *bool { return &j.Stepped }).ours(),
	flag(jobFlowEnv, func(j *domain.Job) *bool { return &j.FlowEnv }).ours(),
	flag(jobEnvFill, func(j *domain.Job) *bool { return &j.EnvFill }).notInPages().ours(),
	text(JobParked, func(j *domain.Job) *string { return &j.Parked }).ours(),
	number(JobRemembered, func(j *domain.Job) *int { return &j.Remembered }).ours(),
	number(JobSignals, func(j *domain.Job) *int { return &j.Signals }).ours(),
	pointer(JobSuspended, "a JSON object with kind and name", func(j *domain.Job) **domain.Suspension { return &j.Suspended }).ours(),
	number(JobCalls, func(j *domain.Job) *int { return &j.Calls }).ours(),
	pointer(jobCalledBy, "a JSON object with job, name, n and depth", func(j *domain.Job) **domain.CalledBy { return &j.CalledBy }).ours(),
	number32(JobTakenBy, func(j *domain.Job) *domain.ActorID { return &j.TakenBy }).ours(),
	number32(JobEndedBy, func(j *domain.Job) *domain.ActorID { return &j.EndedBy }).ours(),
	number32(JobAliveUntil, func(j *domain.Job) *domain.UnixTime { return &j.AliveUntil }).ours(),
	texts(jobAffinity, func(j *domain.Job) *domain.Labels { return &j.Affinity }).ours(),
	pointer(jobRetry, "a JSON object with delay, factor, max_delay, jitter, on, exit_codes and final_exit_codes",
		func(j *domain.Job) **domain.Retry { return &j.Retry }).ours(),
	list(jobArtifacts, "a JSON list of strings", func(j *domain.Job) *[]string { return &j.Artifacts }).notInPages().ours(),
	texts(jobParams, func(j *domain.Job) *map[string]string { return &j.Params }).secret().notInPages().ours(),
	object(jobNeeds, "a JSON object of steps", func(j *domain.Job) *map[string]domain.Need { return &j.Needs }).secret().notInPages().ours(),
	number(jobRound, func(j *domain.Job) *int { return &j.Round }).ours(),
	pointer(jobHook, "a JSON object that says what has come of a flow", func(j *domain.Job) **domain.HookInput { return &j.Hook }).secret().notInPages().ours(),

	// What the board keeps itself.
	guarded(JobAttempt, func(j *domain.Job) *int64 { return &j.Attempt }).readOnly(),
	text(JobLeaseOwner, func(j *domain.Job) *string { return &j.LeaseOwner }).readOnly(),
	apart[domain.Job](board.FieldQueue).notInPages(),
	apart[domain.Job](JobUnmet),
	apart[domain.Job](JobLogBytes).notInPages(),
	apart[domain.Job](JobLogMost).notInPages(),
	apart[domain.Job](JobLogSeen).notInPages(),
	apart[domain.Job](JobRetried).notInPages(),
	apart[domain.Job](JobSignalSent).notInPages(),
	apart[domain.Job](JobSignalBytes).notInPages(),
	apart[domain.Job](JobSignalTurns).notInPages(),
	unreadable[domain.Job](),
)

// exitCode may not be there, and may be anything in records of old: then it is not.
var exitCode = field[domain.Job]{name: JobExitCode, opt: true,
	write: func(j *domain.Job) (string, bool) {
		if j.ExitCode == nil {
			return "", true
		}
		return strconv.Itoa(*j.ExitCode), false
	},
	read: func(_ *decoder, j *domain.Job, f board.Field) {
		if n, err := strconv.Atoi(f.Value); err == nil {
			j.ExitCode = &n
		}
	}}

// guarded is a number that only the engine writes, and that its commits guard: see
// [NumberText].
func guarded[N ~int | ~int64](name string, at func(*domain.Job) *N) field[domain.Job] {
	f := number(name, at)
	f.read = func(d *decoder, j *domain.Job, f board.Field) { *at(j) = N(d.ours(j, f)) }
	return f
}

// SuspendedField says on a job's record what its script waits for.
func SuspendedField(s *domain.Suspension) board.Field {
	return board.Field{Name: JobSuspended, Value: mustJSON(s)}
}

// JobLine are the fields of a job but those that may be large: the script, its
// environment, its result. It is what a page of many jobs is read by.
var JobLine = jobTable.line()

// JobStanding are the fields that tell how a job stands: its status and phase, since when it
// waits, and whether a node has taken it over.
var JobStanding = []string{JobStatus, JobCreatedAt, JobQueuedMs, JobStartedMs, JobNextRetryMs, JobSuspended, JobLeaseOwner, JobWaits, JobAt}

// JobWaitsFor are the fields by which its maker says what a job waits for before it runs,
// and that it runs elsewhere.
var JobWaitsFor = []string{jobPrerequisites, jobDependends, jobDependsToo, jobNotBefore, JobAt}

// JobEnd are the fields that tell whether a job has ended and is not tried again.
var JobEnd = []string{JobStatus, JobFinishedMs, JobReason, JobExitCode, JobCancel, JobFailures, jobRetries, jobRetry}

// EncodeJob writes every field of the seeds, and those of ours that are set.
// The fields that the board keeps itself (attempt, lease) are left out.
func EncodeJob(j *domain.Job) []board.Field { return jobTable.encode(j) }

// DecodeJob reads a job's record. Fields it does not know are ignored; caller
// and id come from the key, which is the identity.
//
// Errors: [domain.ErrInvalid] naming the field; the job is filled as far as it
// could be read.
func DecodeJob(key domain.JobKey, r board.Record) (*domain.Job, error) {
	j := &domain.Job{ID: key.ID, CallerID: key.Caller}
	err := jobTable.decode(decoder{key: key}, j, r)
	return j, err
}

// ours reads a number that only the engine writes, and keeps its text where the
// engine would have written another.
func (d *decoder) ours(j *domain.Job, f board.Field) int64 {
	n, ok := board.Number(f.Value)
	if !ok && f.Value != "" {
		d.fail(f, "a decimal number")
	}
	if n == 0 && f.Value != "" {
		if j.Odd == nil {
			j.Odd = map[string]string{}
		}
		j.Odd[f.Name] = f.Value
	}
	return n
}

// NumberText is a number of the engine's own as the record has it that j was
// read from, for a guard: "" where it is not set.
func NumberText(j *domain.Job, name string) string {
	if text, odd := j.Odd[name]; odd {
		return text
	}
	var n int64
	switch name {
	case JobAttempt:
		n = j.Attempt
	case JobFollowers:
		n = int64(j.Followers)
	case JobQueuedMs:
		n = j.QueuedMs
	case JobFinishedMs:
		n = j.FinishedMs
	case JobNextRetryMs:
		n = j.NextRetryMs
	default:
		panic("BUG: " + name + " is no number that guards name")
	}
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// FlowOf are the fields of a job of a foreign program that has become one of a
// flow's.
func FlowOf(id domain.FlowID) []board.Field {
	var e encoder
	e.num(JobFlowID, int64(id))
	e.flag(jobFlowEnv, true)
	return e
}

// Result is the result in a job's record; none where it cannot be read.
func Result(r board.Record) map[string]string {
	result, _ := ReadResult(keyText(""), r)
	return result
}

// ReadResult is the result in the record of the job with that key, whatever else of
// the record can be read.
//
// Errors: [domain.ErrInvalid].
func ReadResult(key fmt.Stringer, r board.Record) (map[string]string, error) {
	d := decoder{key: key}
	if text := r.Get(board.FieldUnreadable); text != "" {
		d.unreadable(board.Field{Name: board.FieldUnreadable, Value: text})
	}
	result := d.strMap(board.Field{Name: JobResult, Value: r.Get(JobResult)})
	return result, d.err
}

// ResultField is a job's result as a field of its record.
func ResultField(result map[string]string) board.Field {
	return board.Field{Name: JobResult, Value: encodeMap(result)}
}

// FinishedField is the instant a job ended.
func FinishedField(ms int64) board.Field {
	return board.Field{Name: JobFinishedMs, Value: strconv.FormatInt(ms, 10)}
}

// RestartedFields are what a job that begins anew differs in from its record.
func RestartedFields(j *domain.Job) []board.Field {
	var e encoder = AdoptedFields(j, j.Status)
	e.num(JobUpdatedAt, int64(j.UpdatedAt))
	e.str(JobResult, "{}")
	return e
}

// AdoptedFields are what a job of a foreign program lacks beside its own
// fields, when it becomes one of ours.
func AdoptedFields(j *domain.Job, status domain.JobStatus) []board.Field {
	var e encoder
	e.num(jobID, int64(j.ID))
	e.num(jobCaller, int64(j.CallerID))
	e.num(jobContext, int64(j.ContextID))
	e.num(JobCreatedAt, int64(j.CreatedAt))
	e.str(JobStatus, string(status))
	e.numOpt(JobWaits, int64(j.Waits))
	e.numOpt(JobQueuedMs, j.QueuedMs)
	return e
}
