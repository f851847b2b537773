package machine

import (
	"cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file makes what programs see: see docs/sagas.md, "What a program is given".

// eventFields are the names that the map of an event may have; a program is told
// of the state and the step of an instance, too.
var eventFields = []string{"aggregate_id", "aggregate_type", "command_id", "correlation", "effect", "id", "metadata", "now_ms", "payload", "result",
	"saga", "schema_version", "source", "tenant", "time_ms", "type"}

// EventValue is an event as a program sees it. now is the instant of the
// transition; when the event happened is what its sender says.
func EventValue(ev *domain.Event, now int64) (value.Value, error) {
	payload, err := payloadValue(ev.Payload)
	if err != nil {
		return value.Value{}, err
	}
	v := value.NewMap(len(eventFields) + 2)
	m := v.AsMap()
	text := func(name, s string) {
		if s != "" {
			m.Set(name, value.Str(s))
		}
	}
	text("aggregate_id", ev.AggregateID)
	text("aggregate_type", ev.AggregateType)
	text("command_id", ev.CommandID)
	text("correlation", ev.Correlation)
	text("effect", ev.Effect)
	text("id", ev.ID)
	if len(ev.Metadata) > 0 {
		m.Set("metadata", texts(ev.Metadata))
	}
	m.Set("now_ms", value.Int(now))
	m.Set("payload", payload)
	if ev.Source == domain.SourceResult {
		_, r, _ := domain.ParseResultEvent(ev.Type)
		text("result", string(r))
	}
	text("saga", ev.Saga)
	m.Set("schema_version", value.Int(int64(cmp.Or(ev.SchemaVersion, 1))))
	text("source", string(ev.Source))
	text("tenant", ev.Tenant)
	m.Set("time_ms", value.Int(ev.TimeMs))
	text("type", ev.Type)
	return v, nil
}

// texts is a map of strings; what order Go goes through it in does not show,
// because a Rhai map is sorted when somebody looks.
func texts(m map[string]string) value.Value {
	v := value.NewMap(len(m))
	for name, s := range m {
		v.AsMap().Set(name, value.Str(s))
	}
	return v
}

// stepValue is a step as a compensation sees it.
func stepValue(s *domain.SagaStep) (value.Value, error) {
	v := value.NewMap(5)
	m := v.AsMap()
	m.Set("command_id", value.Str(s.CommandID))
	m.Set("effect", value.Str(s.Effect))
	m.Set("name", value.Str(s.Name))
	for _, part := range []struct {
		name string
		text []byte
	}{{"payload", s.Payload}, {"result", s.Result}} {
		x, err := payloadValue(part.text)
		if err != nil {
			return value.Value{}, err
		}
		m.Set(part.name, x)
	}
	return v, nil
}
