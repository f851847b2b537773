package saga_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/stream"
)

// left are the keys of a context, without what its definitions and contexts are.
func (r *rig) left(prefixes ...string) (keys []string) {
	r.Helper()
	for _, p := range prefixes {
		page, _, err := r.board.Keys(r.Context(), layout.SpaceOf(shop), p, "", 1000)
		r.must(err)
		keys = append(keys, page...)
	}
	return keys
}

// everything is what keys of sagas begin with, but for marks, which run out.
var everything = []string{"saga:", "checkpoint:", "outbox", "schedule:", "ramet:saga:history:", "ramet:saga:definition:", "deadletter:"}

func TestNothingIsLeftOfADeletedSaga(t *testing.T) {
	bubble(t, func(r *rig) {
		drain := r.work(saga.WorkerConfig{})
		defer drain()
		r.apply(shop, order())
		time.Sleep(5 * time.Second)
		r.publish(shop, placed("1", `{"order":"1","total":1,"wait":true}`)) // has a timer
		r.publish(shop, placed("2", `{"order":"2","total":-1}`))            // is held
		time.Sleep(5 * time.Second)
		if got := r.left("schedule:", "deadletter:"); len(got) != 2 {
			t.Fatalf("before: got %q", got)
		}
		if _, err := r.engine.Delete(r.Context(), shop, "order", false); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("unforced: got %v", err)
		}
		got, err := r.engine.Delete(r.Context(), shop, "order", true)
		if want := (domain.SagaDeleted{Saga: "order", Versions: 1, Instances: 2, DeadLetters: 1}); err != nil || got != want {
			t.Errorf("got %+v, %v", got, err)
		}
		if got := r.left(everything...); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
		due, err := r.board.Due(r.Context(), 10, 10*time.Minute)
		if err != nil || len(due) != 0 {
			t.Errorf("alarms: got %v, %v", due, err)
		}
		if _, err := r.engine.Delete(r.Context(), shop, "order", true); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("again: got %v", err)
		}
	})
}

// TestAForcedDeletionTakesDeadLettersAlong: nothing could be done with them any
// more, and a saga of the same name would be given them. Those of others stay.
func TestAForcedDeletionTakesDeadLettersAlong(t *testing.T) {
	bubble(t, func(r *rig) {
		drain := r.work(saga.WorkerConfig{})
		defer drain()
		skips := order()
		skips.OnPoison = domain.PoisonSkip
		r.apply(shop, skips)
		other := order()
		other.Name = "other"
		r.apply(shop, other)
		r.publish(shop, placed("1", `{"order":"1","total":-1}`)) // fails, and holds nothing of order's
		r.publish(shop, placed("2", `{}`))                       // is for no instance
		time.Sleep(5 * time.Second)
		if got := r.left("deadletter:"); len(got) != 4 {
			t.Fatalf("before: got %q", got)
		}
		got, err := r.engine.Delete(r.Context(), shop, "order", true)
		if want := (domain.SagaDeleted{Saga: "order", Versions: 1, DeadLetters: 2}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if got := r.left("deadletter:"); len(got) != 2 {
			t.Errorf("left: %q", got)
		}
	})
}

func TestADeletionTakesASagaFromADeadWorker(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		partition := layout.SagaKeys{Tenant: "acme"}.Shard("order", 1) + "/3"
		_, err := r.board.Occupy(r.Context(), layout.SpaceOf(shop), partition, "dead/1", 5*time.Second)
		r.must(err)
		began := time.Now()
		if _, err := r.engine.Delete(r.Context(), shop, "order", false); err != nil {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it took %v, want the lease's 5s", took)
		}
	})
}

// TestADeletionThatIsRefusedLeavesTheSagaServed: somebody does not let go.
func TestADeletionThatIsRefusedLeavesTheSagaServed(t *testing.T) {
	bubble(t, func(r *rig) {
		def := order()
		def.Partitions = 2
		r.apply(shop, def)
		partition := layout.SagaKeys{Tenant: "acme"}.Shard("order", 1) + "/2"
		_, err := r.board.Occupy(r.Context(), layout.SpaceOf(shop), partition, "stubborn/1", time.Hour)
		r.must(err)
		if _, err := r.engine.Delete(r.Context(), shop, "order", true); !errors.Is(err, domain.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		drain := r.work(saga.WorkerConfig{})
		defer drain()
		time.Sleep(5 * time.Second)
		for i := range 4 { // of either partition
			r.publish(shop, placed("x", fmt.Sprintf(`{"order":"%d","total":1}`, i)))
		}
		time.Sleep(10 * time.Second)
		list, _, err := r.engine.Query(r.Context(), shop, saga.Query{Saga: "order", Limit: 10})
		if err != nil || len(list) == 0 {
			t.Errorf("the partition that is free is not served: got %v, %v", list, err)
		}
	})
}

// atOccupy does something before the first partition is occupied.
type atOccupy struct {
	board.Board
	do func()
}

func (b *atOccupy) Occupy(ctx context.Context, s board.Space, key, owner string, ttl time.Duration) (int64, error) {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.Board.Occupy(ctx, s, key, owner, ttl)
}

// TestADeletionThatIsOvertakenLeavesTheSagaServed: while it takes the partitions somebody
// applies another version than the one that was to be deleted.
func TestADeletionThatIsOvertakenLeavesTheSagaServed(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		over := &atOccupy{Board: r.board, do: func() {
			def := order()
			def.Partitions = 2
			_, _, err := definition.NewStore(r.board).Apply(r.Context(), shop, 1, def, nil)
			r.must(err)
		}}
		noting, seen := precondition.Note(r.Context())
		_, err := definition.NewStore(precondition.Over(r.board)).Get(noting, shop, "order", 0)
		r.must(err)
		_, err = r.newEngine(over, r.log).Delete(precondition.Hold(r.Context(), seen), shop, "order", true)
		if !errors.Is(err, domain.ErrConflict) || !seen.Changed() {
			t.Fatalf("got %v", err)
		}
		drain := r.work(saga.WorkerConfig{})
		defer drain()
		time.Sleep(5 * time.Second)
		r.publish(shop, placed("x", `{"order":"1","total":1}`))
		time.Sleep(10 * time.Second)
		list, _, err := r.engine.Query(r.Context(), shop, saga.Query{Saga: "order", Limit: 10})
		if err != nil || len(list) != 1 {
			t.Errorf("it is not served: got %v, %v", list, err)
		}
	})
}

func TestADeletionThatWasCutOffIsFinishedByAnother(t *testing.T) {
	bubble(t, func(r *rig) {
		drain := r.work(saga.WorkerConfig{})
		r.apply(shop, order())
		time.Sleep(5 * time.Second)
		r.publish(shop, placed("1", `{"order":"1","total":1,"wait":true}`))
		time.Sleep(5 * time.Second)
		drain()
		synctest.Wait()
		if _, err := definition.NewStore(r.board).Delete(r.Context(), shop, "order"); err != nil {
			t.Fatal(err)
		}
		got, err := r.engine.Delete(r.Context(), shop, "order", true)
		if want := (domain.SagaDeleted{Saga: "order", Instances: 1}); err != nil || got != want {
			t.Errorf("got %+v, %v", got, err)
		}
		if got := r.left(everything...); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	})
}

// stuck is a way to streams on which no consumer can be dropped.
type stuck struct{ stream.Log }

func (stuck) Drop(context.Context, domain.StreamName, string) error {
	return domain.Unavailablef("away")
}

// TestADeletionThatIsDoneAgainTellsWhatIsDeleted: also what went before it was cut off.
func TestADeletionThatIsDoneAgainTellsWhatIsDeleted(t *testing.T) {
	bubble(t, func(r *rig) {
		drain := r.work(saga.WorkerConfig{})
		r.apply(shop, order())
		time.Sleep(5 * time.Second)
		r.publish(shop, placed("1", `{"order":"1","total":1,"wait":true}`))
		time.Sleep(5 * time.Second)
		drain()
		for range 2 {
			if _, err := r.newEngine(r.board, stuck{r.log}).Delete(r.Context(), shop, "order", true); !errors.Is(err, domain.ErrUnavailable) {
				t.Fatalf("got %v", err)
			}
		}
		got, err := r.engine.Delete(r.Context(), shop, "order", true)
		if want := (domain.SagaDeleted{Saga: "order", Versions: 1, Instances: 1}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if got := r.left(everything...); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	})
}

// Lists where an instance, a dead letter and a worker would be.
func TestAKeyOfTheWrongKindKeepsNoSagaFromBeingServedAndDeleted(t *testing.T) {
	bubble(t, func(r *rig) {
		keys := layout.SagaKeys{Tenant: "acme"}
		b := board.Batch{Space: layout.SpaceOf(shop)}
		b.PushLeft(keys.Instance("order", "strange"), "x").PushLeft(keys.Dead(domain.DeadSaga, "strange"), "x").
			Include(keys.OutboxIndex("order", 0), keys.Outbox(domain.WorkCommand, "strange")).PushLeft(keys.Outbox(domain.WorkCommand, "strange"), "x")
		r.must(r.board.Commit(r.Context(), b))
		r.must(r.board.Commit(r.Context(), *new(board.Batch).PushLeft("ramet:saga:worker:strange", "x")))
		drain := r.work(saga.WorkerConfig{})
		defer drain()
		r.apply(shop, order())
		time.Sleep(5 * time.Second)
		r.publish(shop, placed("1", `{"order":"1","total":1,"wait":true}`))
		time.Sleep(5 * time.Second)
		if _, err := r.engine.Explain(r.Context(), shop, "order", "1"); err != nil {
			t.Errorf("explain: got %v", err)
		}
		got, err := r.engine.Delete(r.Context(), shop, "order", true)
		if want := (domain.SagaDeleted{Saga: "order", Versions: 1, Instances: 1}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
}
