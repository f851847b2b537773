package blueprint

import "github.com/ramet-run/ramet/domain"

func (c *checker) shard(s *domain.Shard, at func(string) string) {
	if s == nil {
		c.fault(at("shard"), "a step of kind shard needs shard.count")
		return
	}
	c.err(at("shard"), ValidateShard(s))
}

// ValidateShard checks how a step is split by index. A range without an index is
// not wrong: such a step succeeds at once.
//
// Errors: [domain.ErrInvalid].
func ValidateShard(s *domain.Shard) error {
	switch {
	case s.Count < 1 || s.Count > domain.MaxShards:
		return domain.Invalidf("count %d: want 1 to %d", s.Count, domain.MaxShards)
	case s.Start < 0:
		return domain.Invalidf("start %d: want 0 or more", s.Start)
	}
	return validateWindow(s.Window)
}

func validateWindow(w int) error {
	if w < 0 || w > domain.MaxWindow {
		return domain.Invalidf("window %d: want 1 to %d", w, domain.MaxWindow)
	}
	return nil
}

func (c *checker) pack(p *domain.Pack, at func(string) string) {
	if p == nil {
		c.fault(at("pack"), "a step of kind pack needs pack.size, and pack.end or pack.endless")
		return
	}
	c.err(at("pack"), ValidatePack(p))
}

// ValidatePack checks how a step is split by ranges. The end may be missing where
// it is computed before the step starts.
//
// Errors: [domain.ErrInvalid].
func ValidatePack(p *domain.Pack) error {
	switch {
	case p.Size < 1:
		return domain.Invalidf("size %d: want 1 or more", p.Size)
	case p.Start < 0:
		return domain.Invalidf("start %d: want 0 or more", p.Start)
	case p.End != nil && *p.End < -1:
		return domain.Invalidf("end %d: want 0 or more, or -1 for none", *p.End)
	case p.End != nil && p.Endless:
		return domain.Invalidf("it has an end and is endless; want one of them")
	case p.FirstID < 0:
		return domain.Invalidf("first_id %d: want 0 or more", p.FirstID)
	}
	return validateWindow(p.Window)
}
