package saga_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// TestWhatABoardHasLostIsReadAgainInOrder: streams have the events of all, the results of
// their effects and those of timers. On a board that has lost all of it, instances come to
// the same end, by the same commands; nothing is called that was called before.
func TestWhatABoardHasLostIsReadAgainInOrder(t *testing.T) {
	for name, wait := range map[string]time.Duration{"at once": time.Second, "when streams take what they have for new": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				const orders, others = 60, 3000
				def := order()
				def.States[3].Timeout.After = 1 // of those that wait
				lives := func(first bool) (ends map[string]string) {
					if _, _, err := r.engine.Apply(r.Context(), shop, actor, def, domain.SagaFromStart); err != nil {
						t.Fatal(err)
					}
					drain := r.work(saga.WorkerConfig{})
					for i := range others { // nothing comes of these
						if first {
							r.publish(shop, domain.Event{Type: "OrderCancelled", AggregateType: "Order", AggregateID: "x",
								Payload: json.RawMessage(fmt.Sprintf(`{"order":"x%d"}`, i))})
						}
					}
					for i := range orders {
						if ev := placed(fmt.Sprint(i), fmt.Sprintf(`{"order":%d,"total":1,"fail":%v,"wait":%v}`, i, i%5 == 0, i%3 == 0)); first {
							ev.ID = fmt.Sprint("placed:", i)
							r.publish(shop, ev)
						}
					}
					time.Sleep(30 * time.Second)
					drain()
					ends = map[string]string{}
					for i := range orders {
						in, err := r.engine.Instance(r.Context(), shop, "order", fmt.Sprint(i))
						if err != nil {
							t.Errorf("order %d: %v", i, err)
							continue
						}
						if in.Status != domain.SagaEnded {
							t.Errorf("order %d has come to %s and not to its end", i, in.State)
						}
						ends[in.Correlation] = in.State
						for _, s := range in.Steps {
							ends[in.Correlation] += fmt.Sprint(" ", s.Name, s.State, s.CommandID, s.Undo)
						}
					}
					return ends
				}
				before := lives(true)
				called := len(r.calls)
				time.Sleep(wait)
				r.board = memboard.Open()
				r.engine = r.newEngine(r.board, r.log)
				after := lives(false)
				for id, end := range before {
					if after[id] != end {
						t.Errorf("order %s: got %s, want %s", id, after[id], end)
					}
				}
				if len(r.calls) != called {
					t.Errorf("%d commands were called that were not before", len(r.calls)-called)
				}
				if list := r.deadLetters(shop); len(list) > 0 {
					t.Errorf("%d dead letters: %v", len(list), causes(list)[0])
				}
			})
		})
	}
}
