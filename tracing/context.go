package tracing

import "context"

// traceKey is where a context has the trace of who asks.
type traceKey struct{}

// In is a context in whose name requests are sent with a header "traceparent" of W3C
// Trace Context, so that they belong to that trace, and what they create. A text of ""
// changes nothing.
func In(ctx context.Context, traceParent string) context.Context {
	if traceParent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, traceParent)
}

// Of is the header of a context; "" where it has none.
func Of(ctx context.Context) string {
	text, _ := ctx.Value(traceKey{}).(string)
	return text
}
