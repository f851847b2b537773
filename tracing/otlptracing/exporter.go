// Package otlptracing sends the spans of a node to a collector of OpenTelemetry.
package otlptracing

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

const (
	// sendTime bounds the last sending of a node that stops.
	sendTime = 5 * time.Second
	// tellAgain is how often it is told that the collector cannot be reached.
	tellAgain = time.Minute
)

// Config says where spans go.
type Config struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP, such as
	// http://127.0.0.1:4318, to which /v1/traces is added. Default: that of the
	// environment, see [Asked].
	Endpoint string
	// Node and Version are the node's name and the program's version.
	Node, Version string
	// Logger is told when the collector cannot be reached.
	Logger *slog.Logger
}

// Asked reports whether the environment names a collector, as OpenTelemetry has it.
func Asked() bool {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != ""
}

// Exporter sends spans. What it cannot send in time it lets go: a collector that is away
// costs the node nothing but a bounded queue.
type Exporter struct {
	queue sdk.SpanProcessor
	about *resource.Resource
	scope instrumentation.Scope
}

// Open makes an exporter. It does not ask the collector.
//
// Errors: [domain.ErrInvalid] of an endpoint that is no URL.
func Open(ctx context.Context, cfg Config) (*Exporter, error) {
	var options []otlptracehttp.Option
	if cfg.Endpoint != "" {
		u, err := url.Parse(cfg.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, domain.Invalidf("tracing: endpoint %q: want the URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318",
				domain.PlainText(cfg.Endpoint, 100))
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		options = append(options, otlptracehttp.WithEndpointURL(u.String()))
	}
	client, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, domain.Invalidf("tracing: %v", err)
	}
	about, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", "ramet")), resource.Environment())
	if err == nil {
		about, err = resource.Merge(about, resource.NewSchemaless(attribute.String("service.instance.id", cfg.Node),
			attribute.String("service.version", cfg.Version)))
	}
	if err != nil {
		return nil, domain.Invalidf("tracing: OTEL_RESOURCE_ATTRIBUTES: %v", err)
	}
	otel.SetErrorHandler(warned(cfg.Logger))
	return &Exporter{queue: sdk.NewBatchSpanProcessor(client), about: about,
		scope: instrumentation.Scope{Name: "github.com/ramet-run/ramet", Version: cfg.Version}}, nil
}

// warned logs what goes wrong, now and then.
func warned(log *slog.Logger) otel.ErrorHandler {
	var last atomic.Int64
	return otel.ErrorHandlerFunc(func(err error) {
		now := time.Now().UnixNano()
		if was := last.Load(); now-was < int64(tellAgain) || !last.CompareAndSwap(was, now) {
			return
		}
		log.Warn("spans could not be sent; those that are too many are let go", "err", err)
	})
}

// Take takes a span that has ended; see [tracing.New].
func (e *Exporter) Take(s tracing.Span) {
	if ids := spanIDs(s); ids.own.IsValid() {
		e.queue.OnEnd(&span{of: s, ids: ids, from: e})
	}
}

// Close sends what waits, for a few seconds at most.
func (e *Exporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	return e.queue.Shutdown(ctx)
}

var kinds = map[tracing.Kind]trace.SpanKind{
	tracing.Internal: trace.SpanKindInternal, tracing.Server: trace.SpanKindServer, tracing.Client: trace.SpanKindClient,
	tracing.Producer: trace.SpanKindProducer, tracing.Consumer: trace.SpanKindConsumer,
}

// ids are those of a span.
type ids struct{ own, parent trace.SpanContext }

// spanIDs are those of a span; its own is not valid where the trace is none.
func spanIDs(s tracing.Span) (i ids) {
	of, err := trace.TraceIDFromHex(s.Trace)
	if err != nil {
		return i
	}
	context := func(hex string) trace.SpanContext {
		id, err := trace.SpanIDFromHex(hex)
		if err != nil {
			return trace.SpanContext{}
		}
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: id, TraceFlags: trace.FlagsSampled})
	}
	i.own = context(tracing.ID(s.ID))
	switch {
	case s.ParentID != "":
		i.parent = context(s.ParentID).WithRemote(true)
	case s.Parent != "":
		i.parent = context(tracing.ID(s.Parent)).WithRemote(true)
	}
	return i
}

// span is one as the SDK sends it. It is not made by a tracer of the SDK: it has ended, has its
// ids already, and what it says is put together when it is sent, which many never are.
type span struct {
	sdk.ReadOnlySpan // nil: the interface has a method that only the SDK can have
	of               tracing.Span
	ids              ids
	from             *Exporter
}

func (s *span) Name() string                                { return s.of.Name }
func (s *span) SpanContext() trace.SpanContext              { return s.ids.own }
func (s *span) Parent() trace.SpanContext                   { return s.ids.parent }
func (s *span) SpanKind() trace.SpanKind                    { return kinds[s.of.Kind] }
func (s *span) StartTime() time.Time                        { return s.of.Began }
func (s *span) EndTime() time.Time                          { return s.of.Ended }
func (s *span) Links() []sdk.Link                           { return nil }
func (s *span) Events() []sdk.Event                         { return nil }
func (s *span) InstrumentationScope() instrumentation.Scope { return s.from.scope }
func (s *span) Resource() *resource.Resource                { return s.from.about }
func (s *span) DroppedAttributes() int                      { return 0 }
func (s *span) DroppedLinks() int                           { return 0 }
func (s *span) DroppedEvents() int                          { return 0 }
func (s *span) ChildSpanCount() int                         { return 0 }

func (s *span) Attributes() []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, len(s.of.Attributes))
	for _, a := range s.of.Attributes {
		if a.Value != "" {
			list = append(list, attribute.String(a.Name, a.Value))
		}
	}
	return list
}

func (s *span) Status() sdk.Status {
	if s.of.Failed == "" {
		return sdk.Status{}
	}
	return sdk.Status{Code: codes.Error, Description: s.of.Failed}
}
