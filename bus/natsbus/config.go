package natsbus

import (
	"cmp"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/address"
	"github.com/ramet-run/ramet/internal/natslink"
)

// Config is how to open a bus. Node and Link are required, and DataDir unless URL
// names an external server.
type Config struct {
	// URL is "" or "nats:" for a server inside this process, or
	// nats://host[:4222][,host…][?parameters] for an external one; tls:// with
	// TLS. Parameters: key=<public key of a node> (the server is that inside this
	// node), creds=FILE (log in with it instead of the link key), login=none
	// (for a server that has no log-in: anybody who reaches it can read all
	// parcels), ca=FILE (who may have signed the server's certificate),
	// replicas=N (of the mailbox; default 1). Log-in is by link key unless the
	// URL has a user or token.
	URL string
	// Node is the node's public key, 64 hex digits: its address.
	Node string
	// Link logs it in.
	Link natslink.Key
	// DataDir is the node's folder; the embedded server keeps its mailboxes in
	// its folder nats.
	DataDir string

	// Listen is host:port where the embedded server takes other nodes'
	// connections. Port 0: any. Default: nowhere.
	Listen string
	// LeafListen is host:port where it takes the links of other sites.
	LeafListen string
	// Leafs are sites that it links to: nats://host[:7422], tls:// with TLS, and
	// who is there: ?peer=<name of the site>, whatever keys its nodes come to have,
	// or ?key=<key of its node>, for that node and the peers that are via it. One
	// link may say neither, and reaches all peers that nothing else does. It is made
	// while these are of one site: the log-in must say for whom it is.
	Leafs []string
	// TLSCert and TLSKey are PEM files for both listeners: with them, they take
	// TLS only. TLSCA says who may have signed the certificates of the sites in
	// Leafs. Default: whom the system trusts.
	TLSCert, TLSKey, TLSCA string
	// Peers lists the nodes that may connect to the embedded server or be
	// reached over links. It is asked at each log-in, so it must be quick; call
	// [Bus.Refresh] when its answer changes. Default: none.
	Peers func() []Peer

	// SyncAlways has the embedded server sync each parcel to disk before it
	// says that it has it.
	SyncAlways bool
	// MaxAge is how long a parcel waits for its node. Default: 7 days.
	MaxAge time.Duration
	// MaxBytes bounds what waits for one node. Default: 256 MiB.
	MaxBytes int64
	// MaxParcels bounds the number that wait for one node from one sender.
	// Default: 100,000.
	MaxParcels int64
	// AckWait is after what time a parcel that was received and not done with
	// comes again. Default: 30s.
	AckWait time.Duration

	// Logger hears of lost and found connections. Default: none.
	Logger *slog.Logger
}

// Peer is another node.
type Peer struct {
	// Key is its public key, 64 lower-case hex digits.
	Key string
	// Link is the key by which it logs in: "" for one whose card is of an earlier
	// version; it is not let in.
	Link string
	// Site is the name of its site. Own says that it is a node of our own: it is
	// at the end of no link.
	Site string
	Own  bool
	// Via is the key of the node whose link leads to it, where it is behind
	// another site's server. Default: it connects itself.
	Via string
}

func (c Config) filled() Config {
	c.MaxAge = cmp.Or(c.MaxAge, 7*24*time.Hour)
	c.MaxBytes = cmp.Or(c.MaxBytes, 256<<20)
	c.MaxParcels = cmp.Or(c.MaxParcels, 100_000)
	c.AckWait = cmp.Or(c.AckWait, 30*time.Second)
	if c.Peers == nil {
		c.Peers = func() []Peer { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) limits() limits {
	return limits{age: c.MaxAge, bytes: c.MaxBytes, parcels: c.MaxParcels, ackWait: c.AckWait, replicas: 1}
}

// remote is an external server, read from a URL.
type remote struct {
	servers  string // for the client; may hold a password
	hosts    string // for people
	open     bool   // log in with nothing but what servers holds
	node     string // whose server it is; "": a plain one
	creds    string
	ca       string
	replicas int
}

// parseURL reads Config.URL; nil is the embedded server. No error shows the
// URL, for it may hold a password.
//
// Errors: [domain.ErrInvalid]; those of [domain.FileErrorf].
func parseURL(text string) (*remote, error) {
	if text == "" || text == scheme+":" {
		return nil, nil
	}
	head, query, _ := strings.Cut(text, "?")
	kind, hosts, ok := strings.Cut(head, "://")
	if !ok || (kind != "nats" && kind != "tls") {
		return nil, domain.Invalidf("NATS URL begins with neither nats:// nor tls://")
	}
	r := &remote{replicas: 1}
	var err error
	if r.servers, r.hosts, r.open, err = natslink.Servers(kind, strings.TrimSuffix(hosts, "/")); err != nil {
		return nil, err
	}
	q, err := address.ParseParameters(query)
	if err != nil {
		return nil, domain.Invalidf("NATS URL: %v", err)
	}
	for name := range q {
		value := q.Get(name)
		switch name {
		case "creds", "ca":
			if _, err := os.Stat(value); err != nil {
				return nil, domain.FileErrorf(err, "NATS URL, parameter %s: %v", name, err)
			}
		case "login":
			if value != "none" {
				return nil, domain.Invalidf("NATS URL, parameter login=%q: known is none", value)
			}
			r.open = true
		case "key":
			if r.node = value; !validKey(value) {
				return nil, domain.Invalidf("NATS URL, parameter key=%q: want the public key of the node that has the server, 64 lower-case hex digits", value)
			}
		case "replicas":
			if r.replicas, err = strconv.Atoi(value); err != nil || r.replicas < 1 || r.replicas > 5 {
				return nil, domain.Invalidf("NATS URL, parameter replicas=%q: want 1 to 5", value)
			}
		default:
			return nil, domain.Invalidf("NATS URL has parameter %q; known are ca, creds, key, login, replicas", name)
		}
	}
	r.creds, r.ca = q.Get("creds"), q.Get("ca")
	return r, nil
}

// leaf is a site that we link to.
type leaf struct {
	url *url.URL
	end end
}

// end is who is at the other end of a link: the node of a key and those via it, or
// the nodes of a site. The zero end is whatever nothing else leads to.
type end struct{ key, site string }

func (e end) String() string { return cmp.Or(e.site, e.key) }

// parseLeafs reads Config.Leafs.
//
// Errors: [domain.ErrInvalid].
func parseLeafs(texts []string) ([]leaf, error) {
	var leafs []leaf
	unnamed := 0
	for _, text := range texts {
		u, q, err := address.Parse(text)
		if err != nil || (u.Scheme != "nats" && u.Scheme != "tls") || u.Hostname() == "" || u.Path != "" || u.User != nil {
			// Not shown: it may hold a password that somebody thought it needs.
			return nil, domain.Invalidf("link to a site: want nats://host:7422 or tls://host:7422, without a password")
		}
		l := leaf{end: end{key: q.Get("key"), site: q.Get("peer")}}
		for name := range q {
			if name != "key" && name != "peer" {
				return nil, domain.Invalidf("link to %s has parameter %q; known are key, peer", u.Host, name)
			}
		}
		if q.Has("key") && !validKey(l.end.key) {
			return nil, domain.Invalidf("link to %s has key=%q: want 64 lower-case hex digits", u.Host, l.end.key)
		}
		if q.Has("peer") && (l.end.site == "" || l.end.key != "") {
			return nil, domain.Invalidf("link to %s: want peer=NAME, a peer as `ramet peer list` names it, or key=, not both", u.Host)
		}
		if l.end == (end{}) {
			unnamed++
		}
		if u.Port() == "" {
			u.Host += ":7422"
		}
		u.RawQuery, u.ForceQuery = "", false
		l.url = u
		leafs = append(leafs, l)
	}
	if unnamed > 1 {
		return nil, domain.Invalidf("%d links to sites name neither a peer nor a key: only one may be so", unnamed)
	}
	return leafs, nil
}
