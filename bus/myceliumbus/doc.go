// Package myceliumbus carries parcels over a Mycelium network, by the HTTP API
// of a daemon on the same machine.
//
//	Send ──> POST /api/v1/messages ──> the daemon's outbox, for at most 300 s ──> their daemon's inbox
//	Receive <── one poller ── GET /api/v1/messages?topic=… <── the daemon's inbox
//
// The address of a node is the public key of its daemon: "mycelium:<64 hex
// digits>". All parcels go on one topic; what else is in the daemon's inbox is
// other programs', and is left there.
//
// # What it promises
//
// Little: both boxes of a daemon lie in memory. Nil from Send says that our
// daemon took the parcel (201), nothing more. A parcel is gone from the daemon
// when it is popped, before anybody has dealt with it: Done does nothing. What
// is lost that way, by a restart, or by a receiver that is away for long, is
// sent again by who wants a receipt; nothing here waits for one.
//
// The API has neither passwords nor TLS: whoever reaches its port sends as this
// node and takes its parcels. So a daemon that is not on this machine's
// loopback interface is warned of.
//
// # Goroutines
//
// One, the poller: it asks only while somebody waits in Receive, so that the
// daemon keeps what nobody is there to take. Close ends it.
package myceliumbus
