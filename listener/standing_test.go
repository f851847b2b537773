package listener_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/listener"
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
		standings := func(behind uint64, age time.Duration) {
			t.Helper()
			list, whole := r.s.Standings(t.Context(), 10)
			if !whole || len(list) != 1 || list[0].Tenant != tenant || list[0].Listener != "shipped" || list[0].Behind != behind {
				t.Fatalf("got %+v, %v, want one that is %d behind", list, whole, behind)
			}
			if got := list[0].Oldest; got.IsZero() != (behind == 0) || behind > 0 && time.Since(got) != age {
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
		if list, whole := r.s.Standings(t.Context(), 0); whole || len(list) != 0 {
			t.Errorf("got %v, %v: want to be told that there are more", list, whole)
		}
		r.apply(func(l *domain.Listener) { l.Paused = true })
		if list, whole := r.s.Standings(t.Context(), 10); !whole || len(list) != 0 {
			t.Errorf("paused: got %v, %v", list, whole)
		}
	})
}
