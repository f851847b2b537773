package http

import (
	"context"
	"crypto/rand"
	nethttp "net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/tracing"
)

// IDHeader names a request, in its answer, in problems and in the log: by the caller,
// who finds it there again, or else by the door.
const IDHeader = "X-Request-Id"

// requestID are ids of callers that are taken over: they are written into logs and
// headers as they are.
var requestID = regexp.MustCompile(`^[0-9A-Za-z._:/+=@-]{1,128}$`)

// named is a request's context, with its id and its trace: one that creates and belongs to
// none may begin one.
func named(r *nethttp.Request, tracer *tracing.Tracer) (ctx context.Context, id string) {
	id = r.Header.Get(IDHeader)
	if len(r.Header[IDHeader]) != 1 || !requestID.MatchString(id) {
		id = rand.Text()
	}
	ctx = service.WithRequestID(r.Context(), id)
	trace := traceOf(r.Header["Traceparent"])
	if trace == "" && r.Method == nethttp.MethodPost {
		trace = tracer.Begin()
	}
	if trace != "" {
		ctx = service.WithTrace(ctx, trace)
	}
	return ctx, id
}

// traced tells of a request that was answered, where it belongs to a trace.
func (d *Door) traced(w *response, r *nethttp.Request, o *service.Operation, began time.Time) {
	ctx := r.Context()
	trace := d.cfg.Tracer.Wants(service.TraceID(ctx))
	if trace == "" {
		return
	}
	s := tracing.Span{Trace: trace, ID: tracing.Call(service.RequestID(ctx)), Name: o.Method + " " + o.Path, Kind: tracing.Server, Began: began,
		Ended: time.Now(), Attributes: []tracing.Attribute{{Name: "http.request.method", Value: o.Method}, {Name: "http.route", Value: o.Path},
			{Name: "http.response.status_code", Value: strconv.Itoa(w.status)}, {Name: "ramet.request", Value: service.RequestID(ctx)}}}
	if len(r.Header["Traceparent"]) == 1 {
		s.ParentID = tracing.ParseParent(r.Header.Get("Traceparent"))
	}
	if w.status >= nethttp.StatusInternalServerError || w.status == 0 {
		s.Failed = nethttp.StatusText(w.status)
	}
	d.cfg.Tracer.Tell(s)
}

// traceOf is the trace that a header names, "" where it is not well-formed: then it is
// as if there were none.
func traceOf(header []string) string {
	if len(header) != 1 {
		return ""
	}
	return tracing.ParseHeader(header[0])
}
