package saga_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// keep is for how long streams stay in these tests; the rig has one consumer for all
// effects.
func keep(d time.Duration) saga.Keep {
	return saga.Keep{For: d, Durable: func(string) string { return "effects" }, Troubles: "troubles",
		Subjects: func(effect string) []string { return []string{"tenant.*.effect." + effect + ".*"} }}
}

func (r *rig) holds(n domain.StreamName) stream.Stats {
	r.Helper()
	s, err := r.log.Stats(r.Context(), n)
	r.must(err)
	return s
}

// orders publishes orders and lets them end.
func (r *rig) orders(from, to int) {
	r.Helper()
	for i := from; i <= to; i++ {
		id := fmt.Sprint(i)
		r.publish(shop, placed(id, `{"order":`+id+`,"total":5}`))
	}
	time.Sleep(10 * time.Second)
}

// TestStreamsAreCutBehindTheSlowestSaga wants all streams to be bounded while everything
// is served, and nothing to be cut that somebody has yet to read.
func TestStreamsAreCutBehindTheSlowestSaga(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		drain := r.work(saga.WorkerConfig{})
		defer func() { drain() }()
		r.orders(1, 10)
		r.must(r.engine.Trim(t.Context(), keep(3*time.Hour)))
		for _, n := range []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents} {
			if s := r.holds(n); s.Messages != s.Last || s.Last == 0 {
				t.Errorf("%s: something young is gone: %+v", n, s)
			}
		}
		time.Sleep(4 * time.Hour)
		r.orders(11, 12)
		r.must(r.engine.Trim(t.Context(), keep(3*time.Hour)))
		for n, want := range map[domain.StreamName]uint64{domain.AggregateEvents: 2, domain.WorkflowCommands: 4, domain.WorkflowEvents: 6} {
			if s := r.holds(n); s.Messages != want {
				t.Errorf("%s: got %+v, want %d messages", n, s, want)
			}
		}

		// Another saga stands still, and its events stay, however old they are.
		second := order()
		second.Name, second.Effects = "second", []string{"reserve", "pay", "release"}
		r.apply(shop, second)
		drain()
		r.orders(13, 14)
		drain = func() {}
		time.Sleep(4 * time.Hour)
		r.must(r.engine.Trim(t.Context(), keep(3*time.Hour)))
		if s := r.holds(domain.AggregateEvents); s.Messages != 2 || s.First != 13 {
			t.Errorf("what nobody served: got %+v, want both orders", s)
		}
		drain = r.work(saga.WorkerConfig{})
		time.Sleep(10 * time.Second)
		for _, name := range []string{"order", "second"} {
			if x := r.instance(shop, name, "14"); x.State != "paid" {
				t.Errorf("saga %s: %+v", name, x)
			}
		}
		r.must(r.engine.Trim(t.Context(), keep(3*time.Hour)))
		if s := r.holds(domain.AggregateEvents); s.Messages != 0 {
			t.Errorf("when all are served: got %+v", s)
		}
	})
}

// TestASagaForWhichNothingComesHoldsNothingBack has one that reads other events.
func TestASagaForWhichNothingComesHoldsNothingBack(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		idle := order()
		idle.Name, idle.Triggers = "idle", []domain.SagaTrigger{{Of: "Parcel", Types: []string{"OrderPlaced", "OrderCancelled"}}}
		r.apply(shop, idle)
		defer r.work(saga.WorkerConfig{})()
		r.orders(1, 5)
		time.Sleep(4 * time.Hour)
		r.must(r.engine.Trim(t.Context(), keep(3*time.Hour)))
		if s := r.holds(domain.AggregateEvents); s.Messages != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// TestWhatNobodyReadsOrDoesStays has events without a saga, and commands without a worker.
func TestWhatNobodyReadsOrDoesStays(t *testing.T) {
	bubble(t, func(r *rig) {
		r.publish(shop, placed("1", `{"order":1,"total":5}`))
		time.Sleep(4 * time.Hour)
		r.must(r.engine.Trim(t.Context(), keep(3*time.Hour)))
		if s := r.holds(domain.AggregateEvents); s.Messages != 1 {
			t.Errorf("without a saga: got %+v", s)
		}
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.orders(2, 2)
		time.Sleep(4 * time.Hour)
		k := keep(3 * time.Hour)
		k.Durable = func(string) string { return "nobody" }
		r.must(r.engine.Trim(t.Context(), k))
		if s := r.holds(domain.WorkflowCommands); s.Messages != s.Last || s.Last == 0 {
			t.Errorf("commands that nobody does: got %+v", s)
		}
	})
}

// TestAStreamIsBoundedByItsSize leaves what is younger than an hour.
func TestAStreamIsBoundedByItsSize(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.orders(1, 100)
		k := keep(0)
		k.Bytes = r.holds(domain.AggregateEvents).Bytes / 4
		r.must(r.engine.Trim(t.Context(), k))
		if s := r.holds(domain.AggregateEvents); s.Messages != 100 {
			t.Errorf("young: got %+v", s)
		}
		time.Sleep(2 * time.Hour)
		r.must(r.engine.Trim(t.Context(), k))
		if s := r.holds(domain.AggregateEvents); s.Messages < 20 || s.Messages > 27 || s.Bytes > k.Bytes*11/10 {
			t.Errorf("got %+v, want a quarter of it", s)
		}
	})
}

// TestAnInstanceWhoseEventsWereCutIsNotRebuilt: what would come out is not what should be
// there. One of after the cut still is.
func TestAnInstanceWhoseEventsWereCutIsNotRebuilt(t *testing.T) {
	bubble(t, func(r *rig) {
		d := order()
		d.Retention = 24 * 3600
		r.apply(shop, d)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("1", `{"order":1,"total":5,"fail":true}`))
		time.Sleep(4 * time.Hour)
		r.must(r.engine.Trim(t.Context(), keep(3*time.Hour)))
		r.publish(shop, domain.Event{Type: "OrderCancelled", AggregateType: "Order", AggregateID: "1", Payload: []byte(`{"order":1}`)})
		r.orders(2, 2)
		was := r.instance(shop, "order", "1")
		out, err := r.engine.Rebuild(t.Context(), shop, saga.Rebuild{Saga: "order", Apply: true})
		r.must(err)
		if out.Applied != 0 || out.Same != 1 || len(out.Different) != 1 || !out.Different[0].Repaired ||
			!slices.ContainsFunc(out.Different[0].Lines, func(l string) bool { return strings.Contains(l, "in the stream no more") }) {
			t.Errorf("got %+v", out)
		}
		if is := r.instance(shop, "order", "1"); is.State != was.State {
			t.Errorf("it was written: %+v", is)
		}

		lags, err := r.engine.Lags(t.Context(), shop, "order")
		r.must(err)
		if l := lags[0]; l.Stream != domain.AggregateEvents || l.First != 2 || l.FirstMs == 0 || l.Bytes == 0 {
			t.Errorf("got %+v", l)
		}
		err = r.engine.Rewind(t.Context(), shop, "order", domain.AggregateEvents, 0)
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "begins at 2 (2000-01-01T04:00:00Z") || !strings.Contains(err.Error(), "--after 1") {
			t.Errorf("got %v", err)
		}
		r.must(r.engine.Rewind(t.Context(), shop, "order", domain.AggregateEvents, 1))
	})
}
