// Package effectscript is the script type "effect": its scripts call an effect
// that the operator has set up. It is how steps of kind effect run, so their
// retries, time-outs, leases, logs and cancels are those of jobs.
//
//	step of kind effect ──> job: script {"target": "charge-card", "params": …,
//	                        │          "command_id": "018f…"}
//	                        │    affinity effect=charge-card
//	                        v
//	a node that has it ──> payload ──> effect.Worker.Call ──> result of the job
//
// A node offers the names of its effects as values of the label "effect": a job
// waits for a node that has the one it asks for, and says so in `explain`. Nodes
// of one board need not have the same effects.
//
// What is told is computed once: a next attempt finds it in the job's
// checkpoint. Only where a node is lost in the middle is it computed again, from
// the params and results of then.
//
//	answer             the job ends
//	done               finished; its result has "answer" (JSON), and each field
//	                   of an answer that is an object
//	refused            failed, whatever retries it has left, with the same result
//	no answer, error   errored; tried again while it has retries, not before the
//	                   target wants it
//	banned, breaker    it waits, within its timeout; its log says why
package effectscript
