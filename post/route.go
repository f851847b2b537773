package post

import (
	"context"
	"errors"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// route is where a message goes next.
type route struct {
	local bool
	node  string // its public key
	bus   bus.Bus
	to    domain.Address
}

// routeOf finds the way to a node; "" is this board. Where one node of a site
// cannot be reached by any bus of ours, another of it will do: they have one
// board.
//
// Errors: [domain.ErrNotFound] for a node of nobody we know;
// [domain.ErrUnavailable] where no bus of ours leads there.
func (e *Engine) routeOf(ctx context.Context, node string, push int) (route, error) {
	d, err := e.sites.look(ctx)
	if err != nil {
		return route{}, err
	}
	if node == "" || d.own[node] {
		return route{local: true, node: e.Node()}, nil
	}
	name := d.of[node]
	if name == "" {
		return route{}, domain.NotFoundf("node %s is of no peer; `ramet peer add` makes its site known", node)
	}
	var ways []route
	for _, first := range []bool{true, false} {
		for _, n := range d.peers[name].Nodes {
			if (n.Pubkey == node) != first {
				continue
			}
			for _, a := range n.Addresses {
				if b := e.buses[a.Scheme()]; b != nil {
					ways = append(ways, route{node: n.Pubkey, bus: b, to: a})
				}
			}
		}
	}
	if len(ways) == 0 {
		return route{}, domain.Unavailablef("peer %q has no address on a bus of this node", name)
	}
	// Each push tries the next: one of the nodes may be gone for good.
	return ways[push%len(ways)], nil
}

// destination is what a place of a job means for a message.
type destination struct {
	tenant domain.TenantID
	node   string
	topic  string
}

// find looks up a place. from is the context of the job.
//
// Errors: [domain.ErrInvalid] for one that cannot be reached as things are.
func (e *Engine) find(ctx context.Context, from domain.TenantID, at string) (destination, error) {
	p, err := domain.ParsePlace(at)
	if err != nil {
		return destination{}, err
	}
	if p.Runner != 0 {
		return e.findRunner(ctx, from, p.Runner)
	}
	if p.Peer == "" {
		return destination{tenant: p.Tenant}, nil
	}
	d, err := e.sites.look(ctx)
	if err != nil {
		return destination{}, err
	}
	peer, known := d.peers[p.Peer]
	if !known {
		return destination{}, domain.Invalidf("at %q: there is no peer %q; `ramet peer add` makes one known", at, p.Peer)
	}
	return destination{tenant: p.Tenant, node: peer.Nodes[0].Pubkey}, nil
}

// findRunner looks up a runner that is elsewhere: its record in the context
// says where, in its address: "7@acme", or "node:<hex>".
func (e *Engine) findRunner(ctx context.Context, from domain.TenantID, id domain.RunnerID) (destination, error) {
	key := layout.Runner(id)
	recs, err := e.board.Get(ctx, space(from), key)
	if err != nil {
		return destination{}, err
	}
	if recs[0] == nil {
		return destination{}, domain.Invalidf("at runner:%d: context %d has no record %s", id, from, key)
	}
	r, err := layout.DecodeRunner(key, recs[0])
	if err != nil {
		return destination{}, err
	}
	topic := r.Topic
	if topic == "" {
		topic = id.DefaultTopic()
	}
	if r.Local {
		return destination{tenant: from, topic: topic}, nil
	}
	if node := domain.Address(r.Address).Node(); node != "" {
		return destination{tenant: from, node: node, topic: topic}, nil
	}
	if p, err := domain.ParsePlace(r.Address); err == nil && p.Peer != "" {
		d, err := e.find(ctx, from, r.Address)
		d.topic = topic
		return d, err
	}
	return destination{}, domain.Invalidf("at runner:%d: its address is %q; want a context of a peer, as 7@acme, or node:<public key>", id, r.Address)
}

// CheckPlace says whether this node can send jobs of a caller to a place: what
// [work.Config] asks before it takes them in.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) CheckPlace(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, at string) error {
	if _, err := e.find(ctx, tenant, at); err != nil {
		return err
	}
	_, err := e.keyOf(ctx, caller)
	return err
}

// keyOf finds the key by which this node may sign for an actor.
//
// Errors: [domain.ErrInvalid] where it has none.
func (e *Engine) keyOf(ctx context.Context, actor domain.ActorID) (identity.Key, error) {
	a, err := e.cfg.Registry.KnownActor(ctx, actor)
	if errors.Is(err, domain.ErrNotFound) {
		return identity.Key{}, domain.Invalidf("actor %d does not exist", actor)
	} else if err != nil {
		return identity.Key{}, err
	}
	k, found := e.cfg.Keys.Key(a.Pubkey)
	if !found {
		return identity.Key{}, domain.Invalidf("this node cannot sign for actor %d: sign yourself (`ramet message send --sign --key FILE`), or put the "+
			"actor's key file into the folder %s of the node", actor, identity.KeysFolder)
	}
	return k, nil
}
