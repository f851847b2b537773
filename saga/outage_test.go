package saga_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream/memstream"
)

// TestABoardThatIsFullForNowMakesNoDeadLetters has one that refuses commits, as Redis at its
// maxmemory.
func TestABoardThatIsFullForNowMakesNoDeadLetters(t *testing.T) {
	bubble(t, func(r *rig) {
		var full atomic.Int32
		faults := faultboard.New(r.board, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && full.Add(-1) >= 0 {
				return domain.Exhaustedf("at its maxmemory")
			}
			return nil
		}})
		r.apply(shop, machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state} }`))
		defer r.workOn(faults, r.log, saga.WorkerConfig{})()
		r.publish(shop, goes("e0", `{"id":1}`))
		time.Sleep(time.Second)
		full.Store(2)
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(10 * time.Minute)
		if full.Load() >= 0 {
			t.Error("nothing was committed")
		}
		if got := r.data(shop, "s", "1"); got != `{"n":2}` || len(r.deadLetters(shop)) != 0 {
			t.Errorf("got %s, dead letters %+v", got, r.deadLetters(shop))
		}
	})
}

func TestARecordThatCannotBeReadStopsNobodyElse(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Set("saga:acme:s:1", board.Field{Name: "version", Value: "many"})))
		r.publish(shop, goes("e1", `{"id":1}`))
		r.publish(shop, goes("e2", `{"id":2}`))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "2"); got != `{"n":1}` || len(r.deadLetters(shop)) != 1 {
			t.Errorf("got %s, dead letters %+v", got, r.deadLetters(shop))
		}
	})
}

// TestAKeyOfTheWrongKindStopsNobodyElse has lists where an instance and the mark
// of an event would be.
func TestAKeyOfTheWrongKindStopsNobodyElse(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		keys := layout.SagaKeys{Tenant: "acme"}
		b := board.Batch{Space: board.Space(shop)}
		b.PushLeft(keys.Instance("s", "1"), "x").PushLeft(keys.Seen("s", "e3"), "x")
		r.must(r.board.Commit(r.Context(), b))
		for i := range 4 {
			r.publish(shop, goes(fmt.Sprint("e", i+1), fmt.Sprintf(`{"id":%d}`, i+1)))
		}
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(10 * time.Second)
		for id, want := range map[string]string{"2": `{"n":1}`, "4": `{"n":1}`} {
			if got := r.data(shop, "s", id); got != want {
				t.Errorf("instance %s: got %s, want %s", id, got, want)
			}
		}
		deadLetters := r.deadLetters(shop)
		if len(deadLetters) != 2 || !strings.Contains(deadLetters[0].Cause+deadLetters[1].Cause, keys.Seen("s", "e3")) ||
			!strings.Contains(deadLetters[0].Cause+deadLetters[1].Cause, keys.Instance("s", "1")) {
			t.Errorf("got %+v, want two dead letters that name the keys", deadLetters)
		}
	})
}

func TestWorkGoesOnWhileTheStreamsAreAway(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state, work: [#{command: #{aggregate_type: "T", aggregate_id: `+
			`event.correlation}}]} }`))
		var got calls
		var up atomic.Bool
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int {
			got.add("command")
			if !up.Load() {
				return 503
			}
			return 200
		}).config()})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		r.broker.Fault(memstream.Faults{Away: true})
		time.Sleep(30 * time.Minute)
		if n := len(got.all()); n > 100 {
			t.Errorf("the gateway was asked %d times in half an hour", n)
		}
		up.Store(true)
		time.Sleep(30 * time.Minute)
		if keys, _, err := r.board.Keys(r.Context(), board.Space(shop), layout.OutboxPrefix, "", 10); err != nil || len(keys) != 0 {
			t.Errorf("the outbox has %v, %v", keys, err)
		}
		r.broker.Fault(memstream.Faults{})
		r.publish(shop, goes("e2", `{"id":1}`))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":2}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestABoardThatIsAwayForAnHourIsNotAskedAllTheTime(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Partitions = 10
		r.apply(shop, def)
		var mu sync.Mutex
		asked := 0
		away := faultboard.New(r.board, faultboard.Config{Before: func(context.Context, faultboard.Call) error {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return nil
		}})
		defer r.workOn(away, r.log, saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		for i := range 100 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		away.Cut()
		mu.Lock()
		asked = 0
		mu.Unlock()
		time.Sleep(time.Hour)
		mu.Lock()
		if asked > 30_000 {
			t.Errorf("the board was asked to change something %d times", asked)
		}
		mu.Unlock()
		away.Heal()
		time.Sleep(time.Minute)
		for i := range 100 {
			if got := r.data(shop, "s", fmt.Sprint(i)); got != `{"n":1}` {
				t.Errorf("%d: %s", i, got)
			}
		}
	})
}
