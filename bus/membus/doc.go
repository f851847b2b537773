// Package membus carries parcels between the nodes of one process, for tests
// and simulation.
//
// A [Network] is told by its [Config] how bad it is: parcels may be lost,
// doubled, delayed and overtaken, and [Network.Cut] parts nodes. What happens
// to the n-th parcel from one node to another follows from the seed, the two
// names and n alone, so that a run can be had again however its goroutines
// were scheduled.
//
//	Send ──► the draw of that link ──► mailbox of the addressee ──► Receive
//	         (lost? twice? how late?)  ordered by instant           │
//	                                        ▲                       ▼
//	                                        └── Close ◄── in hand ──► Done
//
// A mailbox belongs to a name, not to a [Bus]: it is there before the node
// joins, and when it is away. What a bus had received and not done with when
// it was closed lies in the mailbox again.
//
// There are no goroutines; who waits for a delayed parcel has a timer. So it
// works in a bubble of testing/synctest, where delays cost no time.
package membus
