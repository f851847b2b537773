package flow_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// This file runs flows of every kind on the boards that people have, in real
// time: what they mean to each other is tested elsewhere, in virtual time.

func TestFlowsOnEveryBoard(t *testing.T) {
	boards := map[string]func(t *testing.T) (board.Board, error){
		"pebble": func(t *testing.T) (board.Board, error) {
			return pebbleboard.Open(t.TempDir(), pebbleboard.Config{})
		},
		"redis": func(t *testing.T) (board.Board, error) {
			return redisboard.Open(t.Context(), redistest.Start(t).URL(), redisboard.Config{})
		},
		"etcd": func(t *testing.T) (board.Board, error) {
			return etcdboard.Open(t.Context(), etcdtest.URL("flows", etcdtest.Start(t)), etcdboard.Config{})
		},
	}
	for name, open := range boards {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			r := newRigOn(t, b, flow.Config{})
			r.flows.Spread(1, 2, 3)
			everyKind(r)
		})
	}
}

func everyKind(r *rig) {
	ends := map[string]domain.FlowReason{}
	ids := map[string]domain.FlowID{}
	begin := func(name string, q flow.Request, end domain.FlowReason) {
		ids[name], ends[name] = r.submit(q), end
	}
	begin("plain", flow.Request{Plan: blueprint(step("a", "set x 1"), step("b", "need a x", needs("a")), step("c", "", needs("b")))}, domain.FlowSucceeded)
	begin("abort", flow.Request{Plan: blueprint(step("a", "crash"), step("b", "", needs("a")), step("c", "sleep 20ms"))}, domain.FlowErrored)
	begin("shards", flow.Request{Plan: blueprint(step("s", "", shards(300, 40)), step("end", "", phase(1)))}, domain.FlowSucceeded)
	begin("packs", flow.Request{Plan: blueprint(step("count", "set steps.p.pack.end 99"), domain.Step{Name: "p", Script: "\n", ScriptType: "words",
		Needs: []string{"count"}, Pack: &domain.Pack{Size: 7}})}, domain.FlowSucceeded)
	begin("failing", flow.Request{Plan: blueprint(step("s", "failshard 3", shards(9, 3)), step("clean", "", phase(1)))}, domain.FlowFailed)
	begin("approval", flow.Request{Plan: blueprint(domain.Step{Name: "ok", Kind: domain.StepApproval}, step("b", "", needs("ok")))}, domain.FlowSucceeded)
	begin("cancelled", flow.Request{Plan: blueprint(step("s", "gate never", shards(20, 4)), step("b", "", needs("s")))}, domain.FlowCancelled)
	begin("again", flow.Request{Plan: blueprint(step("a", "crashonce"), step("b", "", needs("a")))}, domain.FlowErrored)
	begin("later", flow.Request{Plan: blueprint(step("a", "", maySkip)), After: domain.Instant(time.Now().Add(300 * time.Millisecond).UnixMilli())},
		domain.FlowSucceeded)
	var jobs []*domain.Job
	for i := range domain.JobID(700) {
		if i < 300 {
			jobs = append(jobs, job(i+1, ""))
		} else {
			jobs = append(jobs, job(i+1, "", i-299, i-100))
		}
	}
	begin("large", flow.Request{Jobs: jobs}, domain.FlowSucceeded)

	r.mustAct(ids["cancelled"], flow.Order{Verb: flow.OrderCancel})
	testwait.Until(r, "the approval waits", func() bool { return r.show(ids["approval"]).Steps[0].Status == domain.StepRunning })
	r.mustAct(ids["approval"], flow.Order{Verb: flow.OrderApprove, Step: "ok"})
	for name, id := range ids {
		if v := r.wait(id); v.Reason != ends[name] {
			r.Errorf("%s: got %s (%s), want %s", name, v.Reason, v.Error, ends[name])
		}
	}
	r.mustAct(ids["again"], flow.Order{Verb: flow.OrderRetry})
	r.want(ids["again"], domain.FlowSucceeded, "a succeeded", "b succeeded")
	r.mustAct(ids["large"], flow.Order{Verb: flow.OrderDelete})
	testwait.Until(r, "the large flow is gone", func() bool {
		_, err := r.flows.Show(r.ctx, tenant, ids["large"])
		return err != nil
	})
	if n := r.show(ids["shards"]).Steps[0]; n.Ranges != "[0,299]" {
		r.Errorf("shards: %s", n.Ranges)
	}
	left, err := r.board.Live(r.ctx, 1, board.LiveItem{}, 10)
	if err != nil || len(left) > 0 {
		r.Errorf("unfinished are %v (%v)", left, err)
	}
}
