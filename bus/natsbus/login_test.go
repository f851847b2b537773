package natsbus_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/internal/testwait"
)

// connect is what a client or a link sends first.
type connect struct {
	Sig  string `json:"sig"`
	Nkey string `json:"nkey"`
}

// fake listens as a NATS server that sends the nonces of its choice, to clients
// and to links, and hands over what is answered.
func fake(t *testing.T, nonce func() string) (address string, answers <-chan connect) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	got := make(chan connect, 100)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				port := ln.Addr().(*net.TCPAddr).Port
				info := map[string]any{"server_id": "NEVIL", "server_name": "evil", "version": "2.15.2", "proto": 1, "headers": true, "auth_required": true,
					"max_payload": 1 << 20, "host": "127.0.0.1", "port": port, "nonce": nonce(), "client_id": 1, "leafnode_urls": []string{ln.Addr().String()}}
				text, _ := json.Marshal(info)
				fmt.Fprintf(conn, "INFO %s\r\n", text)
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					if text, ok := strings.CutPrefix(lines.Text(), "CONNECT "); ok {
						var c connect
						_ = json.Unmarshal([]byte(text), &c)
						got <- c
					}
				}
			}()
		}
	}()
	return ln.Addr().String(), got
}

// anything is what of all that a server may send is no nonce.
func anything(t *testing.T) []string {
	t.Helper()
	k, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	k.Actor = 3_000_000_001
	minted, err := identity.Mint(k, "nina", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		minted[:strings.LastIndexByte(minted, '.')],   // a token, but for its signature
		"ramet/parcel/v1\n" + strings.Repeat("h", 32), // what was signed of parcels in form 1
		"ramet signs parcel/2 of 2 bytes, SHA-256 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n",
		"AAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAB", "",
	}
}

// A server that is not what it should be gets no signature of what it sends, be
// it a node's bus that comes or a link; and never one by the node's own key.
func TestNothingButNoncesIsSigned(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, address string, log *slog.Logger) error{
		"a node, to a plain server": func(t *testing.T, address string, log *slog.Logger) error {
			b, err := natsbus.Open(t.Context(), natsbus.Config{Node: public(1), Link: link(1), URL: "nats://" + address, Logger: log})
			return closed(t, b, err)
		},
		"a node, to that inside a node": func(t *testing.T, address string, log *slog.Logger) error {
			b, err := natsbus.Open(t.Context(), natsbus.Config{Node: public(1), Link: link(1), URL: at(address, 0), Logger: log})
			return closed(t, b, err)
		},
		"a link": func(t *testing.T, address string, log *slog.Logger) error {
			b, err := natsbus.Open(t.Context(),
				natsbus.Config{Node: public(1), Link: link(1), DataDir: t.TempDir(), Leafs: []string{"nats://" + address + "?key=" + public(0)},
					Peers: peers(0), Logger: log})
			return closed(t, b, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, nonce := range anything(t) {
				asked := make(chan struct{}, 100)
				address, answers := fake(t, func() string { asked <- struct{}{}; return nonce })
				if err := open(t, address, slog.New(slog.DiscardHandler)); err != nil {
					t.Fatal(err)
				}
				// It comes again when it was given nothing to sign: so the first is over.
				for range 2 {
					select {
					case <-asked:
					case c := <-answers:
						t.Fatalf("nonce %q was answered with %+v", nonce, c)
					case <-time.After(patience):
						t.Fatal("it does not come")
					}
				}
				select {
				case c := <-answers:
					if c.Sig != "" {
						t.Errorf("nonce %q was signed: %+v", nonce, c)
					}
				default:
				}
			}
		})
	}
}

func closed(t *testing.T, b *natsbus.Bus, err error) error {
	if err == nil {
		t.Cleanup(func() { b.Close() })
	}
	return err
}

// A server that passes on the nonce of another one, to log in there as whoever
// comes to it, is not let in.
func TestALoginCannotBePassedOn(t *testing.T) {
	t.Parallel()
	var log testwait.Log
	victim, err := natsbus.Open(t.Context(), natsbus.Config{Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0",
		Peers: peers(1, 2), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Close() })
	nodes, _ := victim.Listening()
	// Node 2 is a peer of both, and evil: it has node 1 come to it, too, by a link.
	pass := func(nonce []byte) ([]byte, error) {
		address, answers := fake(t, func() string { return string(nonce) })
		open(t, natsbus.Config{Node: public(1), Link: link(1), DataDir: t.TempDir(), Leafs: []string{"nats://" + address + "?key=" + public(2)}, Peers: peers(2)})
		select {
		case c := <-answers:
			return base64.RawURLEncoding.DecodeString(c.Sig)
		case <-time.After(patience):
			return nil, context.DeadlineExceeded
		}
	}
	user, err := natslink.User(link(1).Pubkey())
	if err != nil {
		t.Fatal(err)
	}
	if nc, err := nats.Connect("nats://"+nodes, nats.Nkey(user, pass), nats.NoReconnect(), nats.Timeout(patience)); err == nil {
		nc.Close()
		t.Fatal("node 2 was let in as node 1")
	}
	log.Await(t, "for another node than this", 1)
}

// A link that names nobody is made while it can be of one site only.
func TestALinkMustSayWhoseItIs(t *testing.T) {
	t.Parallel()
	host := open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: t.TempDir(), LeafListen: "127.0.0.1:0", Peers: peers(1)})
	_, leafs := host.Listening()
	two := func() []natsbus.Peer {
		return []natsbus.Peer{{Key: public(0), Link: link(0).Pubkey(), Site: "acme"}, {Key: public(2), Link: link(2).Pubkey(), Site: "bolt"}}
	}
	var log testwait.Log
	unsure := open2(t, natsbus.Config{Node: public(1), Link: link(1), DataDir: t.TempDir(), Leafs: []string{"nats://" + leafs}, Peers: two}, &log)
	log.Await(t, "say which, with ?peer=", 1)
	if err := unsure.Send(t.Context(), host.Self(), []byte("x")); err == nil {
		t.Error("the link stands")
	}
	unsure.Close()
	wrong := open2(t, natsbus.Config{Node: public(1), Link: link(1), DataDir: t.TempDir(), Leafs: []string{"nats://" + leafs + "?peer=cord"}, Peers: two}, &log)
	log.Await(t, `no peer \"cord\" with nodes on NATS is known`, 1)
	if got, want := wrong.Links(), (natsbus.Link{Host: leafs, To: "cord"}); len(got) != 1 || got[0] != want {
		t.Errorf("links: got %+v, want %+v", got, want)
	}
	wrong.Close()
	for _, whose := range []string{"?key=" + public(0), "?peer=acme"} {
		sure := open(t, natsbus.Config{Node: public(1), Link: link(1), DataDir: t.TempDir(), Leafs: []string{"nats://" + leafs + whose}, Peers: two})
		sendOn(t, sure, host.Self(), "hello")
		if got := sure.Links(); len(got) != 1 || !got[0].Up {
			t.Errorf("%s: links are %+v", whose, got)
		}
		sure.Close()
	}
}

func open2(t *testing.T, cfg natsbus.Config, log *testwait.Log) *natsbus.Bus {
	t.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	b, err := natsbus.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// A node whose card here is old, or that has a new link key, is refused with what
// to do, let in when the new card is here, and not under its old key any more.
func TestOldCardsAndNewKeys(t *testing.T) {
	t.Parallel()
	var log testwait.Log
	cards := make(chan []natsbus.Peer, 1)
	set := func(list ...natsbus.Peer) {
		select {
		case <-cards:
		default:
		}
		cards <- list
	}
	old, renewed := link(1), link(101)
	set(natsbus.Peer{Key: public(1)}) // the card of an earlier version
	host := open2(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", Peers: func() []natsbus.Peer {
		list := <-cards
		cards <- list
		return list
	}}, &log)
	nodes, _ := host.Listening()
	node := open(t, natsbus.Config{Node: public(1), Link: old, URL: at(nodes, 0)})
	log.Await(t, "no node that we know has the link key "+old.Pubkey(), 1)
	log.Await(t, "`ramet peer card`", 1)
	set(natsbus.Peer{Key: public(1), Link: old.Pubkey()})
	host.Refresh()
	sendOn(t, node, host.Self(), "by the old key")
	receives(t, host, "by the old key")

	set(natsbus.Peer{Key: public(1), Link: renewed.Pubkey()}) // its new card
	host.Refresh()
	log.Await(t, "it has a new link key", 1)
	testwait.Until(t, "the old key is good no more", func() bool { return node.Send(t.Context(), host.Self(), []byte("x")) != nil })
	node.Close()
	again := open(t, natsbus.Config{Node: public(1), Link: renewed, URL: at(nodes, 0)})
	sendOn(t, again, host.Self(), "by the new key")
	if again.Self() != domain.Address("nats:"+public(1)) {
		t.Errorf("got the address %s, want that of the same node", again.Self())
	}
}
