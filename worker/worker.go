package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Node is what a worker needs of a node: [client.Client] is one.
type Node interface {
	ClaimWork(ctx context.Context, w domain.Worker, ask domain.WorkerAsk) ([]domain.Assignment, error)
	// ExtendWork waits, while all go on, until one of the worker's jobs is to stop.
	ExtendWork(ctx context.Context, w domain.Worker, lease, wait time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error)
	// FinishWork answers for each attempt: what came of the job, or an error.
	FinishWork(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) (done []domain.AttemptEnded, errs []error, err error)
	LogWork(ctx context.Context, w domain.Worker, held domain.HeldAttempt, lines []domain.LogLine) error
	// LeaveWork says that the worker stops.
	LeaveWork(ctx context.Context, w domain.Worker) error
	// StepWork answers what a job remembers.
	StepWork(ctx context.Context, w domain.Worker, ask domain.WorkerStep) (domain.WorkerStepAnswer, error)
}

// Config says what a worker is.
type Config struct {
	// Context is the context whose jobs it takes. Required.
	Context domain.TenantID
	// Name tells this life of the program from others; leases are in its name. Default:
	// the machine's name and a random word.
	Name string
	// Slots is how many jobs run at once. Default: 64.
	Slots int
	// Labels are what jobs may ask for by affinity. Default: none.
	Labels domain.Labels
	// Lease is how long a job stays with a worker that is not heard of. Default:
	// [domain.DefaultLease].
	Lease time.Duration
	// Grace is how long functions may go on when the worker is told to stop; then they
	// are told, too, and their jobs go back. One that does not listen holds up the end
	// until it is done, for a lease at the most. Default: [domain.DefaultGrace].
	Grace time.Duration
	// Version is what the list of runners shows. Default: none.
	Version string
	// Logger takes what a person running it should know. Default: slog's.
	Logger *slog.Logger
}

// Handler runs one job: the result is what the job's record gets. Requests of package client
// with its ctx belong to the job's trace, if it has one.
type Handler func(ctx context.Context, job *Job) (result map[string]string, err error)

// Middleware wraps handlers: for traces, metrics, transactions.
type Middleware func(Handler) Handler

// Worker runs functions as jobs.
type Worker struct {
	node     Node
	cfg      Config
	self     domain.Worker
	host     string
	log      *slog.Logger
	handlers map[domain.ScriptType]Handler
	wraps    []Middleware
}

// New returns a worker without functions.
func New(n Node, cfg Config) *Worker {
	host, _ := os.Hostname()
	cfg.Name = cmp.Or(cfg.Name, plain(host)+"-"+strings.ToLower(rand.Text()[:12]))
	cfg.Slots = cmp.Or(cfg.Slots, 64)
	cfg.Lease = cmp.Or(cfg.Lease, domain.DefaultLease)
	cfg.Grace = cmp.Or(cfg.Grace, domain.DefaultGrace)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Worker{node: n, cfg: cfg, self: domain.Worker{Context: cfg.Context, Name: cfg.Name}, host: host, log: cfg.Logger,
		handlers: map[domain.ScriptType]Handler{}}
}

// plain leaves what may stand in a worker's name.
func plain(host string) string {
	host = strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return -1
	}, host)
	return cmp.Or(strings.Trim(host[:min(len(host), 40)], "-."), "worker")
}

// Name is the worker's name.
func (w *Worker) Name() string { return w.cfg.Name }

// Use wraps all functions, those that are registered later too; what was used first is
// outermost. It is called before Run.
func (w *Worker) Use(m ...Middleware) { w.wraps = append(w.wraps, m...) }

// Handler has jobs of a type run by h. It is called before Run.
func (w *Worker) Handler(t domain.ScriptType, h Handler) { w.handlers[t] = h }

// Handle has jobs of a type run by a function of typed arguments: the job's script as
// JSON. What it returns becomes the job's result: an object's fields, texts as they are
// and anything else as JSON; what is no object stands under "value"; nil is no result.
// Arguments that cannot be read fail the job for good.
func Handle[A, R any](w *Worker, t domain.ScriptType, f func(ctx context.Context, job *Job, args A) (R, error)) {
	w.Handler(t, Typed(f))
}

// Typed makes a handler of a function of typed arguments; see [Handle].
func Typed[A, R any](f func(ctx context.Context, job *Job, args A) (R, error)) Handler {
	return func(ctx context.Context, job *Job) (map[string]string, error) {
		var args A
		if err := job.Args(&args); err != nil {
			return nil, Fail(err)
		}
		r, err := f(ctx, job, args)
		if err != nil {
			return nil, err
		}
		return resultOf(r)
	}
}

// resultOf is a value as a job's result.
func resultOf(v any) (map[string]string, error) {
	if m, ok := v.(map[string]string); ok {
		return m, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, Fail(fmt.Errorf("the result cannot be written as JSON: %w", err))
	}
	var fields map[string]json.RawMessage
	switch {
	case string(text) == "null":
		return nil, nil
	case text[0] != '{' || json.Unmarshal(text, &fields) != nil:
		return map[string]string{"value": bare(text)}, nil
	}
	result := make(map[string]string, len(fields))
	for name, value := range fields {
		result[name] = bare(value)
	}
	return result, nil
}

// bare is a JSON text: what is in it for a string, else the text itself.
func bare(text json.RawMessage) string {
	var s string
	if json.Unmarshal(text, &s) == nil && string(text) != "null" {
		return s
	}
	return string(text)
}

// types are those that the worker has functions for.
func (w *Worker) types() []domain.ScriptType {
	return slices.Sorted(maps.Keys(w.handlers))
}

// wrapped is the handler of a type with all that wraps it.
func (w *Worker) wrapped(t domain.ScriptType) Handler {
	h := w.handlers[t]
	if h == nil {
		return nil
	}
	for _, m := range slices.Backward(w.wraps) {
		h = m(h)
	}
	return h
}
