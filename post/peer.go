package post

import "github.com/ramet-run/ramet/domain"

// This file checks the cards of other sites.

const (
	maxPeerNote = 1000 // bytes
	maxNodeName = 255  // bytes: that of a host
)

// checkPeer checks a card that somebody gave.
//
// Errors: [domain.ErrInvalid].
func checkPeer(p domain.Peer) error {
	if err := domain.ValidateName("peer", p.Name); err != nil {
		return err
	}
	switch {
	case len(p.Nodes) == 0:
		return domain.Invalidf("peer %q has no nodes: want at least one, with its public key", p.Name)
	case len(p.Nodes) > domain.MaxPeerNodes:
		return domain.Invalidf("peer %q has %d nodes, the limit is %d", p.Name, len(p.Nodes), domain.MaxPeerNodes)
	case len(p.Note) > maxPeerNote:
		return domain.Invalidf("note has %d bytes, the limit is %d", len(p.Note), maxPeerNote)
	}
	if p.Operator != "" {
		if err := domain.ValidatePubkey(p.Operator); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, n := range p.Nodes {
		if err := domain.ValidatePubkey(n.Pubkey); err != nil {
			return err
		}
		if seen[n.Pubkey] {
			return domain.Invalidf("peer %q: two nodes with the key %s", p.Name, n.Pubkey)
		}
		seen[n.Pubkey] = true
		if domain.PlainText(n.Name, maxNodeName) != n.Name {
			return domain.Invalidf("peer %q: node %s has a name that is longer than %d bytes, or has characters that cannot be seen", p.Name, n.Pubkey, maxNodeName)
		}
		if err := checkLink(p, n); err != nil {
			return err
		}
		if err := (domain.Actor{Pubkey: n.Pubkey, Address: n.Addresses}).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// checkLink holds the keys of links apart from those that sign: who has one
// of the former signs what servers choose.
func checkLink(p domain.Peer, n domain.PeerNode) error {
	if n.LinkKey == "" {
		return nil
	}
	if err := domain.ValidatePubkey(n.LinkKey); err != nil {
		return domain.Invalidf("link_key: %v", err)
	}
	if n.LinkKey == p.Operator {
		return domain.Invalidf("peer %q: the link key of node %s is the operator's key: want one that signs nothing else", p.Name, n.Pubkey)
	}
	for _, other := range p.Nodes {
		if other.Pubkey == n.LinkKey {
			return domain.Invalidf("peer %q: the link key of node %s is the key of a node: want one that signs nothing else", p.Name, n.Pubkey)
		}
		if other.LinkKey == n.LinkKey && other.Pubkey != n.Pubkey {
			return domain.Invalidf("peer %q: two nodes with the link key %s", p.Name, n.LinkKey)
		}
	}
	return nil
}

// keysOf are those of the actors that the peer makes known: its nodes, and its
// operator if the card names one.
func keysOf(p domain.Peer) []string {
	var keys []string
	for _, n := range p.Nodes {
		keys = append(keys, n.Pubkey)
	}
	if p.Operator != "" {
		keys = append(keys, p.Operator)
	}
	return keys
}
