package listener_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/stream"
)

// counted is how many events had an outcome.
type counted struct {
	mu sync.Mutex
	by map[string]int
}

func (*counted) ListenerDead(domain.DeadKind) {}

func (c *counted) ListenerRead(_ domain.TenantID, name, outcome string, made bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[fmt.Sprintf("%s %s %v", name, outcome, made)]++
}

func TestEventsAreCountedByWhatBecameOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		got := &counted{by: map[string]int{}}
		r.w = listener.NewWorker(r.s, r.flows, listener.Config{Observer: got})
		r.apply()
		stop := r.run()
		r.publish("e1", "OrderShipped", `{"n":1,"country":"BE"}`)
		time.Sleep(time.Second)
		r.publish("e1", "OrderShipped", `{"n":1,"country":"BE","again":true}`)
		r.publish("e2", "OrderPaid", `{"n":1}`)
		r.publish("e3", "OrderShipped", `{"n":1,"country":"XX"}`)
		r.publish("e4", "OrderShipped", `{"n":{}}`)
		time.Sleep(time.Second)
		r.flows.set(domain.Unavailablef("banned"), false)
		r.publish("e5", "OrderShipped", `{"n":1,"country":"BE"}`)
		time.Sleep(time.Second)
		stop()
		want := map[string]int{"shipped started true": 1, "shipped duplicate true": 1, "shipped passed false": 2, "shipped dead false": 1, "shipped held false": 1}
		if fmt.Sprint(got.by) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got.by, want)
		}
	})
}

// TestHowFarListenersAreBehind is known whether somebody serves them or not.
func TestHowFarListenersAreBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		w := listener.NewWatch(r.s, 10)
		standings := func(behind uint64, age time.Duration) {
			t.Helper()
			got := w.Look(t.Context())
			if !got.Whole || len(got.List) != 1 || got.List[0].Tenant != tenant || got.List[0].Listener != "shipped" || got.List[0].Behind != behind {
				t.Fatalf("got %+v, want one that is %d behind", got, behind)
			}
			if got := got.List[0].Oldest; got.IsZero() != (behind == 0) || behind > 0 && time.Since(got) != age {
				t.Errorf("the oldest is of %v ago, want %v", time.Since(got), age)
			}
		}
		r.apply()
		standings(0, 0)
		r.publish("e1", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Minute)
		r.publish("e2", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Second)
		standings(2, 61*time.Second) // nobody serves it
		stop := r.run()
		time.Sleep(10 * time.Second)
		standings(0, 0)
		r.flows.set(domain.Unavailablef("banned"), false)
		r.publish("e3", "OrderShipped", `{"n":1}`)
		time.Sleep(time.Minute)
		standings(1, time.Minute) // in somebody's hands, and held up
		stop()
		if got := listener.NewWatch(r.s, 0).Look(t.Context()); got.Whole || len(got.List) != 0 {
			t.Errorf("got %+v: want to be told that there are more", got)
		}
		r.apply(func(l *domain.Listener) { l.Paused = true })
		if got := w.Look(t.Context()); !got.Whole || len(got.List) != 0 {
			t.Errorf("paused: got %+v", got)
		}
	})
}

// away is a log whose broker can be away, and that counts what is asked of it.
type away struct {
	stream.Log
	gone           bool
	counts, budget int // budget: after so many questions the time is over
	over           context.CancelFunc
}

func (a *away) Acked(ctx context.Context, n domain.StreamName, durable string) (uint64, uint64, bool, error) {
	if a.gone {
		return 0, 0, false, domain.Unavailablef("the broker is away")
	}
	if a.over != nil {
		if a.budget--; a.budget < 0 {
			a.over()
			return 0, 0, false, ctx.Err()
		}
	}
	return a.Log.Acked(ctx, n, durable)
}

func (a *away) Count(ctx context.Context, n domain.StreamName, subjects []string, after uint64) (uint64, error) {
	a.counts++
	return a.Log.Count(ctx, n, subjects, after)
}

// TestABrokerThatIsAwayIsNoZero: one that was behind stays so, and what is not known is counted.
func TestABrokerThatIsAwayIsNoZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		log := &away{Log: r.log}
		s := listener.New(r.b, log, called{}, nil)
		w := listener.NewWatch(s, 10)
		r.apply()
		r.apply(func(l *domain.Listener) { l.Name, l.On.Of = "idle", "Customer" })
		r.publish("e1", "OrderShipped", `{"n":1}`)
		if got := w.Look(t.Context()); !got.Whole || got.Missed != 0 || len(got.List) != 2 {
			t.Fatalf("there: got %+v", got)
		}
		log.gone = true
		if got := w.Look(t.Context()); got.Whole || got.Missed != 2 || got.Unknown != 0 || len(got.List) != 1 || got.List[0].Behind != 1 {
			t.Errorf("away: got %+v", got)
		}
		time.Sleep(time.Hour)
		if got := w.Look(t.Context()); got.Unknown != 2 || len(got.List) != 1 || time.Since(got.List[0].Oldest) < time.Hour {
			t.Errorf("away for an hour: got %+v", got)
		}
		if got := listener.NewWatch(s, 10).Look(t.Context()); got.Unknown != 2 || len(got.List) != 0 {
			t.Errorf("of a node that has begun since: got %+v", got)
		}
	})
}

// TestListenersTakeTurnsToBeLookedAt where the time, or what a look takes, is not enough for all.
func TestListenersTakeTurnsToBeLookedAt(t *testing.T) {
	for _, n := range []int{3, 5} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			for i := range n {
				r.apply(func(l *domain.Listener) { l.Name = fmt.Sprint("l", i) })
			}
			log := &away{Log: r.log}
			w := listener.NewWatch(listener.New(r.b, log, called{}, nil), 4)
			found := map[string]bool{}
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				log.budget, log.over = 2, cancel
				for _, l := range w.Look(ctx).List {
					found[l.Listener] = true
				}
				cancel()
			}
			if len(found) != n {
				t.Errorf("after three looks at two of %d each, these were looked at: %v", n, found)
			}
		})
	}
}

// TestALookCountsNothingThatTheBrokerCounts: it costs the same however much waits.
func TestALookCountsNothingThatTheBrokerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.apply()
		stop := r.run()
		time.Sleep(10 * time.Second) // the consumer is there
		stop()
		for i := range 20 {
			r.publish(fmt.Sprint("e", i), "OrderShipped", `{"n":1}`)
		}
		log := &away{Log: r.log}
		got := listener.NewWatch(listener.New(r.b, log, called{}, nil), 10).Look(t.Context())
		if len(got.List) != 1 || got.List[0].Behind != 20 || log.counts != 0 {
			t.Errorf("got %+v after %d counts", got, log.counts)
		}
	})
}

// TestAListenerThatCannotBeReadSpoilsNoLook for good.
func TestAListenerThatCannotBeReadSpoilsNoLook(t *testing.T) {
	r := newRig(t)
	r.apply()
	key := layout.Listener("shipped")
	damage := board.Batch{Space: layout.SpaceOf(tenant)}
	damage.Delete(key).PushLeft(key, "x")
	if err := r.b.Commit(t.Context(), damage); err != nil {
		t.Fatal(err)
	}
	if got := listener.NewWatch(r.s, 10).Look(t.Context()); !got.Whole || len(got.List) != 0 || got.Unknown != 0 {
		t.Errorf("got %+v", got)
	}
}
