package api

import (
	"context"
	"errors"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// AddPeerParams are those of peer.add: the card of another site.
type AddPeerParams struct {
	domain.Peer
}

// PeerView is a peer, and what it is here.
type PeerView struct {
	domain.Peer
	// OperatorID is the number that its operator has here: whom contexts give
	// rights to.
	OperatorID domain.ActorID `json:"operator_id,omitzero"`
}

// AddPeer makes another site known, or changes what is known of it.
func (c Caller) AddPeer(ctx context.Context, p AddPeerParams) (PeerView, error) {
	engine, err := c.administratePost(ctx, "peer:"+p.Name)
	if err != nil {
		return PeerView{}, err
	}
	peer, err := engine.AddPeer(ctx, p.Peer)
	if err != nil {
		return PeerView{}, err
	}
	return c.peerView(ctx, peer)
}

func (c Caller) peerView(ctx context.Context, p domain.Peer) (PeerView, error) {
	v := PeerView{Peer: p}
	if p.Operator == "" {
		return v, nil
	}
	a, err := c.api.parts.Directory.As(c.who.Actor).ActorByKey(ctx, p.Operator)
	if errors.Is(err, domain.ErrNotFound) {
		return v, nil // it has another key by now
	}
	v.OperatorID = a.ID
	return v, err
}

func (p *AddPeerParams) auditDetail() string { return "nodes " + strings.Join(nodesOf(p.Peer), " ") }

// administratePost asks for the right to change who this site talks to.
func (c Caller) administratePost(ctx context.Context, object string) (Post, error) {
	if err := c.mayHere(ctx, identity.Administrate, object); err != nil {
		return nil, err
	}
	return c.post()
}

func nodesOf(p domain.Peer) []string {
	keys := make([]string, len(p.Nodes))
	for i, n := range p.Nodes {
		keys[i] = n.Pubkey
	}
	return keys
}

// PeerParams name a peer.
type PeerParams struct {
	Name string `json:"-" path:"peer"`
}

// RemovePeer forgets a site: nothing of it is taken in any more.
func (c Caller) RemovePeer(ctx context.Context, p PeerParams) (struct{}, error) {
	engine, err := c.administratePost(ctx, "peer:"+p.Name)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, engine.RemovePeer(ctx, p.Name)
}

// PeerList is all peers, by name.
type PeerList struct {
	Peers []PeerView `json:"peers"`
}

// ListPeersParams are those of peer.list.
type ListPeersParams struct {
	// Context, if given, is one in which the caller may send messages.
	Context domain.TenantID `json:"-" query:"context"`
}

// ListPeers lists the sites that are known.
func (c Caller) ListPeers(ctx context.Context, p ListPeersParams) (PeerList, error) {
	if err := c.mayInspect(ctx, identity.Create, p.Context, "peers"); err != nil {
		return PeerList{}, err
	}
	engine, err := c.post()
	if err != nil {
		return PeerList{}, err
	}
	if err := c.notGuest(ctx); err != nil {
		return PeerList{}, err
	}
	peers, err := engine.Peers(ctx)
	if err != nil {
		return PeerList{}, err
	}
	list := make([]PeerView, len(peers))
	for i, p := range peers {
		if list[i], err = c.peerView(ctx, p); err != nil {
			return PeerList{}, err
		}
	}
	return PeerList{list}, nil
}

// CardParams are those of peer.card.
type CardParams struct {
	// Name is what the other site is to call this one.
	Name string `json:"-" query:"name"`
	// Own adds what concerns this site alone: the link keys of streams.
	Own bool `json:"-" query:"own"`
	// Context, if given, is one in which the caller may send messages.
	Context domain.TenantID `json:"-" query:"context"`
}

// PeerCard is what another site must know of this one.
func (c Caller) PeerCard(ctx context.Context, p CardParams) (domain.Peer, error) {
	if p.Own {
		p.Context = 0 // the operator's alone
	}
	if err := c.mayInspect(ctx, identity.Create, p.Context, "card"); err != nil {
		return domain.Peer{}, err
	}
	engine, err := c.post()
	if err != nil {
		return domain.Peer{}, err
	}
	if p.Name == "" {
		p.Name = strings.NewReplacer(".", "-", " ", "-").Replace(c.api.parts.Info().Name)
	}
	if err := domain.ValidateName("peer", p.Name); err != nil {
		return domain.Peer{}, err
	}
	card, err := engine.Card(ctx, p.Name)
	for i := range card.Nodes {
		if !p.Own {
			card.Nodes[i].StreamKey = ""
		}
	}
	return card, err
}

// notGuest refuses actors of other sites: who else this one talks to is not
// their business.
func (c Caller) notGuest(ctx context.Context) error {
	a, err := c.api.parts.Directory.Actor(ctx, c.who.Actor)
	if err != nil {
		return err
	}
	for _, ad := range a.Address {
		if ad.Node() != "" {
			return domain.Forbiddenf("actor %d is of another site, and may not see with which others this one exchanges messages", c.who.Actor)
		}
	}
	return nil
}
