package natsbus

import (
	"crypto/ed25519"
	"encoding/hex"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/ramet-run/ramet/domain"
)

const scheme = "nats"

// Address is where the node with this key is reached.
func Address(key ed25519.PublicKey) domain.Address {
	return domain.Address(scheme + ":" + hex.EncodeToString(key))
}

// keyOf is the key in an address, in hex.
//
// Errors: [domain.ErrInvalid].
func keyOf(a domain.Address) (string, error) {
	key, ok := strings.CutPrefix(string(a), scheme+":")
	if !ok || !validKey(key) {
		return "", domain.Invalidf("address %q: want nats: and a public key of 64 lower-case hex digits", a)
	}
	return key, nil
}

// validKey says whether s is a public key as we write it. One that it passes
// is also fit to be a token of a subject and a part of a file name.
func validKey(s string) bool {
	if len(s) != 2*ed25519.PublicKeySize {
		return false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// userKey is how NATS writes a node's key: "U…".
func userKey(key string) (string, error) {
	if !validKey(key) {
		return "", domain.Invalidf("key %q: want 64 lower-case hex digits", key)
	}
	raw, _ := hex.DecodeString(key)
	text, err := nkeys.Encode(nkeys.PrefixByteUser, raw)
	if err != nil {
		return "", domain.Invalidf("key %q: %v", key, err)
	}
	return string(text), nil
}

// keyOfUser is the key that NATS writes as u, in hex.
func keyOfUser(u string) (string, bool) {
	raw, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(u))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return "", false
	}
	return hex.EncodeToString(raw), true
}

// pair is a node's key for NATS to sign with.
func pair(key ed25519.PrivateKey) (nkeys.KeyPair, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, domain.Invalidf("key has %d bytes, want %d", len(key), ed25519.PrivateKeySize)
	}
	return nkeys.FromRawSeed(nkeys.PrefixByteUser, key.Seed())
}
