package flow_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// TestAFlowSaysWhatItAwaits on its record, so that lists find it: a person, a time, or its jobs.
func TestAFlowSaysWhatItAwaits(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "gate x"), approval("look", needs("a")), approval("sign", needs("a")), step("b", "say b", needs("look", "sign")))
		is := func(want domain.FlowAwaits) {
			t.Helper()
			time.Sleep(time.Second)
			f, _, err := r.flows.List(r.ctx, tenant, flow.Filter{Awaits: want}, "")
			if v := r.show(id); err != nil || v.WaitsFor() != want || len(f) != 1 {
				t.Errorf("it awaits %q, and %d flows are found that await %q, %v", v.WaitsFor(), len(f), want, err)
			}
		}
		is(domain.AwaitsJobs)
		close(r.words.gate("x"))
		is(domain.AwaitsDecision)
		r.mustAct(id, flow.Order{Verb: flow.OrderApprove, Step: "look"})
		is(domain.AwaitsDecision)
		r.mustAct(id, flow.Order{Verb: flow.OrderApprove, Step: "sign"})
		r.soon(id, domain.FlowSucceeded)
		if v := r.show(id); v.Awaits != "" {
			t.Errorf("it has ended, and awaits %q", v.Awaits)
		}
	})
}
