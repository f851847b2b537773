package console

import (
	"context"
	"errors"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
)

// This file has one viewer of a page that lives. What viewers of one page have in common is
// in shown.go, what is sent to them in fragment.go.

// livePath is what live pages follow: ?page= is their address, ?has= the text that the
// browser has of it already.
const livePath = Path + "live"

// live mounts a page of a context that can be followed, and on which nothing is the
// viewer's own: it is made once for all who have the same rights.
func (c *Console) live(pattern string, page func(v *visit) error) { c.mountLive(pattern, false, page) }

// liveOwn mounts one that can be followed, and is made for each actor.
func (c *Console) liveOwn(pattern string, page func(v *visit) error) {
	c.mountLive(pattern, true, page)
}

func (c *Console) mountLive(pattern string, own bool, page func(v *visit) error) {
	c.inContext(pattern, page)
	method, path := cutPattern(pattern)
	c.followed[method+Path+"c/{context}/"+path] = own
}

// pageRests is for how long a page is left as it is at least: what changes meanwhile is seen
// within 200 ms all the same.
const pageRests = 100 * time.Millisecond

// follow says what a page shows that may change.
type follow struct {
	// every is after how long it is made anew in any case: ages grow, and what lies in no
	// context tells nobody of its changes. pause is how long it is left as it is at least.
	every, pause time.Duration
	nouns        []string                // all things of these
	things       map[service.Change]bool // and these
	// instance is the end of the key of an instance of a saga; "": none.
	instance string
}

// follows is what a page follows that shows single things.
func follows(things ...service.Change) *follow {
	f := &follow{every: 10 * time.Second, pause: pageRests, things: map[service.Change]bool{}}
	for _, t := range things {
		f.things[t] = true
	}
	return f
}

// ended is what a page goes on to follow of a thing that has ended, and since when: somebody else may start it again, or
// delete it. By itself only its age grows, so the page is made ever less often.
func (f *follow) ended(since time.Duration) *follow {
	f.every = min(max(f.every, since/20), time.Minute)
	return f
}

// lists is what a page follows that lists things. Without nouns it looks by itself.
func lists(nouns ...string) *follow {
	return &follow{every: 5 * time.Second, pause: pageRests, nouns: nouns}
}

// concerns reports whether a change may show on the page.
func (f *follow) concerns(c service.Change) bool {
	return f.things[c] || slices.Contains(f.nouns, c.Noun) || f.instance != "" && c.Noun == "instance" && strings.HasSuffix(c.Key, f.instance)
}

// viewer is one browser that follows a page.
type viewer struct {
	console *Console
	who     identity.Proof
	caller  service.Caller
	secret  string // of the session
	page    string // the address
	context string // what it calls the context
	own     bool
	has     string // which text of the page the browser has; "": none
}

// followPage begins to follow the page that the address names.
func (v *visit) followPage() (stream, error) {
	to, err := url.Parse(v.r.FormValue("page"))
	if err != nil || to.Host != "" || to.Scheme != "" || !strings.HasPrefix(to.Path, Path+"c/") {
		return nil, domain.Invalidf("page: want the address of a page of the console")
	}
	q := to.Query()
	q.Del("said") // what an action did is told to who did it
	to = &url.URL{Path: to.Path, RawQuery: q.Encode()}
	page, err := nethttp.NewRequestWithContext(v.r.Context(), nethttp.MethodGet, to.String(), nil)
	if err != nil {
		return nil, domain.Invalidf("page: want the address of a page of the console")
	}
	_, pattern := v.console.mux.Handler(page)
	own, lives := v.console.followed[pattern]
	if !lives {
		return nil, domain.NotFoundf("the page %q is none that changes", domain.PlainText(to.Path, 100))
	}
	context, _, _ := strings.Cut(to.Path[len(Path+"c/"):], "/")
	w := &viewer{console: v.console, who: v.who, caller: v.caller, secret: v.console.secretOf(v.r), page: to.String(), context: context, own: own,
		has: v.r.FormValue("has")}
	if last := v.r.Header.Get("Last-Event-ID"); last != "" {
		w.has = last
	}
	if _, err := w.key(v.r.Context()); err != nil {
		return nil, err
	}
	return w.follow, nil
}

// key is which page it is, and as whom it is seen. It is found anew before anything is
// shown: rights may have changed, and the session may have ended.
//
// Errors: [domain.ErrUnauthenticated]; [domain.ErrForbidden]; those of the operations.
func (w *viewer) key(ctx context.Context) (shownKey, error) {
	if _, err := w.console.sessions.find(w.secret, w.console.cfg.Now()); err != nil {
		return shownKey{}, err
	}
	v := w.visit(ctx)
	if err := v.findContextNamed(w.context); err != nil {
		return shownKey{}, err
	}
	k := shownKey{page: w.page, tenant: v.tenant.ID, class: w.who.Class(v.tenant)}
	if w.own {
		k.actor = w.who.Actor
	}
	return k, nil
}

// visit is a request of the viewer's for its page that nobody answers.
func (w *viewer) visit(ctx context.Context) *visit {
	page, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, w.page, nil)
	if err != nil {
		panic("BUG: followPage has looked at it: " + err.Error())
	}
	v := &visit{console: w.console, w: nowhere{}, who: w.who, caller: w.caller, now: w.console.cfg.Now(), piece: &piece{}}
	v.r = page.WithContext(context.WithValue(ctx, visitKey{}, v))
	return v
}

// piece is a page without its frame.
type piece struct {
	status int
	text   []byte
	why    string   // what went wrong, where something did
	follow *follow  // nil: nothing more changes
	node   nodeChip // Name "": it was not asked
}

// look makes the page, as the viewer sees it.
func (w *viewer) look(ctx context.Context) (piece, error) {
	v := w.visit(ctx)
	w.console.mux.ServeHTTP(nowhere{}, v.r)
	switch {
	case ctx.Err() != nil:
		return piece{}, ctx.Err()
	case v.piece.status == 0:
		return piece{}, domain.NotFoundf("there is nothing to follow at %q", domain.PlainText(w.page, 100))
	}
	return *v.piece, nil
}

// node says how the node stands, as far as the viewer may know it.
func (w *viewer) node(ctx context.Context) nodeChip {
	info, err := w.visit(ctx).info()
	if err != nil {
		return nodeChip{} // the page says what is away
	}
	return chipOf(w.console.cfg.Node, &info)
}

// follow shows the page whenever it is another, until it comes to an end or ctx does.
func (w *viewer) follow(ctx context.Context, emit func(api.Event) error) error {
	for {
		key, err := w.key(ctx)
		if err != nil {
			return err
		}
		from := time.Now()
		s := w.console.hub.join(key)
		err = w.watch(ctx, s, from, emit)
		w.console.hub.leave(s)
		if !errors.Is(err, errOtherClass) {
			return err
		}
	}
}

// errOtherClass says that the viewer's rights are others than before.
var errOtherClass = errors.New("the rights have changed")

// watch is follow while the viewer's rights are what they were. What was made before from is not shown: it may be older
// than what the browser has loaded.
func (w *viewer) watch(ctx context.Context, s *shown, from time.Time, emit func(api.Event) error) error {
	same := func() error {
		if now, err := w.key(ctx); err != nil || now == s.key {
			return err
		}
		return errOtherClass
	}
	var told standing
	beat := time.NewTimer(w.console.cfg.Beat)
	defer beat.Stop()
	for {
		now, changed := s.now()
		if !now.asOf.Before(from) && (now.page != told.page || now.node != told.node) {
			if err := same(); err != nil {
				return err
			}
			if now.node != told.node {
				if err := emit(now.node.event()); err != nil {
					return err
				}
			}
			if f := now.page; f != told.page {
				if err := emit(f.event(w.has)); err != nil {
					return err
				}
				if f.text != "" {
					w.has = f.id
				}
				if f.last {
					return emit(api.Event{Name: api.EventEnd, Data: struct{}{}})
				}
			}
			told = now
			beat.Reset(w.console.cfg.Beat)
			continue
		}
		select {
		case <-changed:
		case <-beat.C:
			if err := emit(api.Event{Name: "beat", Data: struct{}{}}); err != nil {
				return err
			}
			beat.Reset(w.console.cfg.Beat)
		case <-s.turn:
			if err := s.make(func() (p piece, err error) {
				// Before, and after: what was made is shown to others of these rights.
				if err = same(); err == nil {
					if p, err = w.look(ctx); err == nil {
						if s.asksNode() {
							p.node = w.node(ctx)
						}
						err = same()
					}
				}
				return p, err
			}); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// shownKey is what makes two viewers see the same.
type shownKey struct {
	page   string
	tenant domain.TenantID
	class  identity.Class
	actor  domain.ActorID // 0 where nothing on the page is an actor's own
}
