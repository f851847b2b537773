package domain

import "time"

// Suspension says what a script waits for that has given its process and its slot up.
type Suspension struct {
	// Kind is what it asked for first of what it waits in: sleep, wait, call, or step for one
	// that is tried again later. Name and N say which.
	Kind string `json:"kind"`
	Name string `json:"name"`
	N    int64  `json:"n"`
	// UntilMs is when it goes on if nothing comes before, in Unix ms; 0 is never.
	UntilMs int64 `json:"until_ms,omitzero"`
	// Signals are the names of those that have it go on.
	Signals []string `json:"signals,omitzero"`
	// Prerequisites are those that it waits for: with the first that is met it goes on.
	Prerequisites []string `json:"prerequisites,omitzero"`
	// Children are the jobs and flows that it has called and that have not ended. It goes on
	// when all have, or with the first where AnyChild says so.
	Children []string `json:"children,omitzero"`
	AnyChild bool     `json:"any_child,omitzero"`
}

// Until is when the script goes on at the latest; the zero time is never.
func (s *Suspension) Until() time.Time {
	if s.UntilMs == 0 {
		return time.Time{}
	}
	return time.UnixMilli(s.UntilMs)
}
