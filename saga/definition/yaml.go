package definition

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// This file writes a definition as people write it: with states, nodes and
// events under their names.

// YAML writes a definition for people; Parse reads it back.
func YAML(d *domain.SagaDefinition) []byte {
	var slim domain.SagaDefinition
	if err := json.Unmarshal(Canonical(d), &slim); err != nil {
		panic("BUG: our own JSON cannot be read: " + err.Error())
	}
	slim.Version = d.Version
	return document.YAML(document.Encode(written(&slim)), "on")
}

// fields are names and values in an order.
type fields []namedValue

type namedValue struct {
	name  string
	value any
}

// MarshalJSON writes them in that order.
func (f fields) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, x := range f {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, document.Encode(x.name)...), ':')
		out = append(out, document.Encode(x.value)...)
	}
	return append(out, '}'), nil
}

// add adds a field, unless it has the zero value.
func add[T comparable](f *fields, name string, v T) {
	var zero T
	if v != zero {
		*f = append(*f, namedValue{name, v})
	}
}

func (f *fields) list(name string, v []string) {
	if len(v) > 0 {
		*f = append(*f, namedValue{name, v})
	}
}

func (f *fields) fields(name string, v fields) {
	if len(v) > 0 {
		*f = append(*f, namedValue{name, v})
	}
}

func written(d *domain.SagaDefinition) fields {
	var f fields
	add(&f, "name", d.Name)
	add(&f, "version", d.Version)
	add(&f, "summary", d.Summary)
	f = append(f, namedValue{"triggers", d.Triggers})
	add(&f, "correlation", d.Correlation)
	add(&f, "correlation_header", d.CorrelationHeader)
	add(&f, "partitions", d.Partitions)
	add(&f, "initial", d.Initial)
	if len(d.Data) > 0 {
		f = append(f, namedValue{"data", d.Data})
	}
	var states fields
	for i := range d.States {
		states = append(states, namedValue{d.States[i].Name, state(&d.States[i])})
	}
	f.fields("states", states)
	f.list("effects", d.Effects)
	f.list("timers", d.Timers)
	if g := d.Gateway; g != nil {
		var of fields
		add(&of, "attempts", g.Attempts)
		add(&of, "max_backoff", span(g.MaxBackoff))
		add(&of, "give_up", span(g.GiveUp))
		f = append(f, namedValue{"gateway", of})
	}
	var events fields
	for i := range d.Events {
		events = append(events, namedValue{d.Events[i].Type, event(&d.Events[i])})
	}
	f.fields("events", events)
	f.fields("nodes", nodes(d.Nodes))
	if c := d.Compensation; c != nil {
		f = append(f, namedValue{"compensation", compensation(c)})
	}
	add(&f, "on_poison", d.OnPoison)
	add(&f, "on_version", d.OnVersion)
	add(&f, "retention", span(d.Retention))
	add(&f, "dedupe", span(d.Dedupe))
	add(&f, "script", d.Script) // last, because it is long
	return f
}

func span(s domain.Span) string {
	text := ""
	for _, unit := range []struct {
		name    string
		seconds domain.Span
	}{{"h", 3600}, {"m", 60}, {"s", 1}} {
		if n := s / unit.seconds; n > 0 {
			text += fmt.Sprint(n) + unit.name
			s %= unit.seconds
		}
	}
	return text
}

func state(s *domain.SagaState) fields {
	f := fields{}
	if len(s.On) > 0 {
		f = append(f, namedValue{"on", s.On})
	}
	if s.Timeout != nil {
		f = append(f, namedValue{"timeout", fields{{"after", span(s.Timeout.After)}, {"event", s.Timeout.Event}}})
	}
	add(&f, "final", s.Final)
	add(&f, "outcome", s.Outcome)
	return f
}

func event(e *domain.SagaEvent) fields {
	f := fields{}
	switch low, high := strconv.Itoa(e.MinVersion), strconv.Itoa(e.MaxVersion); {
	case e.MinVersion == 0 && e.MaxVersion == 0:
	case e.MaxVersion == 0:
		add(&f, "versions", low+"..")
	case e.MinVersion == 0:
		add(&f, "versions", ".."+high)
	case e.MinVersion == e.MaxVersion:
		f = append(f, namedValue{"versions", e.MinVersion})
	default:
		add(&f, "versions", low+".."+high)
	}
	var upcasts fields
	for _, u := range e.Upcast {
		upcasts = append(upcasts, namedValue{strconv.Itoa(u.From), u.Expr})
	}
	f.fields("upcast", upcasts)
	return f
}

func nodes(list []domain.SagaNode) (f fields) {
	for _, n := range list {
		if n.When == "" {
			add(&f, n.Name, n.Expr)
			continue
		}
		f = append(f, namedValue{n.Name, fields{{"expr", n.Expr}, {"when", n.When}}})
	}
	return f
}

func compensation(c *domain.SagaCompensation) fields {
	f := fields{{"steps", c.Steps}}
	f.list("effects", c.Effects)
	f.fields("nodes", nodes(c.Nodes))
	add(&f, "attempts", c.Attempts)
	add(&f, "done", c.Done)
	add(&f, "failed", c.Failed)
	return f
}
