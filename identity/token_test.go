package identity_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
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
	v := identity.Verifier{Node: "n1", Holder: func(_ context.Context, id domain.ActorID) (identity.Holder, error) {
		if id != 12 {
			return identity.Holder{}, domain.NotFoundf("actor %d does not exist", id)
		}
		return identity.Holder{Actor: domain.Actor{ID: 12, Pubkey: hex.EncodeToString(public)}}, nil
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
	// A signature with the group's order added to its second half: the same
	// number, another text.
	twisted := func() string {
		raw, err := base64.RawURLEncoding.DecodeString(sig)
		if err != nil {
			t.Fatal(err)
		}
		order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
		half := slices.Clone(raw[32:])
		slices.Reverse(half) // little-endian
		sum := new(big.Int).Add(new(big.Int).SetBytes(half), order).FillBytes(make([]byte, 32))
		slices.Reverse(sum)
		return base64.RawURLEncoding.EncodeToString(append(raw[:32:32], sum...))
	}()
	// headed signs the good claims under a header of the forger's.
	headed := func(key any, header map[string]any) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, good)
		maps.Copy(token.Header, header)
		s, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := func(header, claims string) string {
		h, c := base64.RawURLEncoding.EncodeToString([]byte(header)), base64.RawURLEncoding.EncodeToString([]byte(claims))
		return h + "." + c + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(h+"."+c)))
	}
	const headEdDSA = `{"alg":"EdDSA","typ":"JWT"}`
	signedText := func(claims string) string { return text(headEdDSA, claims) }
	plain := fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":%d}`, now.Unix(), at(time.Hour))
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
		{"HS512 keyed with the public key", forge(t, jwt.SigningMethodHS512, []byte(public), good), "signature"},
		{"ES256 with a key of one's own", forge(t, jwt.SigningMethodES256, ecKey, good), "signature"},
		{"alg written another way", text(`{"alg":"eddsa","typ":"JWT"}`, `{}`), "signature"},
		{"no alg", text(`{"typ":"JWT"}`, `{}`), "signature"},
		{"alg is a list", text(`{"alg":["EdDSA"]}`, `{}`), "signature"},
		{"a key in the header", headed(other, map[string]any{"jwk": map[string]any{"kty": "OKP", "crv": "Ed25519",
			"x": base64.RawURLEncoding.EncodeToString(other.Public().(ed25519.PublicKey))}}), "signature"},
		{"a kid that names another key", headed(other, map[string]any{"kid": "13"}), "signature"},
		{"a kid that is a path", headed(other, map[string]any{"kid": "../../../../dev/null"}), "signature"},
		{"a kid that asks a database", headed(other, map[string]any{"kid": "x' UNION SELECT 'key"}), "signature"},
		{"a URL to fetch a key from", headed(other, map[string]any{"jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/cert"}), "signature"},
		{"a kid beside the right key changes nothing", headed(private, map[string]any{"kid": "13"}), ""},
		{"a signature twisted by the group's order", head + "." + body + "." + twisted, "signature"},
		{"four parts", whole + ".x", "not a JWT"},
		{"padded base64", head + "." + body + "." + sig + "==", "not a JWT"},
		{"a blank in it", head + ". " + body + "." + sig, "not a JWT"},
		{"claims that are no object", text(headEdDSA, `"12"`), "not a JWT"},
		{"iss is a number", text(headEdDSA, `{"iss":12,"aud":"n1"}`), "not a JWT"},
		{"iss twice, once another's", text(headEdDSA, fmt.Sprintf(`{"iss":"12","iss":"13","aud":"n1","iat":%d,"exp":%d}`, now.Unix(), at(time.Hour))), "twice"},
		{"iss in capitals too", text(headEdDSA, fmt.Sprintf(`{"iss":"13","ISS":"12","aud":"n1","iat":%d,"exp":%d}`, now.Unix(), at(time.Hour))), "twice"},
		{"iss in capitals only", text(headEdDSA, fmt.Sprintf(`{"ISS":"12","aud":"n1","iat":%d,"exp":%d}`, now.Unix(), at(time.Hour))), "another case"},
		{"exp twice", text(headEdDSA, fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":1,"exp":%d}`, now.Unix(), at(time.Hour))), "twice"},
		{"ramet twice, once escaped", text(headEdDSA,
			fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":%d,"ramet":{"read_only":true},"ram\u0065t":{}}`, now.Unix(), at(time.Hour))), "twice"},
		{"a name twice deep inside", signedText(fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":%d,"x":[{"y":{"a":1,"a":2}}]}`, now.Unix(),
			at(time.Hour))), "twice"},
		{"alg twice", text(`{"alg":"none","alg":"EdDSA","typ":"JWT"}`, plain), "twice"},
		{"alg in capitals", text(`{"ALG":"none","alg":"EdDSA"}`, plain), "twice"},
		{"no typ", text(`{"alg":"EdDSA"}`, plain), ""},
		{"typ in small letters", text(`{"alg":"EdDSA","typ":"jwt"}`, plain), ""},
		{"typ of something else that is signed", text(`{"alg":"EdDSA","typ":"ramet-message"}`, plain), "typ JWT"},
		{"typ is a number", text(`{"alg":"EdDSA","typ":7}`, plain), "typ JWT"},
		{"crit names what nobody knows", text(`{"alg":"EdDSA","crit":["moon"],"moon":true}`, plain), "no crit"},
		{"crit names what is there", text(`{"alg":"EdDSA","typ":"JWT","crit":["typ"]}`, plain), "no crit"},
		{"crit is empty", text(`{"alg":"EdDSA","crit":[]}`, plain), "no crit"},
		{"crit in capitals", text(`{"alg":"EdDSA","Crit":["moon"]}`, plain), "another case"},
		{"more behind the header", text(`{"alg":"EdDSA"} {"alg":"EdDSA"}`, plain), "not a JWT"},
		{"nested without end", text(headEdDSA, `{"x":`+strings.Repeat("[", 500)+strings.Repeat("]", 500)+"}"), "not a JWT"},
		{"an unknown claim that only tells", signed(with("department", "sales")), ""},
		{"a jti of any kind", signed(with("jti", "{not one of ours}")), ""},
		{"a jti that is a number", signed(with("jti", 7)), "not a JWT"},
		{"narrowed by something newer", signed(with("ramet", map[string]any{"read_only": true, "moon": "full"})), "does not know"},
		{"narrowed by a word", signed(with("ramet", "read_only")), "does not know"},
		{"narrowed by a list", signed(with("ramet", []string{"read_only"})), "does not know"},
		{"narrowed to no contexts", signed(with("ramet", map[string]any{"contexts": []int{}})), "does not know"},
		{"narrowed to no groups", signed(with("ramet", map[string]any{"groups": []string{}})), "does not know"},
		{"narrowed to null contexts", signed(with("ramet", map[string]any{"contexts": nil})), "does not know"},
		{"narrowed to null groups", signed(with("ramet", map[string]any{"groups": nil})), "does not know"},
		{"read-only is null", signed(with("ramet", map[string]any{"read_only": nil})), "does not know"},
		{"narrowed to context 0", signed(with("ramet", map[string]any{"contexts": []int{0}})), "does not know"},
		{"narrowed to a context that is a text", signed(with("ramet", map[string]any{"contexts": []string{"7"}})), "does not know"},
		{"narrowed to a group that is none", signed(with("ramet", map[string]any{"groups": []string{"*"}})), "does not know"},
		{"a name that moves cursors", signed(with("ramet", map[string]any{"name": "a\x1b[2J"})), "does not know"},
		{"ramet is null", text(headEdDSA, fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":%d,"ramet":null}`, now.Unix(), at(time.Hour))), "does not know"},
		{"exp beyond all numbers", text(headEdDSA, fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":1e300}`, now.Unix())), "expired"},
		{"exp below zero", signed(with("exp", -1)), "expired"},
		{"an empty aud", signed(with("aud", []string{})), "want iss, aud"},
		{"aud that contains the name", signed(with("aud", "n1x")), `aud must be "n1"`},
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
				if err != nil || got.Actor != 12 || got.Scope != nil || got.Token == "" {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if !errors.Is(err, domain.ErrUnauthenticated) || !errors.Is(err, domain.ErrForbidden) || got != (identity.Proof{}) {
				t.Fatalf("got %+v, %v, want a refusal", got, err)
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
	for _, trouble := range []error{domain.Unavailablef("redis is away"), context.DeadlineExceeded, fmt.Errorf("read: %w", context.DeadlineExceeded),
		context.Canceled, domain.Conflictf("this node has another key"), domain.Exhaustedf("the board is full"), errors.New("connection reset by peer")} {
		v := identity.Verifier{Node: "n1", Holder: func(context.Context, domain.ActorID) (identity.Holder, error) {
			return identity.Holder{}, trouble
		}}
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrForbidden) {
			t.Errorf("%v: got %v", trouble, err)
		}
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
	v := identity.Verifier{Node: "n1", Holder: func(context.Context, domain.ActorID) (identity.Holder, error) {
		return identity.Holder{Actor: domain.Actor{ID: 12, Pubkey: key.Pubkey()}}, nil
	}}
	if got, err := v.Verify(t.Context(), token); got.Actor != 12 || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}
