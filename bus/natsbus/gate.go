package natsbus

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// gate decides who may log in to the embedded server, and to which account.
type gate struct{ host *host }

// Check is called for each connection, on its own goroutine.
func (g gate) Check(c server.ClientAuthentication) bool {
	account, user, err := g.host.admit(c)
	if err != nil {
		level := slog.LevelWarn
		if g.host.refused.Said(err.Error(), time.Now()) {
			level = slog.LevelDebug
		}
		g.host.log.Log(context.Background(), level, "NATS log-in refused", "from", from(c), "reason", err)
		return false
	}
	if c.Kind() == server.LEAF {
		g.host.log.Info("NATS link is up", "node", user, "from", from(c))
	}
	c.RegisterUser(&server.User{Username: user, Account: account})
	return true
}

// from is who asks, for people.
func from(c server.ClientAuthentication) string {
	if a := c.RemoteAddress(); a != nil {
		return a.String()
	}
	return "this process"
}

// admit finds the account of whoever asks.
func (h *host) admit(c server.ClientAuthentication) (account *server.Account, user string, err error) {
	opts := c.GetOpts()
	if subtle.ConstantTimeCompare([]byte(opts.Password), []byte(h.secret)) == 1 {
		account, err = h.server.LookupAccount(opts.Username) // ourselves, to the account that is named
		return account, opts.Username, err
	}
	select {
	case <-h.ready:
	case <-time.After(natslink.AnswerTime / 2):
		return nil, "", errors.New("the server is starting")
	}
	link, err := natslink.Admit(c, h.key)
	if err != nil {
		return nil, "", err
	}
	key, err := h.nodeOf(link)
	if err != nil {
		return nil, "", err
	}
	h.note(c.GetID(), key, link)
	if c.Kind() == server.LEAF {
		account, err = h.linked(key)
	} else {
		account, err = h.lodge(key)
	}
	return account, key, err
}

// nodeOf is the node whose link key somebody has proved to have.
//
// Errors: [domain.ErrForbidden] with what to do.
func (h *host) nodeOf(link string) (string, error) {
	if link == h.cfg.Link.Pubkey() {
		return h.key, nil
	}
	for _, p := range h.cfg.Peers() {
		if p.Link == link {
			return p.Key, nil
		}
	}
	return "", domain.Forbiddenf("no node that we know has the link key %s; if it is a peer's, its card here is old: "+
		"have `ramet peer card` run there, and add it here with `ramet peer add`", link)
}

// lodge returns the account of a node: with room for its mailbox, and joined to
// the exchange.
func (h *host) lodge(key string) (*server.Account, error) {
	h.joining.Lock()
	defer h.joining.Unlock()
	a, _ := h.server.LookupOrRegisterAccount(nodeAccount(key))
	h.mu.Lock()
	there := h.local[key]
	h.mu.Unlock()
	if there {
		return a, nil
	}
	office, err := h.server.LookupAccount(exchange)
	if err != nil {
		return nil, err
	}
	if err := a.EnableJetStream(map[string]server.JetStreamAccountLimits{"": {
		MaxStore: roomFor(h.cfg.MaxBytes), MaxStreams: maxStreams, MaxConsumers: maxConsumers, MaxAckPending: -1,
	}}, nil); err != nil {
		return nil, err
	}
	in, out := parcelSubject(key, "*"), sendSubject("*", key)
	if err := a.AddServiceExport(in, []*server.Account{office}); err != nil {
		return nil, err
	}
	if err := office.AddServiceImport(a, in, in); err != nil {
		return nil, err
	}
	if err := a.AddServiceImport(office, out, out); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.local[key] = true
	h.mu.Unlock()
	h.settle()
	return a, nil
}

// linked returns the account in which the links of a site end, with a relay.
func (h *host) linked(key string) (*server.Account, error) {
	h.joining.Lock()
	defer h.joining.Unlock()
	name := linkAccount(key)
	a, _ := h.server.LookupOrRegisterAccount(name)
	h.mu.Lock()
	there := h.relays[name] != nil
	h.mu.Unlock()
	if !there {
		if err := h.link(name, end{key: key}); err != nil {
			return nil, err
		}
		h.settle()
	}
	return a, nil
}

// member is a connection that was let in.
type member struct {
	key, link string
	since     time.Time
}

// note remembers who was let in.
func (h *host) note(id uint64, key, link string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.members[id] = member{key, link, time.Now()}
}

// expel ends the connections of who is no peer, or has another link key now.
func (h *host) expel() {
	alive := map[uint64]bool{}
	nodes, err := h.server.Connz(&server.ConnzOptions{Limit: 1 << 20})
	if err != nil {
		return
	}
	for _, c := range nodes.Conns {
		alive[c.Cid] = true
	}
	sites, err := h.server.Leafz(nil)
	if err != nil {
		return
	}
	for _, l := range sites.Leafs {
		alive[l.ID] = true
	}
	h.mu.Lock()
	members := maps.Clone(h.members)
	// What was just let in may not be listed yet.
	maps.DeleteFunc(h.members, func(id uint64, m member) bool { return !alive[id] && time.Since(m.since) > time.Minute })
	h.mu.Unlock()
	for id, m := range members {
		if key, err := h.nodeOf(m.link); alive[id] && (err != nil || key != m.key) {
			h.log.Info("NATS connection ended: no longer a peer, or it has a new link key", "node", m.key)
			_ = h.server.DisconnectClientByID(id)
		}
	}
}
