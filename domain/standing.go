package domain

// Standing is the one reason for which something is as it is: a job, a flow, a circle's
// task or an instance of a saga. Explanations have it.
type Standing string

// The standings.
const (
	StandingEnded  Standing = "ended"
	StandingQueued Standing = "queued" // a runner, a worker or a keeper will take it
	StandingBanned Standing = "banned" // a ban forbids to go on
	StandingPaused Standing = "paused" // by a person
	StandingStuck  Standing = "stuck"  // nothing that is known here would ever move it

	// Of jobs, and some of tasks.
	StandingLeased   Standing = "leased"   // a runner or a worker has it
	StandingForeign  Standing = "foreign"  // one without a lease has it
	StandingRetrying Standing = "retrying" // the next attempt has its alarm
	// StandingSuspended is a durable script that waits for its time or a signal.
	StandingSuspended Standing = "suspended"
	StandingDelayed   Standing = "delayed" // an alarm will wake it; a flow too
	StandingWaiting   Standing = "waiting" // for jobs or prerequisites
	StandingSent      Standing = "sent"    // another context is to run it: a message is on its way

	// Of flows.
	StandingWriting  Standing = "writing"  // it is still being written
	StandingKept     Standing = "kept"     // a keeper decides what follows
	StandingWorking  Standing = "working"  // jobs of it have not ended
	StandingDeciding Standing = "deciding" // a person has to approve or reject

	// Of instances of sagas.
	StandingHeld   Standing = "held"   // by a dead letter
	StandingOutbox Standing = "outbox" // its work is being sent
	StandingEffect Standing = "effect" // it waits for the results of effects
	StandingTimer  Standing = "timer"  // it waits for a timer, or for an event
	StandingEvents Standing = "events" // it waits for the next event
)
