package http_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/api/apitest"
	"github.com/ramet-run/ramet/identity"
)

// ask sends an operation as the table has it and returns the status and the
// problem's code. Streams are not asked for.
func (r *rig) ask(client *nethttp.Client, url string, o *api.Operation, who apitest.Who, token string) (status int, code string) {
	r.Helper()
	path, body := apitest.Request(o, who.Context)
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	req, err := nethttp.NewRequestWithContext(ctx, o.Method, url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	switch token {
	case "":
	case r.cookie.Text():
		req.Header.Set("Authorization", identity.CookieScheme+" "+token)
	default:
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	var p api.Problem
	if resp.StatusCode >= 400 {
		if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
			r.Errorf("%s: %v", o.Name, err)
		}
	}
	return resp.StatusCode, p.Code
}

// TestTheTableOfRightsThroughTheDoor asks every operation as everybody, with
// real tokens; and at the local socket, where the cookie is the operator's and
// being the same user is nothing.
func TestTheTableOfRightsThroughTheDoor(t *testing.T) {
	for _, fault := range apitest.Faults() {
		t.Error(fault)
	}
	r := newRig(t)
	socket := r.listenSocket()
	local := &nethttp.Client{Transport: &nethttp.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	t.Cleanup(local.CloseIdleConnections)
	judge := func(how string, o *api.Operation, who apitest.Who, status int, code string) {
		t.Helper()
		switch {
		case status == 500:
			t.Errorf("%s as %s%s: got %d %s", o.Name, who.Name, how, status, code)
		case who.May(o.Name):
			if status == 401 || status == 403 {
				t.Errorf("%s as %s%s: got %d, but the table allows it", o.Name, who.Name, how, status)
			}
		case who.Actor == apitest.Nobody:
			if status != 401 || code != "unauthenticated" {
				t.Errorf("%s as %s%s: got %d %s, want 401", o.Name, who.Name, how, status, code)
			}
		case status != 403 || code != "forbidden":
			t.Errorf("%s as %s%s: got %d %s, want 403", o.Name, who.Name, how, status, code)
		}
	}
	for i := range api.Operations {
		o := &api.Operations[i]
		for _, who := range apitest.Everybody {
			token := ""
			if who.Actor != apitest.Nobody {
				token = r.token(who.Actor)
			}
			status, code := r.ask(r.server.Client(), r.server.URL, o, who, token)
			judge("", o, who, status, code)
			switch who.Actor {
			case apitest.Operator:
				status, code = r.ask(local, "http://socket", o, who, r.cookie.Text())
				judge(" by the socket with the cookie", o, who, status, code)
				if status, _ := r.ask(r.server.Client(), r.server.URL, o, who, r.cookie.Text()); status != 401 {
					t.Errorf("%s over TCP with the cookie: got %d, want 401", o.Name, status)
				}
			case apitest.Nobody:
				status, code = r.ask(local, "http://socket", o, who, "")
				judge(" by the socket", o, who, status, code)
				status, code = r.ask(local, "http://socket", o, who, identity.NewCookie().Text())
				judge(" by the socket with another cookie", o, who, status, code)
			}
		}
	}
}

// TestNoOperationBelievesABadToken asks every operation with tokens that an
// admin's would be but for one thing.
func TestNoOperationBelievesABadToken(t *testing.T) {
	r := newRig(t)
	key := r.keys[apitest.Admin]
	mint := func(k identity.Key, audience string, from time.Time, life time.Duration) string {
		token, err := identity.Mint(k, audience, from, life)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	now := time.Now()
	whole := mint(key, "n1", now, time.Hour)
	stranger, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	stranger.Actor = apitest.Admin
	unknown := stranger
	unknown.Actor = 4242
	claims := jwt.MapClaims{"iss": "10", "aud": "n1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	hs256, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(key.Pubkey()))
	if err != nil {
		t.Fatal(err)
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	own := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	own.Header["jwk"] = map[string]string{"kty": "OKP", "crv": "Ed25519", "x": "x"}
	own.Header["kid"] = "../../../dev/null"
	brought, err := own.SignedString(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"expired":                      mint(key, "n1", now.Add(-2*time.Hour), time.Hour),
		"not valid yet":                mint(key, "n1", now.Add(2*time.Hour), time.Hour),
		"for another node":             mint(key, "n2", now, time.Hour),
		"of another key":               mint(stranger, "n1", now, time.Hour),
		"of an actor who is not known": mint(unknown, "n1", now, time.Hour),
		"without a signature":          whole[:strings.LastIndexByte(whole, '.')+1],
		"with alg none":                none,
		"signed with the public key":   hs256,
		"that brings its own key":      brought,
		"of nothing":                   "x",
	} {
		for i := range api.Operations {
			o := &api.Operations[i]
			if status, code := r.ask(r.server.Client(), r.server.URL, o, apitest.Who{Actor: apitest.Admin, Context: apitest.House},
				token); status != 401 || code != "unauthenticated" {
				t.Errorf("%s with a token %s: got %d %s, want 401", o.Name, name, status, code)
			}
		}
	}
	if status, _ := r.ask(r.server.Client(), r.server.URL, api.Named("node.info"), apitest.Who{}, whole); status != 200 {
		t.Errorf("the whole token: got %d", status)
	}
}
