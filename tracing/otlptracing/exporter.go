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
	provider *sdk.TracerProvider
	tracer   trace.Tracer
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
	e := &Exporter{provider: sdk.NewTracerProvider(sdk.WithBatcher(client), sdk.WithResource(about), sdk.WithIDGenerator(given{}),
		sdk.WithSampler(sdk.AlwaysSample()))}
	e.tracer = e.provider.Tracer("github.com/ramet-run/ramet", trace.WithInstrumentationVersion(cfg.Version))
	return e, nil
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
	ids := spanIDs(s)
	if !ids.own.IsValid() {
		return
	}
	ctx := context.WithValue(context.Background(), idsKey{}, ids)
	if ids.parent.HasSpanID() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, ids.parent)
	}
	attributes := make([]attribute.KeyValue, 0, len(s.Attributes))
	for _, a := range s.Attributes {
		if a.Value != "" {
			attributes = append(attributes, attribute.String(a.Name, a.Value))
		}
	}
	_, span := e.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Began), trace.WithSpanKind(kinds[s.Kind]), trace.WithAttributes(attributes...))
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
	}
	span.End(trace.WithTimestamp(s.Ended))
}

// Close sends what waits, for a few seconds at most.
func (e *Exporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	return e.provider.Shutdown(ctx)
}

var kinds = map[tracing.Kind]trace.SpanKind{
	tracing.Internal: trace.SpanKindInternal, tracing.Server: trace.SpanKindServer, tracing.Client: trace.SpanKindClient,
	tracing.Producer: trace.SpanKindProducer, tracing.Consumer: trace.SpanKindConsumer,
}

// ids are those of a span, which are known before it is made.
type ids struct{ own, parent trace.SpanContext }

type idsKey struct{}

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
		i.parent = context(s.ParentID)
	case s.Parent != "":
		i.parent = context(tracing.ID(s.Parent))
	}
	return i
}

// given gives spans the ids that they have, instead of drawing some.
type given struct{}

func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	i := ctx.Value(idsKey{}).(ids)
	return i.own.TraceID(), i.own.SpanID()
}

func (given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(idsKey{}).(ids).own.SpanID()
}
