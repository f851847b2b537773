// Package clockwork does what time asks for: it hands due alarms and lapsed
// leases to those who know what they mean, audits what is unfinished, copies
// what has ended into the archive, and clears what is old.
//
// # Maintenance
//
// Each of these is a maintenance service ([Maintenance]): done by exactly one node at a
// time, which occupies the record "ramet:routine:<name>" in space 0 by lease and renews it
// while it works. Any number of nodes run the same services; those that do not hold one
// look again each few seconds, so a service whose node died goes on within
// the length of its lease.
//
// # Schedules
//
// A schedule is one record and one alarm, "schedule:<name>", in its context's
// space; nothing looks at it before the alarm comes. Then
//
//	too old ──> counted as missed ───────────────────────────────────┐
//	the flow before lives ──> skip: counted ─────────────────────────┤
//	                     └──> queue: the alarm comes again soon      ├──> alarm at the next time
//	else ──> the flow, in one commit with ───────────────────────────┤
//	         └──> refused: the error is kept, and counted ───────────┘
//
// Every such commit is guarded by the alarm's instant and by the revision of
// the record as it was read. When times come is computed by package timetable.
//
// A node does maintenance as long as its [Duties] let it, and as no ban is on them.
//
// # Routines
//
// [Routines] are scripts that people want to be run again and again. Nobody
// occupies them: each instance has one alarm, and each of its steps is a commit
// guarded by the alarm's instant.
//
//	alarm ──> begin: number of the job written down ──> job submitted
//	  ^                                                      │ its end sets the alarm
//	  └── every, or longer after a failure ── settle <───────┘
//
// # Goroutines
//
// Run starts one goroutine that renews leases, one a maintenance service, and while that is held
// one that hears of bans and duties; the sweeps (alarms, leases) have a bounded number of handlers beside
// them. All have ended when Run returns.
//
// Handlers are commits guarded by the alarm's instant or the lease's token. A
// service that is done twice for a moment, by a node that was paused, does no
// harm.
package clockwork
