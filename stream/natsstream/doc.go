// Package natsstream keeps the streams on NATS JetStream: on a server inside
// this process, or on a server or cluster that somebody runs.
// docs/decisions/0020 says why it is made this way.
//
// # Streams
//
// [Open] makes those that are missing, and refuses those that are there and
// would lose messages or refuse ours: it says which setting is what and must be
// what. The stream of aggregate events is its owner's: what lets old events go
// is a warning there. Streams may have more subjects than ours.
//
// WORKFLOW_TROUBLES stores what the server says of messages that it gives up on
// in the other three. Readers get it as the contract's [stream.Trouble]; what
// others publish there, as it is.
//
// # Publishing
//
// JetStream syncs each message by itself. So what is published goes as an atomic
// batch (NATS ADR-50), which costs one sync, wherever that is faster: from 16
// messages on where a server without replicas syncs, from 128 where it does not,
// from 2 with replicas. One goroutine for each stream, its publisher, works in
// rounds and takes into the next one what all callers have submitted by then:
//
//	Publish ─┐
//	Publish ─┼─► publisher ─► batch of up to 1,000 messages or 8 MiB ─► stream
//	Publish ─┘
//
// A batch is stored wholly or not at all, and single messages of one caller go
// one after the other, so that what is published again after an error cannot
// come to lie behind what followed it. A stream refuses a batch in which a
// message has an ID that it knows; then each caller's messages go by themselves,
// one by one until one is new.
//
// # Reading
//
// A [stream.Reader] is a pull consumer that its owner makes anew behind its own
// position; an earlier one is deleted. It has a priority group with a random
// name, which each request must give. So the server itself refuses the requests
// of an earlier owner that was away and does not know: it hears "conflict". The
// reader fetches ahead up to 500 messages or 8 MiB. Nothing is delivered twice
// to keep order (AckAll, without a time-out); the reader counts what the
// consumer has sent, and where one is missing, after a connection that broke, it
// makes the consumer anew behind the last that came, if it is still its own.
//
// A [stream.Queue] is a pull consumer with single acknowledgements, shared. A
// worker fetches as many as it asks for and no more, and gives back what comes
// after it has stopped asking.
//
// # What survives
//
//	embedded                            disk: each acknowledgement is synced
//	embedded, MayLose                   process
//	external, 3 replicas                quorum
//	external, 1 replica, SyncDeclared   disk: its owner says so
//	external, 1 replica, MayLose        process
//	external, 1 replica                 refused
//
// # Access
//
// The embedded server listens only if it is told to, to other nodes of the board,
// which log in with their link keys, and to programs that publish events, by
// nkeys or a token; and not in the clear but on the loopback. rights.go is the
// table of who may do what; [Accounts] writes it for an external server, and what
// such a server lets this node do is looked at when it opens.
//
// # Goroutines
//
//	publisher   one for each of the three streams, until Close
//	watch       looks at the streams after each connection to an external server
//
// and those of the NATS client and server. Readers and queues have none: what
// they fetched waits until somebody calls Next.
//
// # Failure
//
// Connections come back by themselves, for ever, after 50 ms to 5 s. A call
// waits three seconds for one, then it says unavailable. A server that falls
// silent is noticed after five seconds, by the heartbeats of a request. What a
// worker had in hands comes again after its AckWait.
package natsstream
