package flow_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// script submits a job whose script asks its channel, and returns its key.
func (r *rig) script(lines ...string) domain.JobKey {
	r.Helper()
	j := &domain.Job{CallerID: 1, Script: strings.Join(lines, "\n") + "\n", ScriptType: "words"}
	receipts, err := r.work.Submit(r.ctx, tenant, []*domain.Job{j})
	if err != nil || receipts[0].Err != nil {
		r.Fatal(err, receipts)
	}
	return receipts[0].Key
}

// answer is the last answer of the channel, when the job has ended.
func (r *rig) answer(key domain.JobKey) string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, 100*time.Hour) // virtual time
	defer cancel()
	j, err := r.work.Wait(ctx, tenant, key)
	if err != nil || j.Status != domain.JobFinished {
		r.Fatalf("%v: %+v", err, j)
	}
	return j.Result["answer"]
}

func TestAScriptCallsAFlow(t *testing.T) {
	child := named("child", map[string]string{"n": "1"}, step("work", "gate go\nparam n"))
	within(t, newCatalog(child, named("bad", nil, step("work", "fail no money"))), func(r *rig) {
		key := r.script(`ask {"do":"call","calls":[{"name":"a","blueprint":"child","params":{"n":"7"}},` +
			`{"name":"b","blueprint":"bad"},{"name":"c","blueprint":"chidl"}]}`)
		time.Sleep(time.Minute)
		j, err := r.work.Show(r.ctx, tenant, key)
		// The second is waited for only if it had not failed yet when the script let go.
		if err != nil || j.Suspended == nil || j.LeaseOwner != "" || !slices.Contains(j.Suspended.Children, "flow:1") {
			t.Fatalf("%v: %+v, suspended %+v", err, j, j.Suspended)
		}
		f := r.show(1)
		if c := f.CalledBy; c == nil || c.Job != key.String() || c.Name != "a" || c.Depth != 1 || f.Params["n"] != "7" {
			t.Errorf("the child is %+v, called by %+v", f.Flow, f.CalledBy)
		}
		if x, err := r.flows.Explain(r.ctx, tenant, 1); err != nil || !strings.Contains(x.Text, `called by job:1:1, in call "a"`) {
			t.Errorf("explain: %+v, %v", x, err)
		}
		close(r.words.gate("go"))
		got := r.answer(key)
		for _, want := range []string{`{"value":{"n":"7","work.n":"7"},"child":"flow:1"}`,
			`{"failure":{"kind":"failed","text":"flow:2 ended in error (failed)`, `no money`,
			`{"failure":{"kind":"not_found","text":"there is no blueprint \"chidl\""}}`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		// It is all remembered: nothing of it is asked again.
		if n := r.words.runs[key.String()]; n != 2 {
			t.Errorf("it ran %d times, want twice", n)
		}
	})
}

func TestAScriptAsksAPerson(t *testing.T) {
	const ask = `ask {"do":"wait","name":"pay","approval":{"text":"pay 17?","answers":[{"name":"amount","type":"number","required":true}]},"timeout_ms":7200000}`
	for _, c := range []struct {
		name  string
		order *flow.Order
		want  string
	}{
		{"who says yes", &flow.Order{Verb: flow.OrderApprove, Step: "decision", Text: "fine", Answers: map[string]string{"amount": "5"}},
			`{"done":true,"value":{"approved":true,"by":"9","comment":"fine","answers":{"amount":"5"}}}`},
		{"who says no", &flow.Order{Verb: flow.OrderReject, Step: "decision", Text: "no"},
			`{"done":true,"value":{"approved":false,"by":"9","comment":"no","answers":{}}}`},
		{"who says nothing in time", nil, `{"done":true,"timed_out":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			within(t, newCatalog(), func(r *rig) {
				key := r.script(ask)
				time.Sleep(time.Hour)
				if f := r.show(1); f.Awaits != domain.AwaitsDecision || f.Steps[0].Approval == nil || f.CalledBy == nil {
					t.Fatalf("the flow that asks: %+v", f)
				}
				if c.order != nil {
					if bad := *c.order; bad.Verb == flow.OrderApprove {
						bad.Answers = map[string]string{"amount": "much"}
						if err := r.act(1, bad); err == nil {
							t.Error("a bad answer is taken")
						}
					}
					r.mustAct(1, *c.order)
				}
				if got := r.answer(key); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				r.want(1, domain.FlowSucceeded)
			})
		})
	}
}

func TestAFlowEndsWithTheScriptThatHasCalledIt(t *testing.T) {
	within(t, newCatalog(named("child", nil, step("work", "gate never"))), func(r *rig) {
		key := r.script(`ask {"do":"call","calls":[{"name":"a","blueprint":"child"}]}`)
		time.Sleep(time.Minute)
		if _, err := r.work.Cancel(r.ctx, tenant, key, 1); err != nil {
			t.Fatal(err)
		}
		r.soon(1, domain.FlowCancelled)
		time.Sleep(time.Minute)
		if alarms, _ := r.board.Alarms(r.ctx, board.Alarm{}, 10); len(alarms) != 0 {
			t.Errorf("alarms left: %v", alarms)
		}
	})
}

// A step of a flow calls a flow, whose step is a flow: each counts.
func TestCallsAndFlowsCountTogetherHowDeepTheyAre(t *testing.T) {
	inner := named("inner", nil, step("work", `ask {"do":"call","calls":[{"name":"again","blueprint":"outer"}]}`))
	outer := named("outer", nil, call("sub", "inner", nil))
	within(t, newCatalog(inner, outer), func(r *rig) {
		r.want(r.submit(flow.Request{Blueprint: "outer"}), domain.FlowSucceeded)
		depth := 0
		for id := domain.FlowID(1); ; id++ {
			v, err := r.flows.Show(r.ctx, tenant, id)
			if err != nil {
				break
			}
			for _, by := range []int{depthOf(v.Parent), depthBy(v.CalledBy)} {
				depth = max(depth, by)
			}
		}
		if depth < domain.MaxFlowDepth-2 || depth >= domain.MaxFlowDepth {
			t.Errorf("the deepest is %d, want less than %d", depth, domain.MaxFlowDepth)
		}
	})
}

func depthOf(p *domain.FlowParent) int {
	if p == nil {
		return 0
	}
	return p.Depth
}

func depthBy(c *domain.CalledBy) int {
	if c == nil {
		return 0
	}
	return c.Depth
}
