package api

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// The operations on events.
var (
	EventPublish = op[EventsPublished](Operation{
		Name: "event.publish", Method: "POST", Path: "/v1/contexts/{context}/events", Right: domain.VerbCreate,
		Summary: "Store one event of an aggregate or for an instance (its fields in the body), or many ({\"events\": [...]}).",
	}, PublishParams{Context: 7, EventInput: EventInput{Type: "order.placed", AggregateType: "order", AggregateID: "17",
		Payload: json.RawMessage(`{"total":120}`)}})
)

// EventInput is an event as callers write it: of an aggregate, or for one
// instance of a saga.
type EventInput struct {
	// ID is what the event is known by: published again under it, it is the
	// same event. Default: one is made.
	ID   string `json:"event_id,omitzero"`
	Type string `json:"event_type"`
	// AggregateType and AggregateID are whose event it is; or Saga and
	// Correlation the instance it is for.
	AggregateType string `json:"aggregate_type,omitzero"`
	AggregateID   string `json:"aggregate_id,omitzero"`
	Saga          string `json:"saga,omitzero"`
	// Correlation of an aggregate's event is what sagas find their instance by
	// that have no rule of their own.
	Correlation string `json:"correlation_id,omitzero"`
	// SchemaVersion is that of the payload. Default: 1.
	SchemaVersion int `json:"schema_version,omitzero"`
	// TimeMs is when it happened, in Unix milliseconds. Default: now.
	TimeMs   int64             `json:"timestamp_ms,omitzero"`
	Payload  json.RawMessage   `json:"payload,omitzero"`
	Metadata map[string]string `json:"metadata,omitzero"`
}

// EventsPublished has the ids of the events, in order.
type EventsPublished struct {
	IDs []string `json:"event_ids"`
	// Durability is what the events survive: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// MaxEvents is how many events one call publishes.
const MaxEvents = 1_000

// PublishParams are the parameters of event.publish: the fields of one event, or a list.
type PublishParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Events  []EventInput    `json:"events"`
	EventInput
}
