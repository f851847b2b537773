// Package myceliumtest stands in for Mycelium daemons in tests: its daemons
// serve the HTTP and JSON-RPC message API of the real ones, with all its
// quirks, and carry messages among themselves.
//
//	POST /api/v1/messages             outbox            inbox           GET /api/v1/messages
//	 ───────────────────> daemon A ── pending ─ sending ─────> daemon B ───────────────────>
//	                          │      received <── ack ───┘  │
//	                          └────────── read <── popped ──┘
//
// The daemons of a [Network] live in one process and need no configuration;
// program test/myceliumd is one daemon with the flags of the real one, and
// links with others over TCP. [Process] starts either that or the real one.
//
// What is modelled is the message, not its packets: where nothing is in the
// way it arrives within the push. On the way [Faults] may befall it. The clock
// that ends the 300 seconds for which a daemon tries is the network's, which
// [Network.Advance] moves.
//
// Not modelled: routes over third daemons, packet counts, proxies.
//
// # Locks
//
// A daemon has the lock that the real one has: a call holds it while it works,
// and one that waits for a message holds it all that time, so that every other
// call to this daemon waits too. Messages themselves are guarded by one mutex
// of the network. The goroutines are those of the HTTP servers, one per
// delayed message, and three per link; [Daemon.Stop] and the end of the test
// end them.
package myceliumtest
