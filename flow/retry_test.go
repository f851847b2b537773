package flow_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

func TestARetryKeepsToTheWindow(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "crashonce\nsleep 1s", shards(30, 3)), step("b", ""))
		r.soon(id, domain.FlowErrored)
		for v := r.show(id); v.Reason != domain.FlowSucceeded; v = r.wait(id) {
			r.words.mu.Lock()
			r.words.most = 0
			r.words.mu.Unlock()
			r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		}
		if r.words.most > 4 {
			t.Errorf("%d ran at once", r.words.most)
		}
	})
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Plan: blueprint(step("a", "crashonce\nsleep 1s", shards(30, 3))), OnError: domain.OnErrorContinue})
		r.soon(id, domain.FlowErrored)
		r.words.mu.Lock()
		r.words.most = 0
		r.words.mu.Unlock()
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.soon(id, domain.FlowSucceeded)
		if r.words.most > 3 {
			t.Errorf("%d ran at once, the window is 3", r.words.most)
		}
	})
}

func TestAFlowThatStaysLongerIsRetriedAndPrunedLater(t *testing.T) {
	eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
		p := plan("crashonce\nsleep 50m")
		p.Retention = domain.Span(10 * 3600)
		p.UniqueAlive = true
		prune := func() {
			if _, err := r.work.Prune(r.ctx, tenant, time.Now().Add(-time.Hour)); err != nil {
				r.Fatal(err)
			}
		}
		id := r.submit(flow.Request{Plan: p, Trigger: "t"})
		r.want(id, domain.FlowErrored)
		time.Sleep(2 * time.Hour)
		prune()
		time.Sleep(7 * time.Hour) // it goes in less than half an hour
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.want(id, domain.FlowSucceeded)
		time.Sleep(2 * time.Hour)
		prune()
		if got := r.submit(flow.Request{Plan: p, Trigger: "t"}); got != id {
			r.Errorf("its name was given to another flow, %d", got)
		}
		time.Sleep(9 * time.Hour)
		prune()
		if keys := left(r.T, r.board); !slices.Equal(keys, []string{layout.Trimmed}) {
			r.Errorf("left are %v", keys)
		}
	})
}
