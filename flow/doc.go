// Package flow runs graphs of jobs.
//
// # Two ways, one mechanism
//
// A flow is written with all its jobs where each of them starts when all it
// needs has succeeded, and that is all there is to it: a plain flow. Its jobs
// count each other down on the board, in the commits that finish them, and the
// flow's own counter too. Whoever makes that zero queues the flow for a keeper,
// which writes its end. A flow of steps (shards, packs, phases, conditions,
// approvals, failures that are accepted) is moved on by a keeper from the
// start, which makes the jobs.
//
//	Submit ──> plain: jobs ── count down ──> counter 0 ─┐
//	      └──> steps: queued ───────────────────────────┤
//	                                                    v
//	   ended jobs, orders, alarms ── wake ──> ramet:queue:keeper
//	                                                    │ claim: lease on the flow
//	                      ┌──────────── round <─────────┘
//	                      v
//	    Advance(plan, state, facts) ──> state, decisions ──> one commit
//
// # The keeper
//
// A keeper claims flows from a queue of their own, as runners claim jobs; any
// node can be any flow's keeper. Under the lease it does rounds: read what
// happened, decide, commit. Deciding is [Advance], a pure function; what it
// decides is the state, the jobs to make, and the end, all in one commit.
// What is not part of that commit (ending queued jobs, starting jobs again) can
// be repeated, and is, should the keeper die.
//
// # How nobody's word is lost
//
// The counter "armed" is 1 less the wake-ups that no round has answered. A
// wake-up counts it down, and only the one that makes it 0 queues the flow: a
// thousand ends of jobs cost one entry. A round reads the counter first and what
// is to be read after; its last commit sets it to 1 again and lets go of the
// flow, guarded by the counter as it was read. If something came between, the
// commit is made without letting go, and there is another round. An entry of a
// flow that is leased may be dropped by a claim; that is why.
//
// # On failure
//
// A dead keeper's lease runs out, and the flow is queued again. A large flow is
// written in parts and begins with its last; one that was not written to its end
// is swept by an alarm. The auditor holds the counters against the jobs, and
// tells a flow of jobs that ended, or vanished, unheard.
//
// # Goroutines
//
// Engine has none. Keep starts one for each flow in hand, up to keeperRounds,
// and waits for them before it returns. Watchers end with their context.
package flow
