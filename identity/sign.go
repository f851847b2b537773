package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/canonical"
)

// SignMessage signs a message as [Signatures.Sign] does, and remembers nothing.
func SignMessage(k Key, m *domain.Message) error { return (*Signatures)(nil).Sign(k, m) }

// VerifyMessage checks a message as [Signatures.Verify] does, and remembers nothing.
func VerifyMessage(m *domain.Message) error { return (*Signatures)(nil).Verify(m) }

// Sign signs a message with its sender's key, over all that does not change on
// its way. It fills in who signed and how.
//
// Errors: [domain.ErrInvalid] for a message that has no canonical form.
//
// Source: DESIGN part 9; RFC 8032, RFC 8785.
func (s *Signatures) Sign(k Key, m *domain.Message) error {
	m.Pubkey, m.Alg = k.Pubkey(), domain.AlgEd25519
	body, err := bodyOf(m)
	if err != nil {
		return err
	}
	sig, err := sign(k.private, aMessage, body)
	if err != nil {
		return err
	}
	m.Signature = hex.EncodeToString(sig)
	s.note(nameOf(m, body))
	return nil
}

// Verify checks that a message was signed by the key it names, and not altered
// since.
//
// Errors: [domain.ErrForbidden].
func (s *Signatures) Verify(m *domain.Message) error {
	switch m.Alg {
	case domain.AlgEd25519:
	case domain.AlgOld:
		return domain.Forbiddenf("message signed in the form %q of an earlier version: let the nodes of both sites have the same version, and send it anew", m.Alg)
	default:
		return domain.Forbiddenf("message signed by %q: want %s", m.Alg, domain.AlgEd25519)
	}
	// One spelling only: the signature is part of the message's name, by which it
	// is known when it comes again.
	if m.Pubkey != strings.ToLower(m.Pubkey) || m.Signature != strings.ToLower(m.Signature) {
		return domain.Forbiddenf("message without a signature in lower-case hex")
	}
	sig, err := hex.DecodeString(m.Signature)
	if err != nil || len(m.Pubkey) != 2*ed25519.PublicKeySize || len(sig) != ed25519.SignatureSize {
		return domain.Forbiddenf("message without a signature")
	}
	body, err := bodyOf(m)
	if err != nil {
		return domain.Forbiddenf("the message's signature is not that of %s", m.Pubkey)
	}
	name := nameOf(m, body)
	if s.knows(name) {
		return nil
	}
	if !signed(m.Pubkey, aMessage, body, sig) {
		return domain.Forbiddenf("the message's signature is not that of %s", m.Pubkey)
	}
	s.note(name)
	return nil
}

// bodyOf is what is signed of a message.
func bodyOf(m *domain.Message) ([]byte, error) {
	l := m.Signed()
	l.Signature = ""
	return canonical.Of(&l)
}

// SignedText is a message as it travels: what was signed, and the signature.
//
// Errors: [domain.ErrInvalid] for a message that has no canonical form.
func SignedText(m *domain.Message) ([]byte, error) {
	l := m.Signed()
	return canonical.Of(&l)
}

// Digest names a signed message wherever it goes: equal for equal messages only.
func Digest(m *domain.Message) string {
	sum := sha256.Sum256([]byte(m.Pubkey + "\n" + m.Signature))
	return hex.EncodeToString(sum[:])
}

// SignParcel returns the signature of a parcel's bytes by a node's key.
func SignParcel(k Key, body []byte) ([]byte, error) { return sign(k.private, aParcel, body) }

// VerifyParcel checks it. pubkey is 64 hex digits.
//
// Errors: [domain.ErrForbidden].
func VerifyParcel(pubkey string, body, signature []byte) error {
	if !signed(pubkey, aParcel, body, signature) {
		return domain.Forbiddenf("the parcel's signature is not that of node %s", pubkey)
	}
	return nil
}
