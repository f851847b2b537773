// Package saga runs sagas: it takes events from streams, lets the machine of
// their definition decide what follows, and sees to it that it is done.
//
// # The way of an event
//
//	stream ──> shard: the one worker of a partition
//	             decode, correlate ── no instance can be told ──> dead letter
//	             its instance has had its share ──> put aside, for later; see fairness.go
//	             seen before? ──> passed over
//	             machine.Advance ── the program fails ──> dead letter, the instance is held
//	             └──> one commit: instance + outbox + timers + mark + history + checkpoint
//	                    └──> relay: gateway | WORKFLOW_COMMANDS | WORKFLOW_EVENTS
//	                            └──> the outbox's records are deleted
//
//	alarm of a timer ──> an event for the instance, on WORKFLOW_COMMANDS
//
// # Who holds what
//
// The instances of a saga are spread over its partitions by their correlation
// id. A partition is held by one worker, by lease on its shard record; every
// commit is guarded by that lease, by the version of each instance, and by the
// checkpoint as it was. So a worker that was paused can do nothing when it
// comes back, and order holds: the events of an instance are handled one after
// the other, in the order of their stream.
//
// Which worker should hold which partition, each works out for itself from who
// is alive; nobody decides. See placement.go.
//
// # Goroutines
//
// Worker.Run starts one goroutine that renews leases, and for each shard that
// it holds one that works, one for each stream that is read, one that waits for
// the end, and the relay with one for each request to the gateway. All have
// ended when it returns.
//
// Source: seed 003, parts 1 to 9.
package saga
