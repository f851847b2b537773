package saga_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/saga"
)

func TestAWorkerThatWasForgottenComesBack(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		away := faultboard.New(r.board, faultboard.Config{})
		defer r.workOn(away, r.log, saga.WorkerConfig{})()
		other := r.work(saga.WorkerConfig{})
		time.Sleep(5 * time.Second)
		away.Cut()
		time.Sleep(5 * time.Minute)
		away.Heal()
		time.Sleep(10 * time.Second)
		other()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("got %s: nobody serves it", got)
		}
	})
}

func TestOutboxesOfPartitionsThatAreGoneAreSent(t *testing.T) {
	for _, to := range []int{1, 5} {
		bubble(t, func(r *rig) {
			def := machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state, work: [#{command: #{aggregate_type: "T", aggregate_id: `+
				`event.correlation}, payload: state.n}]} }`)
			def.Partitions = 3
			r.apply(shop, def)
			var up atomic.Bool
			var got calls
			defer r.work(saga.WorkerConfig{Gateway: door(func(c domain.SubmitCommandRequest) int {
				if !up.Load() {
					return 503
				}
				got.add(c.AggregateID + ":" + c.PayloadJSON)
				return 200
			}).config()})()
			for i := range 20 {
				r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
			}
			time.Sleep(10 * time.Second)
			def.Partitions = to
			r.apply(shop, def)
			for i := range 20 {
				r.publish(shop, goes(fmt.Sprint("f", i), fmt.Sprintf(`{"id":%d}`, i)))
			}
			time.Sleep(time.Minute)
			up.Store(true)
			time.Sleep(2 * time.Minute)
			seen := map[string]bool{}
			for _, c := range got.all() {
				id, n, _ := strings.Cut(c, ":")
				if n == "2" && !seen[id+":1"] {
					t.Errorf("%d partitions: %s came before the first", to, c)
				}
				seen[c] = true
			}
			if len(seen) != 40 {
				t.Errorf("%d partitions: %d of 40 commands came", to, len(seen))
			}
		})
	}
}

// TestOtherPartitionsDoNothingTwice has one partition far behind when the saga
// gets others, and marks of events that do not last.
func TestOtherPartitionsDoNothingTwice(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Partitions, def.Dedupe = 3, 1
		r.apply(shop, def)
		var all atomic.Bool
		defer r.work(saga.WorkerConfig{Placement: func() saga.Placement {
			if all.Load() {
				return saga.Placement{}
			}
			return saga.Placement{Partitions: []int{0, 2}}
		}})()
		time.Sleep(time.Second)
		for i := range 60 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i%30)))
		}
		time.Sleep(time.Minute)
		behind := 0
		for i := range 30 {
			if r.data(shop, "s", fmt.Sprint(i)) == "" {
				behind++
			}
		}
		if behind == 0 || behind == 30 {
			t.Fatalf("%d instances are behind", behind)
		}
		def.Partitions = 2
		r.apply(shop, def)
		def.Correlation = `"" + event.payload.id`
		def.Partitions = 5
		r.apply(shop, def)
		all.Store(true)
		time.Sleep(time.Minute)
		for i := range 30 {
			if got := r.data(shop, "s", fmt.Sprint(i)); got != `{"n":2}` {
				t.Errorf("%d: %s", i, got)
			}
		}
	})
}

// TestACommitOfAnEarlierGenerationIsRefused has a worker that is stopped before
// its commit, while another one takes up the saga with other partitions.
func TestACommitOfAnEarlierGenerationIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Partitions, def.Dedupe = 3, 1
		r.apply(shop, def)
		var wire, streams simtest.Gate
		stopped := lateBoard{r.board, &wire, does(board.OpAppend, "ramet:saga:history:")}
		var away atomic.Bool
		first := r.workOn(stopped, r.log, saga.WorkerConfig{Grace: time.Second, Placement: func() saga.Placement {
			if away.Load() {
				return saga.Placement{Sagas: []string{"none"}}
			}
			return saga.Placement{}
		}})
		time.Sleep(5 * time.Second)
		wire.Close()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		away.Store(true)
		streams.Close()
		def.Partitions = 1
		r.apply(shop, def)
		second := r.workOn(r.board, lateLog{r.log, &streams}, saga.WorkerConfig{Grace: time.Second})
		time.Sleep(10 * time.Second)
		wire.Open()
		time.Sleep(10 * time.Second)
		streams.Open()
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("got %s", got)
		}
		first()
		second()
	})
}

// TestAnEarlierHolderTakesNothingOut has a worker that is stopped when a command
// has arrived, and before it took that out of the outbox. Meanwhile another one
// has it refused, and a person has it sent again.
func TestAnEarlierHolderTakesNothingOut(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { #{work: [#{command: #{aggregate_type: "T", aggregate_id: "1"}}]} }`))
		var stopped simtest.Gate
		stopped.Close()
		slow := lateBoard{r.board, &stopped, does(board.OpDelete, "outbox:")}
		var away atomic.Bool
		first := r.workOn(slow, r.log, saga.WorkerConfig{Grace: time.Second, Gateway: door(func(domain.SubmitCommandRequest) int {
			return 200
		}).config(), Placement: func() saga.Placement {
			if away.Load() {
				return saga.Placement{Sagas: []string{"none"}}
			}
			return saga.Placement{}
		}})
		time.Sleep(time.Second)
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		old, _, err := r.board.LeaseOf(r.Context(), board.Space(shop), "ramet:saga:shard:acme:s:0/1")
		r.must(err)
		r.must(r.board.Void(r.Context(), old.Owner)) // and stopped altogether
		var code atomic.Int64
		code.Store(422)
		away.Store(true)
		second := r.work(saga.WorkerConfig{Grace: time.Second, Gateway: door(func(domain.SubmitCommandRequest) int { return int(code.Load()) }).config()})
		time.Sleep(time.Minute)
		list := r.deadLetters(shop)
		if len(list) != 1 {
			t.Fatalf("letters %+v", list)
		}
		code.Store(503)
		r.must(r.engine.Replay(r.Context(), shop, list[0].Kind, list[0].ID))
		time.Sleep(time.Second)
		stopped.Open()
		time.Sleep(time.Second)
		second()
		first()
		var got calls
		defer r.work(saga.WorkerConfig{Gateway: door(func(c domain.SubmitCommandRequest) int { got.add(c.CommandID); return 200 }).config()})()
		time.Sleep(time.Minute)
		if len(got.all()) != 1 {
			t.Errorf("got %v, want the command", got.all())
		}
	})
}

func TestAPositionIsSavedThoughNothingCame(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		for i := range 10 {
			ev := goes(fmt.Sprint("e", i), `{"id":1}`)
			ev.Type = "Other"
			r.publish(shop, ev)
		}
		time.Sleep(15 * time.Second)
		lags, err := r.engine.Lags(r.Context(), shop, "s")
		r.must(err)
		for _, l := range lags {
			if l.Position != l.Last {
				t.Errorf("%+v", l)
			}
		}
	})
}
