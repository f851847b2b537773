package domain

import "time"

// MaxRate is how many flows of a key may begin in a minute at the most.
const MaxRate = 6_000

// Rate bounds how many flows of a context that have the same key begin in a minute, whatever
// their blueprints. They begin one after the other, in the order in which they came, with equal
// pauses between them.
type Rate struct {
	// Key names what is shared; ${params.name} in it stands for a param of the flow.
	Key string `json:"key"`
	// PerMinute is how many may begin in a minute, 1..[MaxRate].
	PerMinute int `json:"per_minute"`
}

// Pause is how long the next flow of the key waits after this one.
func (r *Rate) Pause() time.Duration { return time.Minute / time.Duration(max(r.PerMinute, 1)) }
