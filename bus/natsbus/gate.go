package natsbus

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

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
	if opts.Nkey == "" {
		// Ourselves, to the account that is named.
		if subtle.ConstantTimeCompare([]byte(opts.Password), []byte(h.secret)) != 1 {
			return nil, "", errors.New("it has no key")
		}
		account, err = h.server.LookupAccount(opts.Username)
		return account, opts.Username, err
	}
	select {
	case <-h.ready:
	case <-time.After(natslink.AnswerTime / 2):
		return nil, "", errors.New("the server is starting")
	}
	key, ok := keyOfUser(opts.Nkey)
	if !ok || !signed(opts.Nkey, c.GetNonce(), opts.Sig) {
		return nil, "", errors.New("its signature is wrong")
	}
	if !h.peer(key) {
		return nil, "", errors.New("node " + key + " is no peer of ours")
	}
	if c.Kind() == server.LEAF {
		account, err = h.linked(key)
	} else {
		account, err = h.lodge(key)
	}
	return account, key, err
}

// signed says whether the holder of the key signed the nonce.
func signed(user string, nonce []byte, signature string) bool {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(user)
	return err == nil && len(nonce) > 0 && key.Verify(nonce, sig) == nil
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
		if err := h.link(name, key); err != nil {
			return nil, err
		}
		h.settle()
	}
	return a, nil
}

// expel ends the connections of who is no peer.
func (h *host) expel() {
	nodes, err := h.server.Connz(&server.ConnzOptions{Username: true, Limit: 1 << 20})
	if err != nil {
		return
	}
	for _, c := range nodes.Conns {
		if key, ok := keyOfUser(c.AuthorizedUser); ok && !h.peer(key) {
			h.disconnect(c.Cid, key)
		}
	}
	sites, err := h.server.Leafz(nil)
	if err != nil {
		return
	}
	for _, l := range sites.Leafs {
		if key, ok := strings.CutPrefix(l.Account, linkPrefix); ok && !h.peer(key) {
			h.disconnect(l.ID, key)
		}
	}
}

func (h *host) disconnect(id uint64, key string) {
	h.log.Info("NATS connection ended: no longer a peer", "node", key)
	_ = h.server.DisconnectClientByID(id)
}
