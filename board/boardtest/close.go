package boardtest

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

var closeTests = []test{
	{"after close every call is refused", testClosed},
	{"closing ends what waits", testCloseWaiting},
	{"closing under load hangs nobody", testCloseBusy},
}

// methods are all operations of the contract, by name.
func methods() (names []string) {
	contract := reflect.TypeFor[board.Board]()
	for i := range contract.NumMethod() {
		names = append(names, contract.Method(i).Name)
	}
	return names
}

// calls is every call that can fail, by its method, for tests of closed boards.
func calls(b board.Board) map[string]func(ctx context.Context) error {
	a := ask(1, "me", "queue:v")
	return map[string]func(ctx context.Context) error{
		"Commit":     func(ctx context.Context) error { return b.Commit(ctx, *in(sp).Set("r", set("a", "1"))) },
		"CommitEach": func(ctx context.Context) error { return b.CommitEach(ctx, []board.Batch{*in(sp).Add("n", "n", 1)})[0] },
		"Claim":      func(ctx context.Context) error { _, err := b.Claim(ctx, a); return err },
		"Extend": func(ctx context.Context) error {
			_, err := b.Extend(ctx, "me", time.Minute, []board.Held{{Space: sp, Item: "r", Token: 1}})
			return err
		},
		"Occupy":    func(ctx context.Context) error { _, err := b.Occupy(ctx, sp, "kept", "me", time.Minute); return err },
		"Void":      func(ctx context.Context) error { return b.Void(ctx, "nobody") },
		"Expired":   func(ctx context.Context) error { _, err := b.Expired(ctx, 1, 0); return err },
		"Due":       func(ctx context.Context) error { _, err := b.Due(ctx, 1, 0); return err },
		"Get":       func(ctx context.Context) error { _, err := b.Get(ctx, sp, "r"); return err },
		"GetFields": func(ctx context.Context) error { _, err := b.GetFields(ctx, sp, []string{"a"}, "r"); return err },
		"List":      func(ctx context.Context) error { _, err := b.List(ctx, sp, "l", 0, 1); return err },
		"Len":       func(ctx context.Context) error { _, err := b.Len(ctx, sp, "l"); return err },
		"Stat":      func(ctx context.Context) error { _, err := b.Stat(ctx, sp, "r"); return err },
		"Members":   func(ctx context.Context) error { _, err := b.Members(ctx, sp, "s", "", 1); return err },
		"Keys":      func(ctx context.Context) error { _, _, err := b.Keys(ctx, sp, "", "", 1); return err },
		"Live":      func(ctx context.Context) error { _, err := b.Live(ctx, sp, board.LiveItem{}, 1); return err },
		"LeaseOf":   func(ctx context.Context) error { _, _, err := b.LeaseOf(ctx, sp, "r"); return err },
		"AlarmOf":   func(ctx context.Context) error { _, _, err := b.AlarmOf(ctx, sp, "a"); return err },
		"Alarms":    func(ctx context.Context) error { _, err := b.Alarms(ctx, board.Alarm{}, 1); return err },
		"Counters":  func(ctx context.Context) error { _, _, err := b.Counters(ctx, sp, "", 1); return err },
		"Spaces":    func(ctx context.Context) error { _, err := b.Spaces(ctx); return err },
		"Changed":   func(ctx context.Context) error { _, err := b.Changed(ctx, ""); return err },
		"Ready":     func(ctx context.Context) error { _, err := b.Ready(ctx, "queue:v"); return err },
		"Next":      func(ctx context.Context) error { _, err := b.Next(ctx, sp, "seq", 1); return err },
		"Watch": func(ctx context.Context) error {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			_, err := b.Watch(ctx, sp, "")
			return err
		},
	}
}

func testClosed(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).Set("r", set("a", "1")))
	r.must(r.Close())
	// What cannot fail, and what a driver need not ask its store for.
	cases := map[string]bool{"Close": true, "Now": true, "Limits": true, "Durability": true, "Unreadable": true, "Discard": true}
	for method, call := range calls(r) {
		cases[method] = true
		within(t, patience, method, func() {
			if err := call(r.ctx); !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("%s on a closed board: got %v, want unavailable", method, err)
			}
		})
	}
	covers(t, cases)
	if err := r.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func testCloseWaiting(t *testing.T, f Factory) {
	r := open(t, f)
	ch := r.watch(sp, "")
	waiting := make(chan struct{})
	var began atomic.Int32
	begin := func() {
		if began.Add(1) == 9 {
			close(waiting)
		}
	}
	check := func(what string, err error) {
		if err != nil && !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("%s while closing: got %v, want nothing or unavailable", what, err)
		}
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		each(9, func(i int) {
			begin()
			switch i % 3 {
			case 0:
				a := ask(1, "me", "queue:v")
				a.Wait = 4 * patience
				_, err := r.Claim(r.ctx, a)
				check("claim", err)
			case 1:
				_, err := r.Due(r.ctx, 1, 4*patience)
				check("due", err)
			case 2:
				_, err := r.Expired(r.ctx, 1, 4*patience)
				check("expired", err)
			}
		})
	}()
	<-waiting
	pause()
	within(t, patience, "close", func() { r.must(r.Close()) })
	within(t, patience, "waiting calls", func() { <-back })
	drained(t, ch)
}

func testCloseBusy(t *testing.T, f Factory) {
	r := open(t, f)
	const callers = 64
	var ops atomic.Int32
	busy := make(chan struct{})
	back := make(chan struct{})
	go func() {
		defer close(back)
		each(callers, func(i int) {
			for {
				for what, call := range calls(r) {
					if ops.Add(1) == 2*callers {
						close(busy)
					}
					err := call(r.ctx)
					if errors.Is(err, domain.ErrUnavailable) {
						return
					}
					if err != nil {
						t.Errorf("%s while closing: %v", what, err)
						return
					}
				}
			}
		})
	}()
	<-busy
	within(t, patience, "close", func() { r.must(r.Close()) })
	within(t, patience, "64 busy callers", func() { <-back })
}
