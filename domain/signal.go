package domain

import "encoding/json"

// Signal is what somebody tells a job whose script waits for it, or will.
type Signal struct {
	Name string `json:"name"`
	// Payload is what the wait gives: JSON, null where nothing was sent.
	Payload json.RawMessage `json:"payload,omitzero"`
	N       int64           `json:"n"`     // the nth that was sent to the job
	AtMs    int64           `json:"at_ms"` // Unix ms
	By      ActorID         `json:"by"`
}
