package identity

import (
	"encoding/hex"
	"math/bits"
	"net/netip"

	"github.com/zeebo/blake3"

	"github.com/ramet-run/ramet/domain"
)

// MyceliumAddress is where a Mycelium network reaches the node with an X25519
// key (64 hex digits): an IPv6 address in 400::/7 that follows from the key
// alone. [X25519Pubkey] gives an actor's.
//
// Errors: [domain.ErrInvalid] for a key of another form.
//
// Source: PublicKey::address in mycelium's crypto.rs. The addresses in its
// README and docs are those of an older rule.
func MyceliumAddress(key string) (netip.Addr, error) {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) != 32 {
		return netip.Addr{}, domain.Invalidf("Mycelium key %q: want 64 hex digits", key)
	}
	sum := blake3.Sum256(raw)
	// Seven bits of the first byte are the network's; the eighth is the parity
	// of the byte that stood there, so that not all of the hash is thrown away.
	sum[0] = 0x04 | byte(bits.OnesCount8(sum[0])%2)
	return netip.AddrFrom16([16]byte(sum[:16])), nil
}
