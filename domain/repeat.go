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

// repeatable are the kinds of steps that have a single job, or flow.
func (s *Step) repeatable() bool {
	kind := s.KindOr()
	return kind.One() || kind == StepFlow && !s.Listed()
}

// repeat checks how a step is repeated.
func (c *checker) repeat(s *Step, at func(string) string) {
	r := s.Repeat
	switch {
	case r == nil:
		return
	case s.KindOr() == StepApproval:
		c.fault(at("repeat"), "a step of kind approval is not repeated: it asks once, and has a deadline")
	case !s.repeatable():
		c.fault(at("repeat"), "a step of many jobs is not repeated; make it a blueprint of its own, and repeat a step of kind flow that runs it")
	}
	switch {
	case r.Until == "":
		c.fault(at("repeat.until"), "it needs a Rhai expression over params, needs, result and round, which says when it is enough")
	case len(r.Until) > MaxWhenBytes:
		c.fault(at("repeat.until"), "%d bytes, the limit is %d", len(r.Until), MaxWhenBytes)
	}
	if r.Max < 1 || r.Max > MaxRounds {
		c.fault(at("repeat.max"), "%d: want 1 to %d, how many rounds there may be", r.Max, MaxRounds)
	}
	if r.Every > MaxRepeatEvery {
		c.fault(at("repeat.every"), "%d s, the limit is %d (30 days)", r.Every, MaxRepeatEvery)
	}
}
