package layout

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// FlowPrefix begins the keys of flows.
const FlowPrefix = "flow:"

// statePrefix begins the keys of what keepers know of flows: the items of [queue.Keeper].
const statePrefix = "ramet:flow:"

// FlowState is the record of what the keeper knows of a flow. It is the item
// that keepers lease.
func FlowState(id domain.FlowID) string {
	return statePrefix + strconv.FormatUint(uint64(id), 10)
}

// ParseFlowState reads such a key.
func ParseFlowState(item string) (id domain.FlowID, ok bool) {
	n, found := strings.CutPrefix(item, statePrefix)
	if !found {
		return 0, false
	}
	id, err := domain.ParseFlowKey(n)
	return id, err == nil
}

// The fields of that record.
const (
	FlowStateData    = "state"   // JSON; a large one is deflated, after a "z"
	FlowStateStepped = "stepped" // true, or not there
	FlowStateRecords = "records" // how many step records a large flow has; see FlowSteps
	FlowStateChanged = "changed" // what goes over these: JSON of a step for each number; as FlowStateData
	FlowStatePlan    = "plan"    // in how many records its blueprint lies; none where that is one of its own: see FlowPlan
	FlowStateCaller  = "caller"
	FlowStateFirst   = "first" // the first of a plain flow's jobs; their ids follow each other
	FlowStateCount   = "count" // how many they are
	FlowStateJobs    = "jobs"  // of a foreign program's flow instead: a JSON list of ids
)

// FlowHolds reports whether one of a plain flow's jobs waits for the keeper to
// let it go: the flow was written in parts. r is the record of what the keeper
// knows.
func FlowHolds(r board.Record, id domain.JobID) bool {
	var held struct{ Held, Begun int64 }
	first, err1 := strconv.ParseInt(r.Get(FlowStateFirst), 10, 64)
	err2 := json.Unmarshal([]byte(r.Get(FlowStateData)), &held)
	n := int64(id) - first
	return err1 == nil && err2 == nil && held.Begun <= n && n < held.Held
}

// FlowWaits is the record of counters by which the ends of jobs tell the keeper.
func FlowWaits(id domain.FlowID) string { return FlowState(id) + ":waits" }

// The fields of that record.
const (
	// WaitsPlain is how many jobs of a plain flow have not ended.
	WaitsPlain = "plain"
	// WaitsArmed is 1 less what the keeper has not been told of: who makes it 0
	// queues the flow.
	WaitsArmed = "armed"
)

// FlowEnded is the list of the ends of jobs that the keeper has not seen;
// newest left.
func FlowEnded(id domain.FlowID) string { return FlowState(id) + ":ended" }

// FlowOrders is the list of what people ask of a flow; newest left.
func FlowOrders(id domain.FlowID) string { return FlowState(id) + ":orders" }

// FlowParams is the record of what jobs have added: params.<name>, and
// steps.<step>.<setting>.
func FlowParams(id domain.FlowID) string { return FlowState(id) + ":params" }

// FlowAdded is the list of the params that the indexes of shards have added and
// that are not in [FlowParams] yet; newest left, each JSON, a map.
func FlowAdded(id domain.FlowID) string { return FlowState(id) + ":added" }

// FlowSteps is one of the records of a large flow's steps, which are counted from 0. Each
// field is a step, by its number in the blueprint from 0 on: JSON.
func FlowSteps(id domain.FlowID, record int) string {
	return FlowState(id) + ":" + strconv.Itoa(record) + ":steps"
}

// FlowPlan is the record with the blueprint that a flow runs by.
func FlowPlan(id domain.FlowID) string { return FlowState(id) + ":plan" }

// FlowPlanText is its field: JSON. What is longer than a field may be is deflated and cut
// into as many records as [FlowStatePlan] says, which are counted from 0.
const FlowPlanText = "text"

// FlowPlanPart is one of these records; its field is [FlowPlanText].
func FlowPlanPart(id domain.FlowID, n int) string {
	return FlowState(id) + ":" + strconv.Itoa(n) + ":plan"
}

// FlowName is the record of a business name, with the field FlowNameID.
func FlowName(blueprint, trigger string) string {
	return "ramet:name:" + blueprint + ":" + trigger
}

// FlowAlive is the record that says which flow of a blueprint lives, where
// only one may; with the field FlowNameID.
func FlowAlive(blueprint string) string { return "ramet:alive:" + blueprint }

// FlowNameID is the id of the flow that has a name.
const FlowNameID = "flow"

// Alarms of flows.
const (
	AlarmFlow      AlarmKind = "flow"      // the keeper has to look at it
	AlarmFlowWrite AlarmKind = "flowwrite" // it was to be written by now
	AlarmFlowPrune AlarmKind = "flowprune" // it has ended, and stayed for as long as it was to
)

// FlowScan is the alarm by which flows of foreign programs are looked for.
const FlowScan = "flows:scan"

// FlowAlarm is an alarm's name: "<kind>:flow:<id>".
func FlowAlarm(kind AlarmKind, id domain.FlowID) string {
	return string(kind) + ":" + domain.FlowKey(id)
}

// ParseFlowAlarm takes an alarm's name apart; ok is false for alarms that are
// not about a flow.
func ParseFlowAlarm(name string) (kind AlarmKind, id domain.FlowID, ok bool) {
	k, rest, found := strings.Cut(name, ":")
	if !found || !strings.HasPrefix(rest, FlowPrefix) {
		return "", 0, false
	}
	id, err := domain.ParseFlowKey(rest)
	return AlarmKind(k), id, err == nil
}

// Field names of a flow's record.
const (
	FlowCaller     = "caller_id"
	FlowJobs       = "jobs"
	FlowEnvVars    = "env_vars"
	FlowStatus     = "status"
	FlowResult     = "result"
	FlowUpdatedAt  = "updated_at"
	FlowReason     = "reason"
	FlowError      = "error"
	FlowBlueprint  = "blueprint"
	FlowTrigger    = "trigger"
	FlowProgress   = "progress" // percent, with two decimals
	FlowPaused     = "paused"
	FlowCancel     = "cancel"
	FlowStartedMs  = "started_ms"
	FlowFinishedMs = "finished_ms"
	FlowRetried    = "retried"
	// FlowStale counts ends whose entries still stand on Finished although the
	// flow was started again; -1 where it has ended and no entry stands there.
	FlowStale = "stale_ends"
)

// FlowLine are the fields of a flow but those that may be large.
var FlowLine = []string{"id", "caller_id", "context_id", "created_at", FlowUpdatedAt, FlowStatus, FlowReason, FlowError, FlowBlueprint, "version", "hash",
	FlowTrigger, "on_error", "priority", FlowPaused, FlowCancel, "schedule", FlowStartedMs, FlowFinishedMs, "after_ms", "duration", "retention", "stepped",
	FlowRetried, FlowProgress, "message"}

// EncodeFlow writes a flow's record: every field of the seeds, and those of
// ours that are set.
func EncodeFlow(f domain.Flow) []board.Field {
	e := make(encoder, 0, 20)
	e.num("id", int64(f.ID))
	e.num(FlowCaller, int64(f.CallerID))
	e.num("context_id", int64(f.ContextID))
	e.str(FlowJobs, encodeIDs(f.Jobs))
	e.str(FlowEnvVars, encodeMap(f.EnvVars))
	e.str(FlowResult, encodeMap(f.Result))
	e.num("created_at", int64(f.CreatedAt))
	e.num(FlowUpdatedAt, int64(f.UpdatedAt))
	e.str(FlowStatus, string(f.Status))

	e.strOpt(FlowReason, string(f.Reason))
	e.strOpt(FlowError, f.Error)
	e.strOpt(FlowBlueprint, f.Blueprint)
	e.numOpt("version", int64(f.Version))
	e.strOpt("hash", f.Hash)
	e.strOpt(FlowTrigger, f.Trigger)
	e.strOpt("on_error", string(f.OnError))
	e.numOpt("priority", int64(f.Priority))
	if len(f.Params) > 0 {
		e.str("params", encodeMap(f.Params))
	}
	e.flagOpt(FlowPaused, f.Paused)
	e.strOpt(FlowCancel, f.Cancel)
	e.strOpt("schedule", f.Schedule)
	e.strOpt("message", f.Message)
	e.numOpt(FlowStartedMs, f.StartedMs)
	e.numOpt(FlowFinishedMs, f.FinishedMs)
	e.numOpt("after_ms", f.AfterMs)
	e.numOpt("duration", int64(f.Duration))
	e.numOpt("retention", int64(f.Retention))
	e.flagOpt("stepped", f.Stepped)
	e.numOpt(FlowRetried, int64(f.Retried))
	e.strOpt(FlowProgress, f.Progress)
	return e
}

// DecodeFlow reads a flow's record.
//
// Errors: [domain.ErrInvalid] naming the field; the flow is filled as far as
// it could be read.
func DecodeFlow(key string, r board.Record) (domain.Flow, error) {
	var fl domain.Flow
	d := decoder{key: keyText(key)}
	for _, f := range r {
		switch f.Name {
		case "id":
			fl.ID = domain.FlowID(d.u32(f))
		case FlowCaller:
			fl.CallerID = domain.ActorID(d.u32(f))
		case "context_id":
			fl.ContextID = domain.TenantID(d.u32(f))
		case FlowJobs:
			d.ids(f, (*[]domain.JobID)(&fl.Jobs))
		case FlowEnvVars:
			fl.EnvVars = d.strMap(f)
		case FlowResult:
			fl.Result = d.strMap(f)
		case "created_at":
			fl.CreatedAt = domain.UnixTime(d.u32(f))
		case FlowUpdatedAt:
			fl.UpdatedAt = domain.UnixTime(d.u32(f))
		case FlowStatus:
			fl.Status = domain.FlowStatus(f.Value)
			if f.Value != "" && !fl.Status.Known() {
				d.fail(f, "dispatched, started, error or finished")
			}
		default:
			decodeOurFlowField(&d, &fl, f)
		}
	}
	return fl, d.err
}

func decodeOurFlowField(d *decoder, fl *domain.Flow, f board.Field) {
	switch f.Name {
	case FlowReason:
		fl.Reason = domain.FlowReason(f.Value)
	case FlowError:
		fl.Error = f.Value
	case FlowBlueprint:
		fl.Blueprint = f.Value
	case "version":
		fl.Version = int(d.int(f))
	case "hash":
		fl.Hash = f.Value
	case FlowTrigger:
		fl.Trigger = f.Value
	case "on_error":
		fl.OnError = domain.OnError(f.Value)
	case "priority":
		fl.Priority = int(d.int(f))
	case "params":
		fl.Params = d.strMap(f)
	case FlowPaused:
		fl.Paused = d.flag(f)
	case FlowCancel:
		fl.Cancel = f.Value
	case "schedule":
		fl.Schedule = f.Value
	case "message":
		fl.Message = f.Value
	case FlowStartedMs:
		fl.StartedMs = d.int(f)
	case FlowFinishedMs:
		fl.FinishedMs = d.int(f)
	case "after_ms":
		fl.AfterMs = d.int(f)
	case "duration":
		fl.Duration = d.u32(f)
	case "retention":
		fl.Retention = d.u32(f)
	case "stepped":
		fl.Stepped = d.flag(f)
	case FlowRetried:
		fl.Retried = int(d.int(f))
	case FlowProgress:
		fl.Progress = f.Value
	}
}

// MapField is a map of strings as a field of a record.
func MapField(name string, m map[string]string) board.Field {
	return board.Field{Name: name, Value: encodeMap(m)}
}

// IDsField is a list of jobs as a field of a record.
func IDsField(name string, ids []domain.JobID) board.Field {
	return board.Field{Name: name, Value: encodeIDs(ids)}
}
