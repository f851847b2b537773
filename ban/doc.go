// Package ban holds work up: a ban on something says that no new work of it is
// begun, until somebody lifts the ban or its time is over. What runs goes on.
//
//	Bans.Set ──> ramet:ban:<scope> (space 0) ──watch──> Cache of every node
//	                 │                                    │ asked before each
//	                 └─ alarm ban:<scope> ──> settle      │ submit, create, pick
//
// # Where a ban holds
//
// The [Cache] is what decides: each node knows all bans by heart and asks it
// before it submits work, makes the jobs of a flow, runs a job or does a
// routine or maintenance. It follows the records in space 0, and reads them all again now and
// then, should a change have been missed.
//
// So that a queue is not taken off one by one only to be laid aside, some bans
// on picking also stop the claims:
//
//	everything, a type everywhere   runners do not claim
//	a context, a type in it         the cap of the context's space is set to
//	                                nothing, and to what it was afterwards
//	a blueprint, a flow             what is claimed is parked: package work
//	a saga                          its events stay in their stream
//	an effect, a target             its commands are given back to theirs
//
// # Setting things right
//
// All that follows from a ban besides its record is done by the alarm
// "ban:<scope>", which is set in the commit that writes or deletes the record
// and comes again when its time is over. The alarm looks at what is, and makes
// it so; it can be repeated at any point.
//
// # Goroutines
//
// [Cache.Run] blocks and starts none.
package ban
