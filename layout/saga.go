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

var sagaTable = newTable(
	raw(SagaData, func(in *domain.SagaInstance) *json.RawMessage { return &in.Data }).secret(),
	text(SagaState, func(in *domain.SagaInstance) *string { return &in.State }),
	number(SagaVersion, func(in *domain.SagaInstance) *int64 { return &in.Version }),
	text(SagaStatus, func(in *domain.SagaInstance) *domain.SagaStatus { return &in.Status }),
	text("saga", func(in *domain.SagaInstance) *string { return &in.Saga }).fromKey(),
	text("correlation_id", func(in *domain.SagaInstance) *string { return &in.Correlation }).fromKey(),
	number("definition", func(in *domain.SagaInstance) *int { return &in.Definition }),
	text("hash", func(in *domain.SagaInstance) *string { return &in.Hash }),
	text("life", func(in *domain.SagaInstance) *string { return &in.Life }),
	plain("steps", "a JSON list of steps", func(in *domain.SagaInstance) *[]domain.SagaStep { return &in.Steps }).secret(),
	plain("asked", "a JSON list of effects", func(in *domain.SagaInstance) *[]domain.SagaAsked { return &in.Asked }),
	plain("timers", "a JSON list of timers", func(in *domain.SagaInstance) *[]domain.SagaTimer { return &in.Timers }).secret(),
	plain("deferred", "a JSON list of events", func(in *domain.SagaInstance) *[]domain.Event { return &in.Deferred }).secret(),
	text("outcome", func(in *domain.SagaInstance) *domain.SagaOutcome { return &in.Outcome }),
	text(SagaHeld, func(in *domain.SagaInstance) *string { return &in.Held }),
	flag(SagaPaused, func(in *domain.SagaInstance) *bool { return &in.Paused }),
	number("work", func(in *domain.SagaInstance) *int64 { return &in.Work }),
	number("created_ms", func(in *domain.SagaInstance) *int64 { return &in.CreatedMs }),
	number("updated_ms", func(in *domain.SagaInstance) *int64 { return &in.UpdatedMs }),
	number("ended_ms", func(in *domain.SagaInstance) *int64 { return &in.EndedMs }),
)

// EncodeSaga writes all of an instance.
func EncodeSaga(in *domain.SagaInstance) []board.Field { return sagaTable.encode(in) }

// DecodeSaga reads an instance's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeSaga(tenant, saga, correlation string, r board.Record) (*domain.SagaInstance, error) {
	in := &domain.SagaInstance{Tenant: tenant, Saga: saga, Correlation: correlation}
	err := sagaTable.decode(decoder{key: keyText(SagaKeys{tenant}.Instance(saga, correlation))}, in, r)
	return in, err
}

// Fields of an outbox's record.
const (
	OutboxItem  = "item" // JSON of a domain.WorkItem
	OutboxTries = "tries"
	OutboxError = "error"
	OutboxSince = "failed_ms" // when the gateway did not take it for the first time
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
