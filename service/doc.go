// Package service does the operations under every door: what each needs is in its row of
// [Operations], what goes in and comes out in package api. Doors translate and have no
// rules of their own.
//
//	door: parse ──> Service.As(actor) ──> may this actor? ──> work, identity
//	                     │
//	          Operations: the same, by name
//
// An [Operation] is called with the parameters its table row names; the typed
// methods of [Caller] are what the rows call.
//
// Errors are of the kinds in package domain; [api.FailureOf] turns them into what
// doors show. An error of no kind is ours to mend: it is written to the log
// with the request's id, and the caller sees that id only.
//
// # Goroutines
//
// One for each look at the board, the streams, the archive, their settings or sizes that is under way; it ends
// within five seconds, that at sizes within ten.
package service
