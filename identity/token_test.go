package identity_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// forge signs any claims with any header.
func forge(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	s, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTokens(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(nil)
	_, other, _ := ed25519.GenerateKey(nil)
	v := identity.Verifier{Node: "n1", Actor: func(_ context.Context, id domain.ActorID) (domain.Actor, error) {
		if id != 12 {
			return domain.Actor{}, domain.NotFoundf("actor %d does not exist", id)
		}
		return domain.Actor{ID: 12, Pubkey: hex.EncodeToString(public)}, nil
	}}
	now := time.Now()
	good := jwt.MapClaims{"iss": "12", "aud": "n1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	with := func(name string, value any) jwt.MapClaims {
		c := maps.Clone(good)
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	signed := func(c jwt.MapClaims) string { return forge(t, jwt.SigningMethodEdDSA, private, c) }
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	whole := signed(good)
	head, rest, _ := strings.Cut(whole, ".")
	body, sig, _ := strings.Cut(rest, ".")
	grown := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"12","aud":"n1","iat":1,"exp":99999999999}`))

	for _, c := range []struct{ name, token, want string }{
		{"a good one", whole, ""},
		{"one for several nodes", signed(with("aud", []string{"n0", "n1"})), ""},
		{"clocks half a minute apart, behind", signed(with("exp", at(-30*time.Second))), ""},
		{"clocks half a minute apart, ahead", signed(with("iat", at(30*time.Second))), ""},
		{"none", "", "no token"},
		{"rubbish", "abc", "not a JWT"},
		{"a very long one", strings.Repeat("a", 1<<20), "not a JWT"},
		{"alg none", forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good), "signature"},
		{"HS256 keyed with the public key", forge(t, jwt.SigningMethodHS256, []byte(public), good), "signature"},
		{"HS256 keyed with its hex", forge(t, jwt.SigningMethodHS256, []byte(hex.EncodeToString(public)), good), "signature"},
		{"another's key", forge(t, jwt.SigningMethodEdDSA, other, good), "signature"},
		{"an actor who does not exist", signed(with("iss", "13")), "signature"},
		{"a changed body", head + "." + grown + "." + sig, "signature"},
		{"a cut signature", head + "." + body + ".", "signature"},
		{"another node's", signed(with("aud", "n2")), `aud must be "n1"`},
		{"no aud", signed(with("aud", nil)), "want iss, aud"},
		{"expired", signed(with("exp", at(-2*time.Minute))), "expired"},
		{"no exp", signed(with("exp", nil)), "iat and exp"},
		{"exp more than a day after iat", signed(with("exp", at(25*time.Hour))), "24 hours"},
		{"exp in years", signed(with("exp", at(10*365*24*time.Hour))), "24 hours"},
		{"exp is a word", signed(with("exp", "never")), "not a JWT"},
		{"no iat", signed(with("iat", nil)), "iat and exp"},
		{"issued in the future", signed(with("iat", at(2*time.Minute))), "future"},
		{"not valid yet", signed(with("nbf", at(2*time.Minute))), "future"},
		{"no iss", signed(with("iss", nil)), "iss must be"},
		{"iss 0", signed(with("iss", "0")), "iss must be"},
		{"iss written another way", signed(with("iss", "012")), "iss must be"},
		{"iss beyond u32", signed(with("iss", "4294967308")), "iss must be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := v.Verify(t.Context(), c.token)
			if c.want == "" {
				if err != nil || got != 12 {
					t.Errorf("got actor %d, %v", got, err)
				}
				return
			}
			if !errors.Is(err, identity.ErrUnauthenticated) || !errors.Is(err, domain.ErrForbidden) || got != 0 {
				t.Fatalf("got actor %d, %v, want a refusal", got, err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want it to say %q", err, c.want)
			}
		})
	}
}

func TestABoardInTroubleIsNoBadToken(t *testing.T) {
	key, _ := identity.NewKey()
	key.Actor = 12
	token, err := identity.Mint(key, "n1", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	v := identity.Verifier{Node: "n1", Actor: func(context.Context, domain.ActorID) (domain.Actor, error) {
		return domain.Actor{}, domain.Unavailablef("redis is away")
	}}
	if _, err := v.Verify(t.Context(), token); !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrForbidden) {
		t.Errorf("got %v", err)
	}
}

func TestMint(t *testing.T) {
	key, _ := identity.NewKey()
	now := time.Now()
	if _, err := identity.Mint(key, "n1", now, time.Hour); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a key of nobody: got %v", err)
	}
	key.Actor = 12
	for _, life := range []time.Duration{0, time.Millisecond, 25 * time.Hour} {
		if _, err := identity.Mint(key, "n1", now, life); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("life %v: got %v", life, err)
		}
	}
	token, err := identity.Mint(key, "n1", now, identity.MaxTokenLife)
	if err != nil {
		t.Fatal(err)
	}
	v := identity.Verifier{Node: "n1", Actor: func(context.Context, domain.ActorID) (domain.Actor, error) {
		return domain.Actor{ID: 12, Pubkey: key.Pubkey()}, nil
	}}
	if got, err := v.Verify(t.Context(), token); got != 12 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}
