package saga_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// door is a gateway: a function of the command, which gives a status.
type door func(c domain.SubmitCommandRequest) int

func (d door) RoundTrip(req *http.Request) (*http.Response, error) {
	var c domain.SubmitCommandRequest
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	if code := d(c); code != 0 {
		return answer(code), nil
	}
	return nil, errors.New("away")
}

func (d door) config() saga.GatewayConfig {
	return saga.GatewayConfig{URL: "http://gateway/", Client: &http.Client{Transport: d}}
}

func TestACommandWaitsForWhatWasAskedForBefore(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { if event.type != "Go" { return; }
			#{work: [#{effect: "do", payload: #{}}, #{command: #{aggregate_type: "T", aggregate_id: "1"}, payload: #{}}, #{fact: "Done", payload: #{}}]} }`))
		var got calls
		var up atomic.Bool
		defer r.workOn(r.board, logOf{r.log, func(m stream.Message) error {
			if parts := strings.Split(m.Subject, "."); parts[2] == "effect" || parts[2] == "workflow_event" {
				if !up.Load() {
					return domain.Unavailablef("away")
				}
				got.add(parts[2])
			}
			return nil
		}}, saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { got.add("command"); return 200 }).config()})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(10 * time.Second)
		if list := got.all(); len(list) != 0 {
			t.Errorf("before the effect was asked for there came %v", list)
		}
		up.Store(true)
		time.Sleep(time.Minute)
		if list := strings.Join(got.all(), " "); list != "effect command workflow_event" {
			t.Errorf("got %s", list)
		}
	})
}

func TestAPlaceAtTheGatewayIsForWhoeverWaits(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { #{work: [#{command: #{aggregate_type: "T", aggregate_id: event.correlation}, payload: #{}}]} }`)
		def.Partitions = 5
		r.apply(shop, def)
		var got calls
		cfg := door(func(c domain.SubmitCommandRequest) int { time.Sleep(time.Second); got.add(c.AggregateID); return 200 }).config()
		cfg.MaxInFlight = 1
		defer r.work(saga.WorkerConfig{Gateway: cfg})()
		for i := range 20 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		time.Sleep(time.Minute)
		if n := len(got.all()); n != 20 {
			t.Errorf("%d of 20 commands came", n)
		}
	})
}

func TestACommandThatIsTriedAgainIsInNobodysWay(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", `fn on_event(state, event) { #{work: [#{command: #{aggregate_type: "T", aggregate_id: event.correlation}}]} }`))
		var got calls
		cfg := door(func(c domain.SubmitCommandRequest) int {
			if c.AggregateID == "0" {
				return 503
			}
			got.add(c.AggregateID)
			return 200
		}).config()
		cfg.MaxInFlight = 1
		defer r.work(saga.WorkerConfig{Gateway: cfg, Grace: time.Second})()
		for i := range 20 {
			r.publish(shop, goes(fmt.Sprint("e", i), fmt.Sprintf(`{"id":%d}`, i)))
		}
		time.Sleep(10 * time.Second)
		if n := len(got.all()); n != 19 {
			t.Errorf("%d of 19 other commands came", n)
		}
	})
}

func TestAPayloadIsNotMadeLongerOnItsWay(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { if event.type == "Go" { let t = "<"; t.pad(250000, '<'); #{state: #{t: t}, work: [#{effect: `+
			`"do", step: "s", payload: #{t: t}}]} } else { #{next: "closed"} } }`)
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Minute)
		if x := r.instance(shop, "s", "1"); x.State != "closed" {
			t.Errorf("%s is in %s, dead letters %v", x.Correlation, x.State, causes(r.deadLetters(shop)))
		}
	})
}

func TestANewVersionDoesNotWaitForTheGateway(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { state.n += 1; #{state: state, work: [#{command: #{aggregate_type: "T", aggregate_id: `+
			`event.correlation}}]} }`)
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { return 503 }).config()})()
		r.publish(shop, goes("e1", `{"id":1}`))
		time.Sleep(time.Second)
		def.Summary = "second"
		r.apply(shop, def)
		time.Sleep(15 * time.Second)
		r.publish(shop, goes("e2", `{"id":2}`))
		time.Sleep(time.Second)
		if x := r.instance(shop, "s", "2"); x.Definition != 2 {
			t.Errorf("%+v", x)
		}
	})
}
