//go:build no_nats

package main

import (
	"context"
	"log/slog"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/stream"
)

// This file stands for nats.go, stream.go and natsconfig.go in a program that is
// built without NATS.

func init() { without = append(without, "nats") }

const withNATS = false

type natsPeer struct{}

type ownLinks struct{}

func (p *parts) natsPeers() []natsPeer { return nil }

func links([]bus.Bus) []api.Link { return nil }

func openNATSBus(context.Context, string, *identity.Keyring, string, func() []natsPeer, *slog.Logger) (bus.Bus, error) {
	return nil, leftOut("bus nats", "no_nats")
}

func (p *parts) openStream(_ context.Context, text, _ string, _ []domain.StreamName, _ bool, _ *slog.Logger) (stream.Log, error) {
	if text == "off" {
		return nil, nil
	}
	return nil, leftOut("event streams", "no_nats")
}

func natsConfig(cli.NATSOptions) (string, error) {
	return "", leftOut("configuration of a nats-server", "no_nats")
}
