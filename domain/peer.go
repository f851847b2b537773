package domain

import (
	"slices"
	"strings"
	"time"
)

// MaxPeerNodes bounds the nodes of a peer.
const MaxPeerNodes = MaxAddresses

// Peer is another site whose nodes this one exchanges messages with: what one
// must know of an organisation to send it work and to believe its answers.
type Peer struct {
	// Name is what people here call it: "acme".
	Name string `json:"name"`
	// Nodes are its nodes; parcels go to any of them that has an address.
	Nodes List[PeerNode] `json:"nodes"`
	// Operator is the public key of the actor who runs it, "" where unknown.
	Operator  string   `json:"operator,omitzero"`
	Note      string   `json:"note,omitzero"`
	CreatedAt UnixTime `json:"created_at,omitzero"`
}

// PeerNode is one node of a peer.
type PeerNode struct {
	Name string `json:"name,omitzero"`
	// Pubkey is the Ed25519 key by which it signs parcels.
	Pubkey string `json:"pubkey"`
	// LinkKey is the Ed25519 key by which it logs in to NATS servers; "" on cards
	// of earlier versions, whose nodes are not let in.
	LinkKey string `json:"link_key,omitzero"`
	// StreamKey is the same for the streams of its board: other sites have no use
	// for it, and it is on no card.
	StreamKey string `json:"stream_key,omitzero"`
	// Addresses are where it can be reached on buses: "nats:<hex>",
	// "mycelium:<hex>".
	Addresses List[Address] `json:"addresses"`
}

// nodeScheme begins the address by which an actor says at which node it is.
const nodeScheme = "node:"

// NodeAddress is the address of the actors of a node.
func NodeAddress(pubkey string) Address { return Address(nodeScheme + pubkey) }

// Node is the public key of the node that the address names; "" for other
// addresses.
func (a Address) Node() string {
	key, found := strings.CutPrefix(string(a), nodeScheme)
	if !found {
		return ""
	}
	return key
}

// Scheme is the part before the colon: which bus it is an address of.
func (a Address) Scheme() string {
	scheme, _, _ := strings.Cut(string(a), ":")
	return scheme
}

// At reports whether the actor is at a node.
func (a Actor) At(node string) bool { return slices.Contains(a.Address, NodeAddress(node)) }

// Once is the peer with each address of a node once.
func (p Peer) Once() Peer {
	p.Nodes = slices.Clone(p.Nodes)
	for i := range p.Nodes {
		p.Nodes[i].Addresses = once(p.Nodes[i].Addresses)
	}
	return p
}

// Touched returns the peer with its time set for its making at now.
func (p Peer) Touched(now time.Time) Peer {
	if p.CreatedAt == 0 {
		p.CreatedAt = At(now)
	}
	return p
}
