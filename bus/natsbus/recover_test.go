package natsbus_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testport"
	"github.com/ramet-run/ramet/internal/testwait"
)

// patience is how long a test waits for what must come: the machine may be busy.
const patience = 2 * time.Minute

// receives takes parcels until each of the bodies was there, in any order.
func receives(t *testing.T, b *natsbus.Bus, bodies ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, s := range bodies {
		missing[s] = true
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(missing) > 0 {
		p, err := b.Receive(ctx)
		if err != nil {
			t.Fatalf("receive: %v; %d missing", err, len(missing))
		}
		if err := p.Done(t.Context()); err != nil {
			t.Error(err)
		}
		delete(missing, string(p.Body))
	}
}

// The receiver's machine stops in the middle: what the bus had taken and
// nobody was done with is there when it starts again.
func TestCrash(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	sender := open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: data, Listen: "127.0.0.1:0", Peers: peers(1)})
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("parcel ", i))
		sendOn(t, sender, sender.Self(), want[i])
	}
	for range 10 { // received, and not done with
		if _, err := sender.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	image := t.TempDir()
	if err := os.CopyFS(image, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	receives(t, open(t, natsbus.Config{Node: public(0), Link: link(0), DataDir: image}), want...)
}

// A server in this process stops and starts; those that connect to it come
// back, and find what was sent to them meanwhile.
func TestHostRestarts(t *testing.T) {
	t.Parallel()
	cfg := natsbus.Config{Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", Peers: peers(1, 2)}
	host := open(t, cfg)
	cfg.Listen, _ = host.Listening()
	one := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: at(cfg.Listen, 0)})
	two := open(t, natsbus.Config{Node: public(2), Link: link(2), URL: at(cfg.Listen, 0)})
	sendOn(t, one, host.Self(), "to the host")
	sendOn(t, host, two.Self(), "to two")
	receives(t, two, "to two")
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	sendOn(t, one, two.Self(), "while two is away")
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if err := one.Send(t.Context(), host.Self(), []byte("into the void")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("send without a server: got %v, want unavailable", err)
	}
	// It may learn of its peers only later, as a node does that reads them from
	// its board.
	var late atomic.Bool
	known := cfg.Peers
	cfg.Peers = func() []natsbus.Peer {
		if late.Load() {
			return known()
		}
		return nil
	}
	host = open(t, cfg)
	late.Store(true)
	host.Refresh()
	// Before two is back.
	sendOn(t, host, two.Self(), "while two is away still")
	sendOn(t, one, host.Self(), "after")
	receives(t, host, "to the host", "after")
	two = open(t, natsbus.Config{Node: public(2), Link: link(2), URL: at(cfg.Listen, 0)})
	receives(t, two, "while two is away", "while two is away still")
}

func TestExternalRestarts(t *testing.T) {
	t.Parallel()
	config, store, port := permit(t, natsbus.Permit{}), t.TempDir(), server.RANDOM_PORT
	start := func() *server.Server {
		return ready(t, external(t, "one", config, func(o *server.Options) { o.StoreDir, o.Port = store, port }))
	}
	s := start()
	port = s.Addr().(*net.TCPAddr).Port
	url := s.ClientURL()
	a := open(t, natsbus.Config{Node: public(0), Link: link(0), URL: url})
	b := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: url})
	sendOn(t, a, b.Self(), "before")
	p, err := b.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Shutdown()
	s.WaitForShutdown()
	_ = p.Done(t.Context()) // may fail, must return
	if err := a.Send(t.Context(), b.Self(), []byte("into the void")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("send without a server: got %v, want unavailable", err)
	}
	start()
	sendOn(t, a, b.Self(), "after")
	receives(t, b, "after")
}

func TestServerComesLater(t *testing.T) {
	t.Parallel()
	addr, err := net.ResolveTCPAddr("tcp", testport.Free(t))
	if err != nil {
		t.Fatal(err)
	}
	port := addr.Port
	a := open(t, natsbus.Config{Node: public(0), Link: link(0), URL: fmt.Sprintf("nats://127.0.0.1:%d", port)})
	if err := a.Send(t.Context(), a.Self(), []byte("x")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("send without a server: got %v, want unavailable", err)
	}
	if got := a.Durability(); got != board.DurableMemory {
		t.Errorf("got durability %q of a server never reached, want %q", got, board.DurableMemory)
	}
	ready(t, external(t, "one", permit(t, natsbus.Permit{}), func(o *server.Options) { o.Port = port }))
	sendOn(t, a, a.Self(), "hello")
	receives(t, a, "hello")
	if got := a.Durability(); got != board.DurableProcess {
		t.Errorf("got durability %q, want %q", got, board.DurableProcess)
	}
}

// Somebody deletes the mailbox, or its consumer, or replaces it.
func TestMailboxGoes(t *testing.T) {
	t.Parallel()
	s := ready(t, external(t, "one", permit(t, natsbus.Permit{}), nil))
	a := open(t, natsbus.Config{Node: public(0), Link: link(0), URL: s.ClientURL()})
	b := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: s.ClientURL()})
	js, err := jetstream.New(raw(t, s.ClientURL(), 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		act  func() error
	}{
		{"the consumer goes", func() error { return js.DeleteConsumer(t.Context(), "parcel-"+public(1), "node") }},
		{"the mailbox goes", func() error { return js.DeleteStream(t.Context(), "parcel-"+public(1)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			sendOn(t, a, b.Self(), "before")
			receives(t, b, "before")
			if err := c.act(); err != nil {
				t.Fatal(err)
			}
			sendOn(t, a, b.Self(), "after")
			receives(t, b, "after")
		})
	}
}

// Parcels with nothing in them, or that somebody put where none should be, do
// not hold up others.
func TestStrangeParcels(t *testing.T) {
	t.Parallel()
	s := ready(t, external(t, "one", permit(t, natsbus.Permit{}), nil))
	a := open(t, natsbus.Config{Node: public(0), Link: link(0), URL: s.ClientURL()})
	b := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: s.ClientURL()})
	sendOn(t, a, b.Self(), "before")
	own, peer := raw(t, s.ClientURL(), 1), raw(t, s.ClientURL(), 2)
	for range 1500 { // more than may be unacknowledged at once
		_ = own.Publish("ramet.parcel."+public(1)+".somebody", []byte("x"))
		_ = peer.Publish("ramet.send."+public(1)+"."+public(2), nil)
		_ = peer.PublishMsg(&nats.Msg{
			Subject: "ramet.send." + public(1) + "." + public(2), Header: nats.Header{"Status": {"409"}, "Description": {"Consumer Deleted"}},
		})
	}
	_, _ = own.Flush(), peer.Flush()
	sendOn(t, a, b.Self(), "after")
	for seen := 0; seen < 2; {
		p, err := b.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Done(t.Context())
		if len(p.Body) == 0 {
			t.Fatal("got an empty parcel")
		}
		if p.From == a.Self() {
			seen++
		}
	}
}

// goroutines are those that run code of NATS or of ours.
func goroutines() []string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var ours []string
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(g, "nats-io") || strings.Contains(g, "ramet/bus/natsbus.") {
			ours = append(ours, g)
		}
	}
	return ours
}

// TestCloseLeavesNothing runs alone: it counts the goroutines of the process.
func TestCloseLeavesNothing(t *testing.T) {
	before := goroutines()
	host, err := natsbus.Open(t.Context(), logged(t, natsbus.Config{
		Node: public(0), Link: link(0), DataDir: t.TempDir(), Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0", Peers: peers(1, 2),
	}))
	if err != nil {
		t.Fatal(err)
	}
	nodes, leafs := host.Listening()
	one := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: at(nodes, 0)})
	two := open(t, natsbus.Config{
		Node: public(2), Link: link(2), DataDir: t.TempDir(), Leafs: []string{"nats://" + leafs}, Peers: peers(0, 1),
	})
	away := open(t, natsbus.Config{Node: public(3), Link: link(3), URL: "nats://127.0.0.1:1"})
	sendOn(t, one, host.Self(), "x")
	sendOn(t, two, host.Self(), "x")
	sendOn(t, host, two.Self(), "x")
	for _, b := range []*natsbus.Bus{one, host, two, away} {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	testwait.Nil(t, func() error {
		after := goroutines()
		if len(after) <= len(before) {
			return nil
		}
		return fmt.Errorf("got %d goroutines more:\n%s", len(after)-len(before), strings.Join(after, "\n\n"))
	})
}
