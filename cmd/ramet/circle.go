package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script/rhaiscript"
)

// circlesConfig is what the config file says of circles.
type circlesConfig struct {
	Circles       map[string]circleConfig `yaml:"circles"` // by name; those of the flag come to them
	CircleSlots   int                     `yaml:"circle_slots"`
	CircleTimeout time.Duration           `yaml:"circle_timeout"`
	ReplyExpiry   time.Duration           `yaml:"reply_expiry"`
	CircleCallers string                  `yaml:"circle_callers"`
}

// circleConfig is one circle.
type circleConfig struct {
	// Context is the one it belongs to. Default: 1.
	Context domain.TenantID `yaml:"context"`
}

func (c circlesConfig) check() error {
	for _, s := range c.served() {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("circles.%s: %w", s.Name, err)
		}
	}
	return nil
}

// named is that each task has to name its caller.
func (c circlesConfig) named() bool { return c.CircleCallers == "named" }

// served are the circles of the file, by name.
func (c circlesConfig) served() []domain.ServedCircle {
	var list []domain.ServedCircle
	for name, one := range c.Circles {
		list = append(list, domain.ServedCircle{Name: name, Context: max(one.Context, 1)})
	}
	slices.SortFunc(list, func(a, b domain.ServedCircle) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// openCircles says what circles the node serves. Their scripts have a runtime of
// their own, whatever the node's runner does with scripts of type rhai.
func (p *parts) openCircles(o options, c circlesConfig) node.CirclesConfig {
	p.forCircles = c
	served := slices.Clone(o.circles)
	if o.serve && !o.circlesOnly {
		served = append(served, c.served()...)
	}
	cfg := node.CirclesConfig{Slots: c.CircleSlots, Timeout: c.CircleTimeout, ReplyExpiry: c.ReplyExpiry, Named: c.named()}
	for _, one := range served {
		if !slices.Contains(cfg.Served, one) {
			cfg.Served = append(cfg.Served, one)
		}
	}
	if len(cfg.Served) > 0 {
		rt := rhaiscript.New(rhaiscript.Config{})
		cfg.Runtime, p.circles = rt, rt
	}
	return cfg
}
