package console

import (
	"errors"
	"net"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// This file has the ways in: a token or a key file that somebody pastes, or a one-time
// link; the way out; and the list of sessions.

func (c *Console) mountSignIn() {
	c.open("GET sign-in", (*visit).signInPage)
	c.open("POST sign-in", (*visit).signIn)
	c.open("GET enter", (*visit).enterPage)
	c.open("POST enter", (*visit).enter)
	c.page("GET signed-in", (*visit).isSignedIn)
	c.page("POST sign-out", (*visit).signOut)
	c.page("GET sessions", (*visit).sessionsPage)
	c.page("POST sessions/{name}/revoke", (*visit).revokeSession)
	c.open("POST theme", (*visit).setTheme)
}

// signInBody is what the page of signing in shows.
type signInBody struct {
	Node string
	// Next is where to go afterwards.
	Next string
	// Sent says that somebody sent something who was signed in no more; Kept is that.
	Sent  bool
	Kept  string
	Fault string
	// Plain says that what is sent can be read on its way: no key file is taken then.
	Plain bool
}

// enterBody is what the page of a link shows that signs in.
type enterBody struct{ Node, Link string }

func (b signInBody) kept() string {
	if b.Kept != "" {
		return "It is kept on this page: sign in, and go on with it."
	}
	return "It is not kept on this page: sign in in another tab, then go back here, and send it again."
}

// asked is the name of what is asked for, orKeyFile and keyFiles are sentences' ends about the other way.
func (b signInBody) asked() string {
	if b.Plain {
		return "Token"
	}
	return "Token or key file"
}

func (b signInBody) orKeyFile() string {
	if b.Plain {
		return ""
	}
	return ", or the text of your key file"
}

func (b signInBody) keyFiles() string {
	if b.Plain {
		return ". This connection has no TLS, so key files are not taken here"
	}
	return ". A key file is read once, to sign a token for this session, and is not kept"
}

func (v *visit) signInPage() error {
	if v.signedIn() {
		return v.redirect(next(v.r.FormValue("next")))
	}
	v.showSignIn(nethttp.StatusOK, signInBody{Next: v.r.FormValue("next")})
	return nil
}

func (v *visit) showSignIn(status int, b signInBody) {
	b.Node, b.Next, b.Plain = v.console.cfg.Node, next(b.Next), !private(v.r)
	v.render(status, page{Title: "Sign in", Body: b})
}

// isSignedIn is asked by scripts before they send what somebody has written.
func (v *visit) isSignedIn() error {
	v.w.WriteHeader(nethttp.StatusNoContent)
	return nil
}

// askToSignIn shows the page of signing in in place of another, to which it leads back,
// with what was sent there.
func (v *visit) askToSignIn() error {
	b := signInBody{Sent: v.r.Method == nethttp.MethodPost, Kept: keptForm(v.r)}
	if !b.Sent || b.Kept != "" {
		b.Next = v.r.URL.RequestURI()
	}
	v.console.setCookie(v.w, v.r, "")
	v.showSignIn(nethttp.StatusUnauthorized, b)
	return nil
}

// next is a place in the console to go to: nothing that a link of somebody else made of it.
func next(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, Path) || strings.Contains(u.Path, "..") || strings.HasPrefix(u.Path, Path+"sign-") {
		return Path
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).RequestURI()
}

// private reports whether nobody on the way reads what a browser sends.
func private(r *nethttp.Request) bool {
	if r.TLS != nil {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && net.ParseIP(host).IsLoopback()
}

func (v *visit) signIn() error {
	proof := strings.TrimSpace(v.r.PostFormValue(secretField))
	to, kept := v.r.PostFormValue("next"), v.r.PostFormValue("kept")
	k, err := v.prove(proof)
	if errors.Is(err, domain.ErrUnavailable) {
		return err
	} else if err != nil {
		v.showSignIn(nethttp.StatusUnauthorized, signInBody{Next: to, Sent: kept != "", Kept: kept, Fault: err.Error()})
		return nil
	}
	v.admit(k)
	if kept != "" {
		return v.resume(to, kept)
	}
	return v.redirect(next(to))
}

// prove is who has a token, or a key, from which a token is made and which is forgotten.
func (v *visit) prove(proof string) (credential, error) {
	switch {
	case proof == "":
		return credential{}, domain.Invalidf("paste a token, or the text of a key file")
	case strings.HasPrefix(proof, "{"):
		if !private(v.r) {
			return credential{}, domain.Invalidf("this connection has no TLS, and somebody could read the key on its way: sign in with a token; `ramet token` makes one")
		}
		key, err := identity.ParseKey([]byte(proof))
		if err != nil {
			return credential{}, domain.Invalidf("this is no whole key file: paste all of the file that `ramet actor new` wrote")
		}
		made, err := identity.MintFor(key, v.console.cfg.Node, v.now, sessionLife, identity.Claims{Name: "console"})
		if err != nil {
			return credential{}, err
		}
		proof = made
	}
	who, err := v.console.cfg.Tokens.Verify(v.r.Context(), proof)
	if err == nil {
		err = seesPages(who)
	}
	if err == nil {
		err = v.seesContext(who)
	}
	return credential{who, proof}, err
}

// seesContext refuses a token that is narrowed to contexts in none of which its actor has a role: each page would be that of nothing.
//
// Errors: [domain.ErrForbidden].
func (v *visit) seesContext(who identity.Proof) error {
	if who.Scope == nil || len(who.Scope.Contexts) == 0 {
		return nil
	}
	as := &visit{r: v.r, caller: v.caller.With(who)}
	if list, err := call(as, api.ContextList, api.ListContextsParams{Limit: 1}); err != nil || len(list.Contexts) > 0 {
		return err
	}
	return domain.Forbiddenf("this token is for %s only, and actor %d has no role there: sign in with another, or have an admin of the context give you a role",
		who.Scope, who.Actor)
}

// seesPages refuses a token that is narrowed to groups without those that every page asks for: whoever signed in by it would be
// refused at each.
//
// Errors: [domain.ErrForbidden].
func seesPages(who identity.Proof) error {
	if who.Scope == nil || len(who.Scope.Groups) == 0 {
		return nil
	}
	var lacks []string
	for _, group := range []string{api.ContextList.Group(), api.NodeInfo.Group()} {
		if !slices.Contains(who.Scope.Groups, group) {
			lacks = append(lacks, group)
		}
	}
	switch len(lacks) {
	case 0:
		return nil
	case 1:
		return domain.Forbiddenf("this token is for %s only, and every page asks for what is of the group %s, too: sign in with one that has it besides",
			who.Scope, lacks[0])
	}
	return domain.Forbiddenf("this token is for %s only, and every page asks for what is of the groups %s, too: sign in with one that has them besides",
		who.Scope, strings.Join(lacks, " and "))
}

// admit begins a session, with a new secret: what the browser showed before is ended.
func (v *visit) admit(k credential) {
	v.console.sessions.end(v.console.secretOf(v.r))
	secret := v.console.sessions.begin(k, v.r.UserAgent(), v.now)
	v.console.setCookie(v.w, v.r, secret)
	v.console.cfg.Audit.Record(domain.AuditEntry{Actor: k.who.Actor, Verb: "sign_in", Object: "console", Outcome: domain.AuditDone,
		Detail: "session " + nameOf(secret)})
}

// enterPage shows what a link would do. Only its button does it: programs that look at
// links before people do would use the link up.
func (v *visit) enterPage() error {
	v.render(nethttp.StatusOK, page{Title: "Sign in", Body: enterBody{v.console.cfg.Node, v.r.FormValue("link")}})
	return nil
}

func (v *visit) enter() error {
	k, err := v.console.sessions.follow(v.r.PostFormValue("link"), v.now)
	if err != nil {
		v.showSignIn(nethttp.StatusUnauthorized, signInBody{Fault: err.Error()})
		return nil
	}
	v.admit(k)
	return v.redirect(Path)
}

func (v *visit) signOut() error {
	v.console.sessions.end(v.console.secretOf(v.r))
	v.console.setCookie(v.w, v.r, "")
	return v.redirect(Path + "sign-in")
}

// sessionRow is a session as people see it.
type sessionRow struct {
	Name, Browser string
	Actor         domain.ActorID
	Began, Used   moment
	Until         moment
	Here          bool // the one that looks
}

// sessionRows is what the page of sessions shows.
type sessionRows []sessionRow

func (v *visit) sessionsPage() error {
	var rows sessionRows
	here := nameOf(v.console.secretOf(v.r))
	for _, s := range v.console.sessions.list(v.who.Actor, v.now) {
		rows = append(rows, sessionRow{Name: s.name, Browser: browserOf(s.agent), Actor: s.who.Actor, Began: v.at(s.began.UnixMilli()),
			Used:  v.at(s.used.UnixMilli()),
			Until: v.at(s.until.UnixMilli()), Here: s.name == here})
	}
	v.render(nethttp.StatusOK, page{Title: "Sessions", Command: "ramet token list", Body: rows})
	return nil
}

func (v *visit) revokeSession() error {
	name := v.r.PathValue("name")
	if !v.console.sessions.revoke(v.who.Actor, name) {
		return domain.NotFoundf("there is no session %q any more", domain.PlainText(name, 20))
	}
	v.console.cfg.Audit.Record(domain.AuditEntry{Actor: v.who.Actor, Verb: "revoke", Object: "console", Outcome: domain.AuditDone,
		Detail: "session " + domain.PlainText(name, 20)})
	return v.redirectSaying(Path+"sessions", "The session "+name+" has ended.", false)
}

// browserOf is what people call the browser of a name that browsers send.
func browserOf(agent string) string {
	for _, b := range [...]struct{ mark, name string }{{"Edg/", "Edge"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
		{"curl/", "curl"}} {
		if strings.Contains(agent, b.mark) {
			return b.name
		}
	}
	if agent == "" {
		return "unknown"
	}
	return domain.PlainText(agent, 40)
}

// themeCookie keeps which colours somebody wants; it is no secret.
const themeCookie = "ramet-theme"

// setTheme changes the colours: light, dark, or as the browser has them.
func (v *visit) setTheme() error {
	k := &nethttp.Cookie{Name: themeCookie, Value: v.r.PostFormValue("theme"), Path: Path, MaxAge: int((365 * 24 * time.Hour).Seconds()),
		HttpOnly: true, Secure: v.r.TLS != nil, SameSite: nethttp.SameSiteStrictMode}
	if k.Value != "light" && k.Value != "dark" {
		k.Value, k.MaxAge = "", -1
	}
	nethttp.SetCookie(v.w, k)
	return v.redirect(next(v.r.PostFormValue("next")))
}

// theme is which colours the browser is to show: light, dark, or "".
func theme(r *nethttp.Request) string {
	k, err := r.Cookie(themeCookie)
	if err != nil || k.Value != "light" && k.Value != "dark" {
		return ""
	}
	return k.Value
}
