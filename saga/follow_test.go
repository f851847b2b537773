package saga_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// counter counts until it is told to end.
func counter() *domain.SagaDefinition {
	return &domain.SagaDefinition{
		Name: "count", Initial: "here", Data: json.RawMessage(`{"n":0}`),
		Triggers: []domain.SagaTrigger{{Of: "Guest", Types: []string{"Came", "Ended"}}}, Correlation: "event.aggregate_id",
		States: []domain.SagaState{{Name: "here", On: map[string]domain.Reaction{"*": domain.Handle}}, {Name: "gone", Final: true}},
		Script: `fn on_event(state, event) { if event.type == "Ended" { return #{next: "gone"} } state.n += 1; #{state: state} }`,
	}
}

func TestALongHistoryIsFollowedFromAnywhere(t *testing.T) {
	bubble(t, func(r *rig) {
		drain := r.work(saga.WorkerConfig{})
		defer drain()
		r.apply(shop, counter())
		time.Sleep(5 * time.Second)
		come := func(n int) {
			for range n {
				r.publish(shop, domain.Event{Type: "Came", AggregateType: "Guest", AggregateID: "1"})
			}
			time.Sleep(time.Second)
		}
		come(300)
		var got []int64
		done := make(chan error, 1)
		go func() {
			_, err := r.engine.Follow(r.Context(), shop, "count", "1", 90, func(lines []domain.SagaEntry) error {
				got = append(got, lines[0].Version)
				return nil
			})
			done <- err
		}()
		synctest.Wait()
		if len(got) != 210 {
			t.Errorf("at first: got %d versions", len(got))
		}
		come(100)
		r.publish(shop, domain.Event{Type: "Ended", AggregateType: "Guest", AggregateID: "1"})
		r.must(<-done)
		for i, v := range got {
			if v != int64(91+i) {
				t.Fatalf("version %d comes as number %d", v, i)
			}
		}
		if len(got) != 311 {
			t.Errorf("got %d versions, want 311", len(got))
		}
	})
}

// TestLinesOfAVersionComeTogether: so that one who broke off can go on behind a
// version.
func TestLinesOfAVersionComeTogether(t *testing.T) {
	bubble(t, func(r *rig) {
		drain := r.work(saga.WorkerConfig{})
		defer drain()
		r.apply(shop, order())
		time.Sleep(5 * time.Second)
		cancelled := placed("1", `{"order":"1"}`)
		cancelled.Type = "OrderCancelled"
		first := placed("1", `{"order":"1","total":1}`)
		_, err := r.engine.PublishAll(r.Context(), shop, []*domain.Event{&first, &cancelled}) // that is deferred while it is reserving
		r.must(err)
		var got []string
		synctest.Wait()
		_, err = r.engine.Follow(r.Context(), shop, "order", "1", 0, func(lines []domain.SagaEntry) error {
			text := ""
			for _, l := range lines {
				text += fmt.Sprintf("%d %s;", l.Version, l.Type)
			}
			got = append(got, text)
			return nil
		})
		r.must(err)
		want := []string{"1 OrderPlaced;", "2 OrderCancelled;", "3 reserve.Succeeded;3 OrderCancelled;", "4 pay.Succeeded;", "5 release.Succeeded;"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		own := errors.New("enough")
		if _, err := r.engine.Follow(r.Context(), shop, "order", "1", 0, func([]domain.SagaEntry) error { return own }); !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
	})
}
