package saga_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

func TestAnOrderIsPaid(t *testing.T) {
	for _, in := range []domain.TenantID{1, shop, 9} {
		bubble(t, func(r *rig) {
			r.apply(in, order())
			drain := r.work(saga.WorkerConfig{})
			defer drain()
			r.publish(in, placed("17", `{"order":17,"total":5}`))
			time.Sleep(time.Second)
			synctest.Wait()
			x := r.instance(in, "order", "17")
			if x.State != "paid" || x.Status != domain.SagaEnded || x.Outcome != domain.OutcomeSucceeded {
				t.Errorf("context %d: %+v", in, x)
			}
			history, err := r.engine.History(r.Context(), in, "order", "17", 0, 100)
			if err != nil || len(history) != 3 {
				t.Errorf("history %+v, %v", history, err)
			}
			lags, err := r.engine.Lags(r.Context(), in, "order")
			r.must(err)
			for _, l := range lags {
				if l.Outbox != 0 || l.Owner != "node1/1" {
					t.Errorf("%+v", l)
				}
			}
		})
	}
}

func TestAPaymentThatFailsIsUndone(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("17", `{"order":17,"total":5,"fail":true}`))
		time.Sleep(time.Second)
		x := r.instance(shop, "order", "17")
		if x.State != "undone" || x.Steps[0].State != domain.StepUndone || x.Steps[1].State != domain.StepFailedEffect {
			t.Errorf("%+v", x)
		}
	})
}

func TestATimerComes(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("17", `{"order":17,"wait":true}`))
		time.Sleep(59 * time.Second)
		if x := r.instance(shop, "order", "17"); x.State != "waiting" || len(x.Timers) != 1 {
			t.Errorf("%+v", x)
		}
		time.Sleep(2 * time.Second)
		if x := r.instance(shop, "order", "17"); x.State != "paid" {
			t.Errorf("%+v", x)
		}
	})
}

// TestTimeIsTheStreams: what a sender writes of when something happened moves no
// deadline, whether it is in the past, the future or nonsense. Programs see both.
func TestTimeIsTheStreams(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `
fn on_event(state, event) {
  if event.type == "Go" {
    state.seen = event.time_ms;
    return #{state: state, timers: [#{event: "Tick", after: 60}]};
  }
  state.n += 1;
  #{state: state}
}`)
		def.States[0].Timeout = &domain.SagaTimeout{After: 120, Event: "TooLate"}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		began := time.Now().UnixMilli()
		times := []int64{1, began - 3600_000, began + 3600_000, domain.MaxNotBefore, -5}
		for i, ms := range times {
			ev := goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i))
			ev.TimeMs = ms
			r.publish(shop, ev)
		}
		result := stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Data: []byte(`{"event_id":"x","event_type":"Go","timestamp":"1999-01-01T00:00:00Z","stored_ms":1,"payload":{"id":5}}`)}
		r.must(r.log.Publish(r.Context(), result))
		times = append(times, time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		time.Sleep(59 * time.Second)
		for i, ms := range times {
			x := r.instance(shop, "s", fmt.Sprint(i))
			if want := fmt.Sprintf(`{"n":0,"seen":%d}`, ms); string(x.Data) != want || x.CreatedMs != began || len(x.Timers) != 2 {
				t.Errorf("%d ms: got %s, %+v, want %s", ms, x.Data, x, want)
			}
		}
		time.Sleep(2 * time.Second)
		for i, ms := range times {
			if x := r.instance(shop, "s", fmt.Sprint(i)); !strings.Contains(string(x.Data), `"n":1`) || x.UpdatedMs < began+60_000 {
				t.Errorf("%d ms: after a minute: %s, %+v", ms, x.Data, x)
			}
		}
		time.Sleep(time.Minute)
		for i, ms := range times {
			if x := r.instance(shop, "s", fmt.Sprint(i)); !strings.Contains(string(x.Data), `"n":2`) || len(x.Timers) != 0 {
				t.Errorf("%d ms: after two: %s, %+v", ms, x.Data, x)
			}
		}
	})
}

func TestAPoisonedInstanceIsHeldAndOthersGoOn(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("1", `{"order":1,"total":-1}`))
		r.publish(shop, placed("1", `{"order":1,"total":5}`))
		r.publish(shop, placed("2", `{"order":2,"total":5}`))
		time.Sleep(time.Second)
		if x := r.instance(shop, "order", "2"); x.State != "paid" {
			t.Errorf("%+v", x)
		}
		x := r.instance(shop, "order", "1")
		if x.Held == "" || len(x.Deferred) != 1 {
			t.Errorf("%+v", x)
		}
		deadLetters, _, err := r.engine.DeadLetters(r.Context(), shop, saga.DeadQuery{Limit: 10})
		if err != nil || len(deadLetters) != 1 || deadLetters[0].Kind != domain.DeadSaga {
			t.Fatalf("%+v, %v", deadLetters, err)
		}
		r.must(r.engine.Replay(r.Context(), shop, domain.DeadSaga, deadLetters[0].ID))
		time.Sleep(time.Second)
		d, err := r.engine.DeadLetter(r.Context(), shop, domain.DeadSaga, deadLetters[0].ID)
		if err != nil || d.Attempts != 2 {
			t.Errorf("replayed: %+v, %v", d, err)
		}
		r.must(r.engine.Drop(r.Context(), shop, domain.DeadSaga, deadLetters[0].ID))
		time.Sleep(time.Second)
		if x := r.instance(shop, "order", "1"); x.State != "paid" || x.Held != "" {
			t.Errorf("%+v", x)
		}
	})
}

// TestALagIsOfWhatTheSagaReads: the streams are those of all contexts and sagas.
func TestALagIsOfWhatTheSagaReads(t *testing.T) {
	bubble(t, func(r *rig) {
		def := order()
		def.Partitions = 1
		r.apply(shop, def)
		for i := range 5 {
			r.publish(shop, domain.Event{Type: "Counted", AggregateType: "Stock", AggregateID: fmt.Sprint(i)}) // of no saga
			r.publish(1, placed(fmt.Sprint(i), `{"order":1,"total":1}`))                                       // of another context
		}
		r.publish(shop, placed("1", `{"order":"1","total":1}`))
		r.publish(shop, placed("2", `{"order":"2","total":1}`))
		behind := func() map[domain.StreamName]uint64 {
			lags, err := r.engine.Lags(r.Context(), shop, "order")
			r.must(err)
			out := map[domain.StreamName]uint64{}
			for _, l := range lags {
				out[l.Stream] = l.Behind
			}
			return out
		}
		want := map[domain.StreamName]uint64{domain.AggregateEvents: 2, domain.WorkflowCommands: 0, domain.WorkflowEvents: 0}
		if got := behind(); !maps.Equal(got, want) {
			t.Errorf("before: got %v, want %v", got, want)
		}
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		want[domain.AggregateEvents] = 0
		if got := behind(); !maps.Equal(got, want) {
			t.Errorf("after: got %v, want %v", got, want)
		}
	})
}

// TestAnOutboxIsCountedOnce for its partition, though the partition reads several streams.
func TestAnOutboxIsCountedOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		keys := layout.SagaKeys{Tenant: "acme"}
		b := board.Batch{Space: layout.SpaceOf(shop)}
		r.must(r.board.Commit(r.Context(), *b.Include(keys.OutboxIndex("order", 0), "a", "b").Include(keys.OutboxIndex("order", 1), "c")))
		lags, err := r.engine.Lags(r.Context(), shop, "order")
		r.must(err)
		got := map[int][]int{}
		for _, l := range lags {
			got[l.Partition] = append(got[l.Partition], l.Outbox)
		}
		if diff := cmp.Diff([][]int{{2, 0, 0}, {1, 0, 0}}, [][]int{got[0], got[1]}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// deadLog is a log of which one stream takes nothing.
type deadLog struct {
	stream.Log
	dead domain.StreamName
}

func (l deadLog) Check(ctx context.Context, streams ...domain.StreamName) error {
	if slices.Contains(streams, l.dead) {
		return domain.Unavailablef("stream %s takes nothing", l.dead)
	}
	return l.Log.Check(ctx, streams...)
}

func TestALagNamesTheStreamThatTakesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(10 * time.Second)
		lags, err := r.newEngine(r.board, deadLog{r.log, domain.WorkflowEvents}).Lags(r.Context(), shop, "order")
		r.must(err)
		for _, l := range lags {
			want := ""
			if l.Stream == domain.WorkflowEvents {
				want = "stream WORKFLOW_EVENTS takes nothing"
			}
			if l.Trouble != want {
				t.Errorf("%s: got %q, want %q", l.Stream, l.Trouble, want)
			}
		}
	})
}

func TestWorkIsSpreadAndOwnersFailOver(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		first := r.work(saga.WorkerConfig{})
		second := r.work(saga.WorkerConfig{})
		time.Sleep(10 * time.Second)
		owners := map[string]bool{}
		lags, err := r.engine.Lags(r.Context(), shop, "order")
		r.must(err)
		for _, l := range lags {
			owners[l.Owner] = true
		}
		if len(owners) != 2 {
			t.Errorf("owners %v", owners)
		}
		for i := range 100 {
			r.publish(shop, placed(fmt.Sprint(i), fmt.Sprintf(`{"order":%d,"total":5}`, i)))
		}
		first()
		time.Sleep(time.Minute) // what its effects had in their hands comes again
		for i := range 100 {
			if x := r.instance(shop, "order", fmt.Sprint(i)); x.State != "paid" {
				t.Errorf("%d: %+v", i, x)
			}
		}
		second()
	})
}

func TestWhatAPersonRepairedIsNotRebuilt(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("1", `{"order":1,"total":-1}`))
		r.publish(shop, placed("1", `{"order":1,"total":5}`))
		time.Sleep(time.Second)
		deadLetters, _, err := r.engine.DeadLetters(t.Context(), shop, saga.DeadQuery{Limit: 10})
		if err != nil || len(deadLetters) != 1 {
			t.Fatalf("%+v, %v", deadLetters, err)
		}
		out, err := r.engine.Rebuild(t.Context(), shop, saga.Rebuild{Saga: "order", Apply: true})
		if err != nil || out.Same != 1 {
			t.Fatalf("while it is held: %+v, %v", out, err)
		}
		r.must(r.engine.Drop(t.Context(), shop, domain.DeadSaga, deadLetters[0].ID))
		time.Sleep(time.Second)
		out, err = r.engine.Rebuild(t.Context(), shop, saga.Rebuild{Saga: "order", Apply: true})
		if err != nil || len(out.Different) != 1 || !out.Different[0].Repaired || out.Applied != 0 {
			t.Errorf("%+v, %v", out, err)
		}
		if x := r.instance(shop, "order", "1"); x.State != "paid" {
			t.Errorf("%+v", x)
		}
	})
}
