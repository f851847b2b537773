package flow

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Request asks for one flow: of a stored blueprint, of one that comes with the
// request, or of jobs.
type Request struct {
	Caller domain.ActorID

	// Blueprint is the name of a stored one, Version which of it; 0 is the newest.
	Blueprint string
	Version   int
	// Plan is a blueprint that is not stored.
	Plan *domain.Blueprint
	// Jobs are those of a plain flow; their dependends are its edges. Ids are
	// chosen here: what they have as ID names them within the request.
	Jobs []*domain.Job

	// Trigger is the second half of the flow's business name: one flow of a
	// blueprint and a trigger is made, ever. "" is a name of its own.
	Trigger string
	// Ticket names the request: asked for again under it within a day, it is the
	// same flow. Up to [layout.MaxTicket] bytes. Default: it has no such name.
	Ticket string
	// AnyParams takes params that nothing in the blueprint has or names, as those of
	// a payload that others wrote.
	AnyParams bool
	// Params and Env go over the blueprint's.
	Params, Env map[string]string
	// Priority goes over the blueprint's, where it is not 0.
	Priority int
	// After is an instant before which nothing of the flow begins.
	After domain.Instant
	// OnError goes over the blueprint's, where it is given.
	OnError domain.OnError
	// Skip names steps to skip; they must allow it.
	Skip []string
	// NoCache has no step take what is kept of earlier flows; what it does is kept all the same.
	NoCache bool
	// Steps change steps of the blueprint, by name.
	Steps map[string]domain.StepChange
	// Schedule is the schedule that asks.
	Schedule string
	// Backfill says that the schedule's backfill asks, which is told of the end.
	Backfill bool
	// takes is what a flow that is run once more takes over; nil: nothing.
	takes *taken
	// rerunOf is the flow that it is made of once more.
	rerunOf domain.FlowID
	// sender is whose plan it is, where a message had brought it to that flow.
	sender domain.ActorID
	// TraceID is the trace that the flow belongs to, and those of its jobs that name none.
	TraceID string
	// Parent is the step that asks.
	Parent *domain.FlowParent
	// CalledBy is the durable script that asks.
	CalledBy *domain.CalledBy
	// Message is the key of the message that asks; its count of what is open is
	// counted down at the end.
	Message string
	// Also, if given, adds guards and operations to the commit that makes the
	// flow. It may be called more than once.
	Also func(b *board.Batch, id domain.FlowID)
}

// Receipt is the answer for one requested flow.
type Receipt struct {
	ID domain.FlowID
	// Existing is true when a flow of that name was there already: nothing was
	// done.
	Existing bool
	// Archived is true when that one is in the archive only.
	Archived bool
	// Err is why the flow was refused.
	Err error
}
