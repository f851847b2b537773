// Package api is the one table of operations under every door: name,
// parameters, result, the right that is needed, and a summary. Doors translate
// and have no rules of their own.
//
//	door: parse ──> API.As(actor) ──> may this actor? ──> work, identity
//	                     │
//	          Operations: the same, by name
//
// An [Operation] is called with the parameters its table row names; the typed
// methods of [Caller] are what the rows call. A parameter is a field of the
// parameter struct: tagged `path` and `query` where it stands in the URL of
// the HTTP door, by its JSON name in the body otherwise. The types here are
// also what clients in Go send and receive.
//
// Errors are of the kinds in package domain; [FailureOf] turns them into what
// doors show. An error of no kind is ours to mend: it is written to the log
// with the request's id, and the caller sees that id only.
//
// The package has no goroutines.
package api
