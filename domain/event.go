package domain

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Limits of events, and of what sagas make of them.
const (
	MaxEventBytes     = 512 << 10 // of an event as it stands in a stream
	MaxEventType      = 128
	MaxEventID        = 128
	MaxAggregateToken = 128
	MaxCorrelation    = 100 // bytes; it is part of keys
)

// EventSource says where an event comes from: the second part of its subject.
type EventSource string

// The sources.
const (
	SourceAggregate EventSource = "aggregate"      // tenant.T.aggregate.<type>.<id>
	SourceResult    EventSource = "effect_result"  // tenant.T.effect_result.<effect>.<command id>
	SourceFact      EventSource = "workflow_event" // tenant.T.workflow_event.<saga>.<correlation>
	SourceWorkflow  EventSource = "workflow"       // tenant.T.workflow.<saga>.<correlation>: for one instance
)

// Event is something that happened, as a saga is told of it. All that a program
// may know of time and chance stands in it.
//
// Source: seed 003, part 3 (envelopes) and part 5.
type Event struct {
	ID     string      `json:"event_id"`
	Type   string      `json:"event_type"`
	Source EventSource `json:"source,omitzero"`
	// Tenant is as it stands in the subject: a context's number or alias.
	Tenant string `json:"tenant_id,omitzero"`
	// AggregateType and AggregateID are those of events of aggregates.
	AggregateType string `json:"aggregate_type,omitzero"`
	AggregateID   string `json:"aggregate_id,omitzero"`
	// Effect and CommandID are those of results.
	Effect    string `json:"effect_name,omitzero"`
	CommandID string `json:"command_id,omitzero"`
	// Saga and Correlation name the instance that tells a fact, or that a
	// command is for.
	Saga        string `json:"saga,omitzero"`
	Correlation string `json:"correlation_id,omitzero"`
	// Timer is set when a timer of the instance has come: its instant in Unix
	// milliseconds, by which the instance knows it.
	Timer int64 `json:"timer,omitzero"`
	// Life is set when a command was refused: which life of the instance sent it.
	Life string `json:"life,omitzero"`
	// SchemaVersion is that of the payload. Default: 1.
	SchemaVersion int `json:"schema_version,omitzero"`
	// TimeMs is when it happened, as who wrote it says, in Unix milliseconds: data
	// for programs, by which no clock goes.
	TimeMs int64 `json:"timestamp_ms"`
	// StoredMs is when its stream took it: the same whenever it is read.
	StoredMs int64             `json:"stored_ms,omitzero"`
	Payload  json.RawMessage   `json:"payload,omitzero"`
	Metadata map[string]string `json:"metadata,omitzero"`

	// Stream and Seq are where it stands. A replayed one has the place of its
	// replay.
	Stream string `json:"stream,omitzero"`
	Seq    uint64 `json:"stream_seq,omitzero"`
}

// At is the instant that counts for what comes of it, timers and time-outs: when
// its stream took it. What was in no stream is as old as it says.
func (ev *Event) At() int64 { return cmp.Or(ev.StoredMs, ev.TimeMs) }

// Metadata that is known by name.
const (
	MetaCorrelation = "correlation_id"
	MetaTrace       = "trace_id"
	MetaSaga        = "saga"
	MetaStep        = "step"
	MetaCausation   = "causation_id"
)

// ResultType is how an effect ended.
//
// Source: seed 003, "Effect Result Event".
type ResultType string

// The results.
const (
	ResultSucceeded ResultType = "Succeeded"
	ResultFailed    ResultType = "Failed"
	ResultTimedOut  ResultType = "TimedOut"
)

// ResultTypes are all of them.
var ResultTypes = []ResultType{ResultSucceeded, ResultFailed, ResultTimedOut}

// ResultEvent is the type of the event by which a saga learns how an effect
// ended: "charge-card.Succeeded".
func ResultEvent(effect string, r ResultType) string { return effect + "." + string(r) }

// ParseResultEvent takes such a type apart.
func ParseResultEvent(typ string) (effect string, r ResultType, ok bool) {
	i := strings.LastIndexByte(typ, '.')
	if i < 1 {
		return "", "", false
	}
	r = ResultType(typ[i+1:])
	return typ[:i], r, r == ResultSucceeded || r == ResultFailed || r == ResultTimedOut
}

// RefusedEvent is the type of the event by which a saga learns that a command was
// refused for good: "notify.Refused". Only Ramet itself may say so, by an event with
// a Life.
func RefusedEvent(step string) string { return step + ".Refused" }

// ValidateCorrelation checks the correlation id of an instance.
//
// Errors: [ErrInvalid].
func ValidateCorrelation(id string) error {
	if id == "" || len(id) > MaxCorrelation || PlainText(id, MaxCorrelation) != id || strings.TrimSpace(id) != id {
		return Invalidf("correlation id %q: want 1 to %d bytes of text, without spaces around it", PlainText(id, MaxCorrelation), MaxCorrelation)
	}
	return nil
}

// ValidateAggregateType checks the type of an aggregate, which is a part of subjects.
//
// Errors: [ErrInvalid].
func ValidateAggregateType(of string) error {
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '.' || r == '*' || r == '>' }
	if of == "" || len(of) > MaxAggregateToken || strings.ContainsFunc(of, bad) {
		return Invalidf("aggregate type %q: want 1 to %d bytes of ASCII, without spaces, '.', '*' and '>'", PlainText(of, MaxAggregateToken), MaxAggregateToken)
	}
	return nil
}

// ValidateEventType checks the type of an event.
//
// Errors: [ErrInvalid].
func ValidateEventType(typ string) error {
	if typ == "" || typ == AnyEvent || PlainText(typ, MaxEventType) != typ || strings.ContainsAny(typ, " \u00a0") {
		return Invalidf("event type %q: want 1 to %d bytes of text without spaces", PlainText(typ, MaxEventType), MaxEventType)
	}
	return nil
}
