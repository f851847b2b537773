package domain

import (
	"slices"
	"strings"
	"time"
)

// Limits of a peer.
const (
	MaxPeerNodes = MaxAddresses
	MaxPeerNote  = 1000 // bytes
	MaxNodeName  = 255  // bytes: that of a host
)

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

// Validate checks what a caller gave.
//
// Errors: [ErrInvalid].
func (p Peer) Validate() error {
	if err := ValidateName("peer", p.Name); err != nil {
		return err
	}
	switch {
	case len(p.Nodes) == 0:
		return Invalidf("peer %q has no nodes: want at least one, with its public key", p.Name)
	case len(p.Nodes) > MaxPeerNodes:
		return Invalidf("peer %q has %d nodes, the limit is %d", p.Name, len(p.Nodes), MaxPeerNodes)
	case len(p.Note) > MaxPeerNote:
		return Invalidf("note has %d bytes, the limit is %d", len(p.Note), MaxPeerNote)
	}
	if p.Operator != "" {
		if err := ValidatePubkey(p.Operator); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, n := range p.Nodes {
		if err := ValidatePubkey(n.Pubkey); err != nil {
			return err
		}
		if seen[n.Pubkey] {
			return Invalidf("peer %q: two nodes with the key %s", p.Name, n.Pubkey)
		}
		seen[n.Pubkey] = true
		if PlainText(n.Name, MaxNodeName) != n.Name {
			return Invalidf("peer %q: node %s has a name that is longer than %d bytes, or has characters that cannot be seen", p.Name, n.Pubkey, MaxNodeName)
		}
		if err := n.validateLink(p); err != nil {
			return err
		}
		if err := (Actor{Pubkey: n.Pubkey, Address: n.Addresses}).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// validateLink holds the keys of links apart from those that sign: who has one
// of the former signs what servers choose.
func (n PeerNode) validateLink(p Peer) error {
	if n.LinkKey == "" {
		return nil
	}
	if err := ValidatePubkey(n.LinkKey); err != nil {
		return Invalidf("link_key: %v", err)
	}
	if n.LinkKey == p.Operator {
		return Invalidf("peer %q: the link key of node %s is the operator's key: want one that signs nothing else", p.Name, n.Pubkey)
	}
	for _, other := range p.Nodes {
		if other.Pubkey == n.LinkKey {
			return Invalidf("peer %q: the link key of node %s is the key of a node: want one that signs nothing else", p.Name, n.Pubkey)
		}
		if other.LinkKey == n.LinkKey && other.Pubkey != n.Pubkey {
			return Invalidf("peer %q: two nodes with the link key %s", p.Name, n.LinkKey)
		}
	}
	return nil
}

// Keys are those of the actors that the peer makes known: its nodes, and its
// operator if the card names one.
func (p Peer) Keys() []string {
	var keys []string
	for _, n := range p.Nodes {
		keys = append(keys, n.Pubkey)
	}
	if p.Operator != "" {
		keys = append(keys, p.Operator)
	}
	return keys
}

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
