//go:build !no_nats

package main

import (
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// natsConfig is what a nats-server that is in no node must be told.
func natsConfig(o cli.NATSOptions) (string, error) {
	parcels, streams := natsbus.Permit{Replicas: o.Replicas}, natsstream.Permit{}
	for _, site := range o.Sites {
		for _, n := range site.Nodes {
			parcels.Nodes = append(parcels.Nodes, natsbus.Peer{Key: n.Pubkey, Link: n.LinkKey, Site: site.Name})
			if n.StreamKey != "" {
				streams.Nodes = append(streams.Nodes, n.StreamKey)
			}
		}
	}
	for _, text := range o.Producers {
		x, err := natsstream.ParseProducer(text)
		if err != nil {
			return "", err
		}
		streams.Producers = append(streams.Producers, x)
	}
	accounts, err := natsbus.Accounts(parcels)
	if err != nil {
		return "", err
	}
	if !o.Streams {
		return natslink.ServerConfig(natsbus.MaxPayload, accounts), nil
	}
	more, err := natsstream.Accounts(streams)
	if err != nil {
		return "", err
	}
	return natslink.ServerConfig(max(natsbus.MaxPayload, natsstream.MaxPayload), accounts, more), nil
}
