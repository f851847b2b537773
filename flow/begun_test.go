package flow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// TestAFlowWhoseJobsAllWaitHasNotStarted, however it is asked for: one whose jobs are there
// from the start, and one whose jobs a keeper makes.
func TestAFlowWhoseJobsAllWaitHasNotStarted(t *testing.T) {
	waits := func(s *domain.Step) { s.ScriptType = "nobodys" }
	later := func(s *domain.Step) { s.MayFail = true } // so that a keeper makes its jobs
	for name, plan := range map[string][]domain.Step{
		"plain":    {step("a", "ok", waits), step("b", "ok", needs("a"))},
		"of steps": {step("a", "ok", waits, later), step("b", "ok", needs("a"))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				id := r.submit(flow.Request{Plan: blueprint(plan...)})
				other := r.submit(flow.Request{Plan: blueprint(step("s", "sleep 10h"))})
				time.Sleep(time.Minute)
				listed := func(status domain.FlowStatus) (ids []domain.FlowID) {
					t.Helper()
					flows, _, err := r.flows.List(r.ctx, tenant, flow.Filter{Status: status}, "")
					if err != nil {
						t.Fatal(err)
					}
					for i := range flows {
						ids = append(ids, flows[i].ID)
					}
					return ids
				}
				v, err := r.flows.Show(r.ctx, tenant, id)
				if err != nil || v.Status != domain.FlowDispatched || v.StartedMs != 0 {
					t.Errorf("shown: got %s since %d, %v", v.Status, v.StartedMs, err)
				}
				if v, err := r.flows.Show(r.ctx, tenant, other); err != nil || v.Status != domain.FlowStarted || v.StartedMs == 0 {
					t.Errorf("one that runs: got %s since %d, %v", v.Status, v.StartedMs, err)
				}
				if x, err := r.flows.Explain(r.ctx, tenant, id); err != nil || x.Status != domain.FlowDispatched {
					t.Errorf("explained: got %+v, %v", x, err)
				}
				if got := listed(domain.FlowDispatched); len(got) != 1 || got[0] != id {
					t.Errorf("dispatched: got %v, want %d", got, id)
				}
				if got := listed(domain.FlowStarted); len(got) != 1 || got[0] != other {
					t.Errorf("started: got %v, want %d", got, other)
				}
				if got := listed(""); len(got) != 2 {
					t.Errorf("all: got %v", got)
				}
				if _, err := r.flows.Act(r.ctx, tenant, id, flow.Order{Verb: flow.OrderCancel, By: 1}); err != nil {
					t.Fatal(err)
				}
				if v, err := r.flows.Wait(r.ctx, tenant, id, nil); err != nil || v.Reason != domain.FlowCancelled {
					t.Errorf("cancelled: got %s, %v", v.Reason, err)
				}
			})
		})
	}
}

// TestAFlowOneOfWhoseJobsHasBegunHasStarted: also where that job waits for its next try.
func TestAFlowOneOfWhoseJobsHasBegunHasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.submit(flow.Request{Plan: blueprint(step("a", "fail", func(s *domain.Step) { s.Retries = 100 }), step("b", "ok", needs("a")))})
		time.Sleep(10 * time.Minute)
		v, err := r.flows.Show(r.ctx, tenant, id)
		flows, _, lerr := r.flows.List(r.ctx, tenant, flow.Filter{}, "")
		if err != nil || lerr != nil || v.Status != domain.FlowStarted || len(flows) != 1 || flows[0].Status != domain.FlowStarted {
			t.Errorf("got %s, %v; listed %+v, %v", v.Status, err, flows, lerr)
		}
	})
}
