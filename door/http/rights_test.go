package http_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// ask sends an operation as the table has it and returns the status and the
// problem's code. Streams are not asked for.
func (r *rig) ask(client *nethttp.Client, url string, o *service.Operation, who servicetest.Who, token string) (status int, code string) {
	r.Helper()
	path, body := servicetest.Request(o, who.Context)
	return r.answerOf(client, o.Method, url+path, body, token)
}

// answerOf is ask of any request.
func (r *rig) answerOf(client *nethttp.Client, method, url, body, token string) (status int, code string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	req, err := nethttp.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	switch token {
	case "":
	case r.cookie.Text():
		req.Header.Set("Authorization", cookie.Scheme+" "+token)
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
			r.Errorf("%s %s: %v", method, url, err)
		}
	}
	return resp.StatusCode, p.Code
}

// TestTheTableOfRightsThroughTheDoor asks every operation as everybody, with
// real tokens; and at the local socket, where the cookie is the operator's and
// being the same user is nothing.
func TestTheTableOfRightsThroughTheDoor(t *testing.T) {
	for _, fault := range servicetest.Faults() {
		t.Error(fault)
	}
	r := newRig(t)
	socket := r.listenSocket()
	local := &nethttp.Client{Transport: &nethttp.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	t.Cleanup(local.CloseIdleConnections)
	judge := func(how string, o *service.Operation, who servicetest.Who, status int, code string) {
		t.Helper()
		switch {
		case status == 500 || !said(o, status, code):
			t.Errorf("%s as %s%s: got %d %s", o.Name, who.Name, how, status, code)
		case who.May(o.Name):
			if status == 401 || status == 403 {
				t.Errorf("%s as %s%s: got %d, but the table allows it", o.Name, who.Name, how, status)
			}
		case who.Actor == servicetest.Nobody:
			if status != 401 || code != "unauthenticated" {
				t.Errorf("%s as %s%s: got %d %s, want 401", o.Name, who.Name, how, status, code)
			}
		case status != 403 || code != "forbidden":
			t.Errorf("%s as %s%s: got %d %s, want 403", o.Name, who.Name, how, status, code)
		}
	}
	for i := range service.Operations {
		o := &service.Operations[i]
		for _, who := range servicetest.Everybody {
			token := ""
			if who.Actor != servicetest.Nobody {
				token = r.token(who.Actor)
			}
			status, code := r.ask(r.server.Client(), r.server.URL, o, who, token)
			judge("", o, who, status, code)
			switch who.Actor {
			case servicetest.Operator:
				status, code = r.ask(local, "http://socket", o, who, r.cookie.Text())
				judge(" by the socket with the cookie", o, who, status, code)
				if status, _ := r.ask(r.server.Client(), r.server.URL, o, who, r.cookie.Text()); status != 401 {
					t.Errorf("%s over TCP with the cookie: got %d, want 401", o.Name, status)
				}
			case servicetest.Nobody:
				status, code = r.ask(local, "http://socket", o, who, "")
				judge(" by the socket", o, who, status, code)
				status, code = r.ask(local, "http://socket", o, who, cookie.New().Text())
				judge(" by the socket with another cookie", o, who, status, code)
			}
		}
	}
}

// TestNoOperationBelievesABadToken asks every operation with tokens that an
// admin's would be but for one thing.
func TestNoOperationBelievesABadToken(t *testing.T) {
	r := newRig(t)
	key := r.keys[servicetest.Admin]
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
	stranger.Actor = servicetest.Admin
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
		for i := range service.Operations {
			o := &service.Operations[i]
			if status, code := r.ask(r.server.Client(), r.server.URL, o, servicetest.Who{Actor: servicetest.Admin, Context: servicetest.House},
				token); status != 401 || code != "unauthenticated" {
				t.Errorf("%s with a token %s: got %d %s, want 401", o.Name, name, status, code)
			}
		}
	}
	if status, _ := r.ask(r.server.Client(), r.server.URL, service.Named("node.info"), servicetest.Who{}, whole); status != 200 {
		t.Errorf("the whole token: got %d", status)
	}
}

// said reports whether an operation ends well, or with a kind of error that it says.
func said(o *service.Operation, status int, code string) bool {
	return status < 400 || slices.ContainsFunc(o.Kinds(), func(kind error) bool {
		f, _ := api.FailureOf(kind)
		return f.Word == code
	})
}

// TestExamplesRun sends the example of every operation as somebody who may: it is understood,
// and answered in words, also where what it names is not there.
func TestExamplesRun(t *testing.T) {
	r := newRig(t)
	for _, o := range service.Operations {
		if o.Name == "token.note" {
			continue // its token is signed by nobody
		}
		var who servicetest.Who
		for _, w := range servicetest.Everybody {
			if w.May(o.Name) && w.Context == servicetest.House {
				who = w
				break
			}
		}
		path, query, fields := o.Write(o.Example)
		body := []byte{}
		if fields != nil {
			var err error
			if body, err = json.Marshal(fields); err != nil {
				t.Fatal(err)
			}
		}
		status, code := r.answerOf(r.server.Client(), o.Method, r.server.URL+path+"?"+query.Encode(), string(body), r.token(who.Actor))
		if !said(&o, status, code) || status == nethttp.StatusBadRequest || status >= 500 && status != nethttp.StatusServiceUnavailable ||
			status == nethttp.StatusForbidden {
			t.Errorf("%s as %s, %s %s %s: got %d %s", o.Name, who.Name, o.Method, path, body, status, code)
		}
	}
}
