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
	// OfFlows are the steps of the children that have ended.
	OfFlows map[domain.FlowID]int
	// Orders are what people ask, oldest first.
	Orders []Order
	// Added are what jobs have added: "params.<name>", "steps.<step>.<setting>".
	Added map[string]string
	// Whens answers what was asked by [Decisions.Ask].
	Whens map[int]WhenAnswer
	// Untils answers what was asked by [Decisions.AskUntil].
	Untils map[int]WhenAnswer
	// Lists answers what was asked by [Decisions.AskList].
	Lists map[int]ListAnswer
	// Children answers what was asked by [Decisions.AskChildren] and [Decisions.AskMade].
	Children map[ChildAt]ChildAnswer
	// Cached answers what was asked by [Decisions.AskCache]; nil: nothing is kept.
	Cached map[int]CacheAnswer
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

// WhenAnswer is the value of a step's `when` or `until`, or why it has none.
type WhenAnswer struct {
	Holds bool
	Err   string
}

// ListAnswer is the list of a step's `each`: how many elements it has, and the first
// record that they lie in; or why there is none.
type ListAnswer struct {
	Count int64
	First int
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
	// AskUntil are steps that are repeated, of which must be known whether they are to go
	// on, in the same way.
	AskUntil []int
	// AskList are steps whose list must be known to go on, in the same way.
	AskList []int
	// AskCache are steps of which it must be known whether a result is kept.
	AskCache []int
	// AskChildren are units whose children must be known to go on, in the same way.
	AskChildren []ChildAt
	// AskMade are units of which must be known whether they have children, in the same way; none is made for them.
	AskMade []ChildAt
	// Abort are jobs to end unless they run, Stop jobs to end even then.
	Abort, Stop []domain.JobID
	// Again are jobs to start again.
	Again []domain.JobID
	// Anew are steps that begin again with their first round: what they have added goes.
	Anew []int
	// StopFlows and AgainFlows are children in the same way.
	StopFlows  []domain.FlowID
	AgainFlows []ChildEnd
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

// asks reports whether something must be known to go on: then what is decided is not what is done.
func (d *Decisions) asks() bool {
	return len(d.Ask)+len(d.AskUntil)+len(d.AskList)+len(d.AskCache)+len(d.AskChildren)+len(d.AskMade) > 0
}

// Place is a unit of a step.
type Place struct{ Step, Open int }
