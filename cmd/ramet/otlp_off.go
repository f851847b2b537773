//go:build no_otlp

package main

import "context"

func init() { without = append(without, "otlp") }

func (p *parts) openTracing(_ context.Context, cfg config) error {
	if cfg.Tracing.Endpoint == "" {
		return nil
	}
	return leftOut("tracing", "no_otlp")
}
