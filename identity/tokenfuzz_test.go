package identity_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// fuzzHolder is the actor 12 of a node n1, who has one key in all runs of a fuzz
// test: what it finds is found again.
func fuzzHolder() (identity.Verifier, ed25519.PrivateKey) {
	seed := sha256.Sum256([]byte("token"))
	private := ed25519.NewKeyFromSeed(seed[:])
	pubkey := hex.EncodeToString(private.Public().(ed25519.PublicKey))
	return identity.Verifier{Node: "n1", Holder: func(_ context.Context, id domain.ActorID) (identity.Holder, error) {
		if id != 12 {
			return identity.Holder{}, domain.NotFoundf("actor %d does not exist", id)
		}
		return identity.Holder{Actor: domain.Actor{ID: 12, Pubkey: pubkey}}, nil
	}}, private
}

// bubbleStart is the time at which every bubble begins.
const bubbleStart = 946_684_800 // 2000-01-01

// signedText is a token of any header and claims.
func signedText(key ed25519.PrivateKey, header, claims string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
}

// Nobody makes a token of another: the only text that is taken is, byte for byte,
// one that the key's holder signed.
func FuzzToken(f *testing.F) {
	v, key := fuzzHolder()
	var good []string
	for _, ramet := range []string{"", `,"ramet":{"contexts":[7],"read_only":true,"groups":["job"],"name":"ci"}`} {
		good = append(good, signedText(key, `{"alg":"EdDSA","typ":"JWT"}`,
			fmt.Sprintf(`{"iss":"12","aud":["n1"],"iat":%d,"exp":%d,"jti":"abc"%s}`, bubbleStart, bubbleStart+3600, ramet)))
	}
	for _, token := range good {
		f.Add(token)
		f.Add(token + "=")
		f.Add(token + ".")
		f.Add(strings.Replace(token, ".", "\n.", 1))
		f.Add(token[:len(token)-1] + "B")
	}
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		synctest.Test(t, func(t *testing.T) {
			p, err := v.Verify(t.Context(), token)
			switch {
			case err == nil && !slices.Contains(good, token):
				t.Errorf("%q is taken as %+v, and nobody signed it", token, p)
			case err != nil && slices.Contains(good, token):
				t.Errorf("%q: %v", token, err)
			case err != nil && !errors.Is(err, domain.ErrUnauthenticated):
				t.Errorf("%q: got %v, want one that says who is not authenticated", token, err)
			}
		})
	})
}

// What is taken of a token that its holder signed is what its text says, read by a
// reader that knows nothing of tokens: whose it is, for which node, how long, and
// how far it goes. What this node cannot know for sure it refuses.
func FuzzClaims(f *testing.F) {
	v, key := fuzzHolder()
	const header = `{"alg":"EdDSA","typ":"JWT"}`
	for _, more := range []string{"", `"ramet":{}`, `"ramet":{"contexts":[7,8]}`, `"ramet":{"contexts":[]}`, `"ramet":{"Contexts":[7]}`,
		`"ramet":{"read_only":true}`, `"ramet":{"read_only":null}`,
		`"ramet":{"groups":["job"],"name":"x"}`, `"ramet":{"until":1}`, `"Ramet":{"read_only":true}`, `"nbf":946684700`, `"jti":"../x"`,
		`"x":{"iss":"13"}`, `"iss":"13"`, `"ramet":null`, `"ramet":[]`} {
		claims := fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":%d`, bubbleStart, bubbleStart+3600)
		if more != "" {
			claims += "," + more
		}
		f.Add(header, claims+"}")
	}
	for _, times := range []string{`"iat":1e300,"exp":1e300`, `"iat":"946684800","exp":946684900`, `"iat":946684800,"exp":946771201`,
		`"exp":946684900`, `"iat":946684861,"exp":946684900`, `"iat":-1,"exp":946684739`} {
		f.Add(header, `{"iss":"12","aud":["n2","n1"],`+times+`}`)
	}
	for _, other := range []string{`{"alg":"none"}`, `{"alg":"EdDSA","crit":["exp"]}`, `{"alg":"EdDSA","typ":"at+jwt"}`,
		`{"alg":"EdDSA","Alg":"none"}`, `{"alg":"EdDSA","kid":"../../x","b64":false}`, `{}`, `[]`} {
		f.Add(other, fmt.Sprintf(`{"iss":"12","aud":"n1","iat":%d,"exp":%d}`, bubbleStart, bubbleStart+3600))
	}
	f.Fuzz(func(t *testing.T, header, claims string) {
		synctest.Test(t, func(t *testing.T) {
			p, err := v.Verify(t.Context(), signedText(key, header, claims))
			if err != nil {
				if !errors.Is(err, domain.ErrUnauthenticated) {
					t.Errorf("%s %s: got %v, want one that says who is not authenticated", header, claims, err)
				}
				return
			}
			if want := plainRead(header, claims); want != "" {
				t.Errorf("%s %s is taken as %+v: %s", header, claims, p, want)
			}
			if said := scopeSaid(claims); said != scopeTaken(p) {
				t.Errorf("%s is taken as %q, says %q", claims, scopeTaken(p), said)
			}
			if p.Actor != 12 || domain.ValidateTokenID(p.Token) != nil {
				t.Errorf("%s is taken as %+v", claims, p)
			}
		})
	})
}

// plainRead says why a token should have been refused, "" if it should not.
func plainRead(header, claims string) string {
	var h, c map[string]any
	if json.Unmarshal([]byte(header), &h) != nil || json.Unmarshal([]byte(claims), &c) != nil {
		return "it is no JSON"
	}
	if h["alg"] != "EdDSA" || h["crit"] != nil || h["typ"] != nil && !strings.EqualFold(fmt.Sprint(h["typ"]), "JWT") {
		return "its header"
	}
	for name := range c { // another reader might take the one for the other
		if lower := strings.ToLower(name); lower != name && c[lower] != nil {
			return "two readers"
		}
	}
	list, _ := c["aud"].([]any)
	iat, exp := seconds(c["iat"]), seconds(c["exp"])
	switch {
	case c["iss"] != "12":
		return "its issuer"
	case c["aud"] != "n1" && !slices.Contains(list, any("n1")):
		return "its audience"
	case !(iat <= bubbleStart+60 && exp > bubbleStart-60.5 && exp-iat <= 24*3600):
		return "its times"
	case c["nbf"] != nil && !(seconds(c["nbf"]) <= bubbleStart+60):
		return "its begin"
	}
	return ""
}

// seconds is a number, as a number or a text; not a number where there is none.
func seconds(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return n
		}
	}
	return math.NaN()
}

// scopeSaid and scopeTaken are how far a token goes, as its text says and as it was
// taken.
func scopeSaid(claims string) string {
	var c struct {
		Ramet map[string]any `json:"ramet"`
	}
	_ = json.Unmarshal([]byte(claims), &c)
	lower := map[string]any{}
	for name, value := range c.Ramet {
		lower[strings.ToLower(name)] = value
	}
	text := ""
	if list, ok := lower["contexts"].([]any); ok {
		text += fmt.Sprint(" contexts ", list)
	}
	if lower["read_only"] == true {
		text += " reading"
	}
	if list, ok := lower["groups"].([]any); ok {
		text += fmt.Sprint(" groups ", list)
	}
	return text
}

func scopeTaken(p identity.Proof) (text string) {
	if p.Scope == nil {
		return ""
	}
	if len(p.Scope.Contexts) > 0 {
		ids := make([]any, len(p.Scope.Contexts))
		for i, id := range p.Scope.Contexts {
			ids[i] = float64(id)
		}
		text += fmt.Sprint(" contexts ", ids)
	}
	if p.Scope.ReadOnly {
		text += " reading"
	}
	if len(p.Scope.Groups) > 0 {
		text += fmt.Sprint(" groups ", p.Scope.Groups)
	}
	return text
}
