package domain

import "encoding/json"

// DeadKind says what a dead letter was: the second part of its key.
type DeadKind string

// The kinds of dead letter.
const (
	DeadEvent  DeadKind = "event"  // that could not be read, or belongs to no instance
	DeadSaga   DeadKind = "saga"   // that an instance could not handle
	DeadWork   DeadKind = "work"   // work that its destination refused
	DeadEffect DeadKind = "effect" // an effect command that could not be tried, or never ended
)

// DeadKinds are all of them.
var DeadKinds = []DeadKind{DeadEvent, DeadSaga, DeadWork, DeadEffect}

// MaxDeadCause bounds the sentence that says why.
const MaxDeadCause = 4 << 10

// DeadLetter is something that was given up on and waits for a person.
//
// Source: seed 003, part 9, "Poison Messages".
type DeadLetter struct {
	Kind DeadKind `json:"kind"`
	// ID is that of the event, work item or command; where it has none, its
	// place in its stream.
	ID          string `json:"id"`
	Saga        string `json:"saga,omitzero"`
	Listener    string `json:"listener,omitzero"` // that could start no flow for it
	Correlation string `json:"correlation_id,omitzero"`
	Effect      string `json:"effect_name,omitzero"`
	// Cause is one sentence; Attempts how often it was tried.
	Cause    string `json:"cause"`
	Attempts int    `json:"attempts"`
	// Holds says that the instance does nothing until this is replayed or
	// dropped.
	Holds   bool   `json:"holds,omitzero"`
	Stream  string `json:"stream,omitzero"`
	Seq     uint64 `json:"stream_seq,omitzero"`
	Subject string `json:"subject,omitzero"`
	// Event, Work or Data is what it was: an event as read, a work item, or the
	// data of a message as it came (cut at MaxEventBytes).
	Event  *Event    `json:"event,omitzero"`
	Work   *WorkItem `json:"work,omitzero"`
	Data   string    `json:"data,omitzero"`
	MadeMs int64     `json:"made_ms"` // Unix milliseconds
	// Trace is the trace id, where there is one.
	Trace string `json:"trace_id,omitzero"`
}

// Content is what it was, as JSON or as it came.
func (d *DeadLetter) Content() string {
	switch {
	case d.Event != nil:
		text, _ := json.Marshal(d.Event)
		return string(text)
	case d.Work != nil:
		text, _ := json.Marshal(d.Work)
		return string(text)
	}
	return d.Data
}
