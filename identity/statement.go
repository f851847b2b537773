package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/ramet-run/ramet/domain"
)

// This file is the rule of what is signed, and the one place that signs. No
// bytes that are signed as one kind of statement can be read as another, so
// whoever has us sign something gets no more than what we meant to say:
//
//	message, parcel, login,
//	audit-line, audit-anchor "ramet signs <kind>/2 of <n> bytes, SHA-256 <64 hex>\n"
//	token                    a JWT's signing input: base64url, one dot, base64url; it begins with "eyJ"
//	nonce                    15 characters of base64url, no dot
//
// The first holds blanks and a line feed, which the others never do, and names
// its kind; of the other two only a token has a dot. docs/decisions/0016 says
// more. A nonce is what others choose, so only a [LinkKey] signs nonces, which
// is nobody's identity.

// statement is a kind of what we sign.
type statement struct {
	name string
	// text is what is signed of a body.
	//
	// Errors: [domain.ErrInvalid] for a body that is none of this kind.
	text func(body []byte) ([]byte, error)
	// is says whether text is what is signed of some body.
	is func(text []byte) bool
}

// The kinds of statements. Where what is signed of a body changes, the number
// of the form does.
var (
	aMessage = tagged("message")
	aParcel  = tagged("parcel")
	aLogin   = tagged("login")
	aLine    = tagged("audit-line")
	anAnchor = tagged("audit-anchor")
	aToken   = statement{"token", only("the signing input of a JWT", isToken), isToken}
	aNonce   = statement{"nonce", only("a nonce of a NATS server", isNonce), isNonce}
)

// statements are all of them.
var statements = []statement{aMessage, aParcel, aLogin, aLine, anAnchor, aToken, aNonce}

// form is the form in which tagged statements are signed. In form 1 the bytes of
// the hash stood as they are, and no length.
const form = 2

// tagged is a kind whose name, and the length and hash of the body, are signed.
func tagged(name string) statement {
	head := fmt.Appendf(nil, "ramet signs %s/%d of ", name, form)
	return statement{name,
		func(body []byte) ([]byte, error) {
			return fmt.Appendf(head[:len(head):len(head)], "%d bytes, SHA-256 %x\n", len(body), sha256.Sum256(body)), nil
		},
		func(text []byte) bool { return bytes.HasPrefix(text, head) },
	}
}

// only signs a body as it is, if it is what it should be.
func only(what string, is func([]byte) bool) func([]byte) ([]byte, error) {
	return func(body []byte) ([]byte, error) {
		if !is(body) {
			return nil, domain.Invalidf("sign %q: this is not %s", domain.PlainText(string(body), 80), what)
		}
		return body, nil
	}
}

// sign says something with a key. Nothing else in Ramet signs.
func sign(key ed25519.PrivateKey, s statement, body []byte) ([]byte, error) {
	text, err := s.text(body)
	if err != nil {
		return nil, err
	}
	return ed25519.Sign(key, text), nil
}

// signed reports whether the holder of a key, 64 hex digits, has said something.
func signed(pubkey string, s statement, body, signature []byte) bool {
	key, err := hex.DecodeString(pubkey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	text, err := s.text(body)
	return err == nil && ed25519.Verify(key, text, signature)
}

// isToken says whether text is what is signed of a JWT: two parts of base64url,
// the first of which is a JSON object.
//
// Source: RFC 7515, 5.1.
func isToken(text []byte) bool {
	head, claims, found := bytes.Cut(text, []byte("."))
	return found && bytes.HasPrefix(head, []byte("eyJ")) && isBase64(head) && isBase64(claims)
}

// nonceBytes are in a server's nonce, before it is written as base64url.
const nonceBytes = 11

// isNonce says whether text is a nonce as NATS servers make them.
//
// Source: nats-server, server/nkey.go: 11 random bytes as base64url without
// padding, in all versions that have nonces.
func isNonce(text []byte) bool {
	return len(text) == base64.RawURLEncoding.EncodedLen(nonceBytes) && isBase64(text)
}

func isBase64(text []byte) bool {
	_, err := base64.RawURLEncoding.Strict().DecodeString(string(text))
	return err == nil && len(text) > 0 && !bytes.ContainsAny(text, "\r\n") // which the library passes over
}
