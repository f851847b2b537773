package service

import (
	"context"
	"errors"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// AddPeer makes another site known, or changes what is known of it.
func (c Caller) AddPeer(ctx context.Context, p api.AddPeerParams) (api.PeerView, error) {
	engine, err := c.administratePost(ctx, "peer:"+p.Name)
	if err != nil {
		return api.PeerView{}, err
	}
	peer, err := engine.AddPeer(ctx, p.Peer)
	if err != nil {
		return api.PeerView{}, err
	}
	return c.peerView(ctx, peer)
}

func (c Caller) peerView(ctx context.Context, p domain.Peer) (api.PeerView, error) {
	v := api.PeerView{Peer: p}
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

// administratePost asks for the right to change who this site talks to.
func (c Caller) administratePost(ctx context.Context, object string) (Post, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, object); err != nil {
		return nil, err
	}
	return c.post()
}

// RemovePeer forgets a site: nothing of it is taken in any more.
func (c Caller) RemovePeer(ctx context.Context, p api.PeerParams) (struct{}, error) {
	engine, err := c.administratePost(ctx, "peer:"+p.Name)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, engine.RemovePeer(ctx, p.Name)
}

// ListPeers lists the sites that are known.
func (c Caller) ListPeers(ctx context.Context, p api.ListPeersParams) (api.PeerPage, error) {
	if err := c.mayInspect(ctx, domain.VerbCreate, p.Context, "peers"); err != nil {
		return api.PeerPage{}, err
	}
	engine, err := c.post()
	if err != nil {
		return api.PeerPage{}, err
	}
	if err := c.notGuest(ctx); err != nil {
		return api.PeerPage{}, err
	}
	peers, err := engine.Peers(ctx)
	if err != nil {
		return api.PeerPage{}, err
	}
	list := make([]api.PeerView, len(peers))
	for i, p := range peers {
		if list[i], err = c.peerView(ctx, p); err != nil {
			return api.PeerPage{}, err
		}
	}
	return api.PeerPage{Peers: list}, nil
}

// PeerCard is what another site must know of this one.
func (c Caller) PeerCard(ctx context.Context, p api.CardParams) (domain.Peer, error) {
	if p.Own {
		p.Context = 0 // the operator's alone
	}
	if err := c.mayInspect(ctx, domain.VerbCreate, p.Context, "card"); err != nil {
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
