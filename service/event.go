package service

import (
	"time"

	"cmp"
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func eventOf(in *api.EventInput) *domain.Event {
	return &domain.Event{ID: in.ID, Type: in.Type, AggregateType: in.AggregateType, AggregateID: in.AggregateID, Saga: in.Saga, Correlation: in.Correlation,
		SchemaVersion: in.SchemaVersion, TimeMs: in.TimeMs, Payload: in.Payload, Metadata: in.Metadata}
}

// PublishEvents stores events in their streams, in order. Nothing is stored
// before all are right. After [domain.ErrUnavailable] some may be: publish all
// again, under the same ids.
func (c Caller) PublishEvents(ctx context.Context, p api.PublishParams) (api.EventsPublished, error) {
	if _, err := c.may(ctx, domain.VerbCreate, p.Context, "event"); err != nil {
		return api.EventsPublished{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return api.EventsPublished{}, err
	}
	if p.Events == nil {
		p.Events = []api.EventInput{p.EventInput}
	}
	if len(p.Events) > api.MaxEvents {
		return api.EventsPublished{}, domain.Invalidf("%d events: the limit is %d at once", len(p.Events), api.MaxEvents)
	}
	events := make([]*domain.Event, len(p.Events))
	for i := range p.Events {
		events[i] = eventOf(&p.Events[i])
		events[i].ID = cmp.Or(events[i].ID, c.once.name(i))
		tracedEvent(ctx, events[i])
	}
	began := time.Now()
	done, err := engine.PublishAll(ctx, p.Context, events)
	if err != nil {
		return api.EventsPublished{}, err
	}
	out := api.EventsPublished{IDs: make([]string, len(done)), Durability: c.api.parts.Info().StreamDurability}
	for i, ev := range done {
		out.IDs[i] = ev.ID
		c.asked(ctx, p.Context, began, "event:"+ev.ID)
	}
	return out, nil
}
