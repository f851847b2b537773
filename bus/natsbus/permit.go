package natsbus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Permit is what an external server is to be told.
type Permit struct {
	// Nodes are the keys of those that may connect.
	Nodes []string
	// MaxBytes bounds what waits for one node. Default: 256 MiB.
	MaxBytes int64
	// Replicas of each mailbox; give nodes the same as replicas=N in their URL.
	// Default: 1.
	Replicas int
}

// ServerConfig writes the accounts of nodes as a part of a nats-server's
// configuration, the same for every server of a cluster: each node logs in with
// its key, keeps its own mailbox, and reaches others only by sending under its
// own name. When nodes come or go it is written anew and the server told to
// reload; others stay connected.
//
// It is accounts in a file rather than JWTs: with them, an operator would have
// a signing key, a resolver and a credentials file for each node to keep, for
// nodes that have a key already.
//
// Errors: [domain.ErrInvalid].
func ServerConfig(p Permit) (string, error) {
	nodes := slices.Compact(slices.Sorted(slices.Values(p.Nodes)))
	if len(nodes) == 0 {
		return "", domain.Invalidf("a NATS configuration for no nodes")
	}
	replicas := max(p.Replicas, 1)
	// An account's limit counts every copy.
	room := int64(replicas) * roomFor(cmp.Or(p.MaxBytes, Config{}.filled().MaxBytes))
	var imports, accounts strings.Builder
	for _, key := range nodes {
		user, err := userKey(key)
		if err != nil {
			return "", err
		}
		in, out := parcelSubject(key, "*"), sendSubject("*", key)
		fmt.Fprintf(&imports, "      {service: {account: %q, subject: %q}}\n", nodeAccount(key), in)
		fmt.Fprintf(&accounts, `  %q: {
    users: [{nkey: %s}]
    jetstream: {max_mem: 0, max_file: %d, max_streams: %d, max_consumers: %d}
    exports: [{service: %q, accounts: [%q]}]
    imports: [{service: {account: %q, subject: %q}}]
  }
`, nodeAccount(key), user, room, maxStreams, maxConsumers, in, exchange, exchange, out)
	}
	return fmt.Sprintf(`# Accounts of Ramet nodes. The server needs besides: jetstream, a listener, TLS.
max_payload: %d
accounts: {
  %q: {
    exports: [{service: %q}]
    mappings: {%q: %q}
    imports: [
%s    ]
  }
%s}
`, maxPayload, exchange, exchangeMaps, exchangeMaps, exchangeMapsTo, imports.String(), accounts.String()), nil
}
