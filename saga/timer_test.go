package saga_test

import (
	"context"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

func TestATimerThatIsSetAgainForTheSameInstantComesAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s",
			`fn on_event(state, event) { state.n += 1; #{state: state, timers: if state.n < 5 { [#{event: "Tick", at_ms: 1000}] } else { [] }} }`))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":5}` {
			t.Errorf("got %s", got)
		}
	})
}

// TestATimerThatWasSetAnewIsAnotherOne has one that is set again for the same
// instant, before and while its alarm is handled.
func TestATimerThatWasSetAnewIsAnotherOne(t *testing.T) {
	bubble(t, func(r *rig) {
		record := layout.SagaKeys{Tenant: "acme"}.Timer("s", "1", 5)
		set := func(by string) {
			b := board.Batch{Space: board.Space(shop)}
			b.Set(record, board.Field{Name: layout.TimerSaga, Value: "s"}, board.Field{Name: layout.TimerOf, Value: "1"}, board.Field{Name: "set_by", Value: by},
				board.Field{Name: layout.TimerPayload, Value: `{"event":"Tick","due_ms":5}`})
			r.must(r.board.Commit(r.Context(), *b.SetAlarm(layout.TimerAlarm(record), time.UnixMilli(5))))
		}
		ring := func(b board.Board) {
			a := board.Alarm{Space: board.Space(shop), Name: layout.TimerAlarm(record), At: time.UnixMilli(5)}
			if ours, err := r.newEngine(b, r.log).HandleAlarm(r.Context(), a); !ours || err != nil {
				t.Errorf("got %v, %v", ours, err)
			}
		}
		set("1")
		ring(r.board)
		set("2")
		ring(faultboard.New(r.board, faultboard.Config{Before: func(context.Context, faultboard.Call) error { set("3"); return nil }}))
		if _, there, err := r.board.AlarmOf(r.Context(), board.Space(shop), layout.TimerAlarm(record)); err != nil || !there {
			t.Errorf("the alarm of the third is gone, %v", err)
		}
		ring(r.board)
		if stats, err := r.log.Stats(r.Context(), domain.WorkflowCommands); err != nil || stats.Last != 3 {
			t.Errorf("%d events, want 3, %v", stats.Last, err)
		}
	})
}

// silentLog is a log that does not answer.
type silentLog struct{ stream.Log }

func (silentLog) Publish(ctx context.Context, _ ...stream.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestATimerWaitsForASilentStreamNotForLong(t *testing.T) {
	bubble(t, func(r *rig) {
		record := layout.SagaKeys{Tenant: "acme"}.Timer("s", "1", 5)
		b := board.Batch{Space: board.Space(shop)}
		b.Set(record, board.Field{Name: layout.TimerSaga, Value: "s"}, board.Field{Name: layout.TimerOf, Value: "1"}, board.Field{Name: "set_by", Value: "1"},
			board.Field{Name: layout.TimerPayload, Value: `{"event":"Tick","due_ms":5}`})
		r.must(r.board.Commit(r.Context(), *b.SetAlarm(layout.TimerAlarm(record), time.UnixMilli(5))))
		a := board.Alarm{Space: board.Space(shop), Name: layout.TimerAlarm(record), At: time.UnixMilli(5)}
		began := time.Now()
		ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
		defer cancel()
		ours, err := r.newEngine(r.board, silentLog{r.log}).HandleAlarm(ctx, a)
		if took := time.Since(began); !ours || err == nil || took > 6*time.Second {
			t.Errorf("got %v, %v after %v, want an error after five seconds at most", ours, err, took)
		}
		if _, there, err := r.board.AlarmOf(r.Context(), board.Space(shop), a.Name); err != nil || !there {
			t.Errorf("the alarm is gone, %v", err)
		}
	})
}
