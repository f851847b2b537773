package natsbus

import (
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/internal/natslink"
)

// dial connects to an external server, with the node's key or with what the
// URL names.
func (r *remote) dial(identity nkeys.KeyPair, log *slog.Logger) (*natslink.Wire, error) {
	opts, err := r.login(identity)
	if err != nil {
		return nil, err
	}
	return natslink.Dial(r.servers, r.hosts, log, opts...)
}

func (r *remote) login(identity nkeys.KeyPair) ([]nats.Option, error) {
	opts := []nats.Option{nats.RetryOnFailedConnect(true)}
	if r.ca != "" {
		opts = append(opts, nats.RootCAs(r.ca))
	}
	if r.creds != "" {
		return append(opts, nats.UserCredentials(r.creds)), nil
	}
	if r.open {
		return opts, nil
	}
	user, err := identity.PublicKey()
	if err != nil {
		return nil, err
	}
	return append(opts, nats.Nkey(user, identity.Sign)), nil
}
