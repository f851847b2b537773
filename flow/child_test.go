package flow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// catalog has blueprints with versions.
type catalog struct {
	mu   sync.Mutex
	have map[string][]domain.Blueprint
}

func newCatalog(list ...*domain.Blueprint) *catalog {
	s := &catalog{have: map[string][]domain.Blueprint{}}
	for _, b := range list {
		s.put(b)
	}
	return s
}

func (s *catalog) put(b *domain.Blueprint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Version = len(s.have[b.Name]) + 1
	s.have[b.Name] = append(s.have[b.Name], *b)
}

func (s *catalog) Get(_ context.Context, _ domain.TenantID, name string, version int) (domain.Blueprint, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.have[name]
	if version == 0 {
		version = len(list)
	}
	if version < 1 || version > len(list) {
		return domain.Blueprint{}, "", domain.NotFoundf("there is no blueprint %q", name)
	}
	return list[version-1], fmt.Sprint(name, version), nil
}

// call is a step that makes a flow, with params: name, template, name, template...
func call(name, blueprint string, params []string, change ...func(*domain.Step)) domain.Step {
	s := domain.Step{Name: name, Flow: &domain.FlowCall{Blueprint: blueprint}}
	for i := 0; i < len(params); i += 2 {
		if s.Flow.Params == nil {
			s.Flow.Params = map[string]string{}
		}
		s.Flow.Params[params[i]] = params[i+1]
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// named is a blueprint of steps that has params.
func named(name string, params map[string]string, steps ...domain.Step) *domain.Blueprint {
	return &domain.Blueprint{Name: name, Params: params, Steps: steps}
}

// within runs a test on a node that has blueprints.
func within(t *testing.T, s *catalog, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, memboard.Open(), flow.Config{Blueprints: s})
		defer r.stop()
		test(r)
	})
}

func TestAStepIsAFlow(t *testing.T) {
	for _, plain := range []bool{true, false} {
		t.Run(fmt.Sprint("plain ", plain), func(t *testing.T) {
			child := named("child", map[string]string{"day": "", "n": ""}, step("work", "set rows 7\nparam day"))
			if !plain {
				child.Steps = append(child.Steps, step("more", "", phase(1)))
			}
			within(t, newCatalog(child), func(r *rig) {
				p := blueprint(step("a", "set k v"), call("sub", "child", []string{"day", "${day}-${params.day}", "n", "${needs.a.k}"}, needs("a")),
					step("b", "need sub rows", needs("sub")), step("c", "", func(s *domain.Step) { s.When = `needs.sub.result["work.day"] == "mon-mon"` }, needs("sub")))
				p.Params = map[string]string{"day": "mon"}
				id := r.submit(flow.Request{Plan: p})
				v := r.want(id, domain.FlowSucceeded, "sub succeeded", "b succeeded", "c succeeded")
				if v.Result["b.got"] != "7" && plain {
					t.Errorf("the step after it found %v", v.Result)
				}
				if v.Steps[1].Flow != "flow:2" || v.Steps[1].Kind != domain.StepFlow || v.Steps[1].Job != "" {
					t.Errorf("the step is shown as %+v", v.Steps[1])
				}
				c := r.show(2)
				if c.Parent == nil || c.Parent.Flow != id || c.Parent.Step != "sub" || c.Parent.Depth != 1 || c.Params["n"] != "v" {
					t.Errorf("the child is %+v, parent %+v", c.Flow, c.Parent)
				}
			})
		})
	}
}

func TestAFlowForEachElement(t *testing.T) {
	within(t, newCatalog(named("child", map[string]string{"town": ""}, step("work", "param town"))), func(r *rig) {
		p := blueprint(call("visit", "child", []string{"town", "${item.name}/${index}/${key}"}, each(`["oslo","lima","rome"].map(|t| #{name: t})`, 2),
			key("item.name")),
			step("sum", "results visit work.town", needs("visit")))
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded, "visit succeeded", "sum succeeded")
		if got := v.Result["sum.got"]; got != "oslo/0/oslo lima/1/lima rome/2/rome" {
			t.Errorf("the step after it got %q", got)
		}
		if v.Steps[0].Total != 3 || v.Steps[0].Done != 3 {
			t.Errorf("the step is shown as %+v", v.Steps[0])
		}
	})
}

func TestAChildThatEndsBadly(t *testing.T) {
	child := named("child", nil, step("work", "failonce"))
	for name, tc := range map[string]struct {
		child  *domain.Blueprint
		change func(*domain.Step)
		reason domain.FlowReason
		status string
		text   string
	}{
		"failed":   {child, func(*domain.Step) {}, domain.FlowFailed, "failed", "flow:2 failed: step work: at first"},
		"accepted": {child, mayFail, domain.FlowSucceeded, "failed_accepted", "flow:2 failed: step work: at first"},
		"retried":  {child, func(s *domain.Step) { s.Retries = 1 }, domain.FlowSucceeded, "succeeded", ""},
		"not retried as it failed": {child, func(s *domain.Step) { s.Retries, s.Retry = 1, &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}} },
			domain.FlowFailed, "failed", "flow:2 failed: step work: at first"},
		"errored": {named("child", nil, step("work", "crash")), mayFail, domain.FlowErrored, "errored", "flow:2 errored: step work: killed"},
		"too late": {named("child", nil, step("work", "sleep 1h")), func(s *domain.Step) { s.Timeout = 60; s.Retries = 3 }, domain.FlowErrored, "errored",
			"flow:2 took longer than its timeout of 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, newCatalog(tc.child), func(r *rig) {
				v := r.want(r.steps(call("sub", "child", nil, tc.change)), tc.reason, "sub "+tc.status)
				if v.Steps[0].Text != tc.text {
					t.Errorf("it says %q, want %q", v.Steps[0].Text, tc.text)
				}
				if name == "too late" && r.show(2).Reason != domain.FlowCancelled {
					t.Errorf("the child is %+v", r.show(2))
				}
			})
		})
	}
}

// TestWhatIsAskedOfAParentGoesThroughIt cancels, retries and deletes a flow with a flow that
// has a flow.
func TestWhatIsAskedOfAParentGoesThroughIt(t *testing.T) {
	s := newCatalog(named("inner", nil, step("work", "gate g\ncrashonce")), named("outer", nil, call("in", "inner", nil)))
	within(t, s, func(r *rig) {
		id := r.steps(call("out", "outer", nil), step("last", "", needs("out")))
		time.Sleep(time.Second)
		x, err := r.flows.Explain(r.ctx, tenant, id)
		if err != nil || !slices.Equal(x.WaitsFor, []string{"flow:2"}) || x.Standing != domain.StandingWorking {
			t.Errorf("explained as %+v, %v", x, err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		r.want(id, domain.FlowCancelled, "out errored", "last skipped_by_error")
		r.want(3, domain.FlowCancelled)
		r.words.mu.Lock()
		r.words.runs = map[string]int{}
		r.words.mu.Unlock()
		close(r.words.gate("g"))
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry}) // it crashes once more
		r.want(id, domain.FlowErrored, "out errored")
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.want(id, domain.FlowSucceeded, "out succeeded", "last succeeded")
		if r.show(2).Retried != 2 || r.show(3).Retried != 2 {
			t.Errorf("the children were retried %d and %d times", r.show(2).Retried, r.show(3).Retried)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderDelete, Forget: true})
		time.Sleep(10 * time.Second)
		for _, prefix := range []string{"flow:", "job:", "ramet:flow:"} {
			if keys, _, _ := r.board.Keys(r.ctx, 1, prefix, "", 100); len(keys) > 0 {
				t.Errorf("left on the board: %v", keys)
			}
		}
	})
}

// TestChildrenThatCannotBe are refused with the reason, when the flow is submitted or when the
// step begins.
func TestChildrenThatCannotBe(t *testing.T) {
	deep := make([]*domain.Blueprint, 9)
	for i := range deep {
		deep[i] = named(fmt.Sprint("d", i), nil, call("in", fmt.Sprint("d", i+1), nil))
	}
	s := newCatalog(append(deep, named("child", map[string]string{"x": ""}, step("work", "")), named("a", nil, call("in", "b", nil)),
		named("b", nil, call("in", "a", nil)),
		named("test", nil, step("work", "")))...)
	within(t, s, func(r *rig) {
		for name, tc := range map[string]struct {
			step domain.Step
			text string
		}{
			"no blueprint": {call("s", "none", nil), `step s: there is no blueprint "none"`},
			"a param":      {call("s", "child", []string{"y", "1"}), `step s: flow.params: blueprint "child" has no param "y"; give it a value under params there`},
			"a circle":     {call("s", "a", nil), "blueprints make flows of each other in a circle: a -> b -> a"},
			"itself":       {call("s", "test", nil), "blueprints make flows of each other in a circle: test -> test"},
			"too deep":     {call("s", "d0", nil), "flows within flows are 9 deep here, the limit is 8"},
		} {
			receipts, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: blueprint(tc.step)}})
			if err != nil || receipts[0].Err == nil || !strings.Contains(receipts[0].Err.Error(), tc.text) {
				t.Errorf("%s: %v, %v, want %s", name, receipts, err, tc.text)
			}
		}
		for name, tc := range map[string]struct {
			step domain.Step
			text string
		}{
			"no result": {call("s", "child", []string{"x", "${needs.before.rows}"}, needs("before")),
				"flow.params.x: ${needs.before.rows}: the result of step before has no rows"},
			"no param": {call("s", "child", []string{"x", "${day}"}), "flow.params.x: ${day}: there is no param day"},
			"no field": {call("s", "child", []string{"x", "${item.a.b}"}, each("[#{a: 1}]", 0)), "flow.params.x: ${item.a.b}: the element has no b"},
			"too large": {call("s", "child", []string{"x", strings.Repeat("${big}", 9)}, func(s *domain.Step) {
				s.Params = map[string]string{"big": strings.Repeat("x", 40_000)}
			}), "flow.params.x: with what its names stand for it has more than 262144 bytes"},
			"no trigger": {call("s", "child", nil, func(s *domain.Step) { s.Flow.Trigger = "a b" }), `trigger "a b": want a letter`},
		} {
			v := r.want(r.steps(step("before", ""), tc.step), domain.FlowErrored, "s errored")
			if got := v.Steps[1].Text; !strings.HasPrefix(got, tc.text) {
				t.Errorf("%s: it says %q, want %q", name, got, tc.text)
			}
		}
	})
}

// TestTheNewestVersionIsThatOfTheSubmit changes the blueprint while the flow waits.
func TestTheNewestVersionIsThatOfTheSubmit(t *testing.T) {
	s := newCatalog(named("child", nil, step("work", "set v 1")))
	within(t, s, func(r *rig) {
		p := blueprint(step("first", "gate g"), call("sub", "child", nil, needs("first")))
		id := r.submit(flow.Request{Plan: p})
		s.put(named("child", nil, step("work", "set v 2")))
		close(r.words.gate("g"))
		if v := r.want(id, domain.FlowSucceeded); v.Result["sub.v"] != "1" {
			t.Errorf("the flow's result is %v", v.Result)
		}
		p.Steps[0].Script = ""
		p.Steps[0].Script = "set x y"
		if v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded); v.Result["sub.v"] != "2" {
			t.Errorf("the next flow's result is %v", v.Result)
		}
	})
}

// TestAChildThatIsDeletedByHand counts as one that was cancelled; a retry makes another.
func TestAChildThatIsDeletedByHand(t *testing.T) {
	s := newCatalog(named("child", nil, step("work", "gate g")))
	within(t, s, func(r *rig) {
		id := r.steps(call("sub", "child", nil))
		time.Sleep(time.Second)
		r.mustAct(2, flow.Order{Verb: flow.OrderDelete})
		v := r.want(id, domain.FlowErrored, "sub errored")
		if got := v.Steps[0].Text; got != "flow:2 cancelled: cancelled by actor 9" {
			t.Errorf("it says %q", got)
		}
		close(r.words.gate("g"))
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		v = r.want(id, domain.FlowSucceeded, "sub succeeded")
		if v.Steps[0].Flow != "flow:3" {
			t.Errorf("the step is shown as %+v", v.Steps[0])
		}
	})
}

// TestAChildWaitsForWhatLetsItBegin: another flow lives where its blueprint wants one only.
func TestAChildWaitsForWhatLetsItBegin(t *testing.T) {
	one := named("child", nil, step("work", "gate g"))
	one.UniqueAlive = true
	within(t, newCatalog(one), func(r *rig) {
		first := r.submit(flow.Request{Blueprint: "child"})
		id := r.steps(call("sub", "child", nil))
		time.Sleep(time.Minute)
		if v := r.show(id); v.Steps[0].Status != domain.StepOpen || !strings.Contains(v.Steps[0].Text, "its flow cannot be made yet: flow 1 of blueprint") {
			t.Errorf("meanwhile the step is %+v", v.Steps[0])
		}
		close(r.words.gate("g"))
		r.want(first, domain.FlowSucceeded)
		r.want(id, domain.FlowSucceeded, "sub succeeded")
	})
}

// TestAnOrderToAChildDoesNotEndItsParentsWait retries a child by hand, and then the flow.
func TestAChildThatIsRetriedByHand(t *testing.T) {
	s := newCatalog(named("child", nil, step("work", "crashonce\nset k v")))
	within(t, s, func(r *rig) {
		id := r.steps(call("sub", "child", nil), step("after", "need sub k", needs("sub")))
		r.want(id, domain.FlowErrored, "sub errored")
		r.mustAct(2, flow.Order{Verb: flow.OrderRetry})
		r.want(2, domain.FlowSucceeded)
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		v := r.want(id, domain.FlowSucceeded, "sub succeeded", "after succeeded")
		if v.Result["after.got"] != "v" || r.words.runs["job:1:1"] != 2 {
			t.Errorf("result %v, runs %v", v.Result, r.words.runs)
		}
	})
}

// TestAChildThatNobodyWroteDown is one of a keeper that died when it had made it: it ends with its flow, which is cancelled
// before anybody goes on.
func TestAChildThatNobodyWroteDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		cfg := flow.Config{Blueprints: newCatalog(named("child", nil, step("work", "sleep 1h")))}
		if err := b.Commit(t.Context(), *new(board.Batch).Include(layout.Contexts, "1")); err != nil {
			t.Fatal(err)
		}
		made := func() bool {
			recs, err := b.Get(t.Context(), 1, domain.FlowKey(2))
			return err == nil && recs[0] != nil
		}
		n := simtest.Boot(b, faultboard.Config{}, made)
		dies := flow.New(n.Board, work.New(n.Board, work.Config{}), cfg)
		n.Run(func(ctx context.Context) error { dies.Keep(ctx, "n2/a"); return nil })
		calm := flow.New(b, work.New(b, work.Config{}), cfg)
		if _, err := calm.Submit(t.Context(), tenant, []flow.Request{{Caller: 1, Plan: blueprint(call("sub", "child", nil))}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !n.Dead() || !made() {
			t.Fatal("the keeper lives, or has made no child")
		}
		n.Stop()
		go func() { _, _ = calm.Act(t.Context(), tenant, 1, flow.Order{Verb: flow.OrderCancel, By: 9}) }()
		synctest.Wait()
		if err := b.Void(t.Context(), "n2/"); err != nil {
			t.Fatal(err)
		}
		r := newRigOn(t, b, cfg)
		defer r.stop()
		r.want(1, domain.FlowCancelled, "sub errored")
		if v := r.show(2); v.Reason != domain.FlowCancelled {
			t.Errorf("its flow has ended, and the child is %s %s", v.Status, v.Reason)
		}
	})
}
