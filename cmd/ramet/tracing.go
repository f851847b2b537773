package main

import "github.com/ramet-run/ramet/domain"

// tracingConfig is the block tracing.
type tracingConfig struct {
	Endpoint string   `yaml:"endpoint"`
	Ratio    *float64 `yaml:"ratio"`
}

func (c tracingConfig) share() float64 {
	if c.Ratio == nil {
		return 1
	}
	return *c.Ratio
}

func (c tracingConfig) validate() error {
	if r := c.share(); !(r >= 0 && r <= 1) {
		return domain.Invalidf("tracing.ratio is %v, want a share from 0 to 1", r)
	}
	return nil
}
