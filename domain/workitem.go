package domain

import "encoding/json"

// WorkKind says where a work item goes: the second part of its key.
type WorkKind string

// The kinds of work.
const (
	WorkCommand  WorkKind = "command"  // to an aggregate, by the gateway
	WorkEffect   WorkKind = "effect"   // to an effect worker
	WorkInternal WorkKind = "workflow" // an event for one instance of a saga
	WorkFact     WorkKind = "fact"     // something that others may want to know
)

// Limits of what one transition may ask for.
const (
	// MaxWork items are one commit with all else that comes of an event: a board's
	// batch has 1,024 guards and operations, of which timers and dead letters need
	// some 300.
	MaxWork         = 256
	MaxWorkBytes    = 256 << 10 // of one payload
	MaxWorkTotal    = 512 << 10 // of all payloads
	MaxWorkMetadata = 16
)

// WorkItem is something that a saga wants to be done. Its id is computed from
// the event that it comes of: it is the same whenever that is read.
//
// Source: seed 003, part 3, "Work Item Envelopes".
type WorkItem struct {
	Kind WorkKind `json:"kind"`
	ID   string   `json:"command_id"` // a UUID of version 7
	// N numbers the items of an instance from 1 on: they are sent in this order.
	N      int64  `json:"n"`
	Tenant string `json:"tenant_id,omitzero"`
	// Saga and Correlation are the instance that asks.
	Saga        string `json:"saga"`
	Correlation string `json:"correlation_id"`

	AggregateType string `json:"aggregate_type,omitzero"` // of a command
	AggregateID   string `json:"aggregate_id,omitzero"`
	Effect        string `json:"effect_name,omitzero"` // of an effect
	// Step is the name under which the saga knows an effect, for compensation, or a
	// command, for its refusal.
	Step string `json:"step,omitzero"`
	// Life is that of the instance that sends a command with a step: no other may be
	// told that it was refused.
	Life string `json:"life,omitzero"`
	// Gateway is the policy of a command, where the definition that it comes of has one.
	Gateway *SagaGateway `json:"gateway,omitzero"`
	// Compensates is set on an effect that undoes a step.
	Compensates string `json:"compensates,omitzero"`
	ToSaga      string `json:"to_saga,omitzero"` // of an event for an instance
	ToID        string `json:"to_correlation_id,omitzero"`
	Type        string `json:"event_type,omitzero"` // of that and of a fact

	Payload  json.RawMessage   `json:"payload,omitzero"`
	Metadata map[string]string `json:"metadata,omitzero"`
	// MadeMs is the instant of the transition that made it, in Unix milliseconds.
	MadeMs int64 `json:"made_ms"`
}

// EffectCommand is what an effect worker is given: the data of a message on
// "tenant.<tenant>.effect.<effect>.<command id>".
//
// Source: seed 003, "Effect Command".
type EffectCommand struct {
	TenantID   string            `json:"tenant_id"`
	CommandID  string            `json:"command_id"`
	EffectName string            `json:"effect_name"`
	Payload    json.RawMessage   `json:"payload,omitzero"`
	Metadata   map[string]string `json:"metadata,omitzero"`
}

// EffectResult is how it ended: the data of a message on
// "tenant.<tenant>.effect_result.<effect>.<command id>".
//
// Source: seed 003, "Effect Result Event".
type EffectResult struct {
	TenantID   string            `json:"tenant_id"`
	CommandID  string            `json:"command_id"`
	EffectName string            `json:"effect_name"`
	ResultType ResultType        `json:"result_type"`
	Payload    json.RawMessage   `json:"payload,omitzero"`
	Timestamp  string            `json:"timestamp"` // RFC 3339
	Metadata   map[string]string `json:"metadata,omitzero"`
	// Error says why it did not succeed, and Attempts how often it was tried.
	Error    string `json:"error,omitzero"`
	Attempts int    `json:"attempts,omitzero"`
}

// SubmitCommandRequest is what the gateway is given.
//
// Source: seed 003, "Aggregate Command".
type SubmitCommandRequest struct {
	TenantID      string            `json:"tenant_id"`
	CommandID     string            `json:"command_id"`
	AggregateID   string            `json:"aggregate_id"`
	AggregateType string            `json:"aggregate_type"`
	PayloadJSON   string            `json:"payload_json"`
	Metadata      map[string]string `json:"metadata"`
}
