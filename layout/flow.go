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
	FlowStateLists   = "lists" // how many records of elements there are; see FlowItems
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

// ListSize is how many elements of a list lie in one record, with the results of their jobs
// in another.
const ListSize = 64

// FlowItems is a record of elements of lists that steps are done for: JSON by their place in
// the list.
func FlowItems(id domain.FlowID, record int) string {
	return FlowState(id) + ":" + strconv.Itoa(record) + ":items"
}

// FlowResults is the record of what the jobs of those elements left, in the same way.
func FlowResults(id domain.FlowID, record int) string {
	return FlowState(id) + ":" + strconv.Itoa(record) + ":results"
}

// FlowChildren is the record of the flows that a step has made for those elements, in the
// same way: what makes one of them writes its number there, in the commit that makes it.
func FlowChildren(id domain.FlowID, record int) string {
	return FlowState(id) + ":" + strconv.Itoa(record) + ":children"
}

// ListRecords is how many records a list of n elements has.
func ListRecords(n int64) int { return int((n + ListSize - 1) / ListSize) }

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

// FlowLineOf is the list of the flows that stand in line for a concurrency key, each
// "<flow> <max>"; newest left. The oldest, as many as max says, hold the key.
func FlowLineOf(key string) string { return "ramet:line:" + key }

// FlowRate is the record of a rate's key, with the instant from which the next flow may begin, Unix
// milliseconds, in the field FlowRateNext. Where it is not there, that is now.
func FlowRate(key string) string { return "ramet:rate:" + key }

// FlowRateNext is its field.
const FlowRateNext = "next_ms"

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
	AlarmFlowLate  AlarmKind = "flowlate"  // it should have ended by now: a hook is called
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
	FlowProgress   = "progress"  // percent, with two decimals
	FlowAwaits     = "awaits"    // what it waits for beside its jobs
	FlowCalledBy   = "called_by" // the durable script that made it
	FlowParent     = "parent"    // the step that made it
	FlowMessage    = "message"   // the one that asked for it
	FlowSender     = "sender"    // of the message whose plan it runs once more
	FlowVersion    = "version"   // of its blueprint
	FlowPaused     = "paused"
	FlowCancel     = "cancel"
	FlowStartedMs  = "started_ms"
	FlowFinishedMs = "finished_ms"
	FlowRetried    = "retried"
	FlowRerunBy    = "rerun_by"
	// FlowStale counts ends whose entries still stand on Finished although the
	// flow was started again; -1 where it has ended and no entry stands there.
	FlowStale = "stale_ends"
)

var flowTable = newTable(
	number32("id", func(f *domain.Flow) *domain.FlowID { return &f.ID }),
	number32(FlowCaller, func(f *domain.Flow) *domain.ActorID { return &f.CallerID }),
	number32("context_id", func(f *domain.Flow) *domain.TenantID { return &f.ContextID }),
	jobIDs(FlowJobs, func(f *domain.Flow) *[]domain.JobID { return (*[]domain.JobID)(&f.Jobs) }).notInPages(),
	texts(FlowEnvVars, func(f *domain.Flow) *map[string]string { return &f.EnvVars }).secret().notInPages(),
	texts(FlowResult, func(f *domain.Flow) *map[string]string { return &f.Result }).secret().notInPages(),
	number32("created_at", func(f *domain.Flow) *domain.UnixTime { return &f.CreatedAt }),
	number32(FlowUpdatedAt, func(f *domain.Flow) *domain.UnixTime { return &f.UpdatedAt }),
	text(FlowStatus, func(f *domain.Flow) *domain.FlowStatus { return &f.Status }).then(func(d *decoder, fl *domain.Flow, f board.Field) {
		if f.Value != "" && !fl.Status.Known() {
			d.fail(f, "dispatched, started, error or finished")
		}
	}),

	text(FlowReason, func(f *domain.Flow) *domain.FlowReason { return &f.Reason }).ours(),
	text(FlowError, func(f *domain.Flow) *string { return &f.Error }).secret().ours(),
	text(FlowBlueprint, func(f *domain.Flow) *string { return &f.Blueprint }).ours(),
	number(FlowVersion, func(f *domain.Flow) *int { return &f.Version }).ours(),
	text("hash", func(f *domain.Flow) *string { return &f.Hash }).ours(),
	text(FlowTrigger, func(f *domain.Flow) *string { return &f.Trigger }).ours(),
	text("on_error", func(f *domain.Flow) *domain.OnError { return &f.OnError }).ours(),
	hookJob(domain.HookFailed), hookJob(domain.HookErrored), hookJob(domain.HookSucceeded), hookJob(domain.HookCancelled), hookJob(domain.HookLate),
	number("priority", func(f *domain.Flow) *int { return &f.Priority }).ours(),
	texts("params", func(f *domain.Flow) *map[string]string { return &f.Params }).secret().notInPages().ours(),
	flag(FlowPaused, func(f *domain.Flow) *bool { return &f.Paused }).ours(),
	text(FlowCancel, func(f *domain.Flow) *string { return &f.Cancel }).ours(),
	text("schedule", func(f *domain.Flow) *string { return &f.Schedule }).ours(),
	flag("backfill", func(f *domain.Flow) *bool { return &f.Backfill }).ours(),
	pointer(FlowCalledBy, "a JSON object with job, name, n and depth", func(f *domain.Flow) **domain.CalledBy { return &f.CalledBy }).ours(),
	pointer(FlowParent, "a JSON object with flow, step and depth", func(f *domain.Flow) **domain.FlowParent { return &f.Parent }).ours(),
	text(FlowMessage, func(f *domain.Flow) *string { return &f.Message }).ours(),
	number32(FlowSender, func(f *domain.Flow) *domain.ActorID { return &f.Sender }).ours(),
	text("trace_id", func(f *domain.Flow) *string { return &f.TraceID }).ours(),
	number(FlowStartedMs, func(f *domain.Flow) *int64 { return &f.StartedMs }).ours(),
	number(FlowFinishedMs, func(f *domain.Flow) *int64 { return &f.FinishedMs }).ours(),
	number("after_ms", func(f *domain.Flow) *int64 { return &f.AfterMs }).ours(),
	number32("duration", func(f *domain.Flow) *uint32 { return &f.Duration }).ours(),
	number32("retention", func(f *domain.Flow) *uint32 { return &f.Retention }).ours(),
	flag("stepped", func(f *domain.Flow) *bool { return &f.Stepped }).ours(),
	number(FlowRetried, func(f *domain.Flow) *int { return &f.Retried }).ours(),
	number32("rerun_of", func(f *domain.Flow) *domain.FlowID { return &f.RerunOf }).ours(),
	number32(FlowRerunBy, func(f *domain.Flow) *domain.FlowID { return &f.RerunBy }).ours(),
	text(FlowProgress, func(f *domain.Flow) *string { return &f.Progress }).ours(),
	text(FlowAwaits, func(f *domain.Flow) *domain.FlowAwaits { return &f.Awaits }).ours(),
)

// FlowHook is the field of a flow's record with the key of the job of its hook. Each is a
// field of its own: who calls one need not know of the others.
func FlowHook(on domain.HookOn) string { return "hook_" + string(on) }

// hookJob is that field.
func hookJob(on domain.HookOn) field[domain.Flow] {
	return field[domain.Flow]{name: FlowHook(on),
		write: func(f *domain.Flow) (string, bool) { return f.HookJobs[on], f.HookJobs[on] == "" },
		read: func(_ *decoder, f *domain.Flow, b board.Field) {
			if b.Value == "" {
				return
			}
			if f.HookJobs == nil {
				f.HookJobs = domain.FlowHooks{}
			}
			f.HookJobs[on] = b.Value
		}}.ours()
}

// FlowLine are the fields of a flow but those that may be large.
var FlowLine = flowTable.line()

// EncodeFlow writes a flow's record: every field of the seeds, and those of
// ours that are set.
func EncodeFlow(f domain.Flow) []board.Field { return flowTable.encode(&f) }

// DecodeFlow reads a flow's record.
//
// Errors: [domain.ErrInvalid] naming the field; the flow is filled as far as
// it could be read.
func DecodeFlow(key string, r board.Record) (f domain.Flow, err error) {
	err = flowTable.decode(decoder{key: keyText(key)}, &f, r)
	return f, err
}

// MapField is a map of strings as a field of a record.
func MapField(name string, m map[string]string) board.Field {
	return board.Field{Name: name, Value: encodeMap(m)}
}

// IDsField is a list of jobs as a field of a record.
func IDsField(name string, ids []domain.JobID) board.Field {
	return board.Field{Name: name, Value: encodeIDs(ids)}
}
