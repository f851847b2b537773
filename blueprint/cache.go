package blueprint

import "github.com/ramet-run/ramet/domain"

// cache checks what a step keeps.
func (c *checker) cache(s *domain.Step, at func(string) string) {
	if s.Cache == nil {
		return
	}
	switch kind := s.KindOr(); {
	case !kind.One():
		c.fault(at("cache"), "a step of kind %s has none: only a step of one job (a script, or an effect) takes the result of another", kind)
	case s.At != "":
		c.fault(at("cache"), "the step runs at %s, and nothing is taken across contexts; say it in the blueprint there", s.At)
	}
	if s.Cache.Key == "" {
		c.fault(at("cache.key"), "want what the result depends on, as ${params.day} or v1-${needs.fetch.sha256}")
	} else if n := len(s.Cache.Key); n > domain.MaxCacheKey {
		c.fault(at("cache.key"), "%d bytes, the limit is %d", n, domain.MaxCacheKey)
	}
	c.template(s, at("cache.key"), s.Cache.Key)
	if s.Cache.For == 0 || s.Cache.For > domain.MaxCacheFor {
		c.fault(at("cache.for"), "%d s: want for how long a result may be taken, as 24h, up to 365 days", s.Cache.For)
	}
}
