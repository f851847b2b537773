// Package stream is the contract of the event streams that sagas and effects
// live on: stored, ordered, read by durable consumers. Package streamtest
// proves drivers equal; memstream is in memory, with faults; natsstream is NATS
// JetStream, in this process or elsewhere.
//
//	AGGREGATE_EVENTS   what happened to the aggregates of other programs
//	WORKFLOW_COMMANDS  effect commands, and events for one saga
//	WORKFLOW_EVENTS    results of effects, and facts that sagas tell
//
// There are two ways to read. A [Reader] belongs to one owner, gets everything
// in order from a position that its owner keeps, and never out of turn: for
// sagas. A [Queue] is shared by any number of workers, each message goes to one
// of them, and comes again until it is done with: for effects.
//
// Source: seed 003, part 4.
package stream
