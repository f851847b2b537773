package natsbus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// Permit is what an external server is to be told.
type Permit struct {
	// Nodes are those that may connect. Those without a link key are left out.
	Nodes []Peer
	// MaxBytes bounds what waits for one node. Default: 256 MiB.
	MaxBytes int64
	// Replicas of each mailbox; give nodes the same as replicas=N in their URL.
	// Default: 1.
	Replicas int
}

// Accounts writes the accounts of nodes as a part of a nats-server's
// configuration, the same for every server of a cluster: what stands between the
// braces of "accounts". Each node logs in with its link key, keeps its own
// mailbox, and reaches others only by sending under its own name. When nodes come
// or go it is written anew and the server told to reload; others stay connected.
//
// It is accounts in a file rather than JWTs: with them, an operator would have
// a signing key, a resolver and a credentials file for each node to keep, for
// nodes that have a key already.
//
// Errors: [domain.ErrInvalid].
func Accounts(p Permit) (string, error) {
	replicas := max(p.Replicas, 1)
	// An account's limit counts every copy.
	room := int64(replicas) * roomFor(cmp.Or(p.MaxBytes, Config{}.filled().MaxBytes))
	var imports, accounts strings.Builder
	of := map[string]string{} // the node of each link key
	nodes := slices.SortedFunc(slices.Values(p.Nodes), func(a, b Peer) int { return strings.Compare(a.Key, b.Key) })
	for i, n := range nodes {
		switch {
		case !validKey(n.Key):
			return "", domain.Invalidf("node %q: want its public key, 64 lower-case hex digits", n.Key)
		case i > 0 && nodes[i-1] == n:
			continue
		case i > 0 && nodes[i-1].Key == n.Key:
			return "", domain.Invalidf("node %s is named twice, with different link keys", n.Key)
		case n.Link == "":
			fmt.Fprintf(&accounts, "  # Left out: node %s of %q. Its card is of an earlier version, without a link key: have `ramet peer card` run there, "+
				"and add it here.\n", n.Key, n.Site)
			continue
		}
		if other, taken := of[n.Link]; taken {
			return "", domain.Invalidf("nodes %s and %s have the same link key: whoever has it would log in as either", other, n.Key)
		}
		of[n.Link] = n.Key
		user, err := natslink.User(n.Link)
		if err != nil {
			return "", err
		}
		in, out := parcelSubject(n.Key, "*"), sendSubject("*", n.Key)
		fmt.Fprintf(&imports, "      {service: {account: %q, subject: %q}}\n", nodeAccount(n.Key), in)
		fmt.Fprintf(&accounts, `  %q: {
    users: [{nkey: %s}]
    jetstream: {max_mem: 0, max_file: %d, max_streams: %d, max_consumers: %d}
    exports: [{service: %q, accounts: [%q]}]
    imports: [{service: {account: %q, subject: %q}}]
  }
`, nodeAccount(n.Key), user, room, maxStreams, maxConsumers, in, exchange, exchange, out)
	}
	if imports.Len() == 0 {
		return "", domain.Invalidf("a NATS configuration for no nodes")
	}
	return fmt.Sprintf(`  # Parcels: an account for each node, and one in the middle through which they send.
  %q: {
    exports: [{service: %q}]
    mappings: {%q: %q}
    imports: [
%s    ]
  }
%s`, exchange, exchangeMaps, exchangeMaps, exchangeMapsTo, imports.String(), accounts.String()), nil
}

// ServerConfig is a whole configuration of these accounts alone.
//
// Errors: [domain.ErrInvalid].
func ServerConfig(p Permit) (string, error) {
	accounts, err := Accounts(p)
	if err != nil {
		return "", err
	}
	return natslink.ServerConfig(MaxPayload, accounts), nil
}
