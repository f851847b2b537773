// Package bulk does one operation to everything that a filter fits: cancels jobs, starts
// flows again, drops dead letters. What is done to one thing, and which things they are,
// others know: the package asks a [Doer].
//
// A bulk operation is one record and one alarm, "bulk:<id>", in its context's space. At
// the alarm the node that handles alarms does a part of it:
//
//	alarm ──> a page of what the filter fits ──> the operation to each ──> counts, cursor,
//	  ^                                                                    and the alarm, in one commit
//	  └──────────────────── now again, until the list has come to its end ──────┘
//
// The commit is guarded by the alarm's instant and by the record's revision. A node that
// dies in a part leaves the alarm as it is, and another does that part again: what was
// done is done, and is not found, or has nothing left to do. So the counts may lack up to
// a page of what was done by a node that died.
//
// Whoever cancels a bulk operation takes its alarm away: the part under way is still
// done, and cannot be written down.
//
// The package has no goroutines but those that do the things of a page, which have
// ended when the alarm is handled.
package bulk
