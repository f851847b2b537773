package api

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// EventInput is an event as callers write it: of an aggregate, or for one
// instance of a saga.
//
//	POST /v1/contexts/{context}/events   EventInput, or {"events": [EventInput…]} -> EventsPublished
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

func (in *EventInput) event() *domain.Event {
	return &domain.Event{ID: in.ID, Type: in.Type, AggregateType: in.AggregateType, AggregateID: in.AggregateID, Saga: in.Saga, Correlation: in.Correlation,
		SchemaVersion: in.SchemaVersion, TimeMs: in.TimeMs, Payload: in.Payload, Metadata: in.Metadata}
}

// EventsPublished has the ids of the events, in order.
type EventsPublished struct {
	IDs []string `json:"event_ids"`
	// Durability is what the events survive: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// MaxEvents is how many events one call publishes.
const MaxEvents = 1_000

// PublishParams are those of event.publish: the fields of one event, or a list.
type PublishParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Events  []EventInput    `json:"events"`
	EventInput
}

// PublishEvents stores events in their streams, in order. Nothing is stored
// before all are right. After [domain.ErrUnavailable] some may be: publish all
// again, under the same ids.
func (c Caller) PublishEvents(ctx context.Context, p PublishParams) (EventsPublished, error) {
	if _, err := c.may(ctx, identity.Create, p.Context, "event"); err != nil {
		return EventsPublished{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return EventsPublished{}, err
	}
	if p.Events == nil {
		p.Events = []EventInput{p.EventInput}
	}
	if len(p.Events) > MaxEvents {
		return EventsPublished{}, domain.Invalidf("%d events: the limit is %d at once", len(p.Events), MaxEvents)
	}
	events := make([]*domain.Event, len(p.Events))
	for i := range p.Events {
		events[i] = p.Events[i].event()
		events[i].ID = cmp.Or(events[i].ID, c.once.name(i))
	}
	done, err := engine.PublishAll(ctx, p.Context, events)
	if err != nil {
		return EventsPublished{}, err
	}
	out := EventsPublished{IDs: make([]string, len(done)), Durability: c.api.parts.Info().StreamDurability}
	for i, ev := range done {
		out.IDs[i] = ev.ID
	}
	return out, nil
}
