// Package jobeffect is the effects that are our own work: a job or a flow of
// the context that asks, whose end is the answer.
//
//	call ──> submitted once for its command id ──> waited for ──> answer
//	                                                  │
//	         the attempt ends: the work goes on, the next attempt waits for it
//
// A job is found again by the ticket that is written with it, a flow by its
// trigger, which is the command id. So there is one job or flow for a command,
// however often it is tried. One that ends in error is a refusal: the next
// attempt would find the same. Who wants it tried again sets retries.
//
// What was done longer ago than the board keeps ended work is not looked for in
// the archive: that an attempt comes so late is a refusal that says so.
//
// Source: the design, part 11, "Effects: job, flow".
package jobeffect
