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

	jobPriority      = "priority"
	jobNotBefore     = "not_before"
	jobForRunner     = "for_runner"
	jobPrereqTimeout = "prerequisite_timeout"
	jobTraceID       = "trace_id"
	jobAffinity      = "affinity"
	jobRetry         = "retry"
	JobReason        = "reason"
	JobErrorText     = "error"
	JobExitCode      = "exit_code"
	JobAttempt       = board.FieldAttempt
	JobLosses        = "losses"
	JobFailures      = "failures"
	JobRunnerID      = "runner_id"
	JobLeaseOwner    = board.FieldOwner
	JobCancel        = board.FieldCancel
	JobWaits         = "waits"
	JobUnmet         = "unmet" // JSON list: prerequisites not met yet
	JobFollowers     = "followers"
	JobLogBytes      = "log_bytes"
	JobQueuedMs      = "queued_ms"
	JobStartedMs     = "started_ms"
	JobFinishedMs    = "finished_ms"
	JobNextRetryMs   = "next_retry_ms"
	JobParked        = "parked"   // scope of the ban that took it from its queue
	JobRetried       = "retried"  // retries by hand whose earlier end still stands on Finished
	JobTakenBy       = "taken_by" // the actor who popped it from its queue as a foreign runner
	JobEndedBy       = "ended_by" // the actor who wrote its end at the Redis door
	JobAliveUntil    = "alive_until"
	JobFlowID        = "flow_id"
	JobStep          = "step"
	JobShard         = "shard"
	JobPack          = "pack"
	jobOrigin        = "origin"
	jobAt            = "at"
	JobMessage       = "message"
	JobRoutine       = "routine"
	jobStepped       = "stepped"
	jobFlowEnv       = "flow_env"
	jobParams        = "params"
	jobNeeds         = "needs"
)

// JobLine are the fields of a job but those that may be large: the script, its
// environment, its result. It is what a page of many jobs is read by.
var JobLine = []string{
	jobContext, JobScriptType, JobTimeout, jobRetries, jobPrerequisites, jobDependends, jobDependsToo, JobCreatedAt, JobUpdatedAt, JobStatus,
	jobPriority, jobNotBefore, jobForRunner, jobPrereqTimeout, jobTraceID, JobReason, JobErrorText, JobExitCode, JobAttempt, JobLosses,
	JobFailures, JobRunnerID, JobLeaseOwner, JobCancel, JobWaits, JobUnmet, JobFollowers, JobQueuedMs, JobStartedMs, JobFinishedMs,
	JobNextRetryMs, JobFlowID, JobStep, JobShard, JobPack, jobOrigin,
	jobStepped, jobFlowEnv, JobParked, JobRoutine, jobAffinity, jobRetry, jobAt, JobMessage, JobTakenBy, JobEndedBy,
	JobAliveUntil,
}

// JobEnd are the fields that tell whether a job has ended and is not tried again.
var JobEnd = []string{JobStatus, JobFinishedMs, JobReason, JobExitCode, JobCancel, JobFailures, jobRetries, jobRetry}

// EncodeJob writes every field of the seeds, and those of ours that are set.
// The fields that the board keeps itself (attempt, lease) are left out.
func EncodeJob(j *domain.Job) []board.Field {
	e := make(encoder, 0, 24)
	e.num(jobID, int64(j.ID))
	e.num(jobCaller, int64(j.CallerID))
	e.num(jobContext, int64(j.ContextID))
	e.str(JobScript, j.Script)
	e.str(JobScriptType, string(j.ScriptType))
	e.num(JobTimeout, int64(j.Timeout))
	e.num(jobRetries, int64(j.Retries))
	e.str(jobEnvVars, encodeMap(j.EnvVars))
	e.str(JobResult, encodeMap(j.Result))
	e.str(jobPrerequisites, encodeList(j.Prerequisites))
	e.str(jobDependends, encodeIDs(j.Dependends))
	e.num(JobCreatedAt, int64(j.CreatedAt))
	e.num(JobUpdatedAt, int64(j.UpdatedAt))
	e.str(JobStatus, string(j.Status))

	e.numOpt(jobPriority, int64(j.Priority))
	e.numOpt(jobNotBefore, j.NotBefore)
	e.numOpt(jobForRunner, int64(j.ForRunner))
	e.numOpt(jobPrereqTimeout, int64(j.PrerequisiteTimeout))
	e.strOpt(jobTraceID, j.TraceID)
	e.strOpt(JobReason, string(j.Reason))
	e.strOpt(JobErrorText, j.Error)
	if j.ExitCode != nil {
		e.num(JobExitCode, int64(*j.ExitCode))
	}
	e.numOpt(JobLosses, int64(j.Losses))
	e.numOpt(JobFailures, int64(j.Failures))
	e.numOpt(JobRunnerID, int64(j.RunnerID))
	e.strOpt(JobCancel, j.Cancel)
	e.numOpt(JobWaits, int64(j.Waits))
	e.numOpt(JobFollowers, int64(j.Followers))
	e.numOpt(JobQueuedMs, j.QueuedMs)
	e.numOpt(JobStartedMs, j.StartedMs)
	e.numOpt(JobFinishedMs, j.FinishedMs)
	e.numOpt(JobNextRetryMs, j.NextRetryMs)
	e.numOpt(JobFlowID, int64(j.FlowID))
	e.strOpt(JobStep, j.Step)
	e.strOpt(JobShard, j.Shard)
	e.strOpt(JobPack, j.Pack)
	e.strOpt(jobOrigin, j.Origin)
	e.strOpt(jobAt, j.At)
	e.strOpt(JobMessage, j.Message)
	e.strOpt(JobRoutine, j.Routine)
	e.flagOpt(jobStepped, j.Stepped)
	e.flagOpt(jobFlowEnv, j.FlowEnv)
	e.strOpt(JobParked, j.Parked)
	e.numOpt(JobTakenBy, int64(j.TakenBy))
	e.numOpt(JobEndedBy, int64(j.EndedBy))
	e.numOpt(JobAliveUntil, int64(j.AliveUntil))
	if len(j.Affinity) > 0 {
		e.str(jobAffinity, encodeMap(j.Affinity))
	}
	if j.Retry != nil {
		e.str(jobRetry, mustJSON(j.Retry))
	}
	if len(j.Params) > 0 {
		e.str(jobParams, encodeMap(j.Params))
	}
	if len(j.Needs) > 0 {
		e.str(jobNeeds, mustJSON(j.Needs))
	}
	return e
}

// DecodeJob reads a job's record. Fields it does not know are ignored; caller
// and id come from the key, which is the identity.
//
// Errors: [domain.ErrInvalid] naming the field; the job is filled as far as it
// could be read.
func DecodeJob(key domain.JobKey, r board.Record) (*domain.Job, error) {
	j := &domain.Job{ID: key.ID, CallerID: key.Caller}
	d := decoder{key: key}
	for _, f := range r {
		decodeJobField(&d, j, f)
	}
	return j, d.err
}

func decodeJobField(d *decoder, j *domain.Job, f board.Field) {
	switch f.Name {
	case jobContext:
		j.ContextID = domain.TenantID(d.u32(f))
	case JobScript:
		j.Script = f.Value
	case JobScriptType:
		j.ScriptType = domain.ScriptType(f.Value)
	case JobTimeout:
		j.Timeout = d.u32(f)
	case jobRetries:
		j.Retries = uint8(d.uint(f, 8))
	case jobEnvVars:
		j.EnvVars = d.strMap(f)
	case JobResult:
		j.Result = d.strMap(f)
	case jobPrerequisites:
		d.json(f, &j.Prerequisites, "a JSON list of strings")
	case jobDependends, jobDependsToo:
		d.ids(f, (*[]domain.JobID)(&j.Dependends))
	case JobCreatedAt:
		j.CreatedAt = domain.UnixTime(d.u32(f))
	case JobUpdatedAt:
		j.UpdatedAt = domain.UnixTime(d.u32(f))
	case JobStatus:
		j.Status = domain.JobStatus(f.Value)
		if f.Value != "" && !j.Status.Known() {
			d.fail(f, "dispatched, waiting_for_prerequisites, started, error or finished")
		}
	default:
		decodeOurJobField(d, j, f)
	}
}

// decodeOurJobField reads what was asked of the engine beside the seeds' fields, and
// where the job belongs.
func decodeOurJobField(d *decoder, j *domain.Job, f board.Field) {
	switch f.Name {
	case jobPriority:
		j.Priority = int(d.int(f))
	case jobNotBefore:
		j.NotBefore = d.int(f)
	case jobForRunner:
		j.ForRunner = domain.RunnerID(d.u32(f))
	case jobPrereqTimeout:
		j.PrerequisiteTimeout = d.u32(f)
	case jobTraceID:
		j.TraceID = f.Value
	case JobFlowID:
		j.FlowID = domain.FlowID(d.u32(f))
	case JobStep:
		j.Step = f.Value
	case JobShard:
		j.Shard = f.Value
	case JobPack:
		j.Pack = f.Value
	case JobRoutine:
		j.Routine = f.Value
	case jobOrigin:
		j.Origin = f.Value
	case jobAt:
		j.At = f.Value
	case JobMessage:
		j.Message = f.Value
	case jobAffinity:
		j.Affinity = d.strMap(f)
	case jobRetry:
		d.json(f, &j.Retry, "a JSON object with on and final_exit_codes")
	case jobStepped:
		j.Stepped = d.flag(f)
	case jobFlowEnv:
		j.FlowEnv = d.flag(f)
	case jobParams:
		j.Params = d.strMap(f)
	case jobNeeds:
		d.json(f, &j.Needs, "a JSON object of steps")
	case board.FieldUnreadable:
		d.unreadable(f)
	default:
		decodeJobStanding(d, j, f)
	}
}

// decodeJobStanding reads where the job stands, and how it ended.
func decodeJobStanding(d *decoder, j *domain.Job, f board.Field) {
	switch f.Name {
	case JobReason:
		j.Reason = domain.Reason(f.Value)
	case JobErrorText:
		j.Error = f.Value
	case JobExitCode:
		if n, err := strconv.Atoi(f.Value); err == nil {
			j.ExitCode = &n
		}
	case JobAttempt:
		j.Attempt = d.ours(j, f)
	case JobLosses:
		j.Losses = int(d.int(f))
	case JobFailures:
		j.Failures = int(d.int(f))
	case JobRunnerID:
		j.RunnerID = domain.RunnerID(d.u32(f))
	case JobLeaseOwner:
		j.LeaseOwner = f.Value
	case JobCancel:
		j.Cancel = f.Value
	case JobWaits:
		j.Waits = int(d.int(f))
	case JobFollowers:
		j.Followers = int(d.ours(j, f))
	case JobQueuedMs:
		j.QueuedMs = d.ours(j, f)
	case JobStartedMs:
		j.StartedMs = d.int(f)
	case JobFinishedMs:
		j.FinishedMs = d.ours(j, f)
	case JobNextRetryMs:
		j.NextRetryMs = d.ours(j, f)
	case JobParked:
		j.Parked = f.Value
	case JobTakenBy:
		j.TakenBy = domain.ActorID(d.u32(f))
	case JobEndedBy:
		j.EndedBy = domain.ActorID(d.u32(f))
	case JobAliveUntil:
		j.AliveUntil = domain.UnixTime(d.u32(f))
	}
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
