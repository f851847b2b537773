//go:build !no_otlp

package main

import (
	"context"
	"os"

	"github.com/ramet-run/ramet/tracing"
	"github.com/ramet-run/ramet/tracing/otlptracing"
)

// openTracing opens what sends spans to a collector, where the config or the environment
// names one.
func (p *parts) openTracing(ctx context.Context, cfg config) error {
	if cfg.Tracing.Endpoint == "" && !otlptracing.Asked() {
		return nil
	}
	out, err := otlptracing.Open(ctx, otlptracing.Config{Endpoint: cfg.Tracing.Endpoint, Node: nodeName(p.options.name), Version: version, Logger: p.log})
	if err != nil {
		return err
	}
	p.tracer, p.spans = tracing.New(out.Take, cfg.Tracing.share()), out
	return nil
}

// nodeName is what spans call the node: its name, or that of the machine.
func nodeName(name string) string {
	if name == "" {
		name, _ = os.Hostname()
	}
	return name
}
