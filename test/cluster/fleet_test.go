package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/testcable"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// The context of the orders, by both its names.
const (
	shopping domain.TenantID = 7
	acme                     = "acme"
)

// fleet is some nodes of the real binary on one board and one set of streams,
// which are somebody else's, or belong to the one node that there is.
type fleet struct {
	*testing.T
	*rand.Rand
	url   string // of the board; "" is the embedded one
	dir   string
	shop  *shop
	evils []evil
	nodes []*member
	flags []string // of each node, beside those that all fleets have

	port   string // where the streams are
	broker *nats.Conn
	js     jetstream.JetStream
}

// member is one node of a fleet.
type member struct {
	*daemon
	data   string
	client *client.Client
	link   *testcable.Cable // to the board's server; nil where there is none
}

// evil is a misfortune, and how often it comes beside others.
type evil struct {
	name  string
	often int
	do    func()
}

// newFleet starts n nodes with all they need, on the board at url, which a server
// has at addr, or on an embedded one.
func newFleet(t *testing.T, url, addr string, n int) *fleet {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &fleet{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), url: url, dir: t.TempDir(), port: freePort(t)}
	f.shop = openShop(t, seed)
	f.configure()
	streams := "nats:?listen=127.0.0.1:" + f.port + "&token_file=" + f.file("token", streamToken)
	if url != "" {
		streams = "nats://127.0.0.1:" + f.port + "?replicas=1&sync=always"
		f.serveStreams()
	}
	for i := range n {
		f.launch(string(rune('a'+i)), addr, streams)
	}
	f.connect()
	f.evils = append(f.evils, evil{"a node is killed", 40, f.killNode}, evil{"a node is stopped", 20, f.pauseNode},
		evil{"a node ends", 10, f.endNode}, evil{"the shop is closed", 10, f.closeShop})
	if url != "" {
		f.evils = append(f.evils, evil{"a node is far from its board", 20, f.holdNode})
	}
	return f
}

// streamToken logs others in to the embedded streams.
const streamToken = "a-token-of-the-test"

// file writes a file into the fleet's folder and returns its path.
func (f *fleet) file(name, text string) string {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	return path
}

// configure writes the config file of all nodes.
func (f *fleet) configure() {
	f.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "nodes.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.file("parcels.db", "")
	f.file("config.yaml", os.Expand(string(text), func(name string) string {
		return map[string]string{"SHOP": f.shop.server.URL, "DIR": f.dir}[name]
	}))
}

// serveStreams starts a NATS server that the nodes share, which may die.
func (f *fleet) serveStreams() {
	f.Helper()
	conf := f.file("nats.conf", fmt.Sprintf("listen: \"127.0.0.1:%s\"\nmax_payload: 2MB\njetstream: {store_dir: %q, sync_interval: always}\n",
		f.port, filepath.Join(f.dir, "nats")))
	server := newDaemon(f.T, "nats", func() *exec.Cmd {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), envNATS+"="+conf)
		return cmd
	})
	f.evils = append(f.evils,
		evil{"NATS is killed", 20, func() {
			f.awaken()
			server.alive()
			server.kill()
			f.sleep(4 * time.Second) // at times longer than who publishes waits for it
			server.start()
		}},
		evil{"NATS is stopped", 10, func() {
			f.awaken()
			server.signal(stopSignal)
			f.sleep(3 * time.Second)
			server.signal(continueSignal)
		}})
}

// launch starts a node and waits until it answers.
func (f *fleet) launch(name, addr, streams string) {
	f.Helper()
	bin, err := binary()
	if err != nil {
		f.Fatal(err)
	}
	m := &member{data: filepath.Join(f.dir, name)}
	args := []string{"serve", "--data", m.data, "--config", filepath.Join(f.dir, "config.yaml"), "--name", name, "--stream", streams,
		"--lease", siteLease.String(), "--grace", "5s", "--log-level", "warn"}
	args = append(args, f.flags...)
	if f.url != "" {
		m.link = testcable.Lay(f.T, addr)
		args = append(args, "--board", strings.Replace(f.url, addr, m.link.Address(), 1))
	}
	m.daemon = newDaemon(f.T, name, func() *exec.Cmd { return exec.Command(bin, args...) })
	if m.client, err = client.New(client.Config{Socket: cli.SocketPath(m.data), Cookie: cli.CookiePath(m.data)}); err != nil {
		f.Fatal(err)
	}
	f.nodes = append(f.nodes, m)
	m.awaken(m.client)
}

// connect lets the test publish as other programs do, past all nodes.
func (f *fleet) connect() {
	f.Helper()
	opts := []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	if f.url == "" {
		opts = append(opts, nats.Token(streamToken))
	}
	var err error
	if f.broker, err = nats.Connect("nats://127.0.0.1:"+f.port, opts...); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(f.broker.Close)
	if f.js, err = jetstream.New(f.broker); err != nil {
		f.Fatal(err)
	}
}

// sleep rests for up to most.
func (f *fleet) sleep(most time.Duration) { time.Sleep(time.Duration(f.Int64N(int64(most)))) }

// awaken waits until all nodes answer. One that is starting does not wait for
// its board, and is told to stop at once; nor does it wait for its streams, until it
// has opened them.
func (f *fleet) awaken() {
	f.Helper()
	for _, m := range f.nodes {
		m.awaken(m.client)
	}
}

func (f *fleet) any() *member { return f.nodes[f.IntN(len(f.nodes))] }

func (f *fleet) killNode() {
	m := f.any()
	m.alive()
	m.kill()
	f.sleep(time.Second)
	m.start()
}

// pauseNode stops a node for longer than its leases.
func (f *fleet) pauseNode() {
	m := f.any()
	m.signal(stopSignal)
	time.Sleep(siteLease + 500*time.Millisecond)
	m.signal(continueSignal)
}

// holdNode holds up a commit of a node, and all else between it and the board,
// for longer than its leases: it arrives when others have what the node had.
func (f *fleet) holdNode() {
	m := f.any()
	select {
	case <-m.link.HoldFrom("ramet:saga:history:"):
		time.Sleep(siteLease + 500*time.Millisecond)
	case <-time.After(siteLease): // it serves none now
	}
	m.link.Release()
}

// endNode tells a node to stop, which it does in good order.
func (f *fleet) endNode() {
	f.awaken()
	m := f.any()
	m.end()
	m.start()
}

func (f *fleet) closeShop() {
	f.shop.close()
	f.sleep(time.Second)
	f.shop.reopen()
}

// misfortune is one thing that happens.
func (f *fleet) misfortune() {
	all := 0
	for _, e := range f.evils {
		all += e.often
	}
	n := f.IntN(all)
	for _, e := range f.evils {
		if n -= e.often; n < 0 {
			f.Log(e.name)
			e.do()
			return
		}
	}
}

// open opens board and streams in this process, when no node has them.
func (f *fleet) open() (b board.Board, l stream.Log) {
	f.Helper()
	ctx, one := f.Context(), f.nodes[0]
	var err error
	cfg := natsstream.Config{URL: "nats://127.0.0.1:" + f.port, Replicas: 1, SyncDeclared: true}
	switch {
	case f.url == "":
		cfg = natsstream.Config{DataDir: one.data}
		b, err = pebbleboard.Open(filepath.Join(one.data, "board"), pebbleboard.Config{})
	case strings.HasPrefix(f.url, "etcd"):
		b, err = etcdboard.Open(ctx, f.url, etcdboard.Config{})
	default:
		b, err = redisboard.Open(ctx, f.url, redisboard.Config{})
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { b.Close() })
	log, err := natsstream.Open(ctx, cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { log.Close() })
	return b, log
}

// applied stores the saga of the orders.
func (f *fleet) apply() {
	f.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "order.yaml"))
	if err == nil {
		_, err = f.nodes[0].client.CreateContext(f.Context(), domain.Tenant{ID: shopping, Alias: acme, Admins: []domain.ActorID{domain.Operator}})
	}
	if err == nil {
		_, err = f.nodes[0].client.ApplySagaText(f.Context(), shopping, "order.yaml", string(text), domain.SagaFromStart)
	}
	if err != nil {
		f.Fatal(err)
	}
}
