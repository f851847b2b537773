package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	nethttp "net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
)

// Path is where the pages begin.
const Path = http.ConsolePath

// maxForm bounds what a form of a stranger sends, in bytes: a key file, a token. maxText
// bounds that of who is signed in: the largest blueprint that can be stored, escaped.
const (
	maxForm = 64 << 10
	maxText = 3*domain.MaxBlueprintBytes + maxForm
)

// Config says whose console it is.
type Config struct {
	// Node is the node's name. Required.
	Node string
	// Tokens says who a token names. Required.
	Tokens *identity.Tokens
	// Address is how browsers reach the node, such as http://127.0.0.1:7481, without a
	// slash at its end; it is asked when a link is made. Default: links have no host.
	Address func() string
	// Changes tells of what changes in a context: see [service.Service.Changes]. Default:
	// pages look every few seconds.
	Changes func(ctx context.Context, tenant domain.TenantID, each func([]service.Change) error) error
	// Audit takes who signed in, and who was refused. Default: none.
	Audit identity.Recorder
	// Logger takes pages that could not be made. Default: none.
	Logger *slog.Logger
	// Faults are those that people may cause here. Default: there are none.
	Faults Faults
	// Sessions are those that an earlier console of this process had. Default: new ones.
	Sessions *Sessions
	// Beat is after how long who follows a page that does not change is told that the node is still there: browsers take
	// it for hung after 25 s without a word. Default: 10s.
	Beat time.Duration
	// Now is the time that pages count from. Default: [time.Now].
	Now func() time.Time
}

// Console is the pages of one node. It is safe for concurrent use.
type Console struct {
	cfg      Config
	cookie   string // the name of its cookie
	sessions *sessions
	mux      *nethttp.ServeMux // of pages
	streams  *nethttp.ServeMux // of what they follow
	followed map[string]bool   // the patterns of pages that live; whether each actor sees one of its own
	hub      *hub
	hours    hours
	silence  silence                // of the archive
	looks    known[api.AuditReport] // what was found of unfinished things
	living   known[service.LiveJobs]
	runners  [2]known[[]domain.Runner] // who runs jobs: as those see it who have a role in a context, and the operator
	guard    *nethttp.CrossOriginProtection
}

var _ http.Console = (*Console)(nil)

// New returns the console of a node.
func New(cfg Config) *Console {
	cfg.Audit = cmp.Or[identity.Recorder](cfg.Audit, identity.Discard{})
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Beat = cmp.Or(cfg.Beat, 10*time.Second)
	if cfg.Address == nil {
		cfg.Address = func() string { return "" }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sessions == nil {
		cfg.Sessions = NewSessions()
	}
	c := &Console{cfg: cfg, cookie: cookieName(cfg.Node), sessions: cfg.Sessions, mux: nethttp.NewServeMux(),
		streams: nethttp.NewServeMux(), guard: nethttp.NewCrossOriginProtection(), followed: map[string]bool{}, hub: newHub(cfg.Changes)}
	c.streams.HandleFunc("GET "+livePath, followed((*visit).followPage))
	c.mountSignIn()
	c.mountAssets()
	c.mountOverview()
	c.mountFlows()
	c.mountJobs()
	c.mountSagas()
	c.mountSchedules()
	c.mountBlueprints()
	c.mountWebhooks()
	c.mountRoutines()
	c.mountEffects()
	c.mountLetters()
	c.mountMessages()
	c.mountBulk()
	c.mountSearch()
	c.mountFaults()
	c.mountOperate()
	c.mountRights()
	c.mountArchive()
	c.page("GET {rest...}", func(v *visit) error {
		return domain.NotFoundf("the console has no page at %q", domain.PlainText(v.r.URL.Path, 100))
	})
	return c
}

// Identify says who has the session that a request shows.
//
// Errors: [domain.ErrUnauthenticated]; [domain.ErrUnavailable] when the board cannot be
// asked.
func (c *Console) Identify(r *nethttp.Request) (identity.Proof, error) {
	secret := c.secretOf(r)
	if secret == "" {
		return identity.Proof{}, errNoSession
	}
	k, err := c.sessions.find(secret, c.cfg.Now())
	if err != nil || k.token == "" {
		return k.who, err
	}
	who, err := c.cfg.Tokens.Verify(r.Context(), k.token)
	if errors.Is(err, domain.ErrUnauthenticated) {
		c.sessions.end(secret)
	}
	return who, err
}

// Link makes a link by which a browser signs in once.
//
// Errors: [domain.ErrForbidden], [domain.ErrUnavailable].
func (c *Console) Link(who identity.Proof, token string) (api.ConsoleLink, error) {
	if err := seesPages(who); err != nil {
		return api.ConsoleLink{}, err
	}
	secret, err := c.sessions.link(credential{who, token}, c.cfg.Now())
	if err != nil {
		return api.ConsoleLink{}, err
	}
	return api.ConsoleLink{URL: c.cfg.Address() + Path + "enter?link=" + secret, Seconds: int(linkLife.Seconds())}, nil
}

// Page answers a request for a page.
func (c *Console) Page(w nethttp.ResponseWriter, r *nethttp.Request, who identity.Proof, caller service.Caller) {
	protect(w.Header())
	v := &visit{console: c, w: w, r: r, who: who, caller: caller, now: c.cfg.Now()}
	if err := c.guard.Check(r); err != nil {
		v.fail(domain.Forbiddenf("this request came from a page of somebody else, so it was not carried out; go back to the console and ask for it there"))
		return
	}
	most := int64(maxForm)
	if v.signedIn() {
		most = maxText
	}
	r.Body = nethttp.MaxBytesReader(w, r.Body, most)
	if r.Method == nethttp.MethodGet && v.signedIn() { // what changes something is not ended on the way
		ctx, stop := caller.WhileAnswering(r.Context(), strings.Contains(r.URL.Path, archivePages))
		defer stop()
		r = r.WithContext(ctx)
	}
	c.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
}

// Follow is what a page follows that changes.
//
// Errors: [domain.ErrNotFound].
func (c *Console) Follow(r *nethttp.Request, who identity.Proof, caller service.Caller) (func(context.Context, func(api.Event) error) error, error) {
	v := &visit{console: c, r: r, who: who, caller: caller, now: c.cfg.Now()}
	c.streams.ServeHTTP(nowhere{}, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
	if v.run == nil && v.failed == nil {
		v.failed = domain.NotFoundf("there is nothing to follow at %q", domain.PlainText(r.URL.Path, 100))
	}
	return v.run, v.failed
}

// nowhere takes what a mux says where it has no handler.
type nowhere struct{}

func (nowhere) Header() nethttp.Header      { return nethttp.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// protect sets the headers by which a browser runs only what is ours, and shows pages in
// no frame of others.
func protect(h nethttp.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "+
		"frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	// Not no-referrer: with it browsers say Origin: null, by which a form of ours could
	// not be told from one of others where the connection has no TLS.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// visitKey is the context key of a request's visit.
type visitKey struct{}

// visit is one request of a browser.
type visit struct {
	console *Console
	w       nethttp.ResponseWriter
	r       *nethttp.Request
	who     identity.Proof // zero: nobody is signed in
	caller  service.Caller
	now     time.Time
	tenant  domain.Tenant          // the context of the page; ID 0: none
	jobs    map[string]*domain.Job // that openJob has read, by key
	made    []*domain.Job          // that jobsMade has read
	node    *api.Info              // that info has read
	// refusal is why an action was refused whose page is shown again, at its own address.
	refusal   error
	refusedAt string
	// piece takes the page where it is made for those who follow it; nil: it is answered with.
	piece *piece
	// run and failed are what a stream's handler found.
	run    stream
	failed error
}

// stream reports what happens until it has ended.
type stream func(context.Context, func(api.Event) error) error

// signedIn reports whether somebody is.
func (v *visit) signedIn() bool { return v.who.Actor != 0 }

// open mounts a page that is for everybody.
func (c *Console) open(pattern string, page func(v *visit) error) {
	method, path := cutPattern(pattern)
	c.mux.HandleFunc(method+Path+path, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		v := r.Context().Value(visitKey{}).(*visit)
		v.w, v.r = w, r
		if err := page(v); err != nil {
			v.fail(err)
		}
	})
}

// page mounts one that is for who is signed in; others are asked to, and come back.
func (c *Console) page(pattern string, page func(v *visit) error) {
	c.open(pattern, func(v *visit) error {
		if !v.signedIn() {
			return v.askToSignIn()
		}
		if err := v.readForm(); err != nil {
			return err
		}
		return page(v)
	})
}

// inContext mounts a page of a context, whose number or alias stands in its path.
func (c *Console) inContext(pattern string, page func(v *visit) error) {
	method, path := cutPattern(pattern)
	c.page(method+"c/{context}/"+path, func(v *visit) error {
		if err := v.findContext(); err != nil {
			return err
		}
		return page(v)
	})
}

// follow mounts what a page of a context follows.
func (c *Console) follow(path string, begin func(v *visit) (stream, error)) {
	c.streams.HandleFunc("GET "+Path+"c/{context}/"+path, followed(func(v *visit) (stream, error) {
		if err := v.findContext(); err != nil {
			return nil, err
		}
		return begin(v)
	}))
}

// followed is a handler of streams.
func followed(begin func(v *visit) (stream, error)) nethttp.HandlerFunc {
	return func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		v := r.Context().Value(visitKey{}).(*visit)
		v.r = r
		v.run, v.failed = begin(v)
	}
}

// cutPattern is a pattern's method, with the blank behind it, and its path.
func cutPattern(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	return method + " ", path
}

// findContext reads the context that the path names.
func (v *visit) findContext() error { return v.findContextNamed(v.r.PathValue("context")) }

func (v *visit) findContextNamed(name string) error {
	id, err := v.caller.ContextNamed(v.r.Context(), name)
	if err != nil {
		return err
	}
	shown, err := call(v, api.ContextShow, api.ContextParams{Context: id})
	v.tenant = shown.Tenant
	v.tenant.ID = id
	return err
}

// call does an operation as who looks, as every other door does.
func call[P, R any](v *visit, op api.Op[P, R], params P) (result R, err error) {
	got, err := service.Named(op.Name).Call(v.r.Context(), v.caller, &params)
	if err != nil {
		return result, err
	}
	return got.(R), nil
}

// may reports whether who looks has the right that an operation takes, so that what is
// refused in any case is not offered. The operation asks for itself all the same.
func (v *visit) may(op *api.Operation) bool {
	if op.Right.OnNode() {
		return v.who.Operates(op.Right, op.Group())
	}
	return v.who.Permits(v.tenant, op.Right, false, op.Group())
}

// mayOnNode is may for what concerns no context.
func (v *visit) mayOnNode(op *api.Operation) bool {
	return v.who.Operates(op.Right, op.Group())
}

// fail answers with a page that says what went wrong.
func (v *visit) fail(err error) {
	if silent := context.Cause(v.r.Context()); errors.Is(silent, domain.ErrUnavailable) {
		err = silent
	}
	f, known := api.FailureOf(err)
	text := api.DetailOf(err)
	if !known {
		v.console.cfg.Logger.Error("a page of the console failed", "path", v.r.URL.Path, "err", err, service.RequestAttrs(v.r.Context()))
		text = "something went wrong here; the node's log has the details under request id " + service.RequestID(v.r.Context())
	}
	if v.piece != nil {
		v.piece.why = text
	}
	v.render(f.Status, page{Title: nethttp.StatusText(f.Status), Body: failure{Status: f.Status, Text: text}})
}

// failure is what the page of an error says.
type failure struct {
	Status int
	Text   string
}

func (f failure) title() string {
	switch f.Status {
	case nethttp.StatusForbidden:
		return "You may not see or do this"
	case nethttp.StatusNotFound:
		return "There is no such thing"
	}
	return "This did not work"
}

// render answers with a page. It is made whole before it is sent, so that an error within
// does not look like a page.
func (v *visit) render(status int, p page) {
	var text bytes.Buffer
	p.SignedIn, p.Held = v.signedIn(), v.stopped()
	if v.refusal != nil && status == nethttp.StatusOK {
		if f, known := api.FailureOf(v.refusal); known {
			status = f.Status
		}
	}
	if status >= nethttp.StatusBadRequest {
		p.Follow = nil // what cannot be shown does not change
	}
	if v.piece != nil {
		if v.written(&text, p.main()) {
			v.piece.status, v.piece.text, v.piece.follow = status, text.Bytes(), p.Follow
		}
		return
	}
	if err := v.complete(&p); err != nil && status < nethttp.StatusBadRequest {
		v.fail(err)
		return
	}
	if !v.written(&text, p.frame()) {
		nethttp.Error(v.w, "this page cannot be written; the node's log says why", nethttp.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text.Bytes()) // the browser may be gone; nothing is to be done about it
}

// written writes a page, or its content alone.
func (v *visit) written(to *bytes.Buffer, markup templ.Component) bool {
	var whole bytes.Buffer
	err := markup.Render(context.Background(), &whole) // the request's may be over: that is no fault of the page
	if inLines(to, whole.Bytes()); err != nil {
		v.console.cfg.Logger.Error("BUG: a page of the console cannot be written", "path", v.r.URL.Path, "err", err)
	}
	return err == nil
}

// redirect sends the browser to a page of the console.
func (v *visit) redirect(path string) error {
	nethttp.Redirect(v.w, v.r, path, nethttp.StatusSeeOther)
	return nil
}
