package domain

import "encoding/json"

// HistoryEvent is one item of a job's history.
type HistoryEvent struct {
	// Kind is what it remembers: step, sleep, wait, call, now, random, uuid or version; or failed,
	// a try of a step that is tried again, came, the end of a wait, or returned, that of a call.
	// Name and N say which: the nth of that kind and name.
	Kind string `json:"kind"`
	Name string `json:"name,omitzero"`
	N    int64  `json:"n"`
	AtMs int64  `json:"at_ms"` // when it was written, Unix ms
	// Value or Failure are what came of it.
	Value   json.RawMessage `json:"value,omitzero"`
	Failure *StepFailure    `json:"failure,omitzero"`
	// UntilMs is the end of a sleep, the time-out of a wait (0: none), and when a step
	// that failed is tried again: Unix ms.
	UntilMs int64 `json:"until_ms,omitzero"`
	// Signal is what a wait waits for. TimedOut says that it did not come; Ended that
	// the wait was over when it began: then there is no event "came".
	Signal   string `json:"signal,omitzero"`
	TimedOut bool   `json:"timed_out,omitzero"`
	Ended    bool   `json:"ended,omitzero"`
	// Prerequisite is what a wait waits for that is not for a signal.
	Prerequisite string `json:"prerequisite,omitzero"`
	// Child is what a call has made: "job:12:7" or "flow:33". It is none where Ended says that
	// nothing could be made.
	Child string `json:"child,omitzero"`
	// Open are the steps, each as <name>#<n>, that were being done when this was
	// written: the next attempt may ask for them before it asks for this.
	Open []string `json:"open,omitzero"`
	// Cut says that the archive left the value out: the history was too large.
	Cut bool `json:"cut,omitzero"`
}

// WaitsFor is what a wait waits for, in words: a signal, a prerequisite, or somebody's decision.
func (e *HistoryEvent) WaitsFor() string {
	switch {
	case e.Prerequisite != "":
		return "prerequisite " + e.Prerequisite
	case e.Child != "":
		return "the decision of " + e.Child
	}
	return "signal " + e.Signal
}

// StepFailure says how a step failed.
type StepFailure struct {
	Kind string `json:"kind,omitzero"` // the script's own word: the class of an exception, say
	Text string `json:"text"`
	// Code is the exit code of a command.
	Code int `json:"code,omitzero"`
}
