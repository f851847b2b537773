package identity

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ramet-run/ramet/domain"
)

// Limits of a token.
const (
	MaxTokenLife = 24 * time.Hour
	// Leeway is how far two clocks may be apart.
	Leeway = time.Minute
	// maxToken bounds a token's length in bytes: ours have about 300.
	maxToken = 2 << 10
)

// The refusals of a token. An unknown actor and a wrong signature read the
// same, so that nobody can find out which actors exist.
var (
	errNoToken      = domain.Unauthenticatedf("no token: send `Authorization: Bearer <token>`; `ramet token` makes one")
	errTokenForm    = domain.Unauthenticatedf("token: not a JWT signed with EdDSA; `ramet token` makes one")
	errTokenBad     = domain.Unauthenticatedf("token: its signature is not that of the actor it names")
	errTokenExpired = domain.Unauthenticatedf("token has expired; make a new one with `ramet token`")
	errTokenEarly   = domain.Unauthenticatedf("token was issued in the future; compare the clocks of the two machines")
	errTokenLife    = domain.Unauthenticatedf("token: want iss, aud, iat and exp, the last two at most 24 hours apart")
	errTokenIssuer  = domain.Unauthenticatedf("token: iss must be the number of an actor")
	errTokenRevoked = domain.Unauthenticatedf("token was revoked; make a new one with `ramet token` (after all of an actor were, those of the next minute " +
		"are refused too)")
	errTokenScope = domain.Unauthenticatedf("token is narrowed by its claim ramet in a way that this node does not know: want contexts, read_only, " +
		"groups and name")
	errTokenCrit  = domain.Unauthenticatedf("token: its header must have alg EdDSA, typ JWT or none, and no crit: this node knows no extensions")
	errTokenTwice = domain.Unauthenticatedf("token: a name is there twice, or in another case than it is known by")
)

// Claims are what a token says, besides who signed it and for whom, if it says
// more than that.
type Claims struct {
	domain.Scope
	// Name says for people what the token is for.
	Name string `json:"name,omitzero"`
}

// tokenClaims is a token's payload.
//
// All that takes something away from a token stands in the claim "ramet", and a
// node that does not know a name in there refuses the token: what a newer
// version narrows, an older one must not take for whole. Other claims may only
// tell, and are passed over.
type tokenClaims struct {
	jwt.RegisteredClaims
	Ramet json.RawMessage `json:"ramet,omitzero"`
}

// Mint makes a token by which the key's actor proves itself to the node called
// audience, from now on for life (up to [MaxTokenLife]), for all that it may.
//
// Errors: [domain.ErrInvalid].
func Mint(k Key, audience string, now time.Time, life time.Duration) (string, error) {
	return MintFor(k, audience, now, life, Claims{})
}

// MintFor is [Mint] of a token that says more: how far it goes, what it is for.
//
// Errors: [domain.ErrInvalid].
func MintFor(k Key, audience string, now time.Time, life time.Duration, c Claims) (string, error) {
	switch {
	case k.Actor == 0:
		return "", domain.Invalidf("the key belongs to no actor yet; register it with `ramet actor new`")
	case audience == "":
		return "", domain.Invalidf("a token is for one node: name it")
	case life < time.Second || life > MaxTokenLife:
		return "", domain.Invalidf("a token's life of %v: want 1s to %v", life, MaxTokenLife)
	}
	if err := cmp.Or(c.Scope.Validate(), domain.ValidateTokenName(c.Name)); err != nil {
		return "", err
	}
	claims := tokenClaims{RegisteredClaims: jwt.RegisteredClaims{
		Issuer:    strconv.FormatUint(uint64(k.Actor), 10),
		Audience:  jwt.ClaimStrings{audience},
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(life)),
		ID:        strings.ToLower(rand.Text()[:tokenIDLen]),
	}}
	if c.Narrow() || c.Name != "" {
		text, err := json.Marshal(c)
		if err != nil {
			return "", err
		}
		claims.Ramet = text
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	text, err := t.SigningString()
	if err != nil {
		return "", domain.Invalidf("write a token: %v", err)
	}
	sig, err := sign(k.private, aToken, []byte(text))
	token := text + "." + t.EncodeSegment(sig)
	if err == nil && len(token) > maxToken {
		err = domain.Invalidf("the token has %d bytes, the limit is %d: name fewer contexts and groups", len(token), maxToken)
	}
	return token, err
}

// Proof is what a caller has proven: who it is, and how far that goes. At a
// local socket it is the actor alone.
type Proof struct {
	Actor domain.ActorID
	// Scope narrows what the actor may; nil: it does not.
	Scope *domain.Scope
	// Token is the id of the token that proved it, "" where there was none; the
	// rest is what it says, and by which public key it was signed.
	Token               string
	Name                string
	IssuedAt, ExpiresAt time.Time
	Pubkey              string
}

// Holder is what a node must know of whom a token names.
type Holder struct {
	domain.Actor
	Revoked Revoked
}

// Verifier checks tokens.
type Verifier struct {
	// Node is the name that tokens must be for.
	Node string
	// Holder looks up who a token names.
	Holder func(ctx context.Context, id domain.ActorID) (Holder, error)
}

// Verify returns what a token proves.
//
// Errors: [domain.ErrUnauthenticated]; [domain.ErrUnavailable] when the board cannot
// be asked.
func (v Verifier) Verify(ctx context.Context, token string) (Proof, error) {
	if token == "" {
		return Proof{}, errNoToken
	}
	if len(token) > maxToken {
		return Proof{}, errTokenForm
	}
	if err := checkTokenText(token); err != nil {
		return Proof{}, err
	}
	var claims tokenClaims
	var holder Holder
	var lookup error // the board's own trouble must not read as a bad token
	parsed, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (key any, err error) {
		holder, key, err = v.publicKey(ctx, claims.Issuer)
		lookup = unanswered(ctx, err)
		return key, err
	}, jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithAudience(v.Node),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(Leeway), jwt.WithStrictDecoding())
	if lookup != nil {
		return Proof{}, lookup
	}
	if err != nil {
		return Proof{}, v.refusal(err)
	}
	if claims.IssuedAt == nil || claims.ExpiresAt.Sub(claims.IssuedAt.Time) > MaxTokenLife ||
		time.Until(claims.ExpiresAt.Time) > MaxTokenLife+Leeway {
		return Proof{}, errTokenLife
	}
	p := Proof{Actor: holder.ID, IssuedAt: claims.IssuedAt.Time, ExpiresAt: claims.ExpiresAt.Time, Pubkey: holder.Pubkey}
	p.Token = tokenID(claims.ID, parsed.Raw)
	if claims.Ramet != nil {
		c, err := readClaims(claims.Ramet)
		if err != nil {
			return Proof{}, err
		}
		p.Name, p.Scope = c.Name, &c.Scope
	}
	if err := p.Stands(holder); err != nil {
		return Proof{}, err
	}
	return p, nil
}

// Stands reports whether what was proven still is: the token has not run out,
// its actor has the key that signed it, and it was not revoked.
//
// Errors: [domain.ErrUnauthenticated].
func (p Proof) Stands(h Holder) error {
	switch {
	case p.Token == "":
		return nil
	case time.Since(p.ExpiresAt) > Leeway:
		return errTokenExpired
	case h.Pubkey != p.Pubkey:
		return errTokenBad
	case h.Revoked.Has(p):
		return errTokenRevoked
	}
	return nil
}

// tokenIDLen is the length of the ids that we make: 80 bits.
const tokenIDLen = 16

// tokenID is the id that a token has, jti; one that has none, or one that is
// none of ours, is named by what is signed of it.
func tokenID(jti, token string) string {
	if domain.ValidateTokenID(jti) == nil {
		return jti
	}
	signed := token[:strings.LastIndexByte(token, '.')]
	sum := sha256.Sum256([]byte(signed))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// readClaims reads the claim by which a token is narrowed.
func readClaims(text []byte) (c Claims, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var said map[string]json.RawMessage
	if dec.Decode(&c) != nil || json.Unmarshal(text, &said) != nil || said == nil {
		return c, errTokenScope
	}
	// A list that is there and empty allows nothing, and so does null; neither
	// must read as what was not said.
	for _, value := range said {
		if text := string(bytes.TrimSpace(value)); text == "null" || text == "[]" {
			return c, errTokenScope
		}
	}
	if c.Scope.Validate() != nil || domain.ValidateTokenName(c.Name) != nil ||
		said["contexts"] != nil && len(c.Scope.Contexts) == 0 || said["groups"] != nil && len(c.Scope.Groups) == 0 {
		return c, errTokenScope
	}
	return c, nil
}

// unanswered is the error of a caller whose token could not be judged, as nobody
// knows who it names; nil where that is known, or where it is known that nobody
// is named. A record that is spoiled proves nothing, and is no trouble of the board.
func unanswered(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, domain.ErrNotFound), errors.Is(err, domain.ErrInvalid), errors.Is(err, domain.ErrUnauthenticated):
		return nil
	case ctx.Err() != nil, errors.Is(err, domain.ErrUnavailable):
		return err
	}
	// A deadline of the board's driver is one: the caller's own has not passed.
	return domain.Unavailablef("it cannot be looked up who the token names, so nothing was done: %v", err)
}

// refusal turns the library's errors into ours. A signature is judged first,
// so what is said of a token's content is said to whoever could sign it.
func (v Verifier) refusal(err error) error {
	switch {
	case errors.Is(err, errTokenIssuer):
		return errTokenIssuer
	case errors.Is(err, jwt.ErrTokenMalformed):
		return errTokenForm
	case errors.Is(err, jwt.ErrTokenUnverifiable), errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return errTokenBad
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return errTokenLife
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return domain.Unauthenticatedf("token is for another node: its aud must be %q", v.Node)
	case errors.Is(err, jwt.ErrTokenExpired):
		return errTokenExpired
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued), errors.Is(err, jwt.ErrTokenNotValidYet):
		return errTokenEarly
	}
	return errTokenForm
}

func (v Verifier) publicKey(ctx context.Context, issuer string) (Holder, ed25519.PublicKey, error) {
	id, err := parseIssuer(issuer)
	if err != nil {
		return Holder{}, nil, err
	}
	h, err := v.Holder(ctx, id)
	if err != nil {
		return Holder{}, nil, err
	}
	key, err := hex.DecodeString(h.Pubkey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return Holder{}, nil, errTokenBad // a record that a foreign program wrote wrongly
	}
	h.ID = id
	return h, key, nil
}

// parseIssuer reads an actor's number written the one canonical way.
func parseIssuer(s string) (domain.ActorID, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, errTokenIssuer
	}
	return domain.ActorID(n), nil
}
