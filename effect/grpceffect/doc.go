// Package grpceffect is the effect driver that calls a method of a gRPC
// service: a unary one, with the payload as its request and its response as the
// answer, both as JSON (the JSON mapping of Protocol Buffers).
//
// What the method takes and gives is told by the server itself (reflection), or
// by the operator: a descriptor set, or .proto files. The server's word is
// asked for anew every few minutes, and when a payload has a field that was not
// known.
//
// Each attempt carries the metadata idempotency-key (the command id),
// x-tenant-id and traceparent.
package grpceffect
