package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	nethttp "net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/tracing"
)

const (
	// MaxBody bounds a request's body in bytes: eight of the largest scripts.
	MaxBody = 8 << 20
	// MaxDepth bounds how deep its JSON is nested: payloads of events are as deep
	// as sagas may keep them, and stand a few levels deep themselves.
	MaxDepth = domain.MaxSagaDepth + 4
	// retryAfter is when to come again where there was no room, in seconds:
	// what takes the room is mostly requests, which take less.
	retryAfter = "1"
	// answerTime is how long a call may take to be answered and read: longer
	// than job.wait waits.
	answerTime = 2 * time.Minute
)

// noDeadline is that of what takes as long as it takes.
var noDeadline time.Time

// Config says how the door stands.
type Config struct {
	// Node is the node's name: what tokens must be for. Required.
	Node string
	// Tokens says who a token names. Required.
	Tokens *identity.Tokens
	// Cookie is what proves at a local socket that the operator calls. Default:
	// nothing does, and a token is needed there, too.
	Cookie cookie.Cookie
	// Metrics answers /metrics. Default: not found.
	Metrics nethttp.Handler
	// MetricsToken is a file with a token by which /metrics alone may be read.
	// Default: none.
	MetricsToken string
	// Origins are those of pages that a browser lets read what the door answers,
	// such as https://console.example.com; [CheckOrigins] says what is one. Default: none.
	Origins []string
	// Console has the pages for browsers. Default: there are none.
	Console Console
	// Tracer takes the requests that belong to a trace, and begins traces for those that
	// create and belong to none. Default: nobody.
	Tracer *tracing.Tracer
	// Heartbeat is the pause between comments on a silent stream. Default: 15s.
	Heartbeat time.Duration
	// Budget bounds what callers hold; the other doors of the node have the same.
	// Default: one of its own.
	Budget *budget.Budget
	// Answered is told of each request: the operation (as job.submit; "" is none), the
	// status, and how long it took. It must be quick. Default: nobody.
	Answered func(operation string, status int, took time.Duration)
	// Logger takes what went wrong. Default: none.
	Logger *slog.Logger
	// Audit takes refused tokens. Default: none.
	Audit identity.Recorder
}

// Door is the HTTP door of one node.
type Door struct {
	api    *service.Service
	cfg    Config
	mux    *nethttp.ServeMux
	log    *slog.Logger
	audit  identity.Recorder
	budget *budget.Budget
	// origins are those of pages that may read answers.
	origins map[string]bool
	// routes are the paths that there are.
	routes []route
}

var _ nethttp.Handler = (*Door)(nil)

// New returns the door to a's operations. Use it as a handler, or call Serve.
func New(a *service.Service, cfg Config) *Door {
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, 15*time.Second)
	discard := slog.New(slog.DiscardHandler)
	d := &Door{api: a, cfg: cfg, mux: nethttp.NewServeMux(), log: cmp.Or(cfg.Logger, discard),
		audit: cmp.Or[identity.Recorder](cfg.Audit, identity.Discard{}), budget: cfg.Budget}
	if d.budget == nil {
		d.budget = budget.New(budget.Config{}, d.log)
	}
	d.origins = map[string]bool{}
	for _, o := range cfg.Origins {
		d.origins[o] = true
	}
	for i := range service.Operations {
		d.mount(&service.Operations[i])
	}
	d.mountNode()
	d.mountConsole()
	return d
}

// Handler is the door as a handler for servers of one's own.
func Handler(a *service.Service, cfg Config) nethttp.Handler { return New(a, cfg) }

// noSniff and noStore are headers of all answers, which nobody changes in place.
var noSniff, noStore = []string{"nosniff"}, []string{"no-store"}

// ServeHTTP answers one request.
func (d *Door) ServeHTTP(rw nethttp.ResponseWriter, r *nethttp.Request) {
	ctx, id := named(r, d.cfg.Tracer)
	r = r.WithContext(ctx)
	w := &response{ResponseWriter: rw}
	defer w.held.End()
	h := w.Header()
	h.Set(IDHeader, id)
	h["X-Content-Type-Options"], h["Cache-Control"] = noSniff, noStore
	if d.cfg.Answered != nil {
		defer func(began time.Time) {
			d.cfg.Answered(w.operation, cmp.Or(w.status, nethttp.StatusOK), time.Since(began))
		}(time.Now())
	}
	defer d.recover(w, r)
	// Best effort: a recorder in a test has no deadlines.
	_ = nethttp.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	if d.toPage(w, r) {
		return
	}
	w.routing = true
	if d.mux.ServeHTTP(w, r); w.nowhere != 0 {
		d.noSuchPath(w, r)
	}
	if d.log.Enabled(r.Context(), slog.LevelDebug) {
		d.log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", w.status), service.RequestAttrs(r.Context()))
	}
}

// recover answers a panic with a problem that says nothing of it.
func (d *Door) recover(w *response, r *nethttp.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == nethttp.ErrAbortHandler {
		panic(p)
	}
	d.log.LogAttrs(r.Context(), slog.LevelError, "BUG: panic in a request", slog.Any("panic", p),
		slog.String("path", r.URL.Path), service.RequestAttrs(r.Context()), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		panic(nethttp.ErrAbortHandler) // half an answer must not look like a whole one
	}
	d.fail(w, r, errors.New("panic"))
}

// mount puts one operation into the mux. What a caller must have is looked at
// from the cheapest on: who it is, whether it may do that, whether there is room,
// and only then what it sends.
func (d *Door) mount(o *service.Operation) {
	b, parts := newBinder(o), partsOf(o)
	d.handle(o.Method, o.Path, func(rw nethttp.ResponseWriter, r *nethttp.Request) {
		w := rw.(*response)
		defer d.traced(w, r, o, time.Now())
		w.operation = o.Name
		who, err := d.identify(r)
		if err != nil {
			d.turnAway(w, r, err)
			return
		}
		ctx, session := d.cfg.Tokens.Open(r.Context(), who)
		defer session.Close()
		r = r.WithContext(ctx)
		caller := d.api.For(who, session)
		follows, unfit := form(o, r)
		leave, err := d.enter(w, r, who.Actor, follows)
		if err != nil {
			d.turnAway(w, r, err)
			return
		}
		defer leave()
		if err := cmp.Or(unfit, mayCondition(o, r)); err != nil {
			d.turnAway(w, r, err)
			return
		}
		w.turn.who, w.turn.parts, w.tagged = who.Actor, parts, tagged(o)
		defer w.turn.End()
		params, err := b.bind(w, r, caller)
		if err != nil {
			d.turnAway(w, r, err)
			return
		}
		// The body is read: its deadline must not cut off a wait or a stream.
		_ = nethttp.NewResponseController(w).SetReadDeadline(noDeadline)
		if follows && w.fields != nil {
			d.fail(w, r, domain.Invalidf("%s is for an answer, not for a stream of events", api.FieldsParam))
			return
		}
		if follows {
			d.stream(w, r, session, func(ctx context.Context, emit func(api.Event) error) error {
				return o.Stream(ctx, caller.InTurn(&w.turn), params, emit)
			})
			return
		}
		if err := w.turn.begin(r.Context(), o, caller, b.concerns(params)); err != nil {
			d.fail(w, r, cmp.Or(session.Err(), err))
			return
		}
		caller = caller.InTurn(&w.turn)
		result, err := d.called(w, r, b, caller, params)
		if err != nil {
			d.fail(w, r, cmp.Or(session.Err(), err))
			return
		}
		if bytes, ok := result.(api.Bytes); ok {
			d.writeBytes(w, r, o.Bytes, bytes)
			return
		}
		if w.fields != nil {
			if result, err = b.answer.Select(result, w.fields); err != nil {
				d.fail(w, r, err)
				return
			}
		}
		d.writeJSON(w, r, nethttp.StatusOK, result)
	})
}

// KeyHeader names a request that creates: sent again under the same key within 24
// hours it creates nothing more. ReplayedHeader says that an answer is the one that
// was given before.
const (
	KeyHeader      = "Idempotency-Key"
	ReplayedHeader = "Idempotency-Replayed"
)

// called is call, whose waits end when the door closes: an answer that says so is worth more
// than a connection that is cut some seconds later.
func (d *Door) called(w *response, r *nethttp.Request, b *binder, caller service.Caller, params any) (any, error) {
	if !b.op.Waits || b.op.ByHand { // what somebody has done outside is not cut short
		return d.call(w, r, b, caller, params)
	}
	ctx, cancel := untilClosing(r.Context())
	defer cancel(nil)
	result, err := d.call(w, r.WithContext(ctx), b, caller, params)
	if err != nil && context.Cause(ctx) == errClosing {
		err = errClosing
	}
	return result, err
}

// call does the operation: once, where it creates and the request has a key.
func (d *Door) call(w *response, r *nethttp.Request, b *binder, caller service.Caller, params any) (any, error) {
	op := b.op
	if conditioned(op, r) {
		held := *op
		held.Call = func(ctx context.Context, c service.Caller, params any) (any, error) {
			return c.CallHeld(ctx, op, params, asRead(r))
		}
		b = &binder{op: &held, path: b.path}
	}
	keys := r.Header.Values(KeyHeader)
	if len(keys) == 0 || !b.op.Creates() {
		return b.op.Call(r.Context(), caller, params)
	}
	if len(keys) > 1 {
		return nil, domain.Invalidf("%s is there %d times", KeyHeader, len(keys))
	}
	sum := sha256.New()
	sum.Write(w.sum[:])
	sum.Write([]byte(r.URL.EscapedPath() + "?" + r.URL.RawQuery))
	result, replayed, err := caller.CallOnce(r.Context(), b.op, b.tenant(params), params, keys[0], [32]byte(sum.Sum(nil)))
	if replayed {
		w.Header().Set(ReplayedHeader, "true")
	}
	return result, err
}

// writeJSON writes a result.
func (d *Door) writeJSON(w nethttp.ResponseWriter, r *nethttp.Request, status int, v any) {
	body := encoded(v)
	zipped := len(body) >= smallAnswer && takesGzip(r)
	if answer, ok := w.(*response); ok {
		full := error(nil)
		if status < nethttp.StatusBadRequest {
			full = answer.hold(int64(len(body))) // a slow reader would have it lie here
		}
		answer.turn.End()
		if full != nil {
			d.fail(w, r, full)
			return
		}
		if answer.tagged && status == nethttp.StatusOK && d.answered(answer, r, body, zipped) {
			return
		}
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", mediaJSON)
	}
	writeBody(w, r, status, body, zipped)
}

// encoded is a result as it is sent.
func encoded(v any) []byte {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // people read it, and no browser takes it for a page
	if err := enc.Encode(v); err != nil {
		panic("BUG: a result cannot be written as JSON: " + err.Error())
	}
	return body.Bytes()
}

// writeBody writes an answer as the caller would have it.
func writeBody(w nethttp.ResponseWriter, r *nethttp.Request, status int, body []byte, zipped bool) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if zipped {
		h.Set("Content-Encoding", "gzip")
	} else {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	switch {
	case r.Method == nethttp.MethodHead:
	case zipped:
		writeGzip(w, body)
	default:
		// The caller may be gone; nothing is to be done about it.
		_, _ = w.Write(body)
	}
}

// fail writes an error as a problem.
func (d *Door) fail(w nethttp.ResponseWriter, r *nethttp.Request, err error) {
	p := d.api.ProblemOf(r.Context(), err)
	if narrower := (interface{ status() int })(nil); errors.As(err, &narrower) {
		p.Status, p.Title = narrower.status(), nethttp.StatusText(narrower.status())
	}
	if other := (*otherwise)(nil); errors.As(err, &other) && strings.HasPrefix(other.tag, `"`) {
		w.Header().Set("ETag", other.tag)
	}
	often := (*budget.TooOften)(nil)
	if p.Status == nethttp.StatusTooManyRequests || p.Status == nethttp.StatusServiceUnavailable {
		after := retryAfter
		if errors.As(err, &often) {
			after = strconv.Itoa(int(often.After.Seconds()))
		}
		if w.Header().Get("Retry-After") == "" { // a webhook knows better
			w.Header().Set("Retry-After", after)
		}
	}
	if p.Status == nethttp.StatusUnauthorized || often != nil {
		tellTries(w.Header(), r)
	}
	if p.Status == nethttp.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+d.cfg.Node+`"`)
	}
	d.writeProblem(w, r, p)
}

func (d *Door) writeProblem(w nethttp.ResponseWriter, r *nethttp.Request, p api.Problem) {
	w.Header().Set("Content-Type", mediaProblem)
	d.writeJSON(w, r, p.Status, p)
}

// response remembers whether an answer has begun.
type response struct {
	nethttp.ResponseWriter
	status    int
	operation string            // "": the request is for none
	routing   bool              // the mux has not found a handler so far
	nowhere   int               // what the mux answers where there is none
	sum       [sha256.Size]byte // of the request's body
	// pool is what the request is one of, nil before its caller is known; held is what
	// its body and its answer hold.
	pool *budget.Pool
	held budget.Hold
	turn turn
	// tagged says that the answer, if it is one of an operation, has a tag.
	tagged bool
	// fields are those of the answer that are wanted; nil: all.
	fields []string
}

func (w *response) WriteHeader(status int) {
	if w.routing && (status == nethttp.StatusNotFound || status == nethttp.StatusMethodNotAllowed) {
		w.routing, w.nowhere = false, status // the door says it better
		return
	}
	w.status = status
	w.tellRoom()
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	switch {
	case w.status == 0 && w.nowhere != 0:
		return len(b), nil
	case w.status == 0:
		w.status = nethttp.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (w *response) Unwrap() nethttp.ResponseWriter { return w.ResponseWriter }
