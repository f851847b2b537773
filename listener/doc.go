// Package listener starts flows for events of streams.
//
//	stream ──> one durable consumer for each listener, shared by all nodes
//	             no event at all, or an expression fails on it ──> dead letter
//	             not of its types, older than it, or `when` false ──> passed by
//	             └──> flow, by its trigger <name>..<event id>: once, ever
//	                    made, or there already ──> acknowledged
//	                    held up (a ban, no room, no blueprint, no right) ──> comes again
//
// # Once, and none lost
//
// A message is acknowledged when its flow is on the board, and not before: a node that dies
// in between leaves it to another, which finds the flow by its trigger. So the position is
// the broker's, as it is for effects, and no node leads. What holds up the next event as
// well waits in the stream, and the listener says for what; what is wrong with one event
// alone becomes a dead letter, and others go on.
//
// Events are taken in no particular order: flows run side by side anyway.
//
// # Goroutines
//
// Worker.Run has one for each listener. All have ended when it returns.
//
// See docs/decisions/0057.
package listener
