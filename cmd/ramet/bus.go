package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/myceliumbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// peersEvery is how often a NATS server is told which nodes it may let in.
const peersEvery = time.Second

// announceEvery is how often a node says again which its link keys are.
const announceEvery = time.Hour

// openBuses opens the buses that URLs name. peers lists the nodes of other
// sites, once the node knows them.
func openBuses(ctx context.Context, urls []string, keys *identity.Keyring, dataDir string, peers func() []natsPeer,
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

// checkBus refuses the URL of a bus of a kind that there is not.
func checkBus(text string) error {
	scheme, _, _ := strings.Cut(text, ":")
	switch scheme {
	case "nats", "tls", "mycelium":
		return nil
	}
	// Not the whole text: it may hold a password.
	return domain.Invalidf("bus of kind %q: want nats: (embedded), nats://host:4222, tls://host:4222 or mycelium:http://127.0.0.1:8989", scheme)
}

// openBus opens one bus:
//
//	nats:?listen=:4222&leaf_listen=:7422&leaf=nats://host:7422    a server in this process
//	nats://host:4222, tls://host:4222                             one elsewhere
//	mycelium:http://127.0.0.1:8989                                a Mycelium daemon
//
// Errors: [domain.ErrInvalid], [domain.ErrUnavailable].
func openBus(ctx context.Context, text string, keys *identity.Keyring, dataDir string, peers func() []natsPeer, log *slog.Logger) (bus.Bus, error) {
	scheme, _, _ := strings.Cut(text, ":")
	switch scheme {
	case "nats", "tls":
		return openNATSBus(ctx, text, keys, dataDir, peers, log)
	case "mycelium":
		b, err := myceliumbus.Open(ctx, text, myceliumbus.Config{Logger: log})
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	return nil, checkBus(text)
}

// refreshPeers lets a NATS server know when there are other peers, from
// whichever node of the board they were added.
func (p *parts) refreshPeers(ctx context.Context) error {
	tick := time.NewTicker(peersEvery)
	defer tick.Stop()
	var known []natsPeer
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
			if n, ok := b.(interface{ Refresh() }); ok {
				n.Refresh()
			}
		}
	}
}
