package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/ramet-run/ramet/domain"
)

// messageDomain keeps a message's signature from being good for anything else.
const messageDomain = "ramet/message/v1\n"

// parcelDomain does the same for parcels.
const parcelDomain = "ramet/parcel/v1\n"

// SignMessage signs a message with its sender's key, over all that does not
// change on its way. It fills in who signed and how.
//
// Errors: [domain.ErrInvalid] for a message that has no canonical form.
//
// Source: DESIGN part 9; RFC 8032, RFC 8785.
func SignMessage(k Key, m *domain.Message) error {
	m.Pubkey, m.Alg = k.Pubkey(), domain.AlgEd25519
	text, err := letterText(m)
	if err != nil {
		return err
	}
	m.Signature = hex.EncodeToString(ed25519.Sign(k.private, text))
	return nil
}

// VerifyMessage checks that a message was signed by the key it names, and not
// altered since.
//
// Errors: [domain.ErrForbidden].
func VerifyMessage(m *domain.Message) error {
	if m.Alg != domain.AlgEd25519 {
		return domain.Forbiddenf("message signed by %q: want %s", m.Alg, domain.AlgEd25519)
	}
	// One spelling only: the signature is part of the letter's name, by which it
	// is known when it comes again.
	if m.Pubkey != strings.ToLower(m.Pubkey) || m.Signature != strings.ToLower(m.Signature) {
		return domain.Forbiddenf("message without a signature in lower-case hex")
	}
	key, errKey := hex.DecodeString(m.Pubkey)
	sig, errSig := hex.DecodeString(m.Signature)
	if errKey != nil || errSig != nil || len(key) != ed25519.PublicKeySize || len(sig) != ed25519.SignatureSize {
		return domain.Forbiddenf("message without a signature")
	}
	text, err := letterText(m)
	if err != nil || !ed25519.Verify(key, text, sig) {
		return domain.Forbiddenf("the message's signature is not that of %s", m.Pubkey)
	}
	return nil
}

// letterText is what is signed of a message.
func letterText(m *domain.Message) ([]byte, error) {
	l := m.Letter()
	l.Signature = ""
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return nil, domain.Invalidf("message cannot be written as JSON: %v", err)
	}
	canonical, err := jcs.Transform(text.Bytes())
	if err != nil {
		return nil, domain.Invalidf("message has no canonical form: %v", err)
	}
	sum := sha256.Sum256(canonical)
	return append([]byte(messageDomain), sum[:]...), nil
}

// Digest names a signed message wherever it goes: equal for equal letters only.
func Digest(m *domain.Message) string {
	sum := sha256.Sum256([]byte(m.Pubkey + "\n" + m.Signature))
	return hex.EncodeToString(sum[:])
}

// SignParcel returns the signature of a parcel's bytes by a node's key.
func SignParcel(k Key, body []byte) []byte {
	return ed25519.Sign(k.private, parcelText(body))
}

// VerifyParcel checks it. pubkey is 64 hex digits.
//
// Errors: [domain.ErrForbidden].
func VerifyParcel(pubkey string, body, signature []byte) error {
	key, err := hex.DecodeString(pubkey)
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, parcelText(body), signature) {
		return domain.Forbiddenf("the parcel's signature is not that of node %s", pubkey)
	}
	return nil
}

func parcelText(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append([]byte(parcelDomain), sum[:]...)
}

// Private is the key for libraries that sign themselves: a bus.
func (k Key) Private() ed25519.PrivateKey { return k.private }
