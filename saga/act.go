package saga

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file has what people do: each is an event on its way when the call
// returns, and done when whoever holds the partition comes to it.

// Publish stores an event. Its subject is made of what the event says: of an
// aggregate (AggregateType and AggregateID), or for one instance (Saga and
// Correlation).
//
// Errors: [domain.ErrInvalid], [domain.ErrUnavailable].
func (e *Engine) Publish(ctx context.Context, tenant domain.TenantID, ev *domain.Event) (*domain.Event, error) {
	list, err := e.PublishAll(ctx, tenant, []*domain.Event{ev})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// PublishAll stores up to [stream.MaxPublish] events, those of one stream in
// the order given. Nothing is stored before all are right; after
// [domain.ErrUnavailable] some may be: publish all again, with their ids.
//
// Errors: [domain.ErrInvalid] naming the event, [domain.ErrUnavailable].
func (e *Engine) PublishAll(ctx context.Context, tenant domain.TenantID, events []*domain.Event) ([]*domain.Event, error) {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, err
	}
	list, messages := make([]*domain.Event, len(events)), make([]stream.Message, len(events))
	for i, ev := range events {
		if list[i], messages[i], err = published(tenant, name, ev, e.board.Now()); err != nil && len(events) > 1 {
			err = fmt.Errorf("events[%d]: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, e.log.Publish(ctx, messages...)
}

// published is an event as it is stored, and the message that it is in.
func published(tenant domain.TenantID, name string, ev *domain.Event, now time.Time) (*domain.Event, stream.Message, error) {
	if ev.Tenant != "" && !slices.Contains(prefixes(tenant, name), ev.Tenant) {
		return nil, stream.Message{}, domain.Invalidf("tenant_id is %q, and this is context %d: leave it out", domain.PlainText(ev.Tenant, 128), tenant)
	}
	out := *ev
	out.Tenant = name
	if out.ID == "" {
		out.ID = newID()
	}
	if out.TimeMs == 0 {
		out.TimeMs = now.UnixMilli()
	}
	if out.SchemaVersion == 0 {
		out.SchemaVersion = 1
	}
	// Ids are the context's own: another one may have the same.
	m := stream.Message{ID: name + ":" + out.ID}
	switch {
	case out.AggregateType != "" && out.Saga == "":
		if err := domain.ValidateAggregateType(out.AggregateType); err != nil {
			return nil, m, err
		}
		if out.AggregateID == "" {
			return nil, m, domain.Invalidf("an event of an aggregate needs the aggregate's id")
		}
		out.Source = domain.SourceAggregate
		m.Stream, m.Subject = domain.AggregateEvents, subject(name, "aggregate", out.AggregateType, token(out.AggregateID))
	case out.Saga != "" && out.AggregateType == "":
		if err := domain.ValidateName("saga", out.Saga); err != nil {
			return nil, m, err
		}
		if err := domain.ValidateCorrelation(out.Correlation); err != nil {
			return nil, m, err
		}
		out.Source = domain.SourceWorkflow
		m.Stream, m.Subject = domain.WorkflowCommands, subject(name, "workflow", out.Saga, token(out.Correlation))
	default:
		return nil, m, domain.Invalidf("an event wants either an aggregate type or a saga")
	}
	if isControl(&out) || out.Timer != 0 || out.Life != "" {
		return nil, m, domain.Invalidf("events of type %q are Ramet's own", out.Type)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, m, domain.Invalidf("the event: %v", err)
	}
	if m.Data = data; len(m.Data) > domain.MaxEventBytes {
		return nil, m, domain.Invalidf("the event has %d bytes, the limit is %d: put large content elsewhere and its address into the event",
			len(m.Data), domain.MaxEventBytes)
	}
	return &out, m, checkEvent(&out, &m)
}

func newID() string { return identity("random", rand.Text()) }

// Pause has an instance keep its events until it is resumed.
//
// Errors: [domain.ErrNotFound], [domain.ErrConflict] where it has ended.
func (e *Engine) Pause(ctx context.Context, tenant domain.TenantID, saga, correlation string) error {
	return e.steer(ctx, tenant, saga, correlation, controlPause)
}

// Resume has a paused instance go on.
func (e *Engine) Resume(ctx context.Context, tenant domain.TenantID, saga, correlation string) error {
	return e.steer(ctx, tenant, saga, correlation, controlResume)
}

func (e *Engine) steer(ctx context.Context, tenant domain.TenantID, saga, correlation, what string) error {
	in, err := e.Instance(ctx, tenant, saga, correlation)
	if err != nil {
		return err
	}
	if in.Status == domain.SagaEnded {
		return domain.Conflictf("instance %q of saga %s has ended", correlation, saga)
	}
	return e.ask(ctx, tenant, saga, correlation, what, control{})
}

// ask sends an event of our own to an instance.
func (e *Engine) ask(ctx context.Context, tenant domain.TenantID, saga, correlation, what string, c control) error {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return err
	}
	return e.tell(ctx, name, &domain.Event{ID: newID(), Type: what, Saga: saga, Correlation: correlation,
		TimeMs: e.board.Now().UnixMilli(), Payload: json.RawMessage(plainJSON(c))})
}

// Replay gives a dead letter another chance: an event to its instance, a work
// item or an effect command to its destination.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] for one that was too long
// to be kept whole.
func (e *Engine) Replay(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) error {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return err
	}
	key := layout.SagaKeys{Tenant: name}.Dead(kind, id)
	d, text, err := e.dead(ctx, tenant, key)
	if err != nil {
		return err
	}
	if isCut(d) {
		return domain.Conflictf("dead letter %q was too long to be kept whole: it can be dropped, not replayed", id)
	}
	switch kind {
	case domain.DeadSaga:
		return e.ask(ctx, tenant, d.Saga, d.Correlation, controlReplay, control{Dead: key})
	case domain.DeadWork:
		return e.ask(ctx, tenant, d.Saga, d.Correlation, controlResend, control{Dead: key})
	case domain.DeadEffect:
		// Another id, or the stream takes it for the one it had.
		m := stream.Message{Stream: domain.WorkflowCommands, Subject: d.Subject, ID: newID(), Data: []byte(d.Data)}
		if err := e.log.Publish(ctx, m); err != nil {
			return err
		}
		return e.forget(ctx, tenant, key, text)
	case domain.DeadEvent:
		if d.Listener != "" && e.cfg.Listen != nil {
			if err := e.cfg.Listen(ctx, tenant, d); err != nil {
				return err
			}
			return e.forget(ctx, tenant, key, text)
		}
	}
	return e.redo(ctx, name, key, d)
}

// redo has a saga read a message again, and nobody else. Who reads it takes
// the dead letter away, in the same commit.
func (e *Engine) redo(ctx context.Context, name, key string, d *domain.DeadLetter) error {
	if d.Saga == "" {
		return domain.Conflictf("the message belongs to no saga: publish it again")
	}
	again := redo{Dead: key, Event: d.Event, Subject: d.Subject}
	if d.Event == nil {
		again.Data = []byte(d.Data)
	}
	m := own(name, &domain.Event{ID: newID(), Type: controlRedo, Saga: d.Saga, Correlation: controlRedo})
	m.Header[headerOurs], m.Data = oursRedo, []byte(plainJSON(again))
	return e.log.Publish(ctx, m)
}

// Drop forgets a dead letter; an instance that it holds goes on without it, and one that
// waits for an effect's result gets the result Failed.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Drop(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) error {
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return err
	}
	key := layout.SagaKeys{Tenant: name}.Dead(kind, id)
	d, text, err := e.dead(ctx, tenant, key)
	if err != nil {
		return err
	}
	if d.Holds {
		return e.ask(ctx, tenant, d.Saga, d.Correlation, controlDrop, control{Dead: key})
	}
	if kind == domain.DeadEffect {
		// First: who asked for it waits for ever where the dead letter is gone and nobody told.
		if err := e.cfg.GiveUp(ctx, tenant, d); err != nil {
			return err
		}
	}
	return e.forget(ctx, tenant, key, text)
}

// forget deletes a dead letter that nothing waits for, unless there is another
// in its place by now.
func (e *Engine) forget(ctx context.Context, tenant domain.TenantID, key, text string) error {
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Equal(key, layout.DeadText, text).Delete(key)
	if err := e.board.Commit(ctx, b); err != nil && !errors.Is(err, domain.ErrConflict) {
		return err
	}
	e.text.Info("dead letter is gone", "context", uint32(tenant), "key", key)
	return nil
}
