package saga_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
)

func TestEachInstanceIsExplained(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("1", `{"order":1,"total":-1}`))
		r.publish(shop, placed("2", `{"order":2,"wait":true}`))
		r.publish(shop, placed("3", `{"order":3,"total":5}`))
		r.publish(shop, placed("4", `{"order":4,"wait":true}`))
		time.Sleep(time.Second)
		r.must(r.engine.Pause(r.Context(), shop, "order", "4"))
		time.Sleep(time.Second)
		for id, want := range map[string]domain.Standing{"1": domain.StandingHeld, "2": domain.StandingTimer, "3": domain.StandingEnded, "4": domain.StandingPaused} {
			x, err := r.engine.Explain(r.Context(), shop, "order", id)
			if err != nil || x.Standing != want {
				t.Errorf("%s: %+v, %v, want %s", id, x, err, want)
			}
			if want == domain.StandingTimer && (!strings.Contains(x.Text, "timer at 2000-01-01T00:01:00Z") || x.Holder == "") {
				t.Errorf("%+v", x)
			}
		}
	})
}

// TestAnEffectThatHasEndedIsNotWaitedFor: its state did nothing with how it ended.
func TestAnEffectThatHasEndedIsNotWaitedFor(t *testing.T) {
	bubble(t, func(r *rig) {
		def := unasked(true)
		def.States[1].On = map[string]domain.Reaction{"reserve.Succeeded": domain.Handle, "*": domain.Ignore}
		r.apply(shop, def)
		drain := r.alone()
		r.publish(shop, placed("1", `{"order":1,"total":5}`))
		time.Sleep(time.Second)
		explain := func() domain.SagaExplanation {
			t.Helper()
			x, err := r.engine.Explain(r.Context(), shop, "order", "1")
			r.must(err)
			return x
		}
		if x := explain(); x.Standing != domain.StandingEffect || len(x.Ended) != 0 || len(x.Events) != 1 {
			t.Errorf("asked for: got %+v", x)
		}
		id := r.commandOf("reserve")
		result, err := json.Marshal(domain.EffectResult{CommandID: id, EffectName: "reserve", ResultType: domain.ResultTimedOut, Error: "no answer within 30s"})
		r.must(err)
		mark := board.Batch{Space: board.Space(shop)}
		mark.Set(layout.SagaKeys{Tenant: "acme"}.Done(id), board.Field{Name: layout.DoneStatus, Value: "done"},
			board.Field{Name: layout.DoneResult, Value: string(result)})
		r.must(r.board.Commit(r.Context(), mark))
		r.answer("reserve", id, domain.ResultTimedOut)
		x := explain()
		for _, part := range []string{"no such result is to come", "effect reserve of step reserve has ended: TimedOut: no answer within 30s", "ramet saga migrate"} {
			if !strings.Contains(x.Text, part) {
				t.Errorf("got %q, want %q in it", x.Text, part)
			}
		}
		if x.Standing != domain.StandingStuck || len(x.Events) != 0 {
			t.Errorf("got %+v", x)
		}
		time.Sleep(2 * time.Minute)
		if found, err := r.engine.Audit(r.Context(), shop, 0); err != nil || len(found.Stuck) != 1 || !strings.Contains(found.Stuck[0].Text, "reserve.Succeeded") {
			t.Errorf("got %+v, %v", found, err)
		}
		drain()
		// While work of it is under way it does not wait in vain: that may move it.
		item, err := json.Marshal(domain.WorkItem{Kind: domain.WorkEffect, ID: "c-9", Saga: "order", Correlation: "1", Effect: "release"})
		r.must(err)
		keys := layout.SagaKeys{Tenant: "acme"}
		work := board.Batch{Space: board.Space(shop)}
		work.Set(keys.Outbox(domain.WorkEffect, "c-9"), board.Field{Name: layout.OutboxItem, Value: string(item)})
		r.must(r.board.Commit(r.Context(), *work.Include(keys.OutboxIndex("order", 0), keys.Outbox(domain.WorkEffect, "c-9"))))
		if x := explain(); x.Standing != domain.StandingOutbox || len(x.Ended) != 0 {
			t.Errorf("with work in its outbox: got %+v", x)
		}
	})
}

// TestADeadCommandIsNotWaitedFor until a person has replayed or dropped it.
func TestADeadCommandIsNotWaitedFor(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, unasked(true))
		defer r.alone()()
		r.publish(shop, placed("1", `{"order":1,"total":5}`))
		time.Sleep(time.Second)
		id := r.commandOf("reserve")
		dead := domain.DeadLetter{Kind: domain.DeadEffect, ID: id, Effect: "reserve", Saga: "order", Correlation: "1", Cause: "it was given out too often"}
		text, err := json.Marshal(dead)
		r.must(err)
		key := layout.SagaKeys{Tenant: "acme"}.Dead(domain.DeadEffect, id)
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Set(key, board.Field{Name: layout.DeadText, Value: string(text)})))
		x, err := r.engine.Explain(r.Context(), shop, "order", "1")
		if err != nil || x.Standing != domain.StandingHeld || x.DeadLetter != key || !strings.Contains(x.Text, "given out too often") ||
			x.Effects[0].DeadLetter != key {
			t.Errorf("got %+v, %v", x, err)
		}
		var told []string
		e := saga.New(r.board, r.log, saga.Config{Names: names{}, GiveUp: func(_ context.Context, in domain.TenantID, d *domain.DeadLetter) error {
			told = append(told, fmt.Sprint(in, " ", d.ID))
			return nil
		}})
		r.must(e.Drop(r.Context(), shop, domain.DeadEffect, id))
		if len(told) != 1 || told[0] != fmt.Sprint(shop, " ", id) || len(r.deadLetters(shop)) != 0 {
			t.Errorf("told %q, dead letters %+v", told, r.deadLetters(shop))
		}
	})
}

// TestWorkWhoseRecordIsGoneIsFound: it is named in the outbox, and nobody can send it.
func TestWorkWhoseRecordIsGoneIsFound(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		drain := r.alone()
		time.Sleep(time.Second)
		drain()
		keys := layout.SagaKeys{Tenant: "acme"}
		lost := keys.Outbox(domain.WorkEffect, "c-1")
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Include(keys.OutboxIndex("order", 0), lost)))
		found, err := r.engine.Audit(r.Context(), shop, 0)
		if err != nil || len(found.Stuck) != 1 || found.Stuck[0].Key != lost || !strings.Contains(found.Stuck[0].Text, "its record is gone") {
			t.Errorf("got %+v, %v", found, err)
		}
	})
}

// TestASagaThatNobodyServesIsFound by an audit of hand, whether it has instances or not.
func TestASagaThatNobodyServesIsFound(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		found := func() []domain.Finding {
			t.Helper()
			a, err := r.engine.AuditWithin(r.Context(), shop, time.Second)
			r.must(err)
			return a.Lacking
		}
		if got := found(); len(got) != 1 || got[0].Key != "saga order" {
			t.Fatalf("nobody serves it: got %+v", got)
		}
		drain := r.work(saga.WorkerConfig{})
		time.Sleep(10 * time.Second)
		if got := found(); len(got) != 0 {
			t.Errorf("served: got %+v", got)
		}
		drain()
		if got := found(); len(got) != 1 {
			t.Errorf("left: got %+v", got)
		}
	})
}

func TestALostTimerIsSetAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		def := order()
		def.States[3].Timeout.After = 3600
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("2", `{"order":2,"wait":true}`))
		time.Sleep(2 * time.Minute)
		key := layout.SagaKeys{Tenant: "acme"}.Timer("order", "2", r.instance(shop, "order", "2").Timers[0].DueMs)
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Delete(key).ClearAlarm(layout.TimerAlarm(key))))
		found, err := r.engine.Audit(r.Context(), shop, 0)
		if err != nil || len(found.Repaired) != 1 || len(found.Stuck) != 0 {
			t.Fatalf("%+v, %v", found, err)
		}
		if found, err = r.engine.Audit(r.Context(), shop, 0); err != nil || len(found.Repaired) != 0 {
			t.Fatalf("again: %+v, %v", found, err)
		}
		time.Sleep(time.Hour)
		if x := r.instance(shop, "order", "2"); x.State != "paid" {
			t.Errorf("%+v", x)
		}
	})
}

// TestATimerWhoseEventWaitsIsNotLost: neither where the instance is paused, nor
// where its state defers the event.
func TestATimerWhoseEventWaitsIsNotLost(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `
fn on_event(state, event) {
  state.n += 1;
  #{state: state, timers: if event.type == "Go" { [#{event: "Tick", after: 60}] } else { [] }}
}`)
		def.States[0].On["Tick"] = domain.Defer
		r.apply(shop, def)
		paused := order()
		paused.States[3].Timeout.After = 60
		r.apply(shop, paused)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e", `{"id":1}`))
		r.publish(shop, placed("2", `{"order":2,"wait":true}`))
		time.Sleep(time.Second)
		r.must(r.engine.Pause(r.Context(), shop, "order", "2"))
		time.Sleep(30 * time.Minute)
		for range 3 {
			if found, err := r.engine.Audit(r.Context(), shop, 0); err != nil || len(found.Repaired)+len(found.Stuck) != 0 {
				t.Errorf("%+v, %v", found, err)
			}
			time.Sleep(10 * time.Minute)
		}
		for name, id := range map[string]string{"s": "1", "order": "2"} {
			if x := r.instance(shop, name, id); len(x.Deferred) != 1 || len(x.Timers) != 1 {
				t.Errorf("%s: %d events are deferred, of %d timers", name, len(x.Deferred), len(x.Timers))
			}
		}
		r.must(r.engine.Resume(r.Context(), shop, "order", "2"))
		time.Sleep(time.Minute)
		if x := r.instance(shop, "order", "2"); x.State != "paid" {
			t.Errorf("%+v", x)
		}
	})
}

// TestATimerThatNobodyHasReadIsNotLost: its event waits in the stream.
func TestATimerThatNobodyHasReadIsNotLost(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		drain := r.work(saga.WorkerConfig{})
		r.publish(shop, placed("2", `{"order":2,"wait":true}`))
		time.Sleep(30 * time.Second)
		drain()
		time.Sleep(time.Minute)
		due, err := r.board.Due(r.Context(), 100, time.Minute)
		r.must(err)
		for _, a := range due {
			_, err := r.engine.HandleAlarm(r.Context(), a)
			r.must(err)
		}
		time.Sleep(time.Hour)
		if found, err := r.engine.Audit(r.Context(), shop, 0); err != nil || len(due) == 0 || len(found.Repaired) != 0 {
			t.Errorf("%d alarms, %+v, %v", len(due), found, err)
		}
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		if x := r.instance(shop, "order", "2"); x.State != "paid" {
			t.Errorf("%+v", x)
		}
	})
}

func TestAnInstanceWhoseDeadLetterIsGoneIsStuck(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, placed("1", `{"order":1,"total":-1}`))
		time.Sleep(2 * time.Minute)
		held := saga.HeldBy(r.instance(shop, "order", "1"))
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Delete(layout.SagaKeys{Tenant: "acme"}.Dead(domain.DeadSaga, held))))
		found, err := r.engine.Audit(r.Context(), shop, 0)
		if err != nil || len(found.Stuck) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		x, err := r.engine.Explain(r.Context(), shop, "order", "1")
		if err != nil || x.Standing != domain.StandingStuck {
			t.Errorf("%+v, %v", x, err)
		}
	})
}

// TestAnExplanationNamesWhatKeepsAnInstance: events that wait in it, attempts of
// its effects that failed, and a gateway that takes nothing.
func TestAnExplanationNamesWhatKeepsAnInstance(t *testing.T) {
	bubble(t, func(r *rig) {
		def := order()
		r.apply(shop, def)
		e := r.newEngine(r.board, r.log)
		ctx, stop := context.WithCancel(r.Context())
		ended := make(chan error, 1)
		go func() { ended <- saga.NewWorker(e, saga.WorkerConfig{Owner: "n/1"}).Run(ctx) }() // nobody does effects
		defer func() { stop(); r.must(<-ended) }()
		r.publish(shop, placed("1", `{"order":"1","total":1}`))
		r.publish(shop, domain.Event{Type: "OrderCancelled", AggregateType: "Order", AggregateID: "1", Payload: json.RawMessage(`{"order":"1"}`)})
		time.Sleep(10 * time.Second)
		command := r.instance(shop, "order", "1").Steps[0].CommandID
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Set(layout.SagaKeys{Tenant: "acme"}.Done(command),
			board.Field{Name: layout.DoneStatus, Value: layout.DoneTrying}, board.Field{Name: layout.DoneAttempts, Value: "4"},
			board.Field{Name: layout.DoneError, Value: "503"})))
		x, err := r.engine.Explain(r.Context(), shop, "order", "1")
		r.must(err)
		if len(x.Deferred) != 1 || x.Deferred[0] != "OrderCancelled" || len(x.Effects) != 1 ||
			x.Effects[0].String() != "reserve (reserve): 4 attempts, the last error: 503" {
			t.Errorf("got %+v", x)
		}
	})
}

// TestAnExplanationNamesEffectsWithoutAStep: also those whose result is known and
// has not come.
func TestAnExplanationNamesEffectsWithoutAStep(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, unasked(false))
		defer r.alone()()
		r.publish(shop, placed("1", `{"order":1,"total":5}`))
		time.Sleep(time.Second)
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Set(layout.SagaKeys{Tenant: "acme"}.Done(r.commandOf("reserve")),
			board.Field{Name: layout.DoneStatus, Value: "decided"}, board.Field{Name: layout.DoneAttempts, Value: "1"})))
		x, err := r.engine.Explain(r.Context(), shop, "order", "1")
		if err != nil || len(x.Effects) != 1 || x.Effects[0].String() != "reserve: 1 attempt; its result is known, and on its way" {
			t.Errorf("got %+v, %v", x, err)
		}
	})
}

func TestAnExplanationCountsAGatewaysNoes(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		var up atomic.Bool
		var asked atomic.Int32
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int {
			if up.Load() {
				return 200
			}
			asked.Add(1)
			return 503
		}).config()})()
		r.publish(shop, goes("1", `{"id":"1"}`))
		time.Sleep(5 * time.Minute)
		x, err := r.engine.Explain(r.Context(), shop, "s", "1")
		if err != nil || len(x.Unsent) != 1 || x.Unsent[0].Attempts != int(asked.Load()) || !strings.Contains(x.Unsent[0].Error, "Service Unavailable") {
			t.Errorf("asked %d times, got %+v, %v", asked.Load(), x, err)
		}
		up.Store(true)
		time.Sleep(time.Minute)
		if got := r.left("outbox"); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	})
}

// hangs is a gateway that takes commands and answers nothing.
type hangs struct{}

func (hangs) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// TestAGatewayThatHangsIsToldAfterTheFirstAttempt: its attempts take long, and the pauses between are short at first.
func TestAGatewayThatHangsIsToldAfterTheFirstAttempt(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{Gateway: saga.GatewayConfig{URL: "http://gateway/", Timeout: 5 * time.Second, Client: &http.Client{Transport: hangs{}}}})()
		r.publish(shop, goes("1", `{"id":"1"}`))
		time.Sleep(7 * time.Second)
		x, err := r.engine.Explain(r.Context(), shop, "s", "1")
		if err != nil || len(x.Unsent) != 1 || x.Unsent[0].Attempts != 1 || !strings.Contains(x.Unsent[0].Error, "in time") {
			t.Errorf("got %+v, %v", x, err)
		}
	})
}

// A list where the dead letter of one instance was is that instance's trouble: the
// audit names it, and finds what is wrong with the other.
func TestAStrangeDeadLetterKeepsNoOtherInstanceFromItsAudit(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, order())
		defer r.work(saga.WorkerConfig{})()
		keys := layout.SagaKeys{Tenant: "acme"}
		b := board.Batch{Space: board.Space(shop)}
		for _, id := range []string{"1", "2"} {
			r.publish(shop, placed(id, `{"order":`+id+`,"total":-1}`))
			time.Sleep(time.Minute)
			b.Delete(keys.Dead(domain.DeadSaga, saga.HeldBy(r.instance(shop, "order", id))))
		}
		b.PushLeft(keys.Dead(domain.DeadSaga, saga.HeldBy(r.instance(shop, "order", "1"))), "x")
		r.must(r.board.Commit(r.Context(), b))
		time.Sleep(time.Minute)
		found, err := r.engine.Audit(r.Context(), shop, 0)
		if err != nil || len(found.Stuck) != 2 || found.Stuck[0].Key != keys.Instance("order", "1") || found.Stuck[1].Key != keys.Instance("order", "2") {
			t.Errorf("got %+v, %v, want both named", found, err)
		}
	})
}

// What a step is undone by has a name of its own, and that is what is to be looked after.
func TestAnAwaitedEffectSaysWhatItUndoes(t *testing.T) {
	a := domain.AwaitedEffect{Step: "room", Effect: "cancel-room", Undoes: true, Breaker: "shop", Paused: "the effect is paused"}
	if got, want := a.String(), "cancel-room (which undoes room): no attempt has failed; the effect is paused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
