package saga_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
)

func TestAnEventAfterANewVersionIsHandledByIt(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		r.apply(shop, def)
		// Many do not know of the version at once.
		slow := func() *faultboard.Board {
			return faultboard.New(r.board, faultboard.Config{Delay: 300 * time.Millisecond})
		}
		defer r.workOn(slow(), r.log, saga.WorkerConfig{})()
		time.Sleep(10 * time.Second)
		for i := range 20 {
			def.Triggers = append(def.Triggers, domain.SagaTrigger{Of: fmt.Sprint("More", i), Types: []string{"Go"}})
			r.publish(shop, goes(fmt.Sprint("a", i), `{"id":1}`))
			r.apply(shop, def)
			ev := goes(fmt.Sprint("b", i), `{"id":1}`)
			ev.AggregateType = fmt.Sprint("More", i)
			r.publish(shop, ev)
			r.publish(shop, goes(fmt.Sprint("c", i), `{"id":1}`))
			time.Sleep(100 * time.Millisecond)
			def.Summary = fmt.Sprint("program ", i) // events go the same ways
			stored, _, err := r.engine.Apply(r.Context(), shop, actor, def, "")
			r.must(err)
			r.publish(shop, goes(fmt.Sprint("d", i), fmt.Sprintf(`{"id":"new %d"}`, stored.Version)))
		}
		time.Sleep(time.Minute)
		for i := range 20 {
			if x := r.instance(shop, "s", fmt.Sprint("new ", 3+2*i)); x.Definition < 3+2*i {
				t.Errorf("%s began with version %d", x.Correlation, x.Definition)
			}
		}
		if got := r.data(shop, "s", "1"); got != `{"n":60}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestAnInstanceBeginsWithTheNewestVersion(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		r.apply(shop, def)
		// One that learns of everything late.
		defer r.workOn(faultboard.New(r.board, faultboard.Config{Delay: 500 * time.Millisecond}), r.log, saga.WorkerConfig{})()
		for i := range 20 {
			time.Sleep(10 * time.Second)
			def.Summary = fmt.Sprint("program ", i)
			stored, _, err := r.engine.Apply(r.Context(), shop, actor, def, "")
			r.must(err)
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, stored.Version)))
		}
		time.Sleep(10 * time.Second)
		for v := 2; v < 22; v++ {
			if x := r.instance(shop, "s", fmt.Sprint(v)); x.Definition != v {
				t.Errorf("%d began with version %d", v, x.Definition)
			}
		}
	})
}

func TestAVersionThatDoesNotCompileHoldsItsInstancesOnly(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		r.apply(shop, def)
		stop := r.work(saga.WorkerConfig{})
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		stop()
		def.Summary = "second"
		r.apply(shop, def)
		good, err := r.board.Get(r.Context(), board.Space(shop), layout.SagaDefKeys.At("s", 1))
		r.must(err)
		set := func(text string) {
			b := board.Batch{Space: board.Space(shop)}
			r.must(r.board.Commit(r.Context(), *b.Set(layout.SagaDefKeys.At("s", 1), board.Field{Name: "text", Value: text})))
		}
		set(strings.Replace(good[0].Get("text"), "state.n += 1", "state.n +=", 1))
		stop = r.work(saga.WorkerConfig{})
		for i, id := range []int{1, 2, 1} {
			r.publish(shop, goes(fmt.Sprint("f", i), fmt.Sprintf(`{"id":%d}`, id)))
		}
		time.Sleep(10 * time.Second)
		stop()
		if got := r.data(shop, "s", "2"); got != `{"n":1}` {
			t.Errorf("another instance: %s", got)
		}
		x, list := r.instance(shop, "s", "1"), r.deadLetters(shop)
		if x.Held != "f0" || len(x.Deferred) != 1 || len(list) != 1 || !list[0].Holds {
			t.Fatalf("%+v, dead letters %+v", x, list)
		}
		set(good[0].Get("text"))
		defer r.work(saga.WorkerConfig{})()
		r.must(r.engine.Replay(r.Context(), shop, list[0].Kind, list[0].ID))
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":3}` {
			t.Errorf("mended: %s", got)
		}
	})
}

func TestAnEventOfAnOldVersionFindsItsInstance(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", countsEvents)
		def.Events = []domain.SagaEvent{{Type: "Go", MinVersion: 1, MaxVersion: 2, Upcast: []domain.SagaUpcast{{From: 1, Expr: `#{id: payload.number}`}}}}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"number":5}`))
		time.Sleep(time.Second)
		if got := r.data(shop, "s", "5"); got != `{"n":1}` {
			t.Errorf("got %s, dead letters %+v", got, r.deadLetters(shop))
		}
	})
}

func TestASagaThatWasDeletedAndAppliedAgainBeginsAnew(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		_, err := r.engine.Delete(r.Context(), shop, "s", true)
		r.must(err)
		_, _, err = r.engine.Apply(r.Context(), shop, actor, machineOf("s", `fn on_event(state, event) { state.n += 10; #{state: state} }`), domain.SagaFromStart)
		r.must(err)
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":10}` {
			t.Errorf("got %s", got)
		}
	})
}
