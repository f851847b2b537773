package api

import "github.com/ramet-run/ramet/domain"

// The names of events.
const (
	EventLog     = "log"     // one line; the id is its number
	EventJob     = "job"     // the job as it stands
	EventFlow    = "flow"    // the flow as it stands
	EventBulk    = "bulk"    // the bulk operation as it stands
	EventHistory = "history" // lines of an instance's history; the id is their version
	EventEnd     = "end"     // the job once it has ended: the last event
	EventError   = "error"   // a Problem: the stream is over, though the job may not be
)

// Event is one message of a stream.
type Event struct {
	Name string
	// ID is the number of this event; a stream that broke can go on behind it.
	// "" where it starts anew.
	ID   string
	Data any
}

// EventData is a zero of what an event of an operation carries.
func (o *Operation) EventData(name string) any {
	switch name {
	case EventLog:
		if o.Name == FlowLogs.Name {
			return FlowLog{}
		}
		return domain.Log{}
	case EventHistory:
		return HistoryPage{}
	case EventError:
		return Problem{}
	}
	// The thing itself, as it stands or as it ended.
	switch o.Group() {
	case "job":
		return domain.Job{}
	case "flow":
		return domain.FlowView{}
	case "saga":
		return domain.SagaInstance{}
	case "bulk":
		return domain.Bulk{}
	}
	panic("BUG: " + o.Name + " has no event " + name)
}
