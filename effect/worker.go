package effect

import (
	"github.com/ramet-run/ramet/tracing"

	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// Config says how a [Worker] works.
type Config struct {
	// Tenant is the context that a part of a subject names: its number, its
	// alias, or "" for the context of a deployment without. Required.
	//
	// Errors: [domain.ErrNotFound] where there is none.
	Tenant func(ctx context.Context, name string) (domain.TenantID, error)
	// Bans are asked before an attempt. Default: none.
	Bans *ban.Cache
	// May reports whether the worker may take commands, and returns a channel
	// that is closed when that changes. What is in flight goes on. Default: always.
	May func() (may bool, changed <-chan struct{})
	// Room returns an error while the node has no room for what comes of commands; it is
	// asked again each second then. Default: there is always room.
	Room func() error
	// Grace is how long calls in flight may go on when the worker is told to
	// stop; then others try again. Default: [domain.DefaultGrace].
	Grace time.Duration
	// AckWait is after what silence of this node its commands go to others.
	// Default: [stream.DefaultAckWait].
	AckWait time.Duration
	// Keep is how long the board remembers how a command ended. Default: 7 days.
	Keep time.Duration
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
	// Observer is told what happens, for metrics. Default: nobody.
	Observer Observer
	// Tracer takes the attempts of calls that belong to a trace. Default: nobody.
	Tracer *tracing.Tracer
}

// Observer is told what a worker does. Its methods must be quick.
type Observer interface {
	// EffectBegun and EffectTried are told of each attempt, before and after:
	// what lies between is in flight.
	EffectBegun(effect, target string)
	EffectTried(effect, target string, outcome string, took time.Duration)
	// EffectEnded is told of each result that was published; took is since the
	// command was.
	EffectEnded(effect string, r domain.ResultType, attempts int, took time.Duration)
	// EffectDead is told of a dead letter.
	EffectDead(effect string)
	// BreakerTurned is told of each change of a target's breaker.
	BreakerTurned(target string, state string)
}

type noObserver struct{}

func (noObserver) EffectBegun(string, string)                                {}
func (noObserver) EffectTried(string, string, string, time.Duration)         {}
func (noObserver) EffectEnded(string, domain.ResultType, int, time.Duration) {}
func (noObserver) EffectDead(string)                                         {}
func (noObserver) BreakerTurned(string, string)                              {}

// Worker does the effects of a [Set], together with those of other nodes that
// have the same.
type Worker struct {
	log   stream.Log
	board board.Board
	cfg   Config
	text  *slog.Logger

	inFlight inFlight
	finisher *finisher

	mu        sync.RWMutex
	set       *Set // what is to be used; open
	targets   map[string]*target
	consumers map[string]*consumer // those that take commands
	calls     map[string]*calls    // of jobs, by effect, of those that were called
	changed   chan struct{}        // closed when Use has set another set
}

// keepMarks is for how long the board remembers how a command ended, where nothing else is said.
const keepMarks = 7 * 24 * time.Hour

// NewWorker returns a worker that does the effects of set, which it closes in
// the end.
func NewWorker(log stream.Log, b board.Board, set *Set, cfg Config) *Worker {
	cfg.Grace = cmp.Or(cfg.Grace, domain.DefaultGrace)
	cfg.AckWait = cmp.Or(cfg.AckWait, stream.DefaultAckWait)
	cfg.Keep = cmp.Or(cfg.Keep, keepMarks)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	if cfg.May == nil {
		cfg.May = func() (bool, <-chan struct{}) { return true, nil }
	}
	if cfg.Room == nil {
		cfg.Room = func() error { return nil }
	}
	w := &Worker{log: log, board: b, cfg: cfg, text: cfg.Logger, consumers: map[string]*consumer{}, calls: map[string]*calls{},
		changed: make(chan struct{})}
	w.finisher = newFinisher(w)
	w.set, w.targets = set, targetsOf(set, nil, w.turned)
	return w
}

// turned tells of a breaker.
func (w *Worker) turned(target string, to domain.BreakerState) {
	if to == domain.BreakerOpen {
		w.text.Warn("target does not answer: it is left alone for a while", "target", target)
	} else {
		w.text.Info("target is asked again", "target", target, "breaker", to)
	}
	w.cfg.Observer.BreakerTurned(target, string(to))
}

// Use does the effects of another set from now on. Calls in flight end on the
// set before, which is closed then.
func (w *Worker) Use(set *Set) error {
	w.mu.Lock()
	old := w.set
	w.set, w.targets = set, targetsOf(set, w.targets, w.turned)
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	return old.Close()
}

// inUse is the set that is to be used, held open, with what belongs to it.
func (w *Worker) inUse() (set *Set, targets map[string]*target, changed <-chan struct{}) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	w.set.hold() // under the lock: its owner has not closed it
	return w.set, w.targets, w.changed
}

// letGo is the end of a use.
func (w *Worker) letGo(s *Set) {
	if err := s.release(); err != nil {
		w.text.Warn("effects of other definitions are not closed well", "err", err)
	}
}

// late is how long results may be published after the last call has ended.
const late = 5 * time.Second

// Run does effects until ctx ends, then lets calls in flight end within the
// grace, and publishes their results. It starts the goroutines that doc.go
// lists; none is left when it returns.
func (w *Worker) Run(ctx context.Context) error {
	calls, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	ending, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(w.cfg.Grace, func() { abandon(errAbandoned) })
		time.AfterFunc(w.cfg.Grace+late, func() { giveUp(errAbandoned) })
	})()

	var finishing, others, generations errgroup.Group
	for range finishers {
		finishing.Go(func() error { w.finisher.run(ending); return nil })
	}
	others.Go(func() error { w.inFlight.keep(ending, w.cfg.AckWait); return nil })
	others.Go(func() error { w.deadLetterTroubles(ctx); return nil })
	for ctx.Err() == nil {
		g, changed := w.begin(ctx, calls)
		waitFor(ctx, 0, changed)
		generations.Go(func() error { w.end(g); return nil })
	}
	_ = generations.Wait()
	close(w.finisher.ended)
	_ = finishing.Wait()
	giveUp(nil)
	_ = others.Wait()
	return w.Close()
}

// Close ends a worker that was never run: when its last call has ended.
func (w *Worker) Close() error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.set.Close()
}

// generation is the consumers of one set.
type generation struct {
	set       *Set
	stop      context.CancelFunc
	consumers errgroup.Group
}

// begin starts the consumers of the set that is to be used. changed is closed when
// that is another.
func (w *Worker) begin(ctx, calls context.Context) (g *generation, changed <-chan struct{}) {
	set, targets, changed := w.inUse()
	ctx, stop := context.WithCancel(ctx)
	g = &generation{set: set, stop: stop}
	consumers := make(map[string]*consumer, len(set.effects))
	for name, e := range set.effects {
		consumers[name] = newConsumer(w, e, targets[e.Target], set.secrets)
	}
	w.mu.Lock()
	w.consumers = consumers
	w.mu.Unlock()
	for _, l := range consumers {
		g.consumers.Go(func() error { l.run(ctx, calls); return nil })
	}
	return g, changed
}

// end lets the consumers end.
func (w *Worker) end(g *generation) {
	g.stop()
	_ = g.consumers.Wait()
	w.letGo(g.set)
}
