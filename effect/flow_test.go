package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/stream"
)

// This file tests what holds calls up: bans, breakers, caps, the end of a node,
// and other definitions.

func TestBansHoldCommandsUp(t *testing.T) {
	for _, tc := range []struct {
		name  string
		scope domain.BanScope
		holds bool
	}{
		{"everything", domain.BanScope{Kind: domain.BanAll}, true},
		{"the effect", domain.BanScope{Kind: domain.BanEffect, Name: "pay"}, true},
		{"the effect in the context", domain.BanScope{Kind: domain.BanEffect, Context: 7, Name: "pay"}, true},
		{"its target", domain.BanScope{Kind: domain.BanEffect, Name: "fake://target"}, true},
		{"its target in the context", domain.BanScope{Kind: domain.BanEffect, Context: 7, Name: "fake://target"}, true},
		{"the context", domain.BanScope{Kind: domain.BanContext, Context: 7}, true},
		{"another context", domain.BanScope{Kind: domain.BanContext, Context: 8}, false},
		{"another effect", domain.BanScope{Kind: domain.BanEffect, Name: "ship"}, false},
		{"the effect in another context", domain.BanScope{Kind: domain.BanEffect, Context: 8, Name: "pay"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				w, _ := r.start(r.set())
				after(time.Second)
				if _, err := r.bans.Set(r.Context(), domain.Ban{BanScope: tc.scope, Level: domain.BanPick, By: 1, Reason: "test"}); err != nil {
					t.Fatal(err)
				}
				after(2 * time.Second)
				r.ask("c1")
				after(time.Hour)
				if held := len(r.results()) == 0; held != tc.holds {
					t.Fatalf("held up: %v, want %v", held, tc.holds)
				}
				if !tc.holds {
					return
				}
				if paused := w.List(r.Context())[0].Paused; (tc.scope.Context == 0) != strings.Contains(paused, "banned") {
					t.Errorf("got paused %q", paused)
				}
				if _, err := r.bans.Lift(r.Context(), tc.scope); err != nil {
					t.Fatal(err)
				}
				after(40 * time.Second)
				if got := r.one(); got.ResultType != domain.ResultSucceeded || got.Attempts != 1 {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

func TestAContextThatIsPausedDoesNotHoldUpOthers(t *testing.T) {
	bubble(t, func(r *rig) {
		r.start(r.set())
		if _, err := r.bans.Set(r.Context(), domain.Ban{BanScope: domain.BanScope{Kind: domain.BanEffect, Context: 7, Name: "pay"},
			Level: domain.BanPick, By: 1, Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		for i := range 500 {
			r.ask(fmt.Sprint("c", i))
		}
		other := command("other")
		other.TenantID = "8"
		r.publish(message(other))
		after(time.Second)
		if got := r.one(); got.CommandID != "other" {
			t.Errorf("got the result of %s", got.CommandID)
		}
	})
}

func TestABreakerSparesATarget(t *testing.T) {
	bubble(t, func(r *rig) {
		var well atomic.Bool
		r.fake.meets(func(context.Context, effect.Call) error {
			if !well.Load() {
				return errors.New("no luck")
			}
			return nil
		})
		w, _ := r.start(r.set(func(d *effect.Definition) {
			d.Breaker, d.BreakerPause, d.Attempts, d.MaxInFlight = 3, time.Minute, 100, 1
		}))
		for i := range 50 {
			r.ask(fmt.Sprint("c", i))
		}
		after(30 * time.Second)
		calls := func() (n int) {
			for i := range 50 {
				n += r.fake.asked(fmt.Sprint("c", i))
			}
			return n
		}
		if n := calls(); n != 3 {
			t.Errorf("got %d calls, want the 3 that opened the breaker", n)
		}
		if s := w.List(r.Context())[0]; s.Breaker != domain.BreakerOpen || s.OpenMs <= 0 || s.Error != "no luck" || s.Paused != "" {
			t.Errorf("got %+v", s)
		} else if is, why := s.Stands(); is != domain.EffectOpen || why != "its target is left alone; the last error: no luck" {
			t.Errorf("it stands as %s: %s", is, why)
		}
		after(10 * time.Minute)
		if n := calls(); n < 3+7 || n > 3+10 {
			t.Errorf("got %d calls, want one a minute", n)
		}
		well.Store(true)
		after(5 * time.Minute)
		if got := len(r.results()); got != 50 {
			t.Errorf("got %d results once the target is well, want 50", got)
		}
		r.drained()
	})
}

func TestEffectsOfOneTargetShareItsBreakerAndCap(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fake.meets(func(context.Context, effect.Call) error { time.Sleep(time.Minute); return nil })
		w, _ := r.start(r.open(r.fake,
			effect.Definition{Name: "pay", Kind: "fake", MaxInFlight: 3, Timeout: time.Hour},
			effect.Definition{Name: "refund", Kind: "fake", MaxInFlight: 9, Timeout: time.Hour},
			effect.Definition{Name: "other", Kind: "fake", Target: "elsewhere", MaxInFlight: 2, Timeout: time.Hour}))
		for i := range 20 {
			for _, name := range []string{"pay", "refund", "other"} {
				c := command(fmt.Sprint(name, i))
				c.EffectName = name
				r.publish(message(c))
			}
		}
		after(time.Second)
		if r.fake.atOnce() != 3+2 {
			t.Errorf("got %d calls at once, want 3 for the shared target and 2 for the other", r.fake.atOnce())
		}
		for _, s := range w.List(r.Context()) {
			if want := map[string]int{"pay": 3, "refund": 3, "other": 2}[s.Name]; s.InFlight != want || s.MaxInFlight != want {
				t.Errorf("%s: got %d of %d in flight, want %d", s.Name, s.InFlight, s.MaxInFlight, want)
			}
		}
		after(time.Hour)
		if n := len(r.results()); n != 60 || r.fake.atOnce() != 5 {
			t.Errorf("got %d results, at most %d calls at once, want 60 and 5", n, r.fake.atOnce())
		}
	})
}

func TestALongCallStaysInOneHand(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fake.meets(func(context.Context, effect.Call) error { time.Sleep(20 * time.Minute); return nil })
		r.start(r.set(func(d *effect.Definition) { d.Timeout, d.MaxInFlight = time.Hour, 1 }))
		r.start(r.set(func(d *effect.Definition) { d.Timeout, d.MaxInFlight = time.Hour, 1 }))
		r.ask("c1", "c2", "c3") // more than there are places
		after(2 * time.Hour)
		if n := len(r.results()); n != 3 {
			t.Errorf("got %d results, want 3", n)
		}
		for _, id := range []string{"c1", "c2", "c3"} {
			if n := r.fake.asked(id); n != 1 {
				t.Errorf("got %d calls of %s, want 1", n, id)
			}
		}
	})
}

func TestANodeThatStopsLetsCallsEnd(t *testing.T) {
	for _, tc := range []struct {
		name  string
		takes time.Duration // of a call
		ends  time.Duration // how long the worker takes to stop, at most
		calls int           // of the command that is in flight
	}{
		{"within the grace", 10 * time.Second, 11 * time.Second, 1},
		{"but not for ever", time.Hour, 31 * time.Second, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.fake.meets(func(ctx context.Context, c effect.Call) error {
					select {
					case <-time.After(tc.takes):
					case <-ctx.Done():
					}
					return ctx.Err()
				})
				_, stop := r.start(r.set(func(d *effect.Definition) { d.Timeout, d.MaxInFlight = 2*time.Hour, 1 }))
				r.ask("c1", "c2")
				after(time.Second)
				began := time.Now()
				stop()
				if took := time.Since(began); took > tc.ends {
					t.Errorf("it took %v to stop, want up to %v", took, tc.ends)
				}
				if n := r.fake.asked("c2"); n != 0 {
					t.Errorf("got %d calls of a command that was not begun", n)
				}
				if !r.fake.isClosed() {
					t.Error("the provider is not closed")
				}
				// Another node takes over at once.
				r.fake.reopen()
				r.fake.meets(nil)
				r.start(r.set())
				after(2 * time.Second)
				if n := len(r.results()); n != 2 || r.fake.asked("c1") != tc.calls {
					t.Errorf("got %d results and %d calls, want 2 and %d", n, r.fake.asked("c1"), tc.calls)
				}
				r.drained()
			})
		})
	}
}

func TestADutyThatIsLostHoldsUp(t *testing.T) {
	bubble(t, func(r *rig) {
		var mu sync.Mutex
		may, changed := true, make(chan struct{})
		set := func(yes bool) {
			mu.Lock()
			defer mu.Unlock()
			may = yes
			close(changed)
			changed = make(chan struct{})
		}
		r.cfg.May = func() (bool, <-chan struct{}) {
			mu.Lock()
			defer mu.Unlock()
			return may, changed
		}
		r.start(r.set())
		after(time.Second)
		set(false)
		after(time.Millisecond)
		r.ask("c1")
		after(time.Minute)
		if n := len(r.results()); n != 0 {
			t.Fatalf("got %d results without the duty", n)
		}
		set(true)
		after(time.Second)
		r.one()
	})
}

func TestWithoutRoomNoCommandsAreTaken(t *testing.T) {
	bubble(t, func(r *rig) {
		var full atomic.Bool
		r.cfg.Room = func() error {
			if full.Load() {
				return domain.Exhaustedf("the disk is nearly full")
			}
			return nil
		}
		full.Store(true)
		r.start(r.set())
		r.ask("c1")
		after(time.Minute)
		if n := len(r.results()); n != 0 {
			t.Fatalf("got %d results without room", n)
		}
		full.Store(false)
		after(2 * time.Second)
		r.one()
	})
}

func TestOtherDefinitions(t *testing.T) {
	bubble(t, func(r *rig) {
		old, release := r.fake, make(chan struct{})
		old.meets(func(context.Context, effect.Call) error { <-release; return nil })
		w, _ := r.start(r.set())
		r.ask("c1")
		after(time.Second)

		next := newFake()
		next.answer = func(effect.Call) json.RawMessage { return json.RawMessage(`"new"`) }
		if err := w.Use(r.open(next, effect.Definition{Name: "pay", Kind: "fake"}, effect.Definition{Name: "ship", Kind: "fake"})); err != nil {
			t.Fatal(err)
		}
		after(time.Minute) // which is longer than the ack wait
		r.ask("c2")
		ship := command("c3")
		ship.EffectName = "ship"
		r.publish(message(ship))
		after(time.Second)
		if n := len(r.results()); n != 2 || next.asked("c2") != 1 || next.asked("c3") != 1 || old.isClosed() {
			t.Errorf("got %d results, want those of the new set; old is closed: %v", n, old.isClosed())
		}
		if list := w.List(r.Context()); len(list) != 2 || list[1].Name != "ship" {
			t.Errorf("got %+v", list)
		}
		close(release)
		after(time.Second)
		if n := len(r.results()); n != 3 || next.asked("c1") != 0 || !old.isClosed() {
			t.Errorf("got %d results, want the old call's too; old is closed: %v", n, old.isClosed())
		}

		// Sets that come one after the other are all closed but the last.
		unused := newFake()
		for range 3 {
			if err := w.Use(r.open(unused, effect.Definition{Name: "pay", Kind: "fake"})); err != nil {
				t.Fatal(err)
			}
		}
		last := newFake()
		if err := w.Use(r.open(last, effect.Definition{Name: "pay", Kind: "fake"})); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		if !unused.isClosed() || !next.isClosed() || last.isClosed() {
			t.Errorf("closed: %v %v %v, want all but the last", unused.isClosed(), next.isClosed(), last.isClosed())
		}
	})
}

func TestABreakerOutlivesAReload(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fake.meets(func(context.Context, effect.Call) error { return errors.New("no luck") })
		w, _ := r.start(r.set(func(d *effect.Definition) { d.Breaker, d.BreakerPause = 1, time.Hour }))
		r.ask("c1")
		after(time.Second)
		if err := w.Use(r.set(func(d *effect.Definition) { d.Breaker, d.BreakerPause, d.Timeout = 1, time.Hour, time.Minute })); err != nil {
			t.Fatal(err)
		}
		if got := w.List(r.Context())[0].Breaker; got != domain.BreakerOpen {
			t.Errorf("got %s, want it open still", got)
		}
		if err := w.Use(r.set(func(d *effect.Definition) { d.Breaker, d.BreakerPause = 2, time.Hour })); err != nil {
			t.Fatal(err)
		}
		if got := w.List(r.Context())[0].Breaker; got != domain.BreakerClosed {
			t.Errorf("got %s for other limits, want a new one", got)
		}
	})
}

func TestTrials(t *testing.T) {
	bubble(t, func(r *rig) {
		w, _ := r.start(r.set(func(d *effect.Definition) { d.Contexts = []domain.TenantID{7} }))
		ctx := r.Context()
		got, err := w.Test(ctx, "pay", 7)
		if err != nil || got.Outcome != domain.EffectDone || r.fake.asked("") != 0 {
			t.Errorf("check: got %+v, %v, and %d calls", got, err, r.fake.asked(""))
		}
		got, err = w.TestCall(ctx, "pay", 7, "7", json.RawMessage(`{"amount":1}`))
		if err != nil || got.Outcome != domain.EffectDone || string(got.Answer) != `{"ok":true}` || r.fake.asked(got.CommandID) != 1 || len(r.results()) != 0 {
			t.Errorf("call: got %+v, %v", got, err)
		}
		if _, err := w.TestCall(ctx, "pay", 8, "8", nil); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("another context: got %v", err)
		}
		if _, err := w.TestCall(ctx, "pay", 7, "7", json.RawMessage(`{`)); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("no JSON: got %v", err)
		}
		if _, err := w.Test(ctx, "pya", 7); !errors.Is(err, domain.ErrNotFound) || !strings.Contains(err.Error(), "did you mean pay?") {
			t.Errorf("no such effect: got %v", err)
		}
		after(time.Second)
		r.fake.meets(func(context.Context, effect.Call) error { return effect.Refusedf("card expired") })
		got, err = w.TestCall(ctx, "pay", 7, "7", nil)
		if err != nil || got.Outcome != domain.EffectDenied || got.Error != "card expired" {
			t.Errorf("refused: got %+v, %v", got, err)
		}
		if is, why := w.List(ctx)[0].Stands(); is != domain.EffectFailedLast || why != "card expired" {
			t.Errorf("after a call by hand that failed it stands %s: %s", is, why)
		}
	})
}

func TestAStreamThatIsAwayComesBack(t *testing.T) {
	bubble(t, func(r *rig) {
		w, _ := r.start(r.set())
		after(time.Second)
		away := r.broker
		setAway := func(yes bool) { away.Fault(faults(yes)) }
		setAway(true)
		after(time.Minute)
		if s := w.List(r.Context())[0]; s.Trouble == "" {
			t.Errorf("got %+v, want a trouble", s)
		}
		setAway(false)
		after(5 * time.Second)
		r.ask("c1")
		after(5 * time.Second)
		r.one()
		if lag := w.Lag(r.Context()); len(lag) != 1 || lag["pay"] != 0 {
			t.Errorf("got the lag %v", lag)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		r.start(r.set())
		var list []stream.Message
		for i := range 900 {
			list = append(list, message(command(fmt.Sprint("c", i))))
		}
		r.publish(list...)
		after(time.Minute)
		if n := len(r.results()); n != len(list) {
			t.Errorf("got %d results, want %d", n, len(list))
		}
		r.drained()
	})
}

// TestATrialThatWasEndedDoesNotCloseTheDoor is about the one call that an open
// breaker lets through after its pause: whoever makes it may be stopped.
func TestATrialThatWasEndedDoesNotCloseTheDoor(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fake.meets(func(context.Context, effect.Call) error { return errors.New("no luck") })
		w, _ := r.start(r.set(func(d *effect.Definition) { d.Breaker, d.BreakerPause = 1, time.Minute }))
		if _, err := w.Call(r.Context(), aCall("c1"), nil); err == nil {
			t.Fatal("got no error")
		}
		after(61 * time.Second)
		r.fake.meets(func(ctx context.Context, _ effect.Call) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if _, err := w.Call(ctx, aCall("c2"), nil); !errors.Is(err, context.DeadlineExceeded) || r.fake.asked("c2") != 1 {
			t.Fatalf("got %v after %d calls", err, r.fake.asked("c2"))
		}
		r.fake.meets(nil)
		ctx, cancel = context.WithTimeout(r.Context(), 5*time.Minute)
		defer cancel()
		if _, err := w.Call(ctx, aCall("c3"), nil); err != nil {
			t.Errorf("got %v, want it to be let through after another pause", err)
		}
	})
}

// watcher is an observer that counts.
type watcher struct {
	mu     sync.Mutex
	counts map[string]int
}

func (w *watcher) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

func (w *watcher) EffectBegun(effect, target string) { w.count("begun " + effect + " " + target) }
func (w *watcher) EffectTried(effect, _ string, outcome string, took time.Duration) {
	w.count("tried " + effect + " " + outcome + " " + took.String())
}
func (w *watcher) EffectEnded(effect string, r domain.ResultType, attempts int, took time.Duration) {
	w.count(fmt.Sprint("ended ", effect, " ", r, " ", attempts, " ", took.Truncate(20*time.Second)))
}
func (w *watcher) EffectDead(effect string)           { w.count("dead " + effect) }
func (w *watcher) BreakerTurned(target, state string) { w.count("breaker " + target + " " + state) }

func TestWhatAnObserverIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		told := &watcher{counts: map[string]int{}}
		r.cfg.Observer = told
		r.fake.meets(func(_ context.Context, c effect.Call) error {
			time.Sleep(time.Second)
			if c.Attempt == 1 {
				return errors.New("no luck")
			}
			return nil
		})
		r.start(r.set(func(d *effect.Definition) { d.Breaker, d.BreakerPause, d.Backoff = 1, 10*time.Second, 20*time.Second }))
		r.ask("c1")
		after(time.Minute)
		r.ask("c1") // which is done
		r.publish(stream.Message{Stream: domain.WorkflowCommands, Subject: "tenant.7.effect.pay.c2", Data: []byte("{")})
		after(time.Minute)
		want := map[string]int{"begun pay fake://target": 2, "tried pay failed 1s": 1, "tried pay done 1s": 1, "ended pay Succeeded 2 20s": 1, "dead pay": 1,
			"breaker fake://target open": 1, "breaker fake://target half-open": 1, "breaker fake://target closed": 1}
		told.mu.Lock()
		defer told.mu.Unlock()
		if diff := cmp.Diff(want, told.counts); diff != "" {
			t.Error(diff)
		}
	})
}
