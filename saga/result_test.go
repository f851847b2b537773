package saga_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// unasked asks for effects whose results the test gives: reserve and pay with a
// step, or without.
func unasked(step bool) *domain.SagaDefinition {
	def := order()
	def.Partitions = 1
	if !step {
		def.Script = strings.NewReplacer(`, step: "reserve"`, "", `, step: "pay"`, "").Replace(def.Script)
	}
	return def
}

// alone starts a worker, and nobody who does effects.
func (r *rig) alone() (drain func()) {
	e := r.newEngine(r.board, r.log)
	ctx, stop := context.WithCancel(r.Context())
	var all sync.WaitGroup
	r.workers++
	all.Go(func() {
		r.must(saga.NewWorker(e, saga.WorkerConfig{Owner: fmt.Sprintf("node%d/1", r.workers)}).Run(ctx))
	})
	all.Go(func() { ring(ctx, r.board, e) })
	return func() { stop(); all.Wait() }
}

// answer gives the result of a command of order 1.
func (r *rig) answer(effect, id string, result domain.ResultType) {
	r.Helper()
	r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.WorkflowEvents, Subject: "tenant.acme.effect_result." + effect + "." + id,
		Data: fmt.Appendf(nil, `{"tenant_id":"acme","command_id":%q,"effect_name":%q,"result_type":%q,"metadata":{"saga":"order","correlation_id":"1"}}`,
			id, effect, result)}))
	time.Sleep(time.Second)
}

// commandOf is the newest command of an effect for order 1, by its history.
func (r *rig) commandOf(effect string) (id string) {
	r.Helper()
	lines, err := r.engine.History(r.Context(), shop, "order", "1", 0, 100)
	r.must(err)
	for _, line := range lines {
		for _, w := range line.Work {
			if rest, ok := strings.CutPrefix(w, "effect "+effect+" "); ok {
				id = rest
			}
		}
	}
	return id
}

// TestAResultMovesOnlyWhoAskedForIt: an order is not shipped because somebody
// says so, be it under no command's id, another's or an answered one's.
func TestAResultMovesOnlyWhoAskedForIt(t *testing.T) {
	for _, step := range []bool{true, false} {
		bubble(t, func(r *rig) {
			r.apply(shop, unasked(step))
			defer r.alone()()
			stays := func(state string, deadLetters int, cause string) {
				r.Helper()
				if x := r.instance(shop, "order", "1"); x.State != state || x.Held != "" || len(x.Deferred) != 0 {
					r.Fatalf("step %v: it is in %s, held %q, %+v", step, x.State, x.Held, x)
				}
				list := r.deadLetters(shop)
				if len(list) != deadLetters || deadLetters > 0 && !strings.Contains(strings.Join(causes(list), "\n"), cause) {
					r.Fatalf("step %v: dead letters %q, want %d, one with %q", step, causes(list), deadLetters, cause)
				}
			}
			r.publish(shop, placed("1", `{"order":1,"total":5}`))
			time.Sleep(time.Second)
			r.answer("reserve", "forged", domain.ResultSucceeded)
			stays("reserving", 1, `command "forged" of effect "reserve"`)
			r.answer("pay", r.commandOf("reserve"), domain.ResultSucceeded)
			stays("reserving", 2, `is of effect "reserve"`)
			// What was refused is in nobody's way.
			r.answer("reserve", r.commandOf("reserve"), domain.ResultSucceeded)
			stays("paying", 2, "")
			r.answer("reserve", r.commandOf("reserve"), domain.ResultSucceeded)
			stays("paying", 2, "")
			if step {
				r.answer("reserve", r.commandOf("reserve"), domain.ResultFailed)
				stays("paying", 3, "has had another answer")
			} else {
				r.answer("reserve", "forged", domain.ResultFailed)
				stays("paying", 3, `command "forged" of effect "reserve"`)
			}
			r.answer("pay", "forged", domain.ResultSucceeded)
			stays("paying", 4, `command "forged" of effect "pay"`)
			r.publish(shop, domain.Event{Type: "pay.Succeeded", Saga: "order", Correlation: "1"})
			time.Sleep(time.Second)
			stays("paying", 5, `"pay.Succeeded" is that of a result`)
			r.must(r.engine.Pause(r.Context(), shop, "order", "1"))
			r.answer("pay", "forged-later", domain.ResultSucceeded)
			stays("paying", 6, `command "forged-later"`)
			r.must(r.engine.Resume(r.Context(), shop, "order", "1"))
			r.answer("pay", r.commandOf("pay"), domain.ResultSucceeded)
			r.answer("pay", "forged-last", domain.ResultFailed)
			stays("paid", 7, `command "forged-last"`)
		})
	}
}

// TestAnEarlierLifesResultMovesNobody: the correlation is the same, the command
// is not.
func TestAnEarlierLifesResultMovesNobody(t *testing.T) {
	bubble(t, func(r *rig) {
		def := unasked(false)
		def.Retention, def.Dedupe = 60, 30
		r.apply(shop, def)
		defer r.alone()()
		var pays []string
		for life := range 2 {
			ev := placed("1", `{"order":1,"total":5}`)
			ev.ID = fmt.Sprint("life", life)
			r.publish(shop, ev)
			time.Sleep(time.Second)
			r.answer("reserve", r.commandOf("reserve"), domain.ResultSucceeded)
			pays = append(pays, r.commandOf("pay"))
			if life == 1 {
				r.answer("pay", pays[0], domain.ResultFailed)
				if x := r.instance(shop, "order", "1"); x.State != "paying" || pays[0] == pays[1] || len(r.deadLetters(shop)) != 1 {
					r.Errorf("commands %q, dead letters %q, %+v", pays, causes(r.deadLetters(shop)), x)
				}
			}
			r.answer("pay", pays[life], domain.ResultSucceeded)
			if x := r.instance(shop, "order", "1"); x.State != "paid" {
				r.Fatalf("life %d: %+v", life, x)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// TestAnInstanceOfAnEarlierVersionGoesOn: it has not noted what it asked for
// without a step.
func TestAnInstanceOfAnEarlierVersionGoesOn(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, unasked(false))
		drain := r.alone()
		r.publish(shop, placed("1", `{"order":1,"total":5}`))
		time.Sleep(time.Second)
		drain()
		b := board.Batch{Space: board.Space(shop)}
		b.Set(layout.SagaKeys{Tenant: "acme"}.Instance("order", "1"), board.Field{Name: layout.SagaData, Value: `{"fail":false,"total":6}`})
		r.must(r.board.Commit(r.Context(), *b.Unset(layout.SagaKeys{Tenant: "acme"}.Instance("order", "1"), "life", "asked")))
		found, err := r.engine.Rebuild(r.Context(), shop, saga.Rebuild{Saga: "order", Apply: true})
		if err != nil || len(found.Different) != 1 || found.Applied != 0 {
			r.Errorf("%+v, %v", found, err)
		}
		defer r.alone()()
		r.answer("reserve", r.commandOf("reserve"), domain.ResultSucceeded)
		if x := r.instance(shop, "order", "1"); x.State != "paying" {
			r.Errorf("%+v, dead letters %q", x, causes(r.deadLetters(shop)))
		}
	})
}
