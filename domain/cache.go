package domain

import "time"

// Limits of what steps keep for later flows.
const (
	// MaxCacheKey bounds a key in bytes, with what its names stand for.
	MaxCacheKey = 1 << 10
	// MaxCacheFor is for how long a result may be taken.
	MaxCacheFor = Span(365 * 24 * 3600)
	// MaxCached bounds a result that is taken, in bytes, and MaxCachedFlow all that one flow
	// takes: it stands in the flow's own state.
	MaxCached     = 16 << 10
	MaxCachedFlow = 256 << 10
)

// StepCache has a step take what it did before for the same key, instead of doing it again.
type StepCache struct {
	// Key is a text in which ${name} stands for a param of the step, ${needs.<step>.<key>} for
	// a result. Flows of the blueprint whose step has the same key, script and artifacts take
	// each other's result.
	Key string `json:"key"`
	// For is how long a result may be taken after the step has succeeded, up to [MaxCacheFor].
	For Span `json:"for"`
}

// CachedFrom is where the result of a step is from that was taken instead of running it.
type CachedFrom struct {
	Flow FlowID `json:"flow"`
	Job  string `json:"job"` // job:<caller>:<id>
	// AtMs is when that job's end was kept, Unix milliseconds.
	AtMs int64 `json:"at_ms"`
}

// Fresh reports whether what was kept at an instant may still be taken.
func (c *StepCache) Fresh(atMs int64, now time.Time) bool {
	return now.Sub(time.UnixMilli(atMs)) < c.For.Time()
}
