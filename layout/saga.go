package layout

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Keys of sagas and effects, in the space of their context. A deployment
// without tenants leaves the tenant empty, and its colon with it.
//
// Source: seed 003, part 3.
const (
	SagaPrefix       = "saga:"
	CheckpointPrefix = "checkpoint:"
	OutboxPrefix     = "outbox:"
	SagaTimerPrefix  = "schedule:"
	DedupePrefix     = "dedupe:"
	DeadPrefix       = "deadletter:"
)

// SagaKeys are the keys of one context's sagas. Tenant is the name that its
// subjects have: its number or alias, or "".
type SagaKeys struct{ Tenant string }

func (k SagaKeys) key(prefix string, parts ...string) string {
	if k.Tenant != "" {
		prefix += k.Tenant + ":"
	}
	return prefix + strings.Join(parts, ":")
}

// Instance is the record of an instance: its state, as the seed has it, and
// all else there is of it.
func (k SagaKeys) Instance(saga, correlation string) string {
	return k.key(SagaPrefix, saga, correlation)
}

// Instances is what the keys of a saga's instances begin with.
func (k SagaKeys) Instances(saga string) string { return k.key(SagaPrefix, saga, "") }

// Checkpoint is the record with the sequences up to which a saga has come: a
// field for each stream and partition, see [CheckpointField].
func (k SagaKeys) Checkpoint(saga string) string { return k.key(CheckpointPrefix, saga) }

// Outbox is the record of a work item until it is sent.
func (k SagaKeys) Outbox(kind domain.WorkKind, id string) string {
	return k.key(OutboxPrefix, string(kind), id)
}

// OutboxIndex is the set of the keys of the outbox's records of one partition
// of a saga.
func (k SagaKeys) OutboxIndex(saga string, partition int) string {
	if k.Tenant == "" {
		return "outbox_index:" + saga + ":" + strconv.Itoa(partition)
	}
	return "outbox_index:" + k.Tenant + ":" + saga + ":" + strconv.Itoa(partition)
}

// Timer is the record of a timer.
func (k SagaKeys) Timer(saga, correlation string, dueMs int64) string {
	return k.key(SagaTimerPrefix, saga, correlation, strconv.FormatInt(dueMs, 10))
}

// TimerAlarm is the alarm by which a timer comes. Schedules have alarms that
// begin as the records of timers do, so these do not.
func TimerAlarm(record string) string { return timerAlarm + record }

// ParseTimerAlarm is the record of a timer whose alarm it is.
func ParseTimerAlarm(name string) (record string, ok bool) {
	return strings.CutPrefix(name, timerAlarm)
}

const (
	timerAlarm    = "sagatimer:"
	historyPrefix = "ramet:saga:history:"
)

// Seen is the mark of an event that a saga has had.
func (k SagaKeys) Seen(saga, eventID string) string { return k.key(DedupePrefix, saga, eventID) }

// Done is the mark of an effect command that was done.
func (k SagaKeys) Done(commandID string) string { return k.key(DedupePrefix, "effect", commandID) }

// Dead is the record of a dead letter.
func (k SagaKeys) Dead(kind domain.DeadKind, id string) string {
	return k.key(DeadPrefix, string(kind), id)
}

// Deads is what the keys of a context's dead letters of a kind begin with; ""
// is all kinds.
func (k SagaKeys) Deads(kind domain.DeadKind) string {
	if kind == "" {
		return k.key(DeadPrefix)
	}
	return k.key(DeadPrefix, string(kind), "")
}

// History is the list of what an instance went through, newest right.
func (k SagaKeys) History(saga, correlation string) string {
	return k.key(historyPrefix, saga, correlation)
}

// Shard is the record by which a partition of a saga is occupied by the one
// worker that serves it.
func (k SagaKeys) Shard(saga string, partition int) string {
	return k.key("ramet:saga:shard:", saga, strconv.Itoa(partition))
}

// CheckpointField is the field for a stream and a partition.
func CheckpointField(stream string, partition int) string {
	return stream + ":" + strconv.Itoa(partition)
}

// Field names of an instance's record that others guard and set.
const (
	SagaData    = "state" // the JSON state payload of the seed
	SagaVersion = "version"
	SagaStatus  = "status"
	SagaState   = "in" // the name of the state it is in
	SagaHeld    = "held"
	SagaPaused  = "paused"
)

// EncodeSaga writes all of an instance.
func EncodeSaga(in *domain.SagaInstance) []board.Field {
	e := make(encoder, 0, 22)
	e.str(SagaData, string(in.Data))
	e.str(SagaState, in.State)
	e.num(SagaVersion, in.Version)
	e.str(SagaStatus, string(in.Status))
	e.str("saga", in.Saga)
	e.str("correlation_id", in.Correlation)
	e.num("definition", int64(in.Definition))
	e.str("hash", in.Hash)
	e.str("life", in.Life)
	e.str("steps", encodePlain(in.Steps))
	e.str("asked", encodePlain(in.Asked))
	e.str("timers", encodePlain(in.Timers))
	e.str("deferred", encodePlain(in.Deferred))
	e.str("outcome", string(in.Outcome))
	e.str(SagaHeld, in.Held)
	e.flag(SagaPaused, in.Paused)
	e.num("work", in.Work)
	e.num("created_ms", in.CreatedMs)
	e.num("updated_ms", in.UpdatedMs)
	e.num("ended_ms", in.EndedMs)
	return e
}

// encodePlain writes a list without escaping what only HTML wants escaped: what
// payloads may have was checked as they are.
func encodePlain[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(list); err != nil {
		panic("BUG: a domain value cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// DecodeSaga reads an instance's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeSaga(tenant, saga, correlation string, r board.Record) (*domain.SagaInstance, error) {
	in := &domain.SagaInstance{Tenant: tenant, Saga: saga, Correlation: correlation}
	d := decoder{key: keyText(SagaKeys{tenant}.Instance(saga, correlation))}
	for _, f := range r {
		switch f.Name {
		case SagaData:
			in.Data = json.RawMessage(f.Value)
		case SagaState:
			in.State = f.Value
		case SagaVersion:
			in.Version = d.int(f)
		case SagaStatus:
			in.Status = domain.SagaStatus(f.Value)
		case "definition":
			in.Definition = int(d.int(f))
		case "hash":
			in.Hash = f.Value
		case "life":
			in.Life = f.Value
		case "asked":
			d.json(f, &in.Asked, "a JSON list of effects")
		case "steps":
			d.json(f, &in.Steps, "a JSON list of steps")
		case "timers":
			d.json(f, &in.Timers, "a JSON list of timers")
		case "deferred":
			d.json(f, &in.Deferred, "a JSON list of events")
		case "outcome":
			in.Outcome = domain.SagaOutcome(f.Value)
		case SagaHeld:
			in.Held = f.Value
		case SagaPaused:
			in.Paused = d.flag(f)
		case "work":
			in.Work = d.int(f)
		case "created_ms":
			in.CreatedMs = d.int(f)
		case "updated_ms":
			in.UpdatedMs = d.int(f)
		case "ended_ms":
			in.EndedMs = d.int(f)
		}
	}
	return in, d.err
}

// Fields of an outbox's record.
const (
	OutboxItem  = "item" // JSON of a domain.WorkItem
	OutboxTries = "tries"
	OutboxError = "error"
)

// Fields of other records of sagas and effects.
const (
	SeenAt       = "at_ms"    // of the mark of an event
	SeenBy       = "instance" // its correlation id
	TimerPayload = "reminder" // JSON of a domain.SagaTimer
	TimerSaga    = "saga"     // whose it is
	TimerOf      = "correlation_id"
	DeadText     = "letter" // JSON of a domain.DeadLetter
	DoneStatus   = "status" // of the mark of an effect: trying, or decided or done
	DoneTrying   = "trying"
	DoneResult   = "result" // JSON of a domain.EffectResult
	DoneAttempts = "attempts"
	DoneError    = "error"   // of the last attempt
	DoneNext     = "next_ms" // when the next is due
)
