package console_test

import (
	"encoding/json"
	nethttp "net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

func TestOneSignsInByTokenAndComesBack(t *testing.T) {
	r := newRig(t)
	b := r.stranger()
	a := b.get(401, "c/7/flows?status=error")
	b.has(a, "Sign in to n1", `value="/console/c/7/flows?status=error"`)
	a = b.post(200, "sign-in", "proof", r.token(reader), "next", "/console/c/7/flows?status=error")
	if got := a.Request.URL.RequestURI(); got != "/console/c/7/flows?status=error" {
		t.Errorf("got to %s", got)
	}
	b.has(a, "actor 30")
	b.get(200, "sign-in") // already is: the overview
	b.post(200, "sign-out")
	b.get(401, "c/7/flows")
}

func TestOneSignsInByKeyFile(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "key")
	if err := identity.SaveKey(file, r.keys[admin]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := r.stranger()
	b.has(b.post(200, "sign-in", "proof", string(text)), "actor 10")
	a := r.stranger().post(401, "sign-in", "proof", `{"private_key":"SECRET"}`)
	b.has(a, "this is no whole key file")
	b.hasNot(a, "SECRET")
}

func TestWhatProvesNothingIsRefusedInWords(t *testing.T) {
	r := newRig(t)
	other, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	other.Actor = admin
	forged, err := other.Token("n1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := r.keys[admin].Token("n2", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for proof, want := range map[string]string{"": "paste a token", "abc": "not a JWT", forged: "its signature is not that",
		elsewhere: "token is for another node"} {
		b := r.stranger()
		a := b.post(401, "sign-in", "proof", proof)
		b.has(a, want)
		if len(a.Cookies()) != 0 && a.Cookies()[0].Value != "" {
			t.Errorf("%.10q: got a cookie", proof)
		}
	}
}

func TestSessionCookie(t *testing.T) {
	r := newRig(t)
	b := r.as(reader)
	u, _ := url.Parse(r.server.URL + "/console/")
	if cookies := b.client.Jar.Cookies(u); len(cookies) != 1 || len(cookies[0].Value) != 64 {
		t.Errorf("got %v", cookies)
	}
	if u.Path = "/v1/"; len(b.client.Jar.Cookies(u)) != 0 {
		t.Error("the cookie goes to the operations, too")
	}
	b.send(401, "GET", "/v1/contexts", "") // which take none
}

func TestALinkSignsInOnce(t *testing.T) {
	r := newRig(t)
	b := r.stranger()
	b.send(401, "POST", "/console/link", "")
	a := b.send(200, "POST", "/console/link", "", "Authorization", "Bearer "+r.token(reader))
	var link api.ConsoleLink
	if err := json.Unmarshal([]byte(a.text), &link); err != nil || !strings.HasPrefix(link.URL, r.server.URL+"/console/enter?link=") || link.Seconds != 120 {
		t.Fatalf("got %s, %v", a.text, err)
	}
	_, secret, _ := strings.Cut(link.URL, "link=")
	for range 2 { // looking at a link does not use it up
		b.has(b.get(200, "enter?link="+secret), secret, "Continue")
	}
	b.has(b.post(200, "enter", "link", secret), "actor 30")
	b2 := r.stranger()
	b2.has(b2.post(401, "enter", "link", secret), "this link was used already")

	late, err := r.pages.Link(identity.Proof{Actor: domain.Operator}, "")
	if err != nil {
		t.Fatal(err)
	}
	r.now = func() time.Time { return time.Now().Add(3 * time.Minute) }
	_, secret, _ = strings.Cut(late.URL, "link=")
	b2.has(b2.post(401, "enter", "link", secret), "older than 2m")
}

func TestTheOperatorsLinkNeedsNoToken(t *testing.T) {
	r := newRig(t)
	link, err := r.pages.Link(identity.Proof{Actor: domain.Operator}, "")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(link.URL, "link=")
	b := r.stranger()
	b.has(b.post(200, "enter", "link", secret), "There is nothing that you may look at yet") // for the operator has no role in a context
	b.has(b.get(200, "sessions"), "actor 1")
	r.now = func() time.Time { return time.Now().Add(13 * time.Hour) }
	b.get(401, "sessions")
}

func TestASessionEndsWithItsToken(t *testing.T) {
	r := newRig(t)
	b := r.as(reader)
	b.get(200, path("flows"))
	do(r, reader, api.TokenRevoke, api.RevokeTokenParams{All: true})
	b.has(b.get(401, path("flows")), "Sign in")

	b = r.as(admin)
	r.now = func() time.Time { return time.Now().Add(2 * time.Hour) } // its token was for one
	b.get(401, path("flows"))
}

func TestSessionsAreListedAndRevoked(t *testing.T) {
	r := newRig(t)
	first, second, other := r.as(admin), r.as(admin), r.as(reader)
	a := second.get(200, "sessions")
	if n := strings.Count(a.text, "/revoke"); n != 1 { // its own cannot be ended there
		t.Errorf("got %d sessions to end: %s", n, mainOf(a.text))
	}
	_, name, _ := strings.Cut(a.text, `action="/console/sessions/`)
	name, _, _ = strings.Cut(name, "/")
	other.post(404, "sessions/"+name+"/revoke") // another's
	first.get(200, path("flows"))
	second.has(second.post(200, "sessions/"+name+"/revoke"), "has ended")
	first.get(401, path("flows"))
	second.get(200, path("flows"))
}

func TestOneActorHasSoManySessions(t *testing.T) {
	r := newRig(t)
	at := time.Now()
	r.now = func() time.Time { at = at.Add(time.Millisecond); return at }
	first := r.as(admin)
	for range 20 {
		r.as(admin)
	}
	first.get(401, path("flows"))
}

func TestFormsOfOtherPagesDoNothing(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: a\nsteps: [{name: x, script: gate, script_type: words}]")
	b := r.as(admin)
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		b.has(b.send(403, "POST", path("flows/%d/cancel", id), "", header...), "from a page of somebody else")
	}
	if v := do(r, admin, api.FlowShow, api.ShowFlowParams{FlowParams: api.FlowParams{Context: 7, Flow: id}}); v.Cancel != "" || v.Final() {
		t.Errorf("it was cancelled: %+v", v)
	}
	b.send(403, "POST", "sign-in", "proof="+url.QueryEscape(r.token(admin)), "Sec-Fetch-Site", "cross-site") // to be signed in as somebody else is no less
	b.get(404, path("flows/%d/cancel", id))                                                                  // nothing is done by a link
	close(r.gate)
}

func TestNextLeadsNowhereElse(t *testing.T) {
	r := newRig(t)
	for _, next := range []string{"https://evil.example/console/", "//evil.example/console/", "/\\evil.example", "/console/../v1/", "/v1/info",
		"javascript:alert(1)", "/console/sign-out"} {
		b := r.stranger()
		a := b.post(200, "sign-in", "proof", r.token(reader), "next", next)
		if got := a.Request.URL.String(); got != r.server.URL+"/console/c/7/" {
			t.Errorf("%q leads to %s", next, got)
		}
	}
}

func TestEveryPageIsProtected(t *testing.T) {
	r := newRig(t)
	b := r.as(reader)
	for p, status := range map[string]int{"sign-in": 200, path(""): 200, path("flows"): 200, path("jobs"): 200, path("flows/99"): 404, "sessions": 200,
		"nowhere": 404} {
		req := b.get(status, p)
		h := req.Header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") ||
			strings.Contains(csp, "unsafe") {
			t.Errorf("%s: got policy %q", p, csp)
		}
		if h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
			h.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: got %v", p, h)
		}
		for _, inline := range []string{" style=", "<style", " onclick", "<script>", "javascript:"} {
			if strings.Contains(req.text, inline) {
				t.Errorf("%s has %q", p, inline)
			}
		}
	}
}

func TestWhoHasNoRoleSeesNothing(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: covert\nsteps: [{name: x, script: say a, script_type: words}]")
	r.ended(id)
	b := r.as(stranger)
	b.has(b.get(200, ""), "You have a role in no context")
	for _, p := range []string{"", "flows", "jobs", "jobs/10/1", "jobs/10/1/log.txt"} {
		b.hasNot(b.get(403, path("%s", p)), "covert")
	}
	b.hasNot(b.get(403, path("flows/%d", id)), "covert")
	b.get(403, "c/99/flows") // a context that does not exist looks the same
}

func TestTheThemeIsKept(t *testing.T) {
	r := newRig(t)
	b := r.as(reader)
	b.hasNot(b.get(200, path("flows")), "data-theme")
	b.has(b.post(200, "theme", "theme", "dark", "next", "/console/c/7/flows"), `data-theme="dark"`)
	b.has(b.get(200, path("jobs")), `data-theme="dark"`)
	b.hasNot(b.post(200, "theme", "theme", "", "next", "/console/c/7/flows"), "data-theme")
	b.hasNot(b.post(200, "theme", "theme", `"><script>`, "next", "/console/c/7/flows"), "data-theme")
}

// TestTheRootIsNoTrap: browsers are led to the console, and who asks for anything else is
// told where things are.
func TestTheRootIsNoTrap(t *testing.T) {
	r := newRig(t)
	for _, want := range []struct {
		method, accept string
		status         int
	}{{"GET", "*/*", 404}, {"HEAD", "", 404}, {"GET", "application/json", 404}, {"GET", "text/html", 303}, {"POST", "*/*", 405}} {
		req, err := nethttp.NewRequestWithContext(t.Context(), want.method, r.server.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", want.accept)
		resp, err := nethttp.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want.status {
			t.Errorf("%s / with %q: got %d, want %d", want.method, want.accept, resp.StatusCode, want.status)
		}
	}
}

// A token that no page can be seen with is refused where it is pasted, with what it lacks; one that has the groups of pages signs in.
func TestATokenThatSeesNoPageIsRefusedAtOnce(t *testing.T) {
	r := newRig(t)
	of := func(groups ...string) string {
		token, err := identity.MintFor(r.keys[reader], "n1", time.Now(), time.Hour, identity.Claims{Scope: domain.Scope{Groups: groups}})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	b := r.stranger()
	b.has(b.post(401, "sign-in", "proof", of("job")), "this token is for group job only", "of the groups context and node, too")
	b.has(b.post(401, "sign-in", "proof", of("job", "context")), "of the group node, too")
	b.get(401, "c/7/jobs")
	b.post(200, "sign-in", "proof", of("job", "context", "node"), "next", "/console/c/7/jobs")
	b.get(200, "c/7/jobs")
}

// A token for contexts in which its actor has no role is refused where it is pasted, too.
func TestATokenForAContextWithoutARoleIsRefusedAtOnce(t *testing.T) {
	r := newRig(t)
	of := func(contexts ...domain.TenantID) string {
		token, err := identity.MintFor(r.keys[reader], "n1", time.Now(), time.Hour, identity.Claims{Scope: domain.Scope{Contexts: contexts}})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	b := r.stranger()
	b.has(b.post(401, "sign-in", "proof", of(99)), "this token is for context 99 only", "has no role there")
	b.get(401, "c/7/jobs")
	b.post(200, "sign-in", "proof", of(99, 7), "next", "/console/c/7/jobs")
	b.get(200, "c/7/jobs")
}
