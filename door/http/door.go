package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	nethttp "net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

const (
	// MaxBody bounds a request's body in bytes: eight of the largest scripts.
	MaxBody = 8 << 20
	// MaxDepth bounds how deep its JSON is nested: payloads of events are as deep
	// as sagas may keep them, and stand a few levels deep themselves.
	MaxDepth = domain.MaxSagaDepth + 4
	// answerTime is how long a call may take to be answered and read: longer
	// than job.wait waits.
	answerTime = 2 * time.Minute
)

// Config says how the door stands.
type Config struct {
	// Node is the node's name: what tokens must be for. Required.
	Node string
	// Actor looks up who a token names: Registry.KnownActor. Required.
	Actor func(ctx context.Context, id domain.ActorID) (domain.Actor, error)
	// Ready answers /ready. Default: always.
	Ready func() bool
	// Checks are what /health looks at, by name: the board, the streams. Default:
	// nothing, the node is healthy as long as it answers.
	Checks map[string]func(ctx context.Context) error
	// Metrics answers /metrics. Default: not found.
	Metrics nethttp.Handler
	// OpenMetrics lets /metrics be read without a token.
	OpenMetrics bool
	// Heartbeat is the pause between comments on a silent stream. Default: 15s.
	Heartbeat time.Duration
	// MaxStreams bounds the streams that are open at once. Default: 1024.
	MaxStreams int
	// Logger takes what went wrong. Default: none.
	Logger *slog.Logger
	// Audit takes refused tokens. Default: none.
	Audit identity.Recorder
}

// Door is the HTTP door of one node.
type Door struct {
	api      *api.API
	cfg      Config
	mux      *nethttp.ServeMux
	verifier identity.Verifier
	log      *slog.Logger
	audit    identity.Recorder
	streams  atomic.Int64
}

var _ nethttp.Handler = (*Door)(nil)

// New returns the door to a's operations. Use it as a handler, or call Serve.
func New(a *api.API, cfg Config) *Door {
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, 15*time.Second)
	cfg.MaxStreams = cmp.Or(cfg.MaxStreams, 1024)
	discard := slog.New(slog.DiscardHandler)
	d := &Door{api: a, cfg: cfg, mux: nethttp.NewServeMux(), log: cmp.Or(cfg.Logger, discard), audit: cmp.Or[identity.Recorder](cfg.Audit, identity.Discard{}),
		verifier: identity.Verifier{Node: cfg.Node, Actor: cfg.Actor}}
	for i := range api.Operations {
		d.mount(&api.Operations[i])
	}
	d.mountNode()
	return d
}

// Handler is the door as a handler for servers of one's own.
func Handler(a *api.API, cfg Config) nethttp.Handler { return New(a, cfg) }

// ServeHTTP answers one request.
func (d *Door) ServeHTTP(rw nethttp.ResponseWriter, r *nethttp.Request) {
	id := rand.Text()
	r = r.WithContext(api.WithRequestID(r.Context(), id))
	w := &response{ResponseWriter: rw}
	h := w.Header()
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	defer d.recover(w, r)
	// Best effort: a recorder in a test has no deadlines.
	_ = nethttp.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	if _, pattern := d.mux.Handler(r); pattern == "" {
		d.noSuchPath(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
	d.log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", w.status), slog.String("request_id", id))
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
		slog.String("path", r.URL.Path), slog.String("request_id", api.RequestID(r.Context())), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		panic(nethttp.ErrAbortHandler) // half an answer must not look like a whole one
	}
	d.fail(w, r, errors.New("panic"))
}

// noSuchPath answers as the mux would, but with a problem.
func (d *Door) noSuchPath(w *response, r *nethttp.Request) {
	probe := &response{ResponseWriter: discardWriter{nethttp.Header{}}}
	d.mux.ServeHTTP(probe, r)
	allow := probe.Header().Get("Allow")
	if probe.status != nethttp.StatusMethodNotAllowed {
		d.fail(w, r, domain.NotFoundf("there is no path %q; see the table of operations", r.URL.Path))
		return
	}
	w.Header().Set("Allow", allow)
	p := d.api.ProblemOf(r.Context(), domain.Invalidf("method %s is not for %s; use %s", r.Method, r.URL.Path, allow))
	p.Status, p.Title = probe.status, nethttp.StatusText(probe.status)
	d.writeProblem(w, p)
}

// mount puts one operation into the mux.
func (d *Door) mount(o *api.Operation) {
	b := newBinder(o)
	d.mux.HandleFunc(o.Method+" "+o.Path, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		// Who asks comes first: bodies of strangers are not even read.
		actor, err := d.authenticate(r)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		caller := d.api.As(actor)
		params, err := b.bind(w, r, func(alias string) (domain.TenantID, error) { return caller.ContextNamed(r.Context(), alias) })
		if err != nil {
			d.fail(w, r, err)
			return
		}
		// The body is read: its deadline must not cut off a wait or a stream.
		_ = nethttp.NewResponseController(w).SetReadDeadline(time.Time{})
		if o.Stream != nil && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			d.stream(w, r, func(ctx context.Context, emit func(api.Event) error) error {
				return o.Stream(ctx, caller, params, emit)
			})
			return
		}
		result, err := o.Call(r.Context(), caller, params)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		d.writeJSON(w, nethttp.StatusOK, result)
	})
}

// writeJSON writes a result.
func (d *Door) writeJSON(w nethttp.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // people read it, and no browser takes it for a page
	if err := enc.Encode(v); err != nil {
		panic("BUG: a result cannot be written as JSON: " + err.Error())
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	// The caller may be gone; nothing is to be done about it.
	_, _ = w.Write(body.Bytes())
}

// fail writes an error as a problem.
func (d *Door) fail(w nethttp.ResponseWriter, r *nethttp.Request, err error) {
	p := d.api.ProblemOf(r.Context(), err)
	if tooLarge := (*nethttp.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		p.Status, p.Title = nethttp.StatusRequestEntityTooLarge, nethttp.StatusText(nethttp.StatusRequestEntityTooLarge)
	}
	if p.Status == nethttp.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+d.cfg.Node+`"`)
	}
	d.writeProblem(w, p)
}

func (d *Door) writeProblem(w nethttp.ResponseWriter, p api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	d.writeJSON(w, p.Status, p)
}

// response remembers whether an answer has begun.
type response struct {
	nethttp.ResponseWriter
	status int
}

func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = nethttp.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (w *response) Unwrap() nethttp.ResponseWriter { return w.ResponseWriter }

// discardWriter takes an answer that nobody gets.
type discardWriter struct{ header nethttp.Header }

func (w discardWriter) Header() nethttp.Header      { return w.header }
func (w discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w discardWriter) WriteHeader(int)             {}
