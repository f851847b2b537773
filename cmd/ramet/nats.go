//go:build !no_nats

package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/address"
	"github.com/ramet-run/ramet/post"
)

// This file is the bus over NATS; stream.go has the event streams, natsconfig.go
// what servers elsewhere are told. nats_off.go stands for all three in a program
// that is built without them.

// withNATS says that this program has them.
const withNATS = true

// linksFor is how long what was read of the link keys of the board's nodes is
// believed: shorter than a node that has just been made waits before it tries its
// log-in again, and long enough that strangers cannot have the board read at will.
const linksFor = 200 * time.Millisecond

// natsPeer is a node that a server lets in.
type natsPeer = natsbus.Peer

// openNATSBus opens a bus on a server in this process, or on one elsewhere.
//
// Errors: [domain.ErrInvalid], [domain.ErrUnavailable].
func openNATSBus(ctx context.Context, text string, keys *identity.Keyring, dataDir string, peers func() []natsPeer, log *slog.Logger) (bus.Bus, error) {
	_, rest, _ := strings.Cut(text, ":")
	cfg := natsbus.Config{URL: text, Node: keys.Node.Pubkey(), Link: keys.Bus, DataDir: dataDir, Logger: log, Peers: peers}
	if !strings.HasPrefix(rest, "//") {
		if err := embeddedNATS(&cfg, rest); err != nil {
			return nil, err
		}
	}
	b, err := natsbus.Open(ctx, cfg)
	if err != nil {
		return nil, err // not b: a nil *Bus is no nil bus.Bus
	}
	if nodes, sites := b.Listening(); nodes+sites != "" {
		log.Info("NATS server listens", "nodes", nodes, "sites", sites)
	}
	return b, nil
}

// embeddedNATS reads what is said of a server in this process.
func embeddedNATS(cfg *natsbus.Config, rest string) error {
	cfg.URL = ""
	q, err := address.ParseParameters(strings.TrimPrefix(rest, "?"), "leaf")
	if err != nil {
		return domain.Invalidf("bus nats: %v", err)
	}
	if rest != "" && !strings.HasPrefix(rest, "?") {
		return domain.Invalidf("bus nats:%s: want nats: with parameters such as ?listen=:4222", domain.HideURL(rest))
	}
	for name, values := range q {
		switch name {
		case "listen":
			cfg.Listen = values[0]
		case "leaf_listen":
			cfg.LeafListen = values[0]
		case "leaf":
			cfg.Leafs = values
		case "tls_cert":
			cfg.TLSCert = values[0]
		case "tls_key":
			cfg.TLSKey = values[0]
		case "tls_ca":
			cfg.TLSCA = values[0]
		case "sync":
			if values[0] != "always" {
				return domain.Invalidf("bus nats: has sync=%q: want always, or nothing", values[0])
			}
			cfg.SyncAlways = true
		default:
			return domain.Invalidf("bus nats: has parameter %q; known are leaf, leaf_listen, listen, sync, tls_ca, tls_cert, tls_key", name)
		}
	}
	return nil
}

// natsPeers are the nodes of other sites that have an address on NATS, and those
// of our own.
func (p *parts) natsPeers() []natsPeer {
	var list []natsPeer
	for _, l := range p.ownLinks() {
		if l.Node != p.keys.Node.Pubkey() {
			list = append(list, natsPeer{Key: l.Node, Link: l.Bus, Own: true})
		}
	}
	for _, n := range p.peerNodes() {
		if slices.ContainsFunc(n.Addresses, func(a domain.Address) bool { return a.Scheme() == "nats" }) {
			list = append(list, natsPeer{Key: n.Pubkey, Link: n.LinkKey, Site: n.Site})
		}
	}
	return list
}

// links are those to other sites.
func links(list []bus.Bus) (links []api.Link) {
	for _, b := range list {
		if b, ok := b.(*natsbus.Bus); ok {
			for _, l := range b.Links() {
				links = append(links, api.Link(l))
			}
		}
	}
	return links
}

// ownLinks are the link keys of the board's nodes, as of a moment ago; those
// known last where the board cannot be asked. Who is not among them must not
// make us ask more often.
func (p *parts) ownLinks() []identity.Links {
	p.links.mu.Lock()
	defer p.links.mu.Unlock()
	if time.Since(p.links.at) < linksFor {
		return p.links.known
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if list, err := p.registry.Links(ctx); err == nil {
		p.links.known = list
	}
	p.links.at = time.Now()
	return p.links.known
}

// ownLinks is what was read of them.
type ownLinks struct {
	mu    sync.Mutex
	at    time.Time
	known []identity.Links
}

// peerNodes are the nodes of other sites, none before the node stands.
func (p *parts) peerNodes() []post.PeerNode {
	if p.node == nil || p.node.Post == nil {
		return nil
	}
	return p.node.Post.PeerNodes()
}
