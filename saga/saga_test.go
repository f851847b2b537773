package saga_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
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
		letters, _, err := r.engine.DeadLetters(r.Context(), shop, saga.DeadQuery{Limit: 10})
		if err != nil || len(letters) != 1 || letters[0].Kind != domain.DeadSaga {
			t.Fatalf("%+v, %v", letters, err)
		}
		r.must(r.engine.Replay(r.Context(), shop, domain.DeadSaga, letters[0].ID))
		time.Sleep(time.Second)
		d, err := r.engine.DeadLetter(r.Context(), shop, domain.DeadSaga, letters[0].ID)
		if err != nil || d.Attempts != 2 {
			t.Errorf("replayed: %+v, %v", d, err)
		}
		r.must(r.engine.Drop(r.Context(), shop, domain.DeadSaga, letters[0].ID))
		time.Sleep(time.Second)
		if x := r.instance(shop, "order", "1"); x.State != "paid" || x.Held != "" {
			t.Errorf("%+v", x)
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
		letters, _, err := r.engine.DeadLetters(t.Context(), shop, saga.DeadQuery{Limit: 10})
		if err != nil || len(letters) != 1 {
			t.Fatalf("%+v, %v", letters, err)
		}
		out, err := r.engine.Rebuild(t.Context(), shop, saga.Rebuild{Saga: "order", Apply: true})
		if err != nil || out.Same != 1 {
			t.Fatalf("while it is held: %+v, %v", out, err)
		}
		r.must(r.engine.Drop(t.Context(), shop, domain.DeadSaga, letters[0].ID))
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
