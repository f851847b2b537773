// Package domain holds Ramet's words and their rules: what an actor, a
// context, a flow, a message, a runner and a job are, which states they pass
// through, and what is valid. It is pure: no input or output, no clock, no
// randomness; the time comes in as an argument.
//
// The word on the wire for a tenant is "context". The Go type is [Tenant],
// because ctx and context already mean context.Context in every Go program.
//
// Source: seeds of the mycojobs specification, "Models".
package domain
