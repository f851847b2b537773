//go:build !no_nats

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// What `ramet peer nats-config --streams` writes is all that a nats-server has to
// be told: nodes send parcels by it and have their streams there, and find
// nothing to warn of. On a server without it they do.
func TestNATSConfigIsWhatNodesNeed(t *testing.T) {
	a, b := testKeys(t), testKeys(t)
	text, err := natsConfig(cli.NATSOptions{Replicas: 1, Streams: true, Sites: []domain.Peer{
		{Name: "here", Nodes: []domain.PeerNode{{Pubkey: a.Node.Pubkey(), LinkKey: a.Bus.Pubkey(), StreamKey: a.Stream.Pubkey()}}},
		{Name: "bolt", Nodes: []domain.PeerNode{{Pubkey: b.Node.Pubkey(), LinkKey: b.Bus.Pubkey()}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, config, login, links string
		warns                      bool
	}{
		{name: "as it is written", config: text, links: "?login=link&replicas=1&sync=always"},
		{name: "a server without accounts", login: "?login=none", links: "?replicas=1&sync=always", warns: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said testwait.Log
			log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
			at := plainNATS(t, c.config)
			node := func(k *identity.Keyring) *natsbus.Bus {
				x, err := natsbus.Open(t.Context(), natsbus.Config{Node: k.Node.Pubkey(), Link: k.Bus, URL: at + c.login, Logger: log})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { x.Close() })
				return x
			}
			one, two := node(a), node(b)
			testwait.Nil(t, func() error { return one.Send(t.Context(), two.Self(), []byte("hello")) })
			if p, err := two.Receive(t.Context()); err != nil || p.From != one.Self() {
				t.Fatalf("got a parcel of %s, %v", p.From, err)
			}
			l, err := (&parts{keys: a}).openStream(t.Context(), at+c.links, t.TempDir(), nil, false, log)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Publish(t.Context(), stream.Message{Stream: domain.WorkflowCommands, Subject: "tenant.1.effect.mail.1", Data: []byte("{}")}); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			one.Close()
			two.Close() // and say nothing more
			for _, text := range []string{"none of this node's own", "may do more"} {
				if got := strings.Contains(said.String(), text); got != c.warns {
					t.Errorf("it warns %q: got %t, want %t\n%s", text, got, c.warns, said.String())
				}
			}
		})
	}
	// A node of another site has no business with the streams.
	at := plainNATS(t, text)
	if l, err := natsstream.Open(t.Context(), natsstream.Config{URL: at, Link: b.Bus, Login: true, Replicas: 1, MayLose: true}); err == nil {
		l.Close()
		t.Error("a node of another site has the streams open")
	}
}

// plainNATS starts a nats-server with a configuration.
func plainNATS(t *testing.T, config string) (url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(config+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, config)
	}
	o.Host, o.Port, o.NoLog, o.NoSigs, o.JetStream, o.StoreDir, o.MaxPayload = "127.0.0.1", server.RANDOM_PORT, true, true, true, t.TempDir(), 2<<20
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.ClientURL()
}
