package api

import (
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// The operations on peers.
var (
	PeerAdd = op[PeerView](Operation{
		Name: "peer.add", Method: "POST", Path: "/v1/peers", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Make another site known by its card, or change what is known of it.",
	}, AddPeerParams{})
	PeerList = op[PeerPage](Operation{
		Name: "peer.list", Method: "GET", Path: "/v1/peers", Right: domain.VerbInspect,
		Summary: "List the sites that are known; with a context also to those who may send messages there.",
	}, ListPeersParams{})
	PeerRemove = op[struct{}](Operation{
		Name: "peer.remove", Method: "DELETE", Path: "/v1/peers/{peer}", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Forget a site: nothing of it is taken in any more.",
	}, PeerParams{Name: "acme"})
	PeerCard = op[domain.Peer](Operation{
		Name: "peer.card", Method: "GET", Path: "/v1/card", Right: domain.VerbInspect,
		Summary: "Give the card of this site, for peer.add at another; with a context also to those who may send messages there.",
	}, CardParams{Name: "berlin"})
)

// AddPeerParams are the parameters of peer.add: the card of another site.
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

func (p *AddPeerParams) AuditDetail() string { return "nodes " + strings.Join(nodesOf(p.Peer), " ") }

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

// PeerPage is all peers, by name.
type PeerPage struct {
	Peers []PeerView `json:"peers"`
}

// ListPeersParams are the parameters of peer.list.
type ListPeersParams struct {
	// Context, if given, is one in which the caller may send messages.
	Context domain.TenantID `json:"-" query:"context"`
}

// CardParams are the parameters of peer.card.
type CardParams struct {
	// Name is what the other site is to call this one.
	Name string `json:"-" query:"name"`
	// Own adds what concerns this site alone: the link keys of streams.
	Own bool `json:"-" query:"own"`
	// Context, if given, is one in which the caller may send messages.
	Context domain.TenantID `json:"-" query:"context"`
}
