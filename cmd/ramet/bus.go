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
	"github.com/ramet-run/ramet/bus/myceliumbus"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/post"
)

// peersEvery is how often a NATS server is told which nodes it may let in.
const peersEvery = time.Second

// linksFor is how long what was read of the link keys of the board's nodes is
// believed: shorter than a node that has just been made waits before it tries its
// log-in again, and long enough that strangers cannot have the board read at will.
const linksFor = 200 * time.Millisecond

// announceEvery is how often a node says again which its link keys are.
const announceEvery = time.Hour

// openBuses opens the buses that URLs name. peers lists the nodes of other
// sites, once the node knows them.
func openBuses(ctx context.Context, urls []string, keys *identity.Keyring, dataDir string, peers func() []natsbus.Peer,
	log *slog.Logger) (list []bus.Bus, err error) {
	defer func() {
		if err != nil {
			closeBuses(list, log)
			list = nil
		}
	}()
	kinds := map[string]bool{}
	for _, text := range urls {
		kind, _, _ := strings.Cut(text, ":")
		if kind == "tls" {
			kind = "nats"
		}
		if kinds[kind] {
			return list, domain.Invalidf("two buses of kind %s: one is enough, for it reaches all its network", kind)
		}
		kinds[kind] = true
		b, err := openBus(ctx, text, keys, dataDir, peers, log)
		if err != nil {
			return list, err
		}
		list = append(list, b)
	}
	return list, nil
}

func closeBuses(list []bus.Bus, log *slog.Logger) {
	for _, b := range list {
		if err := b.Close(); err != nil {
			log.Warn("bus not closed cleanly", "bus", b.Scheme(), "err", err)
		}
	}
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

// openBus opens one bus:
//
//	nats:?listen=:4222&leaf_listen=:7422&leaf=nats://host:7422    a server in this process
//	nats://host:4222, tls://host:4222                             one elsewhere
//	mycelium:http://127.0.0.1:8989                                a Mycelium daemon
//
// Errors: [domain.ErrInvalid], [domain.ErrUnavailable].
func openBus(ctx context.Context, text string, keys *identity.Keyring, dataDir string, peers func() []natsbus.Peer, log *slog.Logger) (bus.Bus, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "nats", "tls":
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
	case "mycelium":
		b, err := myceliumbus.Open(ctx, text, myceliumbus.Config{Logger: log})
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	// Not the whole text: it may hold a password.
	return nil, domain.Invalidf("bus of kind %q: want nats: (embedded), nats://host:4222, tls://host:4222 or mycelium:http://127.0.0.1:8989", scheme)
}

// embeddedNATS reads what is said of a server in this process.
func embeddedNATS(cfg *natsbus.Config, rest string) error {
	cfg.URL = ""
	q, err := domain.ParseParameters(strings.TrimPrefix(rest, "?"), "leaf")
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
func (p *parts) natsPeers() []natsbus.Peer {
	var list []natsbus.Peer
	for _, l := range p.ownLinks() {
		if l.Node != p.keys.Node.Pubkey() {
			list = append(list, natsbus.Peer{Key: l.Node, Link: l.Bus, Own: true})
		}
	}
	for _, n := range p.peerNodes() {
		if slices.ContainsFunc(n.Addresses, func(a domain.Address) bool { return a.Scheme() == "nats" }) {
			list = append(list, natsbus.Peer{Key: n.Pubkey, Link: n.LinkKey, Site: n.Site})
		}
	}
	return list
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

// refreshPeers lets a NATS server know when there are other peers, from
// whichever node of the board they were added.
func (p *parts) refreshPeers(ctx context.Context) error {
	tick := time.NewTicker(peersEvery)
	defer tick.Stop()
	var known []natsbus.Peer
	said := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if time.Since(said) > announceEvery {
			if err := p.registry.AnnounceLinks(ctx, p.keys); err != nil && ctx.Err() == nil {
				p.log.Warn("link keys not announced", "err", err)
			}
			said = time.Now()
		}
		now := p.natsPeers()
		if slices.Equal(now, known) {
			continue
		}
		known = now
		for _, b := range p.buses {
			if n, ok := b.(*natsbus.Bus); ok {
				n.Refresh()
			}
		}
	}
}

// peerNodes are the nodes of other sites, none before the node stands.
func (p *parts) peerNodes() []post.PeerNode {
	if p.node == nil || p.node.Post == nil {
		return nil
	}
	return p.node.Post.PeerNodes()
}
