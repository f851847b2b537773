package saga_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// TestASagaBeginsWhereItsApplySays: with ten orders, one a minute.
func TestASagaBeginsWhereItsApplySays(t *testing.T) {
	bubble(t, func(r *rig) {
		began := time.Now()
		for i := range 10 {
			r.publish(shop, placed(fmt.Sprint(i), fmt.Sprintf(`{"order":%d,"wait":true}`, i)))
			time.Sleep(time.Minute)
		}
		at := func(d time.Duration) domain.SagaFrom {
			return domain.SagaFrom(began.Add(d).UTC().Format(time.RFC3339Nano))
		}
		from := []domain.SagaFrom{"", "now", "start", at(-time.Hour), at(3 * time.Minute), at(3*time.Minute + time.Millisecond), at(9*time.Minute + 30*time.Second),
			domain.SagaFrom(fmt.Sprint(began.Add(8 * time.Minute).UnixMilli())), "AGGREGATE_EVENTS:0", "AGGREGATE_EVENTS:6,WORKFLOW_EVENTS:0", "WORKFLOW_COMMANDS:0"}
		want := []int{0, 0, 10, 10, 7, 6, 0, 2, 10, 4, 0}
		for i := range from {
			def := order()
			def.Name, def.Partitions = fmt.Sprintf("s%d", i), 1
			if _, _, err := r.engine.Apply(r.Context(), shop, actor, def, from[i]); err != nil {
				t.Errorf("from %q: %v", from[i], err)
			}
		}
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(10 * time.Second)
		for i := range from {
			list, _, err := r.engine.Query(r.Context(), shop, saga.Query{Saga: fmt.Sprintf("s%d", i), Limit: 100})
			if err != nil || len(list) != want[i] {
				t.Errorf("from %q: got %d orders, %v, want %d", from[i], len(list), err, want[i])
			}
		}
	})
}

func TestABeginningThatCannotBeIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, from := range []domain.SagaFrom{"soon", "AGGREGATE_EVENTS", "AGGREGATE_EVENTS:", "AGGREGATE_EVENTS:-1", "EVENTS:1",
			"AGGREGATE_EVENTS:0,AGGREGATE_EVENTS:0",
			domain.SagaFrom(domain.WorkflowTroubles + ":0"), "AGGREGATE_EVENTS:1", domain.SagaFrom(time.Now().Add(time.Hour).Format(time.RFC3339))} {
			if _, _, err := r.engine.Apply(r.Context(), shop, actor, order(), from); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v", from, err)
			}
		}
		if _, err := r.engine.Definition(r.Context(), shop, "order", 0); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("it was stored: %v", err)
		}
	})
}

// TestARewindBeyondTheStreamIsRefused: a board that says that a saga has read more than its streams
// have is taken for that of other streams, and no node begins on it.
func TestARewindBeyondTheStreamIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		if _, _, err := r.engine.Apply(r.Context(), shop, actor, order(), ""); err != nil {
			t.Fatal(err)
		}
		for _, after := range []uint64{1, 1 << 63, 1<<64 - 1} {
			if err := r.engine.Rewind(r.Context(), shop, "order", domain.AggregateEvents, after); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("behind %d of an empty stream: got %v", after, err)
			}
		}
		r.must(r.engine.Rewind(r.Context(), shop, "order", domain.AggregateEvents, 0))
	})
}
