package natsbus

import (
	"context"
	"log/slog"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/internal/natslink"
)

// dial connects to an external server, with the node's link key or with what the
// URL names.
func (r *remote) dial(link natslink.Key, self string, log *slog.Logger) (*natslink.Wire, error) {
	opts := []nats.Option{nats.RetryOnFailedConnect(true)}
	if r.ca != "" {
		opts = append(opts, nats.RootCAs(r.ca))
	}
	login, err := r.login(link)
	if err != nil {
		return nil, err
	}
	if login != nil {
		opts = append(opts, login)
	}
	return natslink.Dial(r.servers, r.hosts, log, opts...)
}

// login is how we prove who we are; nil for what the URL says itself.
func (r *remote) login(link natslink.Key) (nats.Option, error) {
	switch {
	case r.creds != "":
		return natslink.FromCreds(r.creds)
	case r.open:
		return nil, nil
	case r.node != "":
		return natslink.ToNode(link, r.node)
	}
	return natslink.ToServer(link)
}

// checkAccount warns where this node is not alone in its account on an external
// server: whoever logs in to it, too, can read, forge and delete its parcels.
func (b *Bus) checkAccount(ctx context.Context) {
	standing, err := b.wire.Standing(ctx)
	switch {
	case err != nil:
		b.log.Info("NATS server does not say who this node is to it", "err", err)
	case standing.Account != nodeAccount(b.key):
		b.log.Warn("NATS account is none of this node's own: all who may log in to it can read, delete and send parcels in it; `ramet peer nats-config` "+
			"writes accounts",
			"account", standing.Account)
	}
}
