// Package machine is a saga's definition made into something that moves: the
// pure heart of sagas. Nothing in it reads a clock, a file or a board, nothing is
// left to chance, and nothing depends on the order in which Go goes through a map:
// the same instance and the same event give the same bytes, everywhere, always.
//
//	definition ──Compile──> Machine
//	                          │
//	event ──Takes, Upcast, Correlate──> which instance
//	                          │
//	instance, event ──Advance──> Transition: the instance as it becomes, work,
//	                             timers to set and to clear, lines of history
//
// # What becomes of an event
//
//	             held, paused ──────────> deferred
//	             ended, stale timer ────> ignored
//	event ─────> compensating ──────────> result of a step or its undoing: recorded,
//	                                      the next step is undone; others: deferred
//	             running ── state.on ───> handle: the program decides
//	                                      defer:  kept, tried after every event that is handled
//	                                      ignore: only recorded, where it is a step's result
//	                                      fail:   *ProgramError
//
// One call is one transition: the version goes up by one, and events that were
// deferred and now can be handled are, within it. Ids of work are computed from
// the instance, the event and the place in what comes of it, so that reading the
// event again gives the same, whatever came between; another life of the instance
// has other events.
//
// An event on which the program fails changes nothing: Advance gives a
// *[ProgramError]. What then becomes of the instance is [Machine.Fail]'s to say,
// by the definition's policy; [Machine.Replay] and [Machine.Drop] are what people do
// about it later.
//
// # Programs
//
// A program is a Rhai script, or a graph of Rhai expressions. A graph is made
// into a script when it is compiled (graph.go), so both run alike, under the same
// bounds.
//
// A Machine has no goroutines and may be used by any number of them.
package machine
