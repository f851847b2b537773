package saga_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// sends is a saga that sends a command under a step, and keeps what it is told.
const sends = `fn on_event(state, event) {
  if event.type == "tell.Refused" { return #{state: #{n: 1, why: event.payload, trace: event.metadata.trace_id}, next: "closed"} }
  #{work: [#{command: #{aggregate_type: "T", aggregate_id: "7"}, step: "tell", payload: 1}]}
}`

// TestARefusedCommandComesBack: a no of the gateway is an event, told once, also
// where the node ends right after it has heard it.
func TestARefusedCommandComesBack(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		var asked atomic.Int32
		cfg := saga.WorkerConfig{Gateway: door(func(domain.SubmitCommandRequest) int { asked.Add(1); return 422 }).config()}
		stop := r.work(cfg)
		ev := goes("1", `{"id":"1"}`)
		ev.Metadata = map[string]string{domain.MetaTrace: "t-1"}
		r.publish(shop, ev)
		time.Sleep(10 * time.Second)
		stop()
		defer r.work(cfg)()
		time.Sleep(time.Minute)
		x := r.instance(shop, "s", "1")
		if data := string(x.Data); x.State != "closed" || !strings.Contains(data, `"error":"gateway refuses the command: `) ||
			!strings.Contains(data, `"aggregate_id":"7"`) || !strings.Contains(data, `"trace":"t-1"`) || len(x.Steps) != 0 {
			t.Errorf("got state %s, %d steps, %s", x.State, len(x.Steps), data)
		}
		if got := r.left("deadletter:", "outbox"); len(got) != 0 || asked.Load() != 1 {
			t.Errorf("it is a dead letter, too, or was asked again: %q, %d times", got, asked.Load())
		}
	})
}

// TestWithoutAGatewayCommandsWaitForAPerson: that is the operator's to mend.
func TestWithoutAGatewayCommandsWaitForAPerson(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", sends)
		def.Commands = []string{"tell"}
		r.apply(shop, def)
		defer r.work(saga.WorkerConfig{})()
		r.publish(shop, goes("1", `{"id":"1"}`))
		time.Sleep(10 * time.Second)
		if got := r.left("deadletter:"); len(got) != 1 || r.instance(shop, "s", "1").State != "open" {
			t.Errorf("got %q", got)
		}
	})
}
