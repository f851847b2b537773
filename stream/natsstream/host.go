package natsstream

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/stream"
)

// MaxPayload is what our server takes: the largest message, and what we and
// NATS put before it.
const MaxPayload = stream.MaxData + 64<<10

// host is the embedded server.
type host struct {
	server *server.Server
	lock   *natslink.FolderLock
	secret string // logs our own connection in
	token  string // logs producers of any context in; "" for none
	cfg    Config
	opts   *server.Options
	warned chan struct{}     // holds one when the server has warned of something
	ready  chan struct{}     // closed when log-ins may be answered
	others map[string]string // accounts of producers, by their nkeys
	lost   []string          // what was given up of the files

	trimming sync.Mutex

	refused natslink.Lately // log-ins
}

// startHost starts the embedded server.
func startHost(cfg Config) (_ *host, err error) {
	h := &host{secret: rand.Text(), cfg: cfg, warned: make(chan struct{}, 1), ready: make(chan struct{}), others: map[string]string{}}
	if h.token, err = cfg.token(); err != nil {
		return nil, err
	}
	if h.opts, err = h.options(cfg); err != nil {
		return nil, err
	}
	if h.lock, err = natslink.LockFolder(h.opts.StoreDir); err != nil {
		return nil, err
	}
	if h.lost, err = cfg.inspect(); err != nil {
		h.lock.Release()
		return nil, err
	}
	if h.server, err = natslink.Start(h.opts, &natslink.ServerLog{Log: cfg.Logger, Seldom: &natslink.Seldom{}, Warned: h.warned}); err != nil {
		h.close()
		return nil, err
	}
	if err := h.openAccounts(); err != nil {
		h.close()
		return nil, domain.Unavailablef("embedded NATS server of the streams: %s", natslink.Words(err))
	}
	close(h.ready)
	return h, nil
}

// openAccounts makes those of producers.
func (h *host) openAccounts() error {
	tenants := map[string]bool{}
	if h.token != "" {
		tenants[Anybody] = true
	}
	for _, p := range h.cfg.Producers {
		tenants[p.Tenant], h.others[p.User] = true, producers(p.Tenant)
	}
	streams := h.server.GlobalAccount()
	for _, subject := range exported(slices.Collect(maps.Keys(tenants))) {
		if err := streams.AddServiceExport(subject, nil); err != nil {
			return err
		}
	}
	for tenant := range tenants {
		a, _ := h.server.LookupOrRegisterAccount(producers(tenant))
		for _, subject := range eventsOf(tenant) {
			if err := a.AddServiceImport(streams, subject, subject); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *host) options(cfg Config) (*server.Options, error) {
	o := &server.Options{
		ServerName: "ramet-streams",
		DontListen: true,
		NoSigs:     true,
		MaxPayload: MaxPayload,
		JetStream:  true,
		StoreDir:   cfg.folder(),
		// Streams are bounded by who trims them. The server's guess from the free
		// disk would refuse to start once it holds more than that.
		JetStreamMaxStore:          1 << 50,
		JetStreamMaxMemory:         64 << 20,
		SyncAlways:                 !cfg.MayLose,
		AuthTimeout:                natslink.AnswerTime.Seconds(),
		AlwaysEnableNonce:          true,
		CustomClientAuthentication: h,
		DisableJetStreamBanner:     true,
	}
	if cfg.Listen == "" {
		return o, nil
	}
	serve, _, err := natslink.TLS(cfg.TLSCert, cfg.TLSKey, "")
	if err != nil {
		return nil, err
	}
	if o.Host, o.Port, err = natslink.HostPort(cfg.Listen); err != nil {
		return nil, err
	}
	o.DontListen, o.TLSConfig, o.TLSTimeout = false, serve, natslink.AnswerTime.Seconds()
	return o, nil
}

// Check lets us in, other nodes of the board, and producers.
func (h *host) Check(c server.ClientAuthentication) bool {
	user, err := h.admit(c)
	if err != nil {
		level := slog.LevelWarn
		if h.refused.Said(err.Error(), time.Now()) {
			level = slog.LevelDebug
		}
		h.cfg.Logger.Log(context.Background(), level, "NATS log-in to the streams refused", "from", fmt.Sprint(c.RemoteAddress()), "reason", err)
		return false
	}
	c.RegisterUser(user)
	return true
}

// admit finds out who logs in, and what he may.
//
// Errors: [domain.ErrForbidden].
func (h *host) admit(c server.ClientAuthentication) (*server.User, error) {
	opts := c.GetOpts()
	if same(opts.Password, h.secret) {
		return &server.User{Username: "ramet"}, nil
	}
	select {
	case <-h.ready:
	case <-time.After(natslink.AnswerTime / 2):
		return nil, domain.Forbiddenf("the server is starting")
	}
	name := h.others[opts.Nkey]
	switch {
	case h.token != "" && same(opts.Token, h.token):
		return h.producer("token", Anybody)
	case name != "" && !natslink.SignedNonce(c):
		return nil, domain.Forbiddenf("the signature of the producer %s is wrong", opts.Nkey)
	case name != "":
		return h.member(opts.Nkey, name)
	}
	link, err := natslink.Admit(c, h.cfg.Node)
	if err != nil {
		return nil, err
	}
	if h.cfg.Nodes == nil || !h.cfg.Nodes(link) {
		return nil, domain.Forbiddenf("no node of this board has the link key %s", link)
	}
	user, err := natslink.User(link)
	if err != nil {
		return nil, err
	}
	return &server.User{Username: user, Permissions: nodePermissions(user)}, nil
}

func (h *host) producer(user, tenant string) (*server.User, error) {
	return h.member(user, producers(tenant))
}

func (h *host) member(user, account string) (*server.User, error) {
	a, err := h.server.LookupAccount(account)
	if err != nil {
		return nil, domain.Forbiddenf("account %s: %v", account, err)
	}
	return &server.User{Username: user, Account: a}, nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// dial connects us.
func (h *host) dial(cfg Config) (*natslink.Wire, error) {
	return natslink.Dial("", natslink.Embedded, cfg.Logger, nats.InProcessServer(h.server), nats.UserInfo("ramet", h.secret))
}

func (h *host) close() {
	natslink.Stop(h.server)
	h.lock.Release()
}

// dial connects to an external server.
func dial(cfg Config) (*natslink.Wire, error) {
	urls, names, err := cfg.servers()
	if err != nil {
		return nil, err
	}
	opts := []nats.Option{nats.RetryOnFailedConnect(true)}
	if cfg.CA != "" {
		opts = append(opts, nats.RootCAs(cfg.CA))
	}
	login, err := cfg.login()
	if err != nil {
		return nil, err
	}
	opts = append(opts, login...)
	return natslink.Dial(urls, names, cfg.Logger, opts...)
}

// byLink says that the node logs in with its link key.
func (c Config) byLink() bool {
	return c.KeyOf != "" || c.Login && c.CredsFile == "" && c.NkeyFile == "" && c.TokenFile == ""
}

// login is how we prove who we are to an external server.
func (c Config) login() ([]nats.Option, error) {
	if c.byLink() {
		user, err := natslink.User(c.Link.Pubkey())
		if err != nil {
			return nil, err
		}
		login, err := natslink.ToServer(c.Link)
		if c.KeyOf != "" {
			login, err = natslink.ToNode(c.Link, c.KeyOf)
		}
		return []nats.Option{login, nats.CustomInboxPrefix(inbox(user))}, err
	}
	var opts []nats.Option
	if c.CredsFile != "" {
		login, err := natslink.FromCreds(c.CredsFile)
		if err != nil {
			return nil, err
		}
		opts = append(opts, login)
	}
	if c.NkeyFile != "" {
		login, err := natslink.FromSeed(c.NkeyFile)
		if err != nil {
			return nil, err
		}
		opts = append(opts, login)
	}
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	if token != "" {
		opts = append(opts, nats.Token(token))
	}
	return opts, nil
}

// inbox begins the subjects at which this connection gets answers.
func (l *Log) inbox() string {
	if l.cfg.byLink() {
		if user, err := natslink.User(l.cfg.Link.Pubkey()); err == nil {
			return inbox(user)
		}
	}
	return "_INBOX"
}
