// Package work is the job engine: submit, claim, run, retry, finish, cancel.
// It is the hot path of Ramet.
//
// # Life of a job
//
//	submit ──> dispatched ───────────────┐
//	   └─────> waiting_for_prerequisites ┤ countdown of waits reaches 0: queued
//	                                     v
//	                    claim ──> started ──> finished
//	                                ^  │
//	    alarm, or lease ran out ────┘  └────> error
//
// A job counts what it waits for in one number: each job it depends on, its
// prerequisites together, its not_before. What comes true counts it down; the
// one who makes it zero queues it in the same commit. So a finish costs its
// followers and nothing else.
//
// # Who writes what, and under which guard
//
//	Submit     creates the record                  record absent; dependencies not ended
//	Runner     started, attempt, owner             the board's Claim
//	finish     the end, followers, retry alarm     lease held with this token; followers as read
//	Cancel     the end of what nobody runs         not leased; status and attempt as read
//	           or the mark "cancel"                owner and attempt as read
//	alarms     next attempt, waits over            alarm set at exactly this instant
//	Check      addresses that answered             lease on the look with this token; "unmet" as read
//	RecoverLease  back to the queue                lease run out, with this token
//	park          aside, for the time of a ban     lease held with this token; not cancelled
//	unpark        back to the queue                alarm set at this instant; list as counted
//	Retry      a new life after an error           the end as read; dependencies as read
//	Prune      removes ended jobs                  the end as read; trims as counted
//	MarkArchived  what the archive has             trims and marks as counted
//	Audit      repairs                             everything as read
//
// Every commit can be repeated: when its answer is lost, the guards refuse the
// second one, and the record tells whether the first was applied.
//
// A cancel and the end of a run may meet: a commit that would let a job go on
// (a retry, a return to the queue) is guarded by "not cancelled".
//
// The field "followers" counts every change of the list of followers, and is a
// guard of each commit that tells them. So nobody can register with a job that
// has ended, and nobody is counted down by an entry of an earlier life.
//
// # Strangers
//
// Whoever can write on the board can queue a job in anybody's name. So a runner
// asks at each claim whether the job's caller may create work in its context:
// [Config.Permit]. And whoever may submit can have the node look at an address:
// reach.go holds that to the egress rules, bounds it, and lets nobody tell one
// door that does not open from another; check.go has it done beside the alarms,
// which are everybody's.
//
// # Goroutines
//
// Engine.Check has one for each job whose addresses are looked at, and each look
// some, all of which have ended when it returns. Runner.Run has those of a lease.Runner with a
// claimer for each script type, one that follows the queues of jobs that ask for
// labels where the node has some (and one for each runtime that has others), and
// one for each run while it writes log lines. All have ended when Run returns,
// unless a script inside the process does not stop when it is told: then Run says
// so in the log and leaves it.
// Engine.FollowTaken has one that hears of pops, one for each context in which
// foreign runners work, and one for each look through all records of a context;
// all have ended when it returns.
//
// # On failure
//
// A dead node's leases run out and its jobs go back before what has not begun.
// While the board is away runs go on until shortly before their lease would
// run out; then they are stopped, because another node may have them next.
// Ends of runs are committed again until the board is back.
package work
