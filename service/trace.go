package service

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

// traceKey is the context key of the trace that a request belongs to.
type traceKey struct{}

// WithTrace names the trace that a request belongs to: what it creates belongs to it,
// too, where it names no other.
func WithTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceKey{}, id)
}

// TraceID is the trace that a request belongs to, "" where it belongs to none.
func TraceID(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// RequestAttrs are what a line of the log has of a request: its id, and its trace where
// it has one.
func RequestAttrs(ctx context.Context) slog.Attr {
	attrs := []any{slog.String("request_id", RequestID(ctx))}
	if trace := TraceID(ctx); trace != "" {
		attrs = append(attrs, slog.String("trace_id", trace))
	}
	return slog.Group("", attrs...) // a group without a name is written as if it were none
}

// traced puts jobs into the request's trace that name none.
func traced(ctx context.Context, jobs []*domain.Job) {
	for _, j := range jobs {
		j.TraceID = cmp.Or(j.TraceID, TraceID(ctx))
	}
}

// tracedEvent puts an event into the request's trace that names none.
func tracedEvent(ctx context.Context, e *domain.Event) {
	trace := TraceID(ctx)
	if _, named := e.Metadata[domain.MetaTrace]; named || trace == "" {
		return
	}
	all := map[string]string{domain.MetaTrace: trace}
	maps.Copy(all, e.Metadata)
	e.Metadata = all
}

// asked tells of jobs, flows and events that a request has made, by their keys, where the
// request belongs to a trace: what becomes of them hangs there.
func (c Caller) asked(ctx context.Context, t domain.TenantID, began time.Time, keys ...string) {
	tracer, now := c.api.parts.Tracer, time.Now()
	trace := tracer.Wants(TraceID(ctx))
	if trace == "" {
		return
	}
	for _, key := range keys {
		kind, _, _ := strings.Cut(key, ":")
		tracer.Tell(tracing.Span{Trace: trace, ID: tracing.Request(t, key), Parent: tracing.Call(RequestID(ctx)), Name: "submit " + kind,
			Kind: tracing.Producer, Began: began, Ended: now,
			Attributes: []tracing.Attribute{{Name: "ramet.context", Value: domain.Tenant{ID: t}.Key()}, {Name: "ramet." + kind, Value: key}}})
	}
}
