package listener

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

const (
	// lookEvery is how often it is looked which listeners there are, where nobody tells.
	lookEvery = 5 * time.Second
	// lookAgain is after what time a listener is looked at again that is paused, or not there yet.
	lookAgain = time.Second
	// mostShared bounds the events of one listener that all nodes have in their hands, and
	// fetchMost those that one takes at once.
	mostShared = 1_000
	fetchMost  = 64
	// mostDeliveries is how often an event is given out before the broker gives it up without
	// a word: never, as one that is held up comes again each few seconds for as long as that takes.
	mostDeliveries = math.MaxInt32
	// heldPause is after what time an event comes again that is held up, brokerPause the pause
	// after broker or board could not be asked.
	heldPause   = 5 * time.Second
	brokerPause = time.Second
)

// FlowMaker makes flows of actors who may.
type FlowMaker interface {
	Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error)
}

// Config says how a [Worker] works.
type Config struct {
	// May reports whether the worker may take events, and returns a channel that is closed
	// when that changes. Default: always.
	May func() (may bool, changed <-chan struct{})
	// AckWait is after what silence of this node its events go to others. Default:
	// [stream.DefaultAckWait].
	AckWait time.Duration
	// HeldPause is after what time an event comes again that is held up. Default: 5s.
	HeldPause time.Duration
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
	// Observer is told what happens, for metrics. Default: nobody.
	Observer Observer
}

// Observer is told what listeners do. Its methods must be quick.
type Observer interface {
	// ListenerDead is told of a dead letter.
	ListenerDead(kind domain.DeadKind)
	// ListenerRead is told what became of an event, by one of [Outcomes]; made says that a flow
	// is there for it.
	ListenerRead(tenant domain.TenantID, listener, outcome string, made bool)
}

type noObserver struct{}

func (noObserver) ListenerDead(domain.DeadKind)                       {}
func (noObserver) ListenerRead(domain.TenantID, string, string, bool) {}

// What becomes of an event that is read.
const (
	Started   = "started"   // a flow
	Duplicate = "duplicate" // its flow was there
	Passed    = "passed"    // it is not wanted
	Dead      = "dead"      // it is a dead letter
	Held      = "held"      // it comes again
)

// Outcomes are all of them.
var Outcomes = []string{Started, Duplicate, Passed, Dead, Held}

// Worker starts flows for the events of all listeners, together with those of other nodes.
type Worker struct {
	s     *Store
	flows FlowMaker
	cfg   Config
	log   *slog.Logger
}

// NewWorker returns a worker of the listeners.
func NewWorker(s *Store, flows FlowMaker, cfg Config) *Worker {
	cfg.AckWait = cmp.Or(cfg.AckWait, stream.DefaultAckWait)
	cfg.HeldPause = cmp.Or(cfg.HeldPause, heldPause)
	if cfg.May == nil {
		cfg.May = func() (bool, <-chan struct{}) { return true, nil }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	return &Worker{s: s, flows: flows, cfg: cfg, log: cfg.Logger}
}

// Run serves listeners until ctx ends. What it has in its hands then is dealt with.
func (w *Worker) Run(ctx context.Context) error {
	index, err := w.s.board.Watch(ctx, 0, layout.Listeners)
	if err != nil {
		index = nil // then the tick finds it
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	serving := map[string]context.CancelFunc{} // by the member of the index
	defer func() {
		for _, stop := range serving {
			stop()
		}
	}()
	for ctx.Err() == nil {
		may, changed := w.cfg.May()
		listed, err := w.listed(ctx, may)
		if err != nil && ctx.Err() == nil {
			w.log.Warn("listeners cannot be listed", "err", err)
		}
		if err == nil {
			for member, stop := range serving {
				if !listed[member] {
					stop()
					delete(serving, member)
				}
			}
			for member := range listed {
				if tenant, name, ok := layout.ParseListedListener(member); ok && serving[member] == nil {
					one, stop := context.WithCancel(ctx)
					serving[member] = stop
					running.Go(func() { w.serve(one, tenant, name) })
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-changed:
		case _, open := <-index:
			if !open {
				index = nil
			}
		}
	}
	return nil
}

// listed are the members of the index; none where the node may take no events.
func (w *Worker) listed(ctx context.Context, may bool) (map[string]bool, error) {
	all := map[string]bool{}
	for after := ""; may; {
		page, err := w.s.board.Members(ctx, 0, layout.Listeners, after, 1000)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, member := range page {
			all[member] = true
		}
		after = page[len(page)-1]
	}
	return all, nil
}

// errChanged says that a listener is another now.
var errChanged = errors.New("the listener has changed")

// serve starts flows for the events of one listener, until ctx ends: it is another then, or
// none.
func (w *Worker) serve(ctx context.Context, tenant domain.TenantID, name string) {
	told := &deadLetters{log: w.log, tenant: tenant, name: name}
	defer told.rest()
	for ctx.Err() == nil {
		err := w.take(ctx, tenant, name, told)
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("events of a listener cannot be read; it is tried again", "context", uint32(tenant), "listener", name, "err", err)
			_ = pause.For(ctx, brokerPause) // it ends with ctx
		}
	}
}

// take reads the listener as it is, and takes events until ctx ends, it changes, or broker or
// board cannot be asked.
func (w *Worker) take(ctx context.Context, tenant domain.TenantID, name string, told *deadLetters) error {
	l, err := w.s.Show(ctx, tenant, name)
	if errors.Is(err, domain.ErrNotFound) || err == nil && l.Paused {
		// The index names a change before it is written, so that none is missed where a writer
		// dies: the record itself must be looked at until it says that there is something to do.
		_ = pause.For(ctx, lookAgain) // it ends with ctx
		return errChanged
	}
	if err != nil {
		return err
	}
	h, err := newHearing(ctx, w, tenant, l)
	if err != nil {
		return err
	}
	h.deadLetters = told
	q, err := w.s.streams.Work(ctx, stream.Shared{Durable: durable(tenant, l), Stream: l.Stream(), Subjects: h.subjects, MaxInFlight: mostShared,
		AckWait: w.cfg.AckWait, MaxDeliver: mostDeliveries})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	for {
		list, err := q.Next(ctx, fetchMost)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		// What is taken is dealt with, whatever ends meanwhile.
		held, err := h.deal(context.WithoutCancel(ctx), list)
		if err != nil {
			return err
		}
		if held {
			_ = pause.For(ctx, w.cfg.HeldPause) // it ends with ctx
		}
	}
}
