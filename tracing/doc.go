// Package tracing has the pieces of traces: what jobs, flows, sagas and effects tell of
// themselves where they belong to a trace, and how their spans hang together.
//
// A job knows its trace, and neither the span it was asked for in nor that of its last
// attempt. Nor need it: ids of spans are computed from names, so every node knows the
// span that another told of. What takes the spans is elsewhere: otlptracing sends them
// to a collector.
package tracing
