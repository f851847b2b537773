package identity

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ramet-run/ramet/domain"
)

// Limits of a token.
const (
	MaxTokenLife = 24 * time.Hour
	// Leeway is how far two clocks may be apart.
	Leeway = time.Minute
	// maxToken bounds a token's length in bytes: ours have about 250.
	maxToken = 2 << 10
)

// ErrUnauthenticated says that a caller could not prove who it is. It is a
// [domain.ErrForbidden].
var ErrUnauthenticated = domain.Forbiddenf("not authenticated")

// tokenError is an ErrUnauthenticated that says what to do.
type tokenError struct{ text string }

func (e *tokenError) Error() string { return e.text }
func (e *tokenError) Unwrap() error { return ErrUnauthenticated }

// The refusals of a token. An unknown actor and a wrong signature read the
// same, so that nobody can find out which actors exist.
var (
	errNoToken      = &tokenError{"no token: send `Authorization: Bearer <token>`; `ramet token` makes one"}
	errTokenForm    = &tokenError{"token: not a JWT signed with EdDSA; `ramet token` makes one"}
	errTokenBad     = &tokenError{"token: its signature is not that of the actor it names"}
	errTokenExpired = &tokenError{"token has expired; make a new one with `ramet token`"}
	errTokenEarly   = &tokenError{"token was issued in the future; compare the clocks of the two machines"}
	errTokenLife    = &tokenError{"token: want iss, aud, iat and exp, the last two at most 24 hours apart"}
	errTokenIssuer  = &tokenError{"token: iss must be the number of an actor"}
)

// Mint makes a token by which the key's actor proves itself to the node called
// audience, from now on for life (up to [MaxTokenLife]).
//
// Errors: [domain.ErrInvalid].
func Mint(k Key, audience string, now time.Time, life time.Duration) (string, error) {
	switch {
	case k.Actor == 0:
		return "", domain.Invalidf("the key belongs to no actor yet; register it with `ramet actor new`")
	case audience == "":
		return "", domain.Invalidf("a token is for one node: name it")
	case life < time.Second || life > MaxTokenLife:
		return "", domain.Invalidf("a token's life of %v: want 1s to %v", life, MaxTokenLife)
	}
	claims := jwt.RegisteredClaims{
		Issuer:    strconv.FormatUint(uint64(k.Actor), 10),
		Audience:  jwt.ClaimStrings{audience},
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(life)),
	}
	return jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(k.private)
}

// Verifier checks tokens.
type Verifier struct {
	// Node is the name that tokens must be for.
	Node string
	// Actor looks up who a token names.
	Actor func(ctx context.Context, id domain.ActorID) (domain.Actor, error)
}

// Verify returns the actor that a token proves.
//
// Errors: [ErrUnauthenticated]; [domain.ErrUnavailable] when the board cannot
// be asked.
func (v Verifier) Verify(ctx context.Context, token string) (domain.ActorID, error) {
	if token == "" {
		return 0, errNoToken
	}
	if len(token) > maxToken {
		return 0, errTokenForm
	}
	var claims jwt.RegisteredClaims
	var lookup error // the board's own trouble must not read as a bad token
	_, err := jwt.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		key, err := v.publicKey(ctx, claims.Issuer)
		if errors.Is(err, domain.ErrUnavailable) || ctx.Err() != nil {
			lookup = cmp.Or(err, ctx.Err())
		}
		return key, err
	}, jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithAudience(v.Node),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(Leeway), jwt.WithStrictDecoding())
	if lookup != nil {
		return 0, lookup
	}
	if err != nil {
		return 0, v.refusal(err)
	}
	if claims.IssuedAt == nil || claims.ExpiresAt.Sub(claims.IssuedAt.Time) > MaxTokenLife ||
		time.Until(claims.ExpiresAt.Time) > MaxTokenLife+Leeway {
		return 0, errTokenLife
	}
	return parseIssuer(claims.Issuer)
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
		return &tokenError{"token is for another node: its aud must be " + strconv.Quote(v.Node)}
	case errors.Is(err, jwt.ErrTokenExpired):
		return errTokenExpired
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued), errors.Is(err, jwt.ErrTokenNotValidYet):
		return errTokenEarly
	}
	return errTokenForm
}

func (v Verifier) publicKey(ctx context.Context, issuer string) (ed25519.PublicKey, error) {
	id, err := parseIssuer(issuer)
	if err != nil {
		return nil, err
	}
	a, err := v.Actor(ctx, id)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(a.Pubkey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errTokenBad // a record that a foreign program wrote wrongly
	}
	return key, nil
}

// parseIssuer reads an actor's number written the one canonical way.
func parseIssuer(s string) (domain.ActorID, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, errTokenIssuer
	}
	return domain.ActorID(n), nil
}
