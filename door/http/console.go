package http

import (
	"context"
	nethttp "net/http"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
)

// This file has the place of the console in the door: the door knows how many may ask
// at once and who tried in vain too often, the console knows sessions and pages.

// ConsolePath is where the console's pages begin. Its cookie is sent to them alone:
// the operations below /v1/ take nothing that a browser adds by itself.
const ConsolePath = "/console/"

// Console has the pages for browsers, and the sessions of those who look at them.
type Console interface {
	// Identify says who has the session that a request shows; an error says that nobody
	// has one.
	Identify(r *nethttp.Request) (identity.Proof, error)
	// Page answers a request of who has a session, or of nobody: the zero Proof.
	Page(w nethttp.ResponseWriter, r *nethttp.Request, who identity.Proof, caller service.Caller)
	// Follow is what a page asks for that changes while one looks at it.
	//
	// Errors: [domain.ErrNotFound] where nothing is to follow.
	Follow(r *nethttp.Request, who identity.Proof, caller service.Caller) (run func(context.Context, func(api.Event) error) error, err error)
	// Link makes a link by which a browser becomes who has proven something, once. token
	// is what proved it, "" for the operator at the local socket.
	Link(who identity.Proof, token string) (api.ConsoleLink, error)
}

// mountConsole puts the console into the mux, where there is one.
func (d *Door) mountConsole() {
	if d.cfg.Console == nil {
		return
	}
	d.pattern(ConsolePath, func(w nethttp.ResponseWriter, r *nethttp.Request) { d.console(w.(*response), r) })
	d.pattern("POST "+api.ConsoleLinkPath, func(w nethttp.ResponseWriter, r *nethttp.Request) { d.linkConsole(w.(*response), r) })
	d.pattern("GET /{$}", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			d.noSuchPath(w.(*response), r)
			return
		}
		nethttp.Redirect(w, r, ConsolePath, nethttp.StatusSeeOther)
	})
}

// console answers one request of a browser.
func (d *Door) console(w *response, r *nethttp.Request) {
	who, err := d.cfg.Console.Identify(r)
	stranger := err != nil
	if stranger {
		who = identity.Proof{}
	} else if err := seatOf(r).SignIn(who.Actor); err != nil {
		d.turnAway(w, r, err)
		return
	}
	follows := strings.Contains(r.Header.Get("Accept"), mediaEvents)
	leave, err := d.enter(w, r, who.Actor, follows)
	if err != nil {
		d.turnAway(w, r, err)
		return
	}
	defer leave()
	if stranger {
		d.strangersPage(w, r, follows)
		return
	}
	ctx, session := d.cfg.Tokens.Open(r.Context(), who)
	defer session.Close()
	r = r.WithContext(ctx)
	caller := d.api.For(who, session)
	if !follows {
		d.cfg.Console.Page(w, r, who, caller)
		return
	}
	run, err := d.cfg.Console.Follow(r, who, caller)
	if err != nil {
		d.fail(w, r, err)
		return
	}
	_ = nethttp.NewResponseController(w).SetReadDeadline(noDeadline)
	d.stream(w, r, session, run)
}

// strangersPage answers who has no session: to sign in is what there is. Who tries in
// vain too often waits, as with tokens.
func (d *Door) strangersPage(w *response, r *nethttp.Request, follows bool) {
	switch seat := seatOf(r); {
	case follows:
		d.fail(w, r, domain.Unauthenticatedf("the session has ended; load the page again to sign in"))
	case r.Method != nethttp.MethodPost:
		d.cfg.Console.Page(w, r, identity.Proof{}, d.api.For(identity.Proof{}, nil))
	default:
		if err := seat.MayTry(); err != nil {
			d.turnAway(w, r, err)
			return
		}
		d.cfg.Console.Page(w, r, identity.Proof{}, d.api.For(identity.Proof{}, nil))
		if w.status == nethttp.StatusUnauthorized {
			seat.Refused()
			d.refused("at the console: a token, a key or a link that is not good")
		}
	}
}

// linkConsole makes a link for a browser.
func (d *Door) linkConsole(w *response, r *nethttp.Request) {
	who, err := d.identify(r)
	if err != nil {
		d.turnAway(w, r, err)
		return
	}
	token := ""
	if who.Token != "" {
		_, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	}
	link, err := d.cfg.Console.Link(who, strings.TrimSpace(token))
	if err != nil {
		d.fail(w, r, err)
		return
	}
	d.writeJSON(w, r, nethttp.StatusOK, link)
}
