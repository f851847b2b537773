package natsbus

import (
	"crypto/ed25519"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

const scheme = "nats"

// Address is where the node with this public key is reached.
func Address(node string) domain.Address { return domain.Address(scheme + ":" + node) }

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
