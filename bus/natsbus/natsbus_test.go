package natsbus_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/bustest"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/internal/testcable"
)

// Node 0 has the server inside itself, the others connect to it.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	bustest.Run(t, bustest.Factory{Open: func(t *testing.T) bustest.Network {
		var (
			mu   sync.Mutex
			url  string
			data = t.TempDir()
		)
		return bustest.Network{Join: func(t *testing.T, i int) bus.Bus {
			mu.Lock()
			defer mu.Unlock()
			if url == "" {
				host := open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: data, Listen: "127.0.0.1:0", Peers: peers(1, 2)})
				nodes, _ := host.Listening()
				url = at(nodes, 0)
				if i == 0 {
					return host
				}
			}
			return open(t, natsbus.Config{Node: public(i), Link: link(i), URL: url})
		}}
	}})
}

// Nodes 0 and 1 are two sites, joined by a link that goes through a cable; node
// 2 is of the site of node 0.
func TestSites(t *testing.T) {
	t.Parallel()
	bustest.Run(t, bustest.Factory{Open: func(t *testing.T) bustest.Network {
		n := &sites{data: [2]string{t.TempDir(), t.TempDir()}}
		return bustest.Network{
			Join: n.join,
			Cut:  func(a, b int) { n.cable.Sever() },
			Heal: func() { n.cable.Mend() },
		}
	}, Features: bustest.Features{Forgets: "a site that is away says so; see docs/decisions/0014"}})
}

type sites struct {
	mu    sync.Mutex
	data  [2]string
	nodes [2]string // where each takes nodes
	cable *testcable.Cable
}

func (n *sites) join(t *testing.T, i int) bus.Bus {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i == 2 {
		return open(t, natsbus.Config{Node: public(2), Link: link(2), URL: at(n.nodes[0], 0)})
	}
	cfg := natsbus.Config{Node: public(i), Link: link(i), DataDir: n.data[i], Listen: "127.0.0.1:0"}
	if i == 0 {
		cfg.LeafListen, cfg.Peers = "127.0.0.1:0", peers(1, 2)
	} else {
		cfg.Leafs = []string{"nats://" + n.cable.Address()}
		cfg.Peers = func() []natsbus.Peer {
			return []natsbus.Peer{{Key: public(0), Link: link(0).Pubkey()}, {Key: public(2), Link: link(2).Pubkey(), Via: public(0)}}
		}
	}
	b, err := natsbus.Open(t.Context(), logged(t, cfg))
	if errors.Is(err, domain.ErrConflict) { // another process of the node
		return open(t, natsbus.Config{Node: public(i), Link: link(i), URL: at(n.nodes[i], i)})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	nodes, leafs := b.Listening()
	n.nodes[i] = nodes
	if i == 0 {
		n.cable = testcable.Lay(t, leafs)
	}
	return b
}

func open(t testing.TB, cfg natsbus.Config) *natsbus.Bus {
	t.Helper()
	b, err := natsbus.Open(t.Context(), logged(t, cfg))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// logged is cfg with what it says shown where the test fails. Nothing comes
// again by itself while a test runs.
func logged(t testing.TB, cfg natsbus.Config) natsbus.Config {
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg.AckWait = cmp.Or(cfg.AckWait, 2*time.Minute)
	return cfg
}

// public is the public key of node i, by which it is known; nobody has the
// private one, for it is not needed.
func public(i int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(i)))
	return hex.EncodeToString(sum[:])
}

var links sync.Map // int -> natslink.Key

// link is the link key of node i.
func link(i int) natslink.Key {
	k, err := identity.NewLinkKey()
	if err != nil {
		panic(err)
	}
	kept, _ := links.LoadOrStore(i, k)
	return kept.(natslink.Key)
}

// at is the URL of the server inside node i, which listens at an address.
func at(address string, i int) string { return "nats://" + address + "?key=" + public(i) }

// peers is a list of nodes that connect themselves.
func peers(nodes ...int) func() []natsbus.Peer {
	var list []natsbus.Peer
	for _, i := range nodes {
		list = append(list, natsbus.Peer{Key: public(i), Link: link(i).Pubkey()})
	}
	return func() []natsbus.Peer { return list }
}
