package natsbus

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// MaxPayload is what our servers take: the largest parcel and what NATS may
// put before it.
const MaxPayload = bus.MaxParcel + 64<<10

// host is the embedded server.
type host struct {
	key    string // this node's
	cfg    Config
	log    *slog.Logger
	server *server.Server
	opts   *server.Options
	lock   *natslink.FolderLock
	secret string // logs our own connections in
	leafs  []leaf
	ready  chan struct{}   // closed when log-ins may be answered
	seldom natslink.Seldom // of what others make us say

	office *natslink.Wire // our connection to the exchange
	own    *natslink.Wire // to the account of this node

	refused natslink.Lately // log-ins

	joining sync.Mutex // one newcomer at a time; taken before mu

	mu      sync.Mutex
	local   map[string]bool   // whose account is here
	relays  map[string]*relay // of links to sites, by account
	members map[uint64]member // by the server's number of the connection
}

// startHost starts the embedded server and makes this node's mailbox.
func startHost(ctx context.Context, key string, cfg Config) (_ *host, err error) {
	if cfg.DataDir == "" {
		return nil, domain.Invalidf("the embedded NATS server needs a data folder")
	}
	leafs, err := parseLeafs(cfg.Leafs)
	if err != nil {
		return nil, err
	}
	h := &host{
		key: key, cfg: cfg, log: cfg.Logger, secret: rand.Text(), leafs: leafs,
		ready: make(chan struct{}), local: map[string]bool{}, relays: map[string]*relay{}, members: map[uint64]member{},
	}
	if h.opts, err = h.options(); err != nil {
		return nil, err
	}
	if h.lock, err = natslink.LockFolder(h.opts.StoreDir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.server, err = natslink.Start(h.opts, &natslink.ServerLog{Log: h.log, Seldom: &h.seldom}); err != nil {
		return nil, err
	}
	if err := h.enter(ctx); err != nil {
		return nil, domain.Unavailablef("embedded NATS server: %s", natslink.Words(err))
	}
	for i, l := range leafs {
		if err := h.link(leafAccount(i), l.end); err != nil {
			return nil, domain.Unavailablef("embedded NATS server: %s", natslink.Words(err))
		}
	}
	close(h.ready)
	h.refresh()
	return h, nil
}

// leafAccount is where the i-th of Config.Leafs ends.
func leafAccount(i int) string { return "leaf-" + strconv.Itoa(i) }

func (h *host) options() (*server.Options, error) {
	o := &server.Options{
		// Names of servers that are joined must differ.
		ServerName: h.key,
		DontListen: true,
		NoSigs:     true,
		MaxPayload: MaxPayload,
		JetStream:  true,
		StoreDir:   filepath.Join(h.cfg.DataDir, "nats"),
		// Each mailbox has its own limits. The server's guess from the free
		// disk would refuse the next node's once their sum is over it.
		JetStreamMaxStore:          1 << 50,
		JetStreamMaxMemory:         64 << 20,
		SyncAlways:                 h.cfg.SyncAlways,
		AuthTimeout:                natslink.AnswerTime.Seconds(),
		AlwaysEnableNonce:          true,
		CustomClientAuthentication: gate{h},
		DisableJetStreamBanner:     true,
		Accounts:                   []*server.Account{server.NewAccount(exchange)},
	}
	serve, dial, err := natslink.TLS(h.cfg.TLSCert, h.cfg.TLSKey, h.cfg.TLSCA)
	if err != nil {
		return nil, err
	}
	if h.cfg.Listen != "" {
		if o.Host, o.Port, err = natslink.HostPort(h.cfg.Listen); err != nil {
			return nil, err
		}
		o.DontListen, o.TLSConfig, o.TLSTimeout = false, serve, natslink.AnswerTime.Seconds()
	}
	if h.cfg.LeafListen != "" {
		if o.LeafNode.Host, o.LeafNode.Port, err = natslink.HostPort(h.cfg.LeafListen); err != nil {
			return nil, err
		}
		o.LeafNode.TLSConfig = serve
		o.LeafNode.NoAdvertise = true
	}
	o.LeafNode.AuthTimeout, o.LeafNode.TLSTimeout = natslink.AnswerTime.Seconds(), natslink.AnswerTime.Seconds()
	o.LeafNode.ReconnectInterval = time.Second / 2
	for i, l := range h.leafs {
		o.Accounts = append(o.Accounts, server.NewAccount(leafAccount(i)))
		r := &server.RemoteLeafOpts{
			LocalAccount: leafAccount(i), URLs: []*url.URL{l.url},
			SignatureCB:             natslink.ToSite(h.cfg.Link, func() ([]string, error) { return h.audience(l.end) }),
			IgnoreDiscoveredServers: true,
		}
		if l.url.Scheme == "tls" {
			r.TLS, r.TLSConfig, r.TLSTimeout = true, dial, natslink.AnswerTime.Seconds()
		}
		o.LeafNode.Remotes = append(o.LeafNode.Remotes, r)
	}
	return o, nil
}

// enter makes the exchange and the account of this node, and connects us.
func (h *host) enter(ctx context.Context) (err error) {
	a, err := h.server.LookupAccount(exchange)
	if err != nil {
		return err
	}
	if err := a.AddServiceExport(exchangeMaps, nil); err != nil {
		return err
	}
	if err := a.AddMapping(exchangeMaps, exchangeMapsTo); err != nil {
		return err
	}
	if h.office, err = h.dial(exchange); err != nil {
		return err
	}
	if _, err := h.lodge(h.key); err != nil {
		return err
	}
	if h.own, err = h.dial(nodeAccount(h.key)); err != nil {
		return err
	}
	js, err := jetstream.New(h.own.Conn)
	if err != nil {
		return err
	}
	// Nobody but us can have fetched from our mailbox yet. What an earlier
	// process had and did not acknowledge, a new consumer gets at once; the old
	// one would wait until AckWait is over.
	err = js.DeleteConsumer(ctx, mailbox(h.key), consumerName)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	return findMailbox(ctx, js, h.key, h.cfg.limits(), func(jetstream.StreamConfig) {})
}

// dial connects us to one of our own accounts.
func (h *host) dial(account string) (*natslink.Wire, error) {
	return natslink.Dial("", natslink.Embedded, h.log.With("account", account), nats.InProcessServer(h.server), nats.UserInfo(account, h.secret))
}

// audience is the nodes for which we log in at the other end of a link: that of
// its key, those of its site, or all that no other link leads to. These must be of
// one site: a log-in that is good at two sites is one that each could use at the
// other.
//
// Errors: [domain.ErrInvalid] with what to do.
func (h *host) audience(e end) ([]string, error) {
	if e.key != "" {
		return []string{e.key}, nil
	}
	peers := h.cfg.Peers()
	if e.site != "" {
		if nodes := at(e, peers); nodes != nil {
			return nodes, nil
		}
		return nil, domain.Invalidf("no peer %q with nodes on NATS is known: `ramet peer add` its card", e.site)
	}
	reached := map[string]bool{h.key: true}
	for _, l := range h.leafs {
		maps.Copy(reached, behind(l.end, peers))
	}
	var nodes []string
	site := ""
	for _, p := range peers {
		if reached[p.Key] || p.Own || p.Via != "" {
			continue
		}
		if nodes != nil && p.Site != site {
			return nil, domain.Invalidf("a link that names nobody could be that of %q or of %q: say which, with ?peer=", site, p.Site)
		}
		nodes, site = append(nodes, p.Key), p.Site
	}
	if len(nodes) == 0 {
		return nil, domain.Invalidf("no peer is known that a link could lead to: `ramet peer add` its card")
	}
	return nodes, nil
}

// peer says whether a node may have a mailbox here.
func (h *host) peer(key string) bool {
	return key == h.key || slices.ContainsFunc(h.cfg.Peers(), func(p Peer) bool { return p.Key == key })
}

// refresh looks at the list of peers again.
func (h *host) refresh() {
	if err := h.restore(); err != nil {
		h.log.Warn("NATS mailboxes of other nodes not opened", "err", err)
	}
	h.settle()
	h.expel()
}

// restore opens the accounts of peers that were here before, so that parcels
// for them are taken before they are back.
func (h *host) restore() error {
	dirs, err := os.ReadDir(filepath.Join(h.opts.StoreDir, server.JetStreamStoreDir))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if key, ok := strings.CutPrefix(dir.Name(), nodePrefix); ok && validKey(key) && h.peer(key) {
			if _, err := h.lodge(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// links says how the links to other sites stand.
func (h *host) links() []Link {
	up := map[string]bool{}
	if sites, err := h.server.Leafz(nil); err == nil {
		for _, l := range sites.Leafs {
			up[l.Account] = true
		}
	}
	list := make([]Link, len(h.leafs))
	for i, l := range h.leafs {
		list[i] = Link{Host: l.url.Host, To: l.end.String(), Up: up[leafAccount(i)]}
	}
	return list
}

func (h *host) listening() (nodes, sites string) {
	if h.cfg.Listen != "" {
		nodes = h.server.Addr().String()
	}
	if h.cfg.LeafListen != "" {
		sites = net.JoinHostPort(h.opts.LeafNode.Host, strconv.Itoa(h.opts.LeafNode.Port))
	}
	return nodes, sites
}

// close ends the server and whatever of it had begun.
func (h *host) close() {
	h.mu.Lock()
	relays := h.relays
	h.relays = nil // and none comes any more
	h.mu.Unlock()
	for _, r := range relays {
		r.close()
	}
	for _, w := range []*natslink.Wire{h.own, h.office} {
		if w != nil {
			w.Close()
		}
	}
	natslink.Stop(h.server)
	h.lock.Release()
}
