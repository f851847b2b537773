package main

import (
	"cmp"
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/post"
)

// openPost opens the keys by which the node signs, and its buses.
func (p *parts) openPost(ctx context.Context, cfg config, o options) (err error) {
	if p.keys, err = identity.OpenKeyring(o.dataDir); err != nil {
		return err
	}
	if !o.serve {
		return nil
	}
	// Before anything is connected to: the servers inside other nodes of the board
	// look there for whom to let in.
	if err = p.registry.AnnounceLinks(ctx, p.keys); err != nil {
		return err
	}
	p.buses, err = openBuses(ctx, o.buses, p.keys, o.dataDir, p.natsPeers, o.log)
	return err
}

// refused writes down a message that was not believed.
func (p *parts) refused(r post.Refusal) {
	p.audit.Record(domain.AuditEntry{Actor: r.Actor, Verb: "message", Object: cmp.Or(r.Message, "parcel"), Context: r.Tenant,
		Outcome: domain.AuditRefused, Detail: r.Cause + ": " + r.Text})
}
