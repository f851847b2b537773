package saga_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

func TestAStreamThatWasNotReadBeforeBeginsNow(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Triggers = []domain.SagaTrigger{{Source: domain.SourceWorkflow, Types: []string{"Go"}}}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("old", `{"id":1}`))
		def.Triggers = append(def.Triggers, domain.SagaTrigger{Of: "Thing", Types: []string{"Go"}})
		r.apply(shop, def)
		r.publish(shop, goes("new", `{"id":1}`))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestARewoundSagaReadsAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Dedupe, def.Partitions = 1, 3
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		for i := range 5 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		time.Sleep(time.Minute)
		def.Partitions = 2
		r.apply(shop, def)
		time.Sleep(time.Minute)
		r.must(r.engine.Rewind(r.Context(), shop, "s", domain.AggregateEvents, 2))
		time.Sleep(time.Minute)
		for i := range 5 {
			want := `{"n":2}`
			if i < 2 {
				want = `{"n":1}`
			}
			if got := r.data(shop, "s", fmt.Sprint(i)); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
		}
	})
}
