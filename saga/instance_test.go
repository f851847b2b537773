package saga_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

func TestNobodyElseControlsAnInstance(t *testing.T) {
	redo := `{"dead":"saga:acme:s:1","subject":"tenant.acme.workflow.s.1","event":{"event_id":"x","event_type":"Go","source":"workflow","saga":"s",` +
		`"correlation_id":"1","timestamp_ms":1}}`
	for _, m := range []stream.Message{
		{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Header: map[string]string{"ramet-event": "redo", "event_type": "ramet:redo"}, Data: []byte(redo)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"event_type": "ramet:redo"}, Data: []byte(redo)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Data: []byte(`{"event_type":"ramet:pause","event_id":"x"}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Data: []byte(`{"event_type":"Tick","timer":5,"event_id":"x"}`)},
		{Stream: domain.WorkflowEvents, Subject: "tenant.acme.effect_result.do.x",
			Data: []byte(`{"command_id":"y","effect_name":"do","metadata":{"saga":"s","correlation_id":"1"}}`)},
		// Of Ramet's own, and wrong.
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":{"dead":"saga:acme:s:1"}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":{"dead":"deadletter:acme:saga:other"}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":{"dead":""}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:drop","event_id":"x","payload":17}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:dance","event_id":"x"}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.77", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:pause","event_id":"x"}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.77", Header: map[string]string{"ramet-event": "event"},
			Data: []byte(`{"event_type":"ramet:migrate","event_id":"x","payload":{"version":1}}`)},
		{Stream: domain.WorkflowCommands, Subject: "tenant.acme.workflow.s.1", Header: map[string]string{"ramet-event": "redo"},
			Data: []byte(`{"dead":"deadletter:acme:event:other","subject":"tenant.9.workflow.s.1","data":"e30="}`)},
	} {
		bubble(t, func(r *rig) {
			r.apply(shop, machineOf("s", countsEvents))
			defer r.work(saga.WorkerConfig{})()
			b := board.Batch{Space: board.Space(shop)}
			r.must(r.board.Commit(r.Context(),
				*b.Set("deadletter:acme:saga:other", board.Field{Name: layout.DeadText, Value: `{"kind":"saga","id":"other","saga":"other"}`})))
			r.publish(shop, goes("e1", `{"id":1}`))
			time.Sleep(time.Second)
			r.must(r.log.Publish(r.Context(), m))
			time.Sleep(time.Second)
			r.publish(shop, goes("e2", `{"id":1}`))
			time.Sleep(10 * time.Second)
			if x := r.instance(shop, "s", "1"); string(x.Data) != `{"n":2}` || x.Version != 2 || x.Paused {
				t.Errorf("%s %v: %+v", m.Subject, m.Header, x)
			}
			if recs, err := r.board.Get(r.Context(), board.Space(shop), "deadletter:acme:saga:other"); err != nil || recs[0] == nil {
				t.Errorf("%s %v: another one's dead letter is gone, %v", m.Subject, m.Header, err)
			}
		})
	}
}

// TestAnEventOfAnotherContextIsRefused: what the data says of whose it is does
// not go before whose the subject is, or the caller's right.
func TestAnEventOfAnotherContextIsRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		for tenant, ok := range map[string]bool{"": true, "acme": true, "7": true, "8": false, "other": false} {
			ev := goes("by:"+tenant, `{"id":1}`)
			ev.Tenant = tenant
			if _, err := r.engine.Publish(r.Context(), shop, &ev); (err == nil) != ok || err != nil && !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("tenant %q: %v", tenant, err)
			}
		}
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Data: []byte(`{"event_id":"e","event_type":"Go","tenant_id":"8","payload":{"id":1}}`)}))
		time.Sleep(time.Minute)
		if got, list := r.data(shop, "s", "1"), r.deadLetters(shop); got != `{"n":3}` || len(list) != 1 || !strings.Contains(list[0].Cause, `tenant_id is "8"`) {
			t.Errorf("got %s, dead letters %q", got, causes(list))
		}
	})
}

func TestAnEventWithAllThatItMayAskForFits(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) {
			if event.type != "Go" || event.payload.small { return; } let work = []; let timers = [];
			for i in 0..64 { work.push(#{fact: "F", payload: i}); timers.push(#{event: "Tick", after: 100000 + i}); }
			#{work: work, timers: timers, cancel: ["Tick"]} }`))
		defer r.work(saga.WorkerConfig{})()
		r.bans.ban(shop, "s", true)
		n, large := 0, 0
		event := func(id int, small bool) {
			n++
			r.publish(shop, goes(fmt.Sprint("e", n), fmt.Sprintf(`{"id":%d,"small":%v}`, id, small)))
			if !small {
				large++
			}
		}
		for id := range 3 {
			event(id, false)
		}
		for few := range 25 { // so that a batch is as full as can be when the last comes
			event(0, false)
			event(1, false)
			for i := range few {
				event(100+i, true)
			}
			event(2, false)
		}
		time.Sleep(time.Second)
		r.bans.ban(shop, "s", false)
		time.Sleep(time.Minute)
		stats, err := r.log.Stats(r.Context(), domain.WorkflowEvents)
		if err != nil || stats.Last != uint64(64*large) || len(r.deadLetters(shop)) != 0 {
			t.Errorf("%d facts, want %d, dead letters %v, %v", stats.Last, 64*large, causes(r.deadLetters(shop)), err)
		}
	})
}

func TestAnInstanceThatWasChangedMeanwhileIsReadAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		var wire simtest.Gate
		defer r.workOn(lateBoard{r.board, &wire, does(board.OpAppend, "ramet:saga:history:")}, r.log, saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		wire.Close()
		r.publish(shop, goes("e2", `{"id":1}`))
		time.Sleep(time.Second)
		b := board.Batch{Space: board.Space(shop)}
		r.must(r.board.Commit(r.Context(), *b.Set("saga:acme:s:1", board.Field{Name: "version", Value: "5"}, board.Field{Name: "state", Value: `{"n":10}`})))
		wire.Open()
		time.Sleep(10 * time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":11}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestIdsMayHaveAnyText(t *testing.T) {
	for _, id := range []string{"a.b", "a b", "*", ">", "100%", "%41", "%#x", "ООО «Ромашка» 2024", strings.Repeat("ж", 50),
		strings.Repeat("%", 100), "a:b"} {
		bubble(t, func(r *rig) {
			def := machineOf("s", `fn on_event(state, event) { state.n += 1; if event.type == "Go" { #{state: state, timers: [#{event: "Tick", after: 1}], `+
				`work: [#{saga: "s", correlation: event.correlation, event: "More"}, #{fact: "F"}]} } else { #{state: state} } }`)
			def.Correlation = `event.aggregate_id`
			def.Triggers = append(def.Triggers, domain.SagaTrigger{Source: domain.SourceWorkflow, Types: []string{"More"}},
				domain.SagaTrigger{Source: domain.SourceFact, Of: "s", Types: []string{"F"}})
			def.Correlation = `if "aggregate_id" in event { event.aggregate_id } else { event.correlation }`
			r.apply(shop, def)
			defer r.work(saga.WorkerConfig{})()
			ev := goes("e1", `{}`)
			ev.AggregateID = id
			r.publish(shop, ev)
			r.publish(shop, domain.Event{Type: "More", Saga: "s", Correlation: id})
			time.Sleep(time.Minute)
			if got := r.data(shop, "s", id); got != `{"n":5}` {
				t.Errorf("%q: %s, dead letters %+v", id, got, r.deadLetters(shop))
			}
		})
	}
}

func TestAllThatWaitedInAPausedInstanceIsHandled(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e", `{"id":1}`))
		time.Sleep(time.Second)
		r.must(r.engine.Pause(r.Context(), shop, "s", "1"))
		for i := range 200 {
			r.publish(shop, goes(fmt.Sprint("e", i), `{"id":1}`))
		}
		time.Sleep(time.Second)
		r.must(r.engine.Resume(r.Context(), shop, "s", "1"))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != `{"n":201}` {
			t.Errorf("got %s: %d are left", got, len(r.instance(shop, "s", "1").Deferred))
		}
	})
}

func TestContextsHaveIdsOfTheirOwn(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, in := range []domain.TenantID{1, shop, 9} {
			r.apply(in, machineOf("s", countsEvents))
			r.publish(in, goes("same", `{"id":1}`))
		}
		defer r.work(saga.WorkerConfig{})()
		// Whose it is is the subject's to say: what says another is a dead letter.
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.acme.aggregate.Thing.1",
			Data: []byte(`{"event_id":"x","event_type":"Go","tenant_id":"9","payload":{"id":1}}`)}))
		// A context may be called by its number too.
		r.must(r.log.Publish(r.Context(), stream.Message{Stream: domain.AggregateEvents, Subject: "tenant.7.aggregate.Thing.1",
			Data: []byte(`{"event_id":"y","event_type":"Go","payload":{"id":1}}`)}))
		time.Sleep(10 * time.Second)
		for in, want := range map[domain.TenantID]string{1: `{"n":1}`, shop: `{"n":2}`, 9: `{"n":1}`} {
			if got := r.data(in, "s", "1"); got != want {
				t.Errorf("context %d: %s, want %s", in, got, want)
			}
		}
	})
}

func TestNamesThatDoNotFitAreRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, name := range []string{"effect", strings.Repeat("x", 97)} {
			def := machineOf(name, countsEvents)
			if _, _, err := r.engine.Apply(r.Context(), shop, actor, def, ""); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestABanCountsForTheNextEvent(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(time.Second)
		r.bans.ban(shop, "s", true)
		time.Sleep(time.Second)
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		if got := r.data(shop, "s", "1"); got != "" {
			t.Errorf("handled while banned: %s", got)
		}
		r.bans.ban(shop, "s", false)
		time.Sleep(time.Second)
		if got := r.data(shop, "s", "1"); got != `{"n":1}` {
			t.Errorf("after the ban: %s", got)
		}
	})
}
