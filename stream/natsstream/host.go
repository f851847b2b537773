package natsstream

import (
	"crypto/rand"
	"crypto/subtle"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/stream"
)

// maxPayload is what our server takes: the largest message, and what we and
// NATS put before it.
const maxPayload = stream.MaxData + 64<<10

// host is the embedded server.
type host struct {
	server *server.Server
	lock   *natslink.FolderLock
	secret string // logs our own connection in
	token  string // logs others in; "" for none
}

// startHost starts the embedded server.
func startHost(cfg Config) (_ *host, err error) {
	h := &host{secret: rand.Text()}
	if h.token, err = cfg.token(); err != nil {
		return nil, err
	}
	opts, err := h.options(cfg)
	if err != nil {
		return nil, err
	}
	if h.lock, err = natslink.LockFolder(opts.StoreDir); err != nil {
		return nil, err
	}
	if h.server, err = natslink.Start(opts, &natslink.ServerLog{Log: cfg.Logger, Seldom: &natslink.Seldom{}}); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *host) options(cfg Config) (*server.Options, error) {
	o := &server.Options{
		ServerName: "ramet-streams",
		DontListen: true,
		NoSigs:     true,
		MaxPayload: maxPayload,
		JetStream:  true,
		StoreDir:   cfg.folder(),
		// Streams are bounded by who trims them. The server's guess from the free
		// disk would refuse to start once it holds more than that.
		JetStreamMaxStore:          1 << 50,
		JetStreamMaxMemory:         64 << 20,
		SyncAlways:                 !cfg.MayLose,
		AuthTimeout:                natslink.AnswerTime.Seconds(),
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

// Check lets us in, and those who have the token.
func (h *host) Check(c server.ClientAuthentication) bool {
	opts := c.GetOpts()
	switch {
	case same(opts.Password, h.secret):
		c.RegisterUser(&server.User{Username: "ramet"})
	case h.token != "" && same(opts.Token, h.token):
		c.RegisterUser(&server.User{Username: "other", Permissions: forOthers()})
	default:
		return false
	}
	return true
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// forOthers keeps other programs from what only the owner of the streams does:
// they publish, and read with consumers of their own.
func forOthers() *server.Permissions {
	deny := []string{"$JS.EVENT.>"} // what we read as troubles
	for _, what := range []string{"UPDATE", "DELETE", "PURGE", "MSG.DELETE", "RESTORE"} {
		for _, name := range stream.Names {
			deny = append(deny, "$JS.API.STREAM."+what+"."+string(name))
		}
	}
	return &server.Permissions{Publish: &server.SubjectPermission{Deny: deny}}
}

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
	if cfg.CredsFile != "" {
		opts = append(opts, nats.UserCredentials(cfg.CredsFile))
	}
	if cfg.NkeyFile != "" {
		opt, err := nats.NkeyOptionFromSeed(cfg.NkeyFile)
		if err != nil {
			return nil, errSeed(cfg.NkeyFile)
		}
		opts = append(opts, opt)
	}
	token, err := cfg.token()
	if err != nil {
		return nil, err
	}
	if token != "" {
		opts = append(opts, nats.Token(token))
	}
	return natslink.Dial(urls, names, cfg.Logger, opts...)
}
