// Package post sends messages between actors, also of different sites, and
// sees to it that what they ask for is done and answered.
//
// # The way of a message
//
//	Send ──> record + msg_out                              the sender's context
//	   supervisor: rights, signature, route
//	   └──> msg_out_coordinator + parcel ──> bus           until the receipt is there,
//	                                          │            pushed again by an alarm
//	   receive: node, signature, sender, rights            the receiver's context
//	   └──> record + msg_in + mark of having seen it
//	          │                      └──> signed receipt ──> acknowledged
//	   consume: chat, mail, result ──> inbox
//	            job ──> jobs or a flow; each end counts down "open"
//	   └──> the last end ──> message of type result ──> the same way back
//	                                                   ──> processed; jobs and flows go on
//
// Taking in is one commit where that can be: the jobs of a message, and that it has
// been taken in; the end of a message at its sender, that of the records of its
// jobs, and the answer in the inbox. Where something has moved meanwhile, or it is
// too much for one commit, it is done in steps, each of which can be done again.
//
// The truth is on the two boards. What a bus loses is pushed again; what comes
// twice is known by its digest (the hash of key and signature), kept for as
// long as the message is good. A message between contexts of one board takes the
// same way without a bus.
//
// # Who believes whom
//
// A message is signed by its sender's key, a parcel by the node that sends it.
// A node takes parcels from the nodes of its peers and of its own board only,
// and messages only of actors that are registered here under that key with the
// address of that node, and who have the right in the context they write to.
// Results are signed by the node that had the work done: each node is an actor
// under its own key.
//
// # Who holds what
//
//	msg_out              claimed: the lease of a message, while it is handed over
//	msg_in               claimed: the lease of a message, while it is taken in
//	ramet:queue:push     messages whose receipt did not come: an alarm puts them there
//	ramet:queue:result   received messages whose work has ended
//	ramet:queue:remote   jobs with a place elsewhere: each becomes a message
//	ramet:queue:logs     marks of received messages whose jobs may have said something
//
// A lost lease puts the item back. An unfinished message has exactly one reason
// to be alive: it is in one of these queues, leased, or has the alarm "late".
//
// # Goroutines
//
// Supervisor.Run starts one loop for each queue and a few for each bus. All
// have ended when it returns.
package post
