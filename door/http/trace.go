package http

import (
	"context"
	"crypto/rand"
	nethttp "net/http"
	"regexp"
	"strings"

	"github.com/ramet-run/ramet/service"
)

// IDHeader names a request, in its answer, in problems and in the log: by the caller,
// who finds it there again, or else by the door.
const IDHeader = "X-Request-Id"

// requestID are ids of callers that are taken over: they are written into logs and
// headers as they are.
var requestID = regexp.MustCompile(`^[0-9A-Za-z._:/+=@-]{1,128}$`)

// traceParent is a W3C trace context of version 00, or of a later one, which begins the
// same.
//
// Source: W3C Trace Context, section 3.2.
var traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// named is a request's context, with its id and its trace.
func named(r *nethttp.Request) (ctx context.Context, id string) {
	id = r.Header.Get(IDHeader)
	if len(r.Header[IDHeader]) != 1 || !requestID.MatchString(id) {
		id = rand.Text()
	}
	ctx = service.WithRequestID(r.Context(), id)
	if trace := traceOf(r.Header["Traceparent"]); trace != "" {
		ctx = service.WithTrace(ctx, trace)
	}
	return ctx, id
}

// traceOf is the trace that a header names, "" where it is not well-formed: then it is
// as if there were none.
func traceOf(header []string) string {
	if len(header) != 1 {
		return ""
	}
	p := traceParent.FindStringSubmatch(header[0])
	if p == nil || p[1] == "ff" || p[1] == "00" && p[4] != "" || strings.Trim(p[2], "0") == "" || strings.Trim(p[3], "0") == "" {
		return ""
	}
	return p[2]
}
