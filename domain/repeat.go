package domain

const (
	// MaxRounds is how many rounds a step may have that is repeated: each is a job, which is
	// there as long as its flow.
	MaxRounds = 10_000
	// MaxRepeatEvery bounds the pause between two rounds, in seconds.
	MaxRepeatEvery = 30 * 24 * 3600
)

// Repeat runs a step again until something holds: one round after the other, each a job, or
// a flow, of its own. A round that ends badly ends the step, as it would any other.
//
// Source: Kestra's LoopUntil and Dagu's repeatPolicy; see docs/decisions/0055.
type Repeat struct {
	// Until is a Rhai expression over params, needs, result: what the newest round left, and
	// round: which that was, from 1 on.
	Until string `json:"until"`
	// Max is how many rounds there may be, 1..[MaxRounds]; a step of which the last one
	// leaves Until false has failed.
	Max int `json:"max"`
	// Every is the pause after a round, in seconds. Default: none.
	Every Span `json:"every,omitzero"`
}
