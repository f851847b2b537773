package blueprint

import "github.com/ramet-run/ramet/domain"

// repeatable are the kinds of steps that have a single job, or flow.
func repeatable(s *domain.Step) bool {
	kind := s.KindOr()
	return kind.One() || kind == domain.StepFlow && !s.Listed()
}

// repeat checks how a step is repeated.
func (c *checker) repeat(s *domain.Step, at func(string) string) {
	r := s.Repeat
	switch {
	case r == nil:
		return
	case s.KindOr() == domain.StepApproval:
		c.fault(at("repeat"), "a step of kind approval is not repeated: it asks once, and has a deadline")
	case !repeatable(s):
		c.fault(at("repeat"), "a step of many jobs is not repeated; make it a blueprint of its own, and repeat a step of kind flow that runs it")
	}
	switch {
	case r.Until == "":
		c.fault(at("repeat.until"), "it needs a Rhai expression over params, needs, result and round, which says when it is enough")
	case len(r.Until) > domain.MaxWhenBytes:
		c.fault(at("repeat.until"), "%d bytes, the limit is %d", len(r.Until), domain.MaxWhenBytes)
	}
	if r.Max < 1 || r.Max > domain.MaxRounds {
		c.fault(at("repeat.max"), "%d: want 1 to %d, how many rounds there may be", r.Max, domain.MaxRounds)
	}
	if r.Every > domain.MaxRepeatEvery {
		c.fault(at("repeat.every"), "%d s, the limit is %d (30 days)", r.Every, domain.MaxRepeatEvery)
	}
}
