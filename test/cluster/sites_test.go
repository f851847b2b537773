package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/myceliumtest"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/internal/testcable"
)

// These tests let two sites exchange messages and flows while their nodes are
// killed and stopped and the links between them are cut.

// A link from one site's own server to the other's.
func TestKillSitesLinked(t *testing.T) {
	t.Parallel()
	a, b := newSite(t, "alpha"), newSite(t, "beta")
	nodes, links := freePort(t), freePort(t)
	link := testcable.Lay(t, "127.0.0.1:"+links)
	a.bus = "nats:?listen=127.0.0.1:" + nodes + "&leaf_listen=127.0.0.1:" + links
	b.bus = "nats:?leaf=nats://" + link.Address() + "?key=" + a.key()
	a.serve()
	b.serve()
	meet(a, b)
	w := newWar(t, a, b)
	w.links = append(w.links, link)
	w.listen("nats://127.0.0.1:" + nodes + "?key=" + a.key())
	w.rage()
}

// One NATS server of its own, to which both sites connect.
func TestKillSitesOnANATSServer(t *testing.T) {
	t.Parallel()
	a, b := newSite(t, "alpha"), newSite(t, "beta")
	port, spy := freePort(t), newSpy(t)
	var links []*testcable.Cable
	for _, s := range []*site{a, b} {
		link := testcable.Lay(t, "127.0.0.1:"+port)
		s.bus, links = "nats://"+link.Address(), append(links, link)
	}
	accounts, err := natsbus.ServerConfig(natsbus.Permit{Nodes: []natsbus.Peer{a.natsPeer(), b.natsPeer(), {Key: spyNode, Link: spy.Pubkey()}}})
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(t.TempDir(), "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:%s\"\njetstream: {store_dir: %q}\n%s", port, t.TempDir(), accounts)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	nats := newDaemon(t, "nats", func() *exec.Cmd {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), envNATS+"="+conf)
		return cmd
	})
	a.serve()
	b.serve()
	meet(a, b)
	w := newWar(t, a, b)
	w.spy, w.links = spy, links
	w.more = append(w.more, func() { // the server dies as well
		nats.kill()
		w.sleep(500 * time.Millisecond)
		nats.start()
	})
	w.listen("nats://127.0.0.1:" + port)
	w.rage()
}

// A Mycelium daemon beside each node; our stand-in for it.
func TestKillSitesOnMycelium(t *testing.T) {
	t.Parallel()
	bin := myceliumtest.Build(t)
	a, b := newSite(t, "alpha"), newSite(t, "beta")
	near := myceliumtest.Run(t, bin)
	link := testcable.Lay(t, strings.TrimPrefix(near.Endpoint(), "tcp://"))
	far := myceliumtest.Run(t, bin, "tcp://"+link.Address())
	other := myceliumtest.Run(t, bin, near.Endpoint())
	a.bus, b.bus = "mycelium:"+near.URL(), "mycelium:"+far.URL()
	near.AwaitRoute(far)
	far.AwaitRoute(near)
	a.serve()
	b.serve()
	meet(a, b)
	w := newWar(t, a, b)
	w.links = append(w.links, link)
	w.more = append(w.more,
		func() { // what a daemon holds is lost with it
			p := []*myceliumtest.Process{near, far}[w.IntN(2)]
			p.Kill()
			w.sleep(500 * time.Millisecond)
			p.Start()
		},
		func() {
			faults(t, []*myceliumtest.Process{near, far}[w.IntN(2)],
				myceliumtest.Faults{Seed: w.Uint64(), Lose: 0.2, LoseAck: 0.1, LoseAnswer: 0.1, Double: 0.3, Reorder: 0.3})
		})
	w.calm = append(w.calm, func() {
		for _, p := range []*myceliumtest.Process{near, far} {
			faults(t, p, myceliumtest.Faults{})
		}
	})
	w.rage()
	resp, err := http.Get(other.URL() + "/api/v1/messages?peek=true&timeout=0")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("a daemon that no message is for has one: %s", resp.Status)
	}
}

// faults sets what befalls the messages that arrive at a stand-in.
func faults(t *testing.T, p *myceliumtest.Process, f myceliumtest.Faults) {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.URL()+"/stand-in/faults", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("set faults: %s", resp.Status)
	}
}

// war is what happens to two sites.
type war struct {
	*testing.T
	*rand.Rand
	sites []*site
	links []*testcable.Cable
	more  []func() // what else can happen
	calm  []func() // ends it
	spy   identity.LinkKey
	heard func() int // parcels that came to the spy
}

func newWar(t *testing.T, sites ...*site) *war {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &war{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), sites: sites, spy: newSpy(t), heard: func() int { return 0 }}
}

// spyNode is the public key of a node that is a peer and sends nothing.
var spyNode = func() string {
	k, err := identity.NewKey()
	if err != nil {
		panic(err)
	}
	return k.Pubkey()
}()

func newSpy(t *testing.T) identity.LinkKey {
	t.Helper()
	k, err := identity.NewLinkKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// listen lets a third site's node, which both sites know, log in to a NATS server
// and ask for everything.
func (w *war) listen(url string) {
	w.Helper()
	for _, s := range w.sites {
		card := domain.Peer{Name: "gamma", Nodes: domain.List[domain.PeerNode]{{Pubkey: spyNode, LinkKey: w.spy.Pubkey(),
			Addresses: domain.List[domain.Address]{natsbus.Address(spyNode)}}}}
		if _, err := s.client.AddPeer(w.Context(), card); err != nil {
			w.Fatal(err)
		}
	}
	url, node, inside := strings.Cut(url, "?key=")
	login, err := natslink.ToServer(w.spy)
	if inside {
		login, err = natslink.ToNode(w.spy, node)
	}
	if err != nil {
		w.Fatal(err)
	}
	var conn *nats.Conn
	for end := time.Now().Add(patience); conn == nil; time.Sleep(100 * time.Millisecond) { // until the server has heard of it
		conn, err = nats.Connect(url, login, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil && time.Now().After(end) {
			w.Fatal(err)
		}
	}
	w.Cleanup(conn.Close)
	var mu sync.Mutex
	heard := 0
	for _, subject := range []string{">", "ramet.>", "ramet.parcel.*.*", "$JS.>"} {
		if _, err := conn.Subscribe(subject, func(m *nats.Msg) {
			if bytes.Contains(m.Data, []byte("ramet2")) { // every parcel begins with it
				mu.Lock()
				heard++
				mu.Unlock()
			}
		}); err != nil {
			w.Fatal(err)
		}
	}
	w.heard = func() int {
		for _, s := range w.sites {
			// Nor can it fetch what waits in the mailboxes of others.
			for _, subject := range []string{"$JS.API.CONSUMER.MSG.NEXT.parcel-" + s.key() + ".node", "$JS.API.STREAM.MSG.GET.parcel-" + s.key()} {
				if m, err := conn.Request(subject, []byte(`{"batch":1}`), 300*time.Millisecond); err == nil && bytes.Contains(m.Data, []byte("ramet2")) {
					w.Errorf("%s gave away %q", subject, m.Data)
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return heard
	}
}

// sleep rests for up to most.
func (w *war) sleep(most time.Duration) {
	time.Sleep(time.Duration(w.Int64N(int64(most))))
}

// rage lets people send and misfortune come, and holds what is there at the end
// against what was promised.
func (w *war) rage() {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	var people sync.WaitGroup
	for _, s := range w.sites {
		s.crowd(ctx, &people)
	}
	for range rounds(w.T) {
		w.sleep(800 * time.Millisecond)
		w.misfortune()
		if w.Failed() {
			break
		}
	}
	time.Sleep(500 * time.Millisecond)
	stop()
	people.Wait()
	for _, l := range w.links {
		l.Mend()
	}
	for _, calm := range w.calm {
		calm()
	}
	for _, s := range w.sites {
		s.awaken()
	}
	w.drained()
	for _, s := range w.sites {
		s.verify()
	}
	if n := w.heard(); n > 0 {
		w.Errorf("a node that no parcel was for got %d", n)
	}
	for _, s := range w.sites {
		s.verifyBoard()
	}
}

// misfortune is one thing that happens.
func (w *war) misfortune() {
	s := w.sites[w.IntN(len(w.sites))]
	switch n := w.IntN(4 + len(w.more)); n {
	case 0, 1:
		s.node.alive()
		s.node.kill()
		w.sleep(time.Second)
		s.node.start()
	case 2: // longer than its leases
		s.node.signal(stopSignal)
		time.Sleep(siteLease + time.Second)
		s.node.signal(continueSignal)
	case 3:
		l := w.links[w.IntN(len(w.links))]
		l.Sever()
		w.sleep(3 * time.Second)
		l.Mend()
	default:
		w.more[n-4]()
	}
}

// serveNATS is a nats-server in this process, until it is killed.
func serveNATS(file string) {
	o, err := server.ProcessConfigFile(file)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(o); err == nil {
			s.ConfigureLogger()
			s.Start()
			s.WaitForShutdown()
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, "nats-server:", err)
	os.Exit(1)
}
