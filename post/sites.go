package post

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

const (
	// sitesFor is how long what is known of peers and nodes is believed.
	sitesFor = time.Second
	// maxPeers bounds the peers of a board.
	maxPeers = 10_000
	// listPage is how many records are read at once.
	listPage = 500
)

// sites is what is known of nodes: the board's own, and those of its peers.
type sites struct {
	board board.Board
	self  string

	mu    sync.Mutex
	until time.Time
	looks int // how often it was to be forgotten: an answer from before is not kept
	known directory
}

// directory is one look at all of them.
type directory struct {
	peers map[string]domain.Peer     // by name
	nodes map[string]domain.PeerNode // of peers, by public key
	of    map[string]string          // the peer's name, by a node's public key
	own   map[string]bool            // nodes of this board, by public key
}

func newSites(b board.Board, self string) *sites { return &sites{board: b, self: self} }

// look returns what was known at most a moment ago. The board is asked without
// the lock: whoever comes meanwhile asks as well, and nobody waits for a board
// that does not answer longer than its own context lasts.
func (s *sites) look(ctx context.Context) (directory, error) {
	now := time.Now()
	s.mu.Lock()
	known, until, looks := s.known, s.until, s.looks
	s.mu.Unlock()
	if now.Before(until) {
		return known, nil
	}
	d, err := s.read(ctx)
	if err != nil {
		return d, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks == looks {
		s.known, s.until = d, now.Add(sitesFor)
	}
	return d, nil
}

// forget makes the next look read again.
func (s *sites) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	s.until = time.Time{}
}

func (s *sites) read(ctx context.Context) (directory, error) {
	d := directory{peers: map[string]domain.Peer{}, nodes: map[string]domain.PeerNode{}, of: map[string]string{}, own: map[string]bool{s.self: true}}
	err := s.each(ctx, layout.PeerPrefix, func(key string, r board.Record) {
		p, err := layout.DecodePeer(key, r)
		if err != nil {
			return // shown by the list of peers
		}
		d.peers[p.Name] = p
		for _, n := range p.Nodes {
			d.nodes[n.Pubkey], d.of[n.Pubkey] = n, p.Name
		}
	})
	if err != nil {
		return d, err
	}
	err = s.each(ctx, layout.NodePrefix, func(_ string, r board.Record) {
		if key := r.Get(layout.NodePubkey); key != "" {
			d.own[key] = true
		}
	})
	return d, err
}

// each reads all records of space 0 under a prefix.
func (s *sites) each(ctx context.Context, prefix string, take func(key string, r board.Record)) error {
	cursor := ""
	for n := 0; n < maxPeers; n += listPage {
		keys, next, err := s.board.Keys(ctx, 0, prefix, cursor, listPage)
		if err != nil {
			return err
		}
		recs, err := board.Readable(s.board.Get(ctx, 0, keys...))
		if err != nil {
			return err
		}
		for i, r := range recs {
			if r != nil {
				take(keys[i], r)
			}
		}
		if cursor = next; next == "" {
			return nil
		}
	}
	return nil
}

// same reports whether two nodes are of one site.
func (d directory) same(a, b string) bool {
	return a == b || d.own[a] && d.own[b] || d.of[a] != "" && d.of[a] == d.of[b]
}

// siteOf names the site of a node for people.
func (d directory) siteOf(node string) string {
	switch {
	case d.own[node]:
		return "this site"
	case d.of[node] != "":
		return d.of[node]
	}
	return "unknown node " + node
}

// AddPeer makes a peer known, or changes the one of that name: its nodes, and
// its operator where the card names one, become actors, so that they can be
// given rights and their messages can be checked.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] for a key that belongs to
// this site or to another peer.
func (e *Engine) AddPeer(ctx context.Context, p domain.Peer) (domain.Peer, error) {
	p = p.Once()
	if err := checkPeer(p); err != nil {
		return p, err
	}
	d, err := e.sites.read(ctx)
	if err != nil {
		return p, err
	}
	if len(d.peers) >= maxPeers {
		return p, domain.Limitf("there are %d peers, which is the limit", len(d.peers))
	}
	at := domain.List[domain.Address]{}
	for i, n := range p.Nodes {
		p.Nodes[i].StreamKey = ""
		switch {
		case d.own[n.Pubkey]:
			return p, domain.Conflictf("node %s is one of this site's own", n.Pubkey)
		case d.of[n.Pubkey] != "" && d.of[n.Pubkey] != p.Name:
			return p, domain.Conflictf("node %s belongs to the peer %q", n.Pubkey, d.of[n.Pubkey])
		}
		if err := e.linkIsFree(ctx, d, p.Name, n); err != nil {
			return p, err
		}
		at = append(at, domain.NodeAddress(n.Pubkey))
	}
	for _, key := range keysOf(p) { // before anything is written: a refused card leaves nothing behind
		if _, err := identity.X25519Pubkey(key); err != nil {
			return p, err
		}
		whose, err := e.whoseLink(ctx, d, p.Name, key)
		if err != nil {
			return p, err
		}
		if whose != "" { // it would be an actor, for whom that node signs what NATS servers choose
			return p, domain.Conflictf("the card's key %s is the link key of %s: want one that signs nothing else", key, whose)
		}
		if _, err := e.actorAt(ctx, key, at, d.peers[p.Name]); err != nil && !errors.Is(err, domain.ErrNotFound) {
			return p, err
		}
	}
	p.CreatedAt = d.peers[p.Name].CreatedAt
	p = p.Touched(e.board.Now())
	for _, n := range p.Nodes {
		if _, err := e.cfg.Registry.EnsureNode(ctx, n.Pubkey, at...); err != nil {
			return p, err
		}
		if err := e.ensureActor(ctx, n.Pubkey, at, d.peers[p.Name]); err != nil {
			return p, err
		}
	}
	if p.Operator != "" {
		if err := e.moveOperator(ctx, d.peers[p.Name].Operator, p.Operator); err != nil {
			return p, err
		}
		if err := e.ensureActor(ctx, p.Operator, at, d.peers[p.Name]); err != nil {
			return p, err
		}
	}
	var b board.Batch
	was := ""
	if old, there := d.peers[p.Name]; there {
		was = layout.EncodePeer(old).Value
	}
	b.Equal(layout.Peer(p.Name), layout.PeerCard, was)
	b.Set(layout.Peer(p.Name), layout.EncodePeer(p))
	err = e.board.Commit(ctx, b)
	e.sites.forget()
	if errors.Is(err, domain.ErrConflict) {
		err = domain.Conflictf("peer %q was changed at the same time; look at it, and try again", p.Name)
	}
	return p, err
}

// linkIsFree refuses a link key that is known as something else: of another
// node, it would be let in as that; of an actor, it would sign for him what NATS
// servers choose.
//
// Errors: [domain.ErrConflict].
func (e *Engine) linkIsFree(ctx context.Context, d directory, peer string, n domain.PeerNode) error {
	if n.LinkKey == "" {
		return nil
	}
	whose, err := e.whoseLink(ctx, d, peer, n.LinkKey)
	if err != nil {
		return err
	}
	if whose != "" {
		return domain.Conflictf("the card's link key %s is that of %s", n.LinkKey, whose)
	}
	a, err := e.cfg.Registry.ActorByKey(ctx, n.LinkKey)
	if err == nil {
		return domain.Conflictf("the card's link key %s is the key of actor %d: want one that signs nothing else", n.LinkKey, a.ID)
	}
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	return err
}

// whoseLink names the node that logs in with a key; "" where none does but those
// of the peer.
func (e *Engine) whoseLink(ctx context.Context, d directory, peer, key string) (string, error) {
	for _, other := range d.nodes {
		if other.LinkKey == key && d.of[other.Pubkey] != peer {
			return fmt.Sprintf("node %s of the peer %q", other.Pubkey, d.of[other.Pubkey]), nil
		}
	}
	own, err := e.cfg.Registry.Links(ctx)
	if err != nil {
		return "", err
	}
	links := append([]identity.Links{{Node: e.Node(), Bus: e.cfg.Keys.Bus.Pubkey(), Stream: e.cfg.Keys.Stream.Pubkey()}}, own...)
	for _, l := range links {
		if l.Bus == key || l.Stream == key {
			return "this site's own node " + l.Node, nil
		}
	}
	return "", nil
}

// moveOperator gives the actor of a site's operator its new key: who has the
// old one is nobody any more.
func (e *Engine) moveOperator(ctx context.Context, old, now string) error {
	if old == "" || old == now {
		return nil
	}
	a, err := e.cfg.Registry.ActorByKey(ctx, old)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = e.cfg.Registry.UpdateActor(ctx, a.ID, domain.ActorChange{Pubkey: now})
	return err
}

// ensureActor registers a key, and sees to it that its actor is known to be at
// all the nodes of its site. An actor that is somewhere else stays there,
// whatever the card says: who is at a node gets their messages by it.
//
// Errors: [domain.ErrConflict] for such an actor.
func (e *Engine) ensureActor(ctx context.Context, pubkey string, at domain.List[domain.Address], before domain.Peer) error {
	a, err := e.actorAt(ctx, pubkey, at, before)
	if errors.Is(err, domain.ErrNotFound) {
		_, _, err = e.cfg.Registry.CreateActor(ctx, domain.Actor{Pubkey: pubkey, Address: at})
		return err
	} else if err != nil {
		return err
	}
	list := slices.DeleteFunc(slices.Clone(a.Address), func(had domain.Address) bool { return had.Node() != "" })
	list = append(list, at...)
	if slices.Equal(list, a.Address) {
		return nil
	}
	_, err = e.cfg.Registry.UpdateActor(ctx, a.ID, domain.ActorChange{Address: &list})
	return err
}

// actorAt finds the actor of a key that a card names, who must be at a node of the
// card's site, as it is or was before.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] for one who is elsewhere.
func (e *Engine) actorAt(ctx context.Context, pubkey string, at domain.List[domain.Address], before domain.Peer) (domain.Actor, error) {
	a, err := e.cfg.Registry.ActorByKey(ctx, pubkey)
	if err != nil {
		return a, err
	}
	theirs := func(n domain.PeerNode) bool { return a.At(n.Pubkey) }
	if !slices.ContainsFunc(at, func(ad domain.Address) bool { return slices.Contains(a.Address, ad) }) && !slices.ContainsFunc(before.Nodes, theirs) {
		return a, domain.Conflictf("the card names the key %s, which actor %d has here; if that is right, first say where the actor is: `ramet actor "+
			"update %d --address %s`",
			pubkey, a.ID, a.ID, at[0])
	}
	return a, nil
}

// RemovePeer forgets a peer: no parcel of its nodes is taken from then on, and
// none is sent there. Its actors stay, with their rights: they can write no
// messages any more, but prove themselves at the doors with their keys until the
// rights are taken from them.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) RemovePeer(ctx context.Context, name string) error {
	key := layout.Peer(name)
	recs, err := e.board.Get(ctx, 0, key)
	if err != nil {
		return err
	}
	if recs[0] == nil {
		return domain.NotFoundf("there is no peer %q", name)
	}
	var b board.Batch
	b.Delete(key)
	err = e.board.Commit(ctx, b)
	e.sites.forget()
	return err
}

// Peers lists the peers by name.
func (e *Engine) Peers(ctx context.Context) ([]domain.Peer, error) {
	d, err := e.sites.look(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]domain.Peer, 0, len(d.peers))
	for _, p := range d.peers {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b domain.Peer) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// SiteNames are the names of the sites of nodes, by their keys; "" for this one.
func (e *Engine) SiteNames(ctx context.Context) (map[string]string, error) {
	d, err := e.sites.look(ctx)
	if err != nil {
		return nil, err
	}
	names := maps.Clone(d.of)
	for node := range d.own {
		names[node] = ""
	}
	return names, nil
}

// PeerNode is a node of a peer, with the peer's name.
type PeerNode struct {
	domain.PeerNode
	Site string
}

// PeerNodes are the nodes of all peers, by their keys; those known last where
// the board cannot be asked.
func (e *Engine) PeerNodes() []PeerNode {
	d, err := e.sites.look(context.Background())
	if err != nil {
		e.sites.mu.Lock()
		d = e.sites.known
		e.sites.mu.Unlock()
	}
	list := make([]PeerNode, 0, len(d.nodes))
	for _, n := range d.nodes {
		list = append(list, PeerNode{n, d.of[n.Pubkey]})
	}
	slices.SortFunc(list, func(a, b PeerNode) int { return strings.Compare(a.Pubkey, b.Pubkey) })
	return list
}

// Card is what another site needs to know of this one, to be given to `peer
// add` there: its nodes and its operator. With the keys of its nodes for streams
// it is for this site's own NATS server.
func (e *Engine) Card(ctx context.Context, name string) (domain.Peer, error) {
	p := domain.Peer{Name: name}
	err := e.sites.each(ctx, layout.NodePrefix, func(key string, r board.Record) {
		if n, ok := layout.NodeOf(key, r); ok && n.Pubkey != e.Node() {
			p.Nodes = append(p.Nodes, n)
		}
	})
	if err != nil {
		return p, err
	}
	p.Nodes = append(domain.List[domain.PeerNode]{{Pubkey: e.Node(), Addresses: e.Addresses()}}, p.Nodes...)
	links, err := e.cfg.Registry.Links(ctx)
	if err != nil {
		return p, err
	}
	for i := range p.Nodes {
		for _, l := range links {
			if l.Node == p.Nodes[i].Pubkey {
				p.Nodes[i].LinkKey, p.Nodes[i].StreamKey = l.Bus, l.Stream
			}
		}
	}
	p.Nodes[0].LinkKey, p.Nodes[0].StreamKey = e.cfg.Keys.Bus.Pubkey(), e.cfg.Keys.Stream.Pubkey()
	op, err := e.cfg.Registry.KnownActor(ctx, domain.Operator)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return p, err
	}
	p.Operator = op.Pubkey
	return p, nil
}
