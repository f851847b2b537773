package flow

import (
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file has what a decision about a flow is made of, and what it says.

// Facts are what happened to a flow since its state was written.
type Facts struct {
	Now time.Time
	// Ended are the ends of jobs, Of the step of each that is one of the flow; nil is
	// that all steps have to be looked through for them.
	Ended []work.Ending
	Of    map[domain.JobID]int
	// Orders are what people ask, oldest first.
	Orders []Order
	// Added are what jobs have added: "params.<name>", "steps.<step>.<setting>".
	Added map[string]string
	// Whens answers what was asked by [Decisions.Ask].
	Whens map[int]WhenAnswer
	// Later says that no more is answered in this round: what is not known is asked in the next.
	Later bool
	// Queued are the jobs that wait in queues which the flow could fill.
	Queued map[string]int
	// Banned says that no jobs may be made now.
	Banned bool
	// Rival is the flow for whose sake one that has ended may not go on: it lives,
	// and the blueprint wants only one at a time.
	Rival string
}

// WhenAnswer is the value of a step's `when`, or why it has none.
type WhenAnswer struct {
	Holds bool
	Err   string
}

// Decisions are what is to be done.
type Decisions struct {
	// Load are steps that must be known to decide; there is nothing else then. See
	// [AdvancePart].
	Load []int
	// Make are units to make jobs for: where they stand in the Open of their step.
	Make []Place
	// Ask are steps whose `when` must be known to go on; Advance is then called
	// again with the same state and their answers.
	Ask []int
	// Abort are jobs to end unless they run, Stop jobs to end even then.
	Abort, Stop []domain.JobID
	// Again are jobs to start again.
	Again []domain.JobID
	// WakeAt is when to look again though nothing happens; zero: never.
	WakeAt time.Time
	// More is set where a round could not make all that may be made.
	More bool
	// End is how the flow ended; "" while it has not.
	End domain.FlowReason
	// Why is what went wrong first.
	Why string
	// Reopened is set where a flow that had ended goes on.
	Reopened bool
	// Remove is set where the flow has ended and is to be removed.
	Remove bool
}

// Place is a unit of a step.
type Place struct{ Step, Open int }
