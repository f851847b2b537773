// Package circle serves circles: named queues of Rhai scripts whose results
// come back on reply queues, as programs of rhailib speak to them.
//
// # Life of a task
//
//	client: hash, LPUSH id ──> pending ──claim──> processing ──> completed
//	                              ^                   │  └─────> error
//	                              └── worker lost ────┘
//
// A circle is a list of task ids in the space of its context; a task is a hash.
// Claim takes ids from the right, so they go first in, first out, and leases
// the hash. The end is one commit: status, output or error, the lease, the
// message on the reply queue, and the instants at which both are gone.
//
// # Who writes what, and under which guard
//
//	Submit        the record, the id in the list       record absent
//	Worker        status, attempt, owner               the board's Claim
//	Worker        the end, the reply; or back          lease held with this token
//	RecoverLease  back to the list, or the end         lease run out, with this token
//	Audit         back to the list, or the end         status, attempt and time as read
//	Delete        takes the record away                status as read
//
// # Foreign programs
//
// A client may write the hash before or after it pushes the id, in any spelling
// of the seed. A foreign worker that pops an id leases nothing: what became of
// a task that came through Ramet is looked after by the auditor; one that a
// foreign client pushed and a foreign worker popped is theirs alone, but for its
// end: its record expires after the retention, once it has ended or stands in no
// circle any more.
//
// # Goroutines
//
// Engine has none. Worker.Run has those of a lease.Runner, with a claimer for each
// circle. All have ended when Run returns, unless a script does not stop when it
// is told.
//
// Source: seed 001.
package circle
