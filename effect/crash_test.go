package effect_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// node is a worker with its own ways to board and broker, which a crash cuts.
type node struct {
	board *faultboard.Board
	log   stream.Log
	gone  context.CancelFunc
	once  sync.Once
	ended chan struct{}
}

// crash ends a node's part in the world at once. Its goroutines go on, as those
// of a process that was cut off do, and reach nothing.
func (n *node) crash() {
	n.once.Do(func() {
		n.board.Cut()
		_ = n.log.Close()
		n.gone()
	})
}

// hookedLog calls before and after each publish.
type hookedLog struct {
	stream.Log
	before, after func()
}

func (l hookedLog) Publish(ctx context.Context, m ...stream.Message) error {
	l.before()
	err := l.Log.Publish(ctx, m...)
	if err == nil {
		l.after()
	}
	return err
}

// startNode starts a node that is told of each step it takes: "call", "decided",
// "publish", "done", each with "before " or "after ".
func (r *rig) startNode(s *effect.Set, step func(n *node, what string)) *node {
	n := &node{ended: make(chan struct{})}
	at := func(when string) func(context.Context, faultboard.Call) error {
		return func(_ context.Context, c faultboard.Call) error {
			if c.Batch == nil {
				return nil
			}
			for _, op := range c.Batch.Ops {
				if i := slices.IndexFunc(op.Fields, func(f board.Field) bool { return f.Name == layout.DoneStatus }); i >= 0 {
					step(n, when+op.Fields[i].Value)
				}
			}
			return nil
		}
	}
	n.board = faultboard.New(r.board, faultboard.Config{Before: at("before "), After: at("after ")})
	n.log = r.broker.Log()
	w := effect.NewWorker(hookedLog{n.log, func() { step(n, "before publish") }, func() { step(n, "after publish") }}, n.board, s, r.cfg)
	ctx, cancel := context.WithCancel(context.Background())
	n.gone = cancel
	stop := r.stop
	r.stop = func() { cancel(); stop() }
	r.wg.Go(func() {
		defer close(n.ended)
		_ = w.Run(ctx)
	})
	return n
}

func TestACrashBetweenAnyTwoSteps(t *testing.T) {
	for _, tc := range []struct {
		at    string
		calls int // that the target sees
	}{
		{"before call", 2},
		{"after call", 2},
		{"before decided", 2},
		{"after decided", 1},
		{"before publish", 1},
		{"after publish", 1},
		{"before done", 1},
		{"after done", 1},
	} {
		t.Run(tc.at, func(t *testing.T) {
			bubble(t, func(r *rig) {
				var crashed atomic.Bool
				crash := func(n *node, what string) {
					if what == tc.at {
						crashed.Store(true)
						n.crash()
					}
				}
				dying := r.fake.twin()
				n := r.startNode(r.open(dying, effect.Definition{Name: "pay", Kind: "fake"}), crash)
				dying.meets(func(context.Context, effect.Call) error { crash(n, "before call"); return nil })
				dying.thenMeets(func(context.Context, effect.Call) error { crash(n, "after call"); return nil })
				after(time.Second)
				r.ask("c1")
				after(time.Second)
				if !crashed.Load() {
					t.Fatal("the node did not crash")
				}
				r.startNode(r.set(), func(*node, string) {})
				after(2 * time.Minute)
				if got := r.one(); got.ResultType != domain.ResultSucceeded {
					t.Errorf("got %+v", got)
				}
				if n := r.fake.asked("c1"); n != tc.calls {
					t.Errorf("got %d calls, want %d", n, tc.calls)
				}
				if m := r.mark("c1"); m.Status != effect.MarkDone {
					t.Errorf("got the mark %+v", m)
				}
				r.drained()
			})
		})
	}
}

// TestACommandThatEndsItsNodeEnds is about a call that brings the process down
// each time.
func TestACommandThatEndsItsNodeEnds(t *testing.T) {
	bubble(t, func(r *rig) {
		for i := range 10 {
			deadly := r.fake.twin()
			started := make(chan *node, 1)
			deadly.meets(func(ctx context.Context, _ effect.Call) error {
				(<-started).crash()
				<-ctx.Done()
				return ctx.Err()
			})
			started <- r.startNode(r.open(deadly, effect.Definition{Name: "pay", Kind: "fake", Attempts: 3}), func(*node, string) {})
			after(time.Second)
			if i == 0 {
				r.ask("c1")
			}
			after(time.Minute)
		}
		got := r.one()
		if got.ResultType != domain.ResultTimedOut || r.fake.asked("c1") != 4 { // the first is not counted
			t.Errorf("got %+v after %d calls", got, r.fake.asked("c1"))
		}
	})
}

// TestACommandThatOnlyWaitsOutlivesItsNodes is about a job that is queued for longer
// than any node lives: to have waited for it is no attempt that failed.
func TestACommandThatOnlyWaitsOutlivesItsNodes(t *testing.T) {
	bubble(t, func(r *rig) {
		for i := range 10 {
			waiting := r.fake.twin()
			started := make(chan *node, 1)
			waiting.meets(func(ctx context.Context, _ effect.Call) error {
				(<-started).crash()
				<-ctx.Done()
				return ctx.Err()
			})
			started <- r.startNode(r.open(waiting, effect.Definition{Name: "pay", Kind: domain.EffectJob, Attempts: 3}), func(*node, string) {})
			after(time.Second)
			if i == 0 {
				r.ask("c1")
			}
			after(time.Minute)
		}
		if n := r.fake.asked("c1"); n != 10 {
			t.Errorf("it was waited for %d times, want 10", n)
		}
		r.start(r.open(r.fake, effect.Definition{Name: "pay", Kind: domain.EffectJob, Attempts: 3}))
		after(2 * time.Minute)
		if got := r.one(); got.ResultType != domain.ResultSucceeded || got.Attempts != 1 {
			t.Errorf("got %+v", got)
		}
		r.drained()
	})
}

// TestALateWorkerDoesNotChangeTheEnd is about a node that was paused while it
// made a call, for so long that another did it all.
func TestALateWorkerDoesNotChangeTheEnd(t *testing.T) {
	for _, tc := range []struct {
		name string
		late error // what the paused call comes to
	}{
		{"it fails late", effect.Refusedf("no")},
		{"it is done late", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				asleep, wake := context.WithCancel(context.Background())
				defer wake()
				paused := newFake()
				paused.answer = func(effect.Call) json.RawMessage { return json.RawMessage(`"late"`) }
				paused.before = func(context.Context, effect.Call) error { <-asleep.Done(); return tc.late }
				w := effect.NewWorker(muteLog{r.broker.Log()}, r.board, r.open(paused, effect.Definition{Name: "pay", Kind: "fake", Timeout: time.Hour}), r.cfg)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				r.wg.Go(func() { _ = w.Run(ctx) })
				after(time.Second)
				r.ask("c1")
				after(time.Second)
				r.start(r.set())
				after(time.Minute) // the ack wait is over: the other has it
				got := r.one()
				after(10 * time.Minute) // the window of IDs too
				wake()
				after(time.Minute)
				for i, again := range r.results() {
					if again.ResultType != got.ResultType || again.Timestamp != got.Timestamp {
						t.Errorf("result %d is %+v, want %+v", i, again, got)
					}
				}
				r.drained()
				cancel()
			})
		})
	}
}

// muteLog is the log of a node that is paused after it took commands once: it
// takes no more, and says of none that it is in progress.
type muteLog struct{ stream.Log }

func (l muteLog) Work(ctx context.Context, c stream.Shared) (stream.Queue, error) {
	q, err := l.Log.Work(ctx, c)
	return &muteQueue{Queue: q}, err
}

type muteQueue struct {
	stream.Queue
	took bool
}

func (q *muteQueue) Next(ctx context.Context, most int) ([]stream.Delivery, error) {
	if q.took {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	list, err := q.Queue.Next(ctx, most)
	q.took = len(list) > 0
	for i := range list {
		list[i] = muteDelivery{list[i]}
	}
	return list, err
}

type muteDelivery struct{ stream.Delivery }

func (muteDelivery) Progress(context.Context) error { return nil }

// TestANodeThatWakesLeavesWhatOthersHaveDone is about a node that was stopped while
// commands waited there for a place among the calls: the broker gave them to
// another, which has done them.
func TestANodeThatWakesLeavesWhatOthersHaveDone(t *testing.T) {
	for _, tc := range []struct {
		name  string
		awake time.Duration // before there is a place
	}{
		{"the place is free as it wakes", 0},
		{"it has told the broker anew before", stream.DefaultAckWait},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				asleep, wake := context.WithCancel(context.Background())
				defer wake()
				held, free := context.WithCancel(context.Background())
				defer free()
				one := r.fake.twin()
				one.before = func(context.Context, effect.Call) error { <-held.Done(); return nil }
				definition := effect.Definition{Name: "pay", Kind: "fake", Timeout: time.Hour, MaxInFlight: 1}
				log := stoppedLog{r.broker.Log(), asleep.Done()}
				w := effect.NewWorker(log, r.board, r.open(one, definition), r.cfg)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				r.ask("c1", "c2")
				r.wg.Go(func() { _ = w.Run(ctx) })
				after(time.Second)
				if got := r.fake.asked(""); got != 1 {
					t.Fatalf("got %d calls before it is stopped, want 1", got)
				}
				waits := "c2"
				if r.fake.asked("c2") == 1 { // either may have come first
					waits = "c1"
				}
				r.start(r.set())
				after(10 * time.Minute) // it is stopped
				if got := r.fake.asked(waits); got != 1 || r.mark(waits).Status != effect.MarkDone {
					t.Fatalf("got %d calls of the other node, mark %+v", got, r.mark(waits))
				}
				wake()
				after(tc.awake)
				free()
				after(2 * time.Minute)
				if got := r.fake.asked(waits); got != 1 {
					t.Errorf("got %d calls of the command that waited, want 1", got)
				}
				r.drained()
				cancel()
			})
		})
	}
}

// stoppedLog is the log of a node that is stopped after it took commands: it tells
// the broker nothing more, and takes none, until awake is closed.
type stoppedLog struct {
	stream.Log
	awake <-chan struct{}
}

func (l stoppedLog) Work(ctx context.Context, c stream.Shared) (stream.Queue, error) {
	q, err := l.Log.Work(ctx, c)
	return &stoppedQueue{Queue: q, awake: l.awake}, err
}

type stoppedQueue struct {
	stream.Queue
	awake <-chan struct{}
	took  bool
}

func (q *stoppedQueue) Next(ctx context.Context, most int) ([]stream.Delivery, error) {
	if q.took {
		select {
		case <-q.awake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	list, err := q.Queue.Next(ctx, max(most, 2))
	q.took = q.took || len(list) > 0
	for i := range list {
		list[i] = stoppedDelivery{list[i], q.awake}
	}
	return list, err
}

type stoppedDelivery struct {
	stream.Delivery
	awake <-chan struct{}
}

func (d stoppedDelivery) Progress(ctx context.Context) error {
	<-d.awake
	return d.Delivery.Progress(ctx)
}
