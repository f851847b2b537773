package natsbus_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/bustest"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/internal/testport"
	"github.com/ramet-run/ramet/internal/testwait"
)

// external starts a NATS server as an operator would, with this configuration.
func external(t testing.TB, name, config string, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{}
	if config != "" {
		if err := o.ProcessConfigString(config); err != nil {
			t.Fatalf("configuration: %v\n%s", err, config)
		}
	}
	o.ServerName, o.NoLog, o.NoSigs = name, true, true
	o.Host, o.Port = "127.0.0.1", server.RANDOM_PORT
	o.JetStream, o.StoreDir = true, t.TempDir()
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func ready(t testing.TB, s *server.Server) *server.Server {
	t.Helper()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	return s
}

func permit(t testing.TB, p natsbus.Permit) string {
	t.Helper()
	for i := range 4 {
		p.Nodes = append(p.Nodes, peers(i)()...)
	}
	text, err := natsbus.ServerConfig(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestExternal(t *testing.T) {
	t.Parallel()
	bustest.Run(t, bustest.Factory{Open: func(t *testing.T) bustest.Network {
		s := ready(t, external(t, "one", permit(t, natsbus.Permit{}), nil))
		return bustest.Network{Join: func(t *testing.T, i int) bus.Bus {
			return open(t, natsbus.Config{Node: public(i), Link: link(i), URL: s.ClientURL()})
		}}
	}})
}

// A server without log-in, as a developer starts it.
func TestOpenServer(t *testing.T) {
	t.Parallel()
	bustest.Run(t, bustest.Factory{Open: func(t *testing.T) bustest.Network {
		s := ready(t, external(t, "one", "", nil))
		return bustest.Network{Join: func(t *testing.T, i int) bus.Bus {
			return open(t, natsbus.Config{Node: public(i), Link: link(i), URL: s.ClientURL() + "?login=none"})
		}}
	}})
}

func TestExternalNodesAreApart(t *testing.T) {
	t.Parallel()
	s := ready(t, external(t, "one", permit(t, natsbus.Permit{}), nil))
	sender := open(t, natsbus.Config{Node: public(0), Link: link(0), URL: s.ClientURL()})
	victim := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: s.ClientURL()})
	open(t, natsbus.Config{Node: public(3), Link: link(3), URL: s.ClientURL()})
	apart(t, raw(t, s.ClientURL(), 2), sender, victim, nil)
}

// clusterOf starts three servers that know each other. With join more come to them.
func clusterOf(t testing.TB, config string) (servers []*server.Server, join func(name string) *server.Server) {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 {
		addr, err := net.ResolveTCPAddr("tcp", testport.Free(t))
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, addr.Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: addr.String()})
	}
	start := func(name string, port int) *server.Server {
		return external(t, name, config, func(o *server.Options) {
			o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}
			o.Routes = routes
		})
	}
	for i, port := range ports {
		servers = append(servers, start(fmt.Sprint("s", i), port))
	}
	for _, s := range servers {
		ready(t, s)
	}
	testwait.Until(t, "the cluster has a leader", func() bool { return slices.ContainsFunc(servers, (*server.Server).JetStreamIsLeader) })
	return servers, func(name string) *server.Server { return ready(t, start(name, server.RANDOM_PORT)) }
}

// TestANodeThatComesBeforeTheClusterHasItsPeersLooksAgain has a cluster be two servers short of
// what a mailbox needs: none is made, and the bus does not say that anything survives. Once
// they have come the mailbox is made, and the bus says what it survives from then on.
func TestANodeThatComesBeforeTheClusterHasItsPeersLooksAgain(t *testing.T) {
	t.Parallel()
	servers, join := clusterOf(t, permit(t, natsbus.Permit{Replicas: 5}))
	var log testwait.Log
	b, err := natsbus.Open(t.Context(), natsbus.Config{Node: public(0), Link: link(0), URL: "nats://" + servers[0].Addr().String() + "?replicas=5",
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	log.Await(t, "no suitable peers for placement", 1) // it was asked for, and refused
	if got := b.Durability(); got != board.DurableMemory {
		t.Errorf("got durability %q of a mailbox that there is not, want %q", got, board.DurableMemory)
	}
	join("s3")
	join("s4")
	sendOn(t, b, b.Self(), "hello")
	receives(t, b, "hello") // so the mailbox is there
	if got := b.Durability(); got != board.DurableQuorum {
		t.Errorf("got durability %q, want %q", got, board.DurableQuorum)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	servers, _ := clusterOf(t, permit(t, natsbus.Permit{Replicas: 3}))
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, s.Addr().String())
	}
	url := "nats://" + strings.Join(hosts, ",") + "?replicas=3"
	bus0 := open(t, natsbus.Config{Node: public(0), Link: link(0), URL: url})
	bus1 := open(t, natsbus.Config{Node: public(1), Link: link(1), URL: url})
	receive := func(bodies ...string) {
		t.Helper()
		for want := slices.Clone(bodies); len(want) > 0; {
			p, err := bus1.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = p.Done(t.Context())
			want = slices.DeleteFunc(want, func(body string) bool { return body == string(p.Body) })
		}
	}
	sendOn(t, bus0, bus1.Self(), "before")
	// A young cluster may refuse a mailbox for some time ("no suitable peers for
	// placement"). What was received came out of one that is there.
	receive("before")
	if got := bus1.Durability(); got != board.DurableQuorum {
		t.Errorf("got durability %q, want %q", got, board.DurableQuorum)
	}
	// One server ends, whichever; what it held is with the others.
	sendOn(t, bus0, bus1.Self(), "kept")
	servers[0].Shutdown()
	sendOn(t, bus0, bus1.Self(), "after")
	receive("kept", "after")
}
