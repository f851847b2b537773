package saga_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/saga"
)

// TestATransitionAsksForManyAtOnce: for as much as one may, with all timers that
// there can be cleared and set in the same commit, while others' commits wait.
func TestATransitionAsksForManyAtOnce(t *testing.T) {
	const many = 256
	bubble(t, func(r *rig) {
		def := machineOf("fan", `
fn on_event(state, event) {
  if event.type == "do.Succeeded" { state.n += 1; return #{state: state, next: if state.n == global::MANY { "closed" } else { "open" }} }
  let timers = [];
  for i in 0..64 { timers.push(#{event: "Tick", after: 1000 + i}) }
  if !event.payload.fan { return #{timers: timers} }
  let work = [];
  for i in 0..global::MANY { work.push(#{effect: "do", step: "s" + i.to_string(), payload: #{i: i}}) }
  #{work: work, cancel: ["Tick"], timers: timers}
}
`+fmt.Sprintf("const MANY = %d;", many))
		r.apply(shop, def)
		for i := range 50 {
			r.publish(shop, goes(fmt.Sprintf("a%d", i), fmt.Sprintf(`{"id":%d,"fan":false}`, i)))
		}
		r.publish(shop, goes("b", `{"id":1,"fan":true}`))
		defer r.work(saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		x := r.instance(shop, "fan", "1")
		if x.State != "closed" || len(x.Steps) != many || len(r.calls) != many {
			t.Errorf("got state %s, %d steps, %d calls, held by %q, want closed and %d", x.State, len(x.Steps), len(r.calls), x.Held, many)
		}
	})
}
