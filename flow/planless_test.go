package flow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// planless makes a flow at work whose blueprint's text goes, and has a node look after it
// that has not read it before.
func planless(t *testing.T, text string, q flow.Request, test func(r *rig, id domain.FlowID)) {
	t.Helper()
	unaudited(t, func(r *rig) {
		ctx, stopKeeper := context.WithCancel(r.ctx)
		r.wg.Go(func() { r.keeper(ctx) })
		stop := r.run(r.runner)
		id := r.submit(q)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stopKeeper()
		synctest.Wait()
		var b board.Batch
		b.Space = layout.SpaceOf(tenant)
		b.Delete(layout.FlowPlan(id))
		if text != "" {
			b.Set(layout.FlowPlan(id), board.Field{Name: layout.FlowPlanText, Value: text})
		}
		if err := r.board.Commit(r.ctx, b); err != nil {
			t.Fatal(err)
		}
		r.flows = flow.New(r.board, r.work, flow.Config{})
		r.flows.Spread(1, 2, 3)
		ctx, stopKeeper = context.WithCancel(r.ctx)
		r.wg.Go(func() { r.keeper(ctx) })
		defer func() { stopKeeper(); stop() }()
		test(r, id)
	})
}

// A flow whose blueprint's text is gone has steps that nobody knows, but it has jobs, and
// whoever asks that it ends is not sent away.
func TestAFlowWithoutItsBlueprintCanBeEnded(t *testing.T) {
	plans := map[string]*domain.Blueprint{
		"steps":    blueprint(step("a", "gate never", shards(20, 4)), step("b", "gate never"), step("c", "", needs("a"))),
		"approval": blueprint(domain.Step{Name: "ok", Kind: domain.StepApproval}, step("b", "", needs("ok"))),
		"plain":    blueprint(step("a", "gate never"), step("b", "", needs("a"))),
	}
	for kind, text := range map[string]string{"gone": "", "no blueprint": "{"} {
		for name, plan := range plans {
			if name == "plain" && text != "" {
				continue // its end alone reads it
			}
			ask := flow.Request{Plan: plan, Trigger: "monday"}
			t.Run(name+" "+kind, func(t *testing.T) {
				planless(t, text, ask, func(r *rig, id domain.FlowID) {
					if name != "plain" {
						if err := r.act(id, flow.Order{Verb: flow.OrderApprove, Step: "ok"}); !errors.Is(err, domain.ErrConflict) {
							t.Errorf("approve: got %v, want a conflict", err)
						}
					}
					r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
					r.soon(id, domain.FlowCancelled)
					r.allJobsEnded(2)
					if _, ok, err := r.flows.Record(r.ctx, tenant, id); err != nil || !ok {
						t.Errorf("for the archive: got %t, %v, want its record", ok, err)
					}
					if err := r.act(id, flow.Order{Verb: flow.OrderRetry}); !errors.Is(err, domain.ErrConflict) {
						t.Errorf("retry: got %v, want a conflict", err)
					}
				})
				for _, forget := range []bool{false, true} {
					planless(t, text, ask, func(r *rig, id domain.FlowID) {
						r.mustAct(id, flow.Order{Verb: flow.OrderDelete, Forget: forget})
						time.Sleep(time.Minute)
						if _, err := r.flows.Show(r.ctx, tenant, id); !errors.Is(err, domain.ErrNotFound) {
							t.Errorf("forget %t: got %v, want that it is not there", forget, err)
						}
						if next := r.submit(ask); forget && next == id {
							t.Errorf("its name is still flow %d", next)
						}
					})
				}
			})
		}
	}
}

// allJobsEnded looks at the jobs 1 to n of the caller.
func (r *rig) allJobsEnded(n domain.JobID) {
	r.Helper()
	for id := range n {
		j, err := r.work.Show(r.ctx, tenant, domain.JobKey{Caller: 1, ID: id + 1})
		if err == nil && !j.Final() {
			r.Errorf("%s is %s", j.Key(), j.Status)
		}
	}
}
