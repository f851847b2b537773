package flow_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// hooked is a blueprint with a hook for everything.
func hooked(steps ...domain.Step) *domain.Blueprint {
	hook := func() *domain.Hook { return &domain.Hook{Script: "set told yes\n", ScriptType: "words"} }
	late := hook()
	late.After = 60
	b := blueprint(steps...)
	b.On = &domain.Hooks{Failed: hook(), Errored: hook(), Succeeded: hook(), Cancelled: hook(), Late: late}
	return b
}

// called waits until the hooks of a flow have ended, and returns their jobs.
func (r *rig) called(id domain.FlowID) map[domain.HookOn]*domain.Job {
	r.Helper()
	time.Sleep(5 * time.Second)
	jobs := map[domain.HookOn]*domain.Job{}
	for _, h := range r.show(id).Hooks {
		key, err := domain.ParseJobKey(h.Job)
		if err != nil {
			r.Fatal(err)
		}
		j, err := r.work.Show(r.ctx, tenant, key)
		if err != nil {
			r.Fatal(err)
		}
		jobs[h.On] = j
	}
	return jobs
}

// wantHook checks that one hook was called, and no other.
func (r *rig) wantHook(id domain.FlowID, on domain.HookOn) *domain.Job {
	r.Helper()
	jobs := r.called(id)
	if len(jobs) != 1 || jobs[on] == nil {
		r.Errorf("flow %d: hooks %v were called, want %s alone", id, jobs, on)
		return &domain.Job{Hook: &domain.HookInput{}}
	}
	return jobs[on]
}

func TestHooksAreCalledOnceForEachEnd(t *testing.T) {
	stepped := func(s *domain.Step) { s.MaySkip = true }
	for _, tt := range []struct {
		text   string
		on     domain.HookOn
		reason domain.FlowReason
	}{
		{"", domain.HookSucceeded, domain.FlowSucceeded},
		{"fail no luck", domain.HookFailed, domain.FlowFailed},
		{"crash", domain.HookErrored, domain.FlowErrored},
		{"gate a", domain.HookCancelled, domain.FlowCancelled},
	} {
		for kind, change := range map[string]func(*domain.Step){"plain": func(*domain.Step) {}, "stepped": stepped} {
			t.Run(string(tt.on)+" "+kind, func(t *testing.T) {
				bubble(t, func(r *rig) {
					b := hooked(step("a", "set x 1\nset params.p added"), step("b", tt.text, needs("a"), change))
					b.Params = map[string]string{"day": "monday"}
					id := r.submit(flow.Request{Plan: b, Trigger: "t1"})
					if tt.on == domain.HookCancelled {
						time.Sleep(time.Second)
						r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
					}
					r.want(id, tt.reason)
					j := r.wantHook(id, tt.on)
					if j.Status != domain.JobFinished || j.FlowID != 0 {
						t.Errorf("the hook is %+v", j)
					}
					in := j.Hook
					if in.Reason != tt.reason || in.Name != "test/t1" || in.Steps["a"].State != domain.StepSucceeded || in.Result["a.x"] != "1" ||
						!strings.HasPrefix(in.Text, "flow:1 test/t1 has ") || in.FinishedMs == 0 || in.Status == domain.FlowStarted {
						t.Errorf("it was told %+v", in)
					}
					if b := in.Steps["b"].State; !b.Done() || (b == domain.StepSucceeded) != (tt.on == domain.HookSucceeded) {
						t.Errorf("it was told that b is %s", b)
					}
					if j.Params["day"] != "monday" || j.Params["p"] != "added" {
						t.Errorf("it found the params %v", j.Params)
					}
				})
			})
		}
	}
}

func TestAHookFindsWhatStepsHaveLeft(t *testing.T) {
	for kind, change := range map[string]func(*domain.Step){"plain": func(*domain.Step) {}, "stepped": maySkip} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(r *rig) {
				b := hooked(step("a", "set x 1"), step("b", "fail no luck", needs("a"), change))
				b.On.Failed.Script = "need a x\n"
				id := r.submit(flow.Request{Plan: b})
				r.want(id, domain.FlowFailed)
				j := r.wantHook(id, domain.HookFailed)
				if j.Result["got"] != "1" || j.Needs["b"].State != string(domain.StepFailed) {
					t.Errorf("the hook left %v, and was told %+v", j.Result, j.Needs)
				}
			})
		})
	}
	t.Run("of a list", func(t *testing.T) {
		bubble(t, func(r *rig) {
			b := hooked(step("a", "set x 1", func(s *domain.Step) { s.Each = "[1, 2]" }))
			id := r.submit(flow.Request{Plan: b})
			r.want(id, domain.FlowSucceeded)
			if n := r.wantHook(id, domain.HookSucceeded).Needs["a"]; len(n.Results) != 2 || n.Results[1]["x"] != "1" || n.Items != 0 {
				t.Errorf("the hook was told %+v", n)
			}
		})
	})
	t.Run("too much", func(t *testing.T) {
		bubble(t, func(r *rig) {
			id := r.submit(flow.Request{Plan: hooked(step("a", "set x "+strings.Repeat("x", domain.MaxHookResult)), step("b", "set y 1"))})
			r.want(id, domain.FlowSucceeded)
			needs := r.wantHook(id, domain.HookSucceeded).Needs
			if a, b := needs["a"], needs["b"]; a.State != string(domain.StepSucceeded) || len(a.Result) != 0 || b.Result["y"] != "1" {
				t.Errorf("the hook was told %d bytes of a, which is %s, and %v of b", len(a.Result["x"]), a.State, b.Result)
			}
		})
	})
}

// TestAHooksPayloadFindsWhatStepsHaveLeft also where it names what only hooks have.
func TestAHooksPayloadFindsWhatStepsHaveLeft(t *testing.T) {
	for _, payload := range []string{
		"needs.a.result.x", "#{text: hook.text, x: needs.a.result.x}", "#{day: params.day, on: hook.on, x: needs.a.result.x}", "#{on: hook.on, all: needs}",
	} {
		t.Run(payload, func(t *testing.T) {
			bubble(t, func(r *rig) {
				b := blueprint(step("a", "set x 1"), step("b", "fail no luck", needs("a")))
				b.On = &domain.Hooks{Failed: &domain.Hook{Effect: &domain.EffectCall{Target: "chat", Payload: payload}}}
				id := r.submit(flow.Request{Plan: b})
				r.want(id, domain.FlowFailed)
				j := r.called(id)[domain.HookFailed]
				if j == nil || j.Needs["a"].Result["x"] != "1" {
					t.Fatalf("the hook is %+v", j)
				}
				if _, told := j.Needs["b"]; told != strings.HasSuffix(payload, "needs}") {
					t.Errorf("it was told %+v", j.Needs)
				}
			})
		})
	}
}

func TestAHookChangesNothingOfItsFlow(t *testing.T) {
	bubble(t, func(r *rig) {
		b := hooked(step("a", ""))
		b.On.Succeeded.Script = "fail the pager is down\n"
		id := r.submit(flow.Request{Plan: b})
		r.want(id, domain.FlowSucceeded)
		j := r.wantHook(id, domain.HookSucceeded)
		if j.Status != domain.JobError {
			t.Errorf("the hook is %+v", j)
		}
		v := r.show(id)
		if v.Reason != domain.FlowSucceeded || v.Hooks[0].Error != "the pager is down" {
			t.Errorf("got %s, hooks %+v", v.Reason, v.Hooks)
		}
		x, err := r.flows.Explain(r.ctx, tenant, id)
		if err != nil || !strings.Contains(x.Text, "its hook for succeeded, job:1:2, ended in error (the pager is down)") {
			t.Errorf("got %q, %v", x.Text, err)
		}
		if _, err := r.work.Retry(r.ctx, tenant, j.Key()); err != nil {
			t.Errorf("a retry of the hook: %v", err)
		}
	})
}

func TestEachEndOfARetriedFlowCallsAHook(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Plan: hooked(step("a", "crashonce"))})
		r.want(id, domain.FlowErrored)
		r.wantHook(id, domain.HookErrored)
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.want(id, domain.FlowSucceeded)
		if jobs := r.called(id); len(jobs) != 2 || jobs[domain.HookSucceeded] == nil {
			t.Errorf("hooks %v were called", jobs)
		}
	})
}

func TestALateFlowCallsItsHookOnceAndGoesOn(t *testing.T) {
	for kind, change := range map[string]func(*domain.Step){"plain": func(*domain.Step) {}, "stepped": maySkip} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(r *rig) {
				id := r.submit(flow.Request{Plan: hooked(step("a", "sleep 59s"), step("b", "sleep 5m", needs("a"), change))})
				quick := r.submit(flow.Request{Plan: hooked(step("a", "sleep 58s", change))})
				time.Sleep(65 * time.Second)
				j := r.wantHook(id, domain.HookLate)
				if j.Hook.Reason != "" || j.Hook.Steps["a"].State != domain.StepSucceeded || j.Hook.Steps["b"].State.Done() ||
					j.Hook.Text != "flow:1 test is late: it has not ended" {
					t.Errorf("it was told %+v", j.Hook)
				}
				r.want(id, domain.FlowSucceeded)
				if jobs := r.called(id); len(jobs) != 2 {
					t.Errorf("hooks %v were called", jobs)
				}
				r.wantHook(quick, domain.HookSucceeded)
			})
		})
	}
}

func TestTheHooksOfAContextAreForFlowsThatHaveNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := func(text string) *domain.Hook { return &domain.Hook{Script: text + "\n", ScriptType: "words"} }
		r := newRigOn(t, memboard.Open(), flow.Config{Hooks: func(context.Context, domain.TenantID) (*domain.Hooks, error) {
			return &domain.Hooks{Failed: hook("set by context"), Succeeded: hook("set by context")}, nil
		}})
		defer r.stop()
		id := r.submit(flow.Request{Jobs: []*domain.Job{job(1, "fail no luck")}})
		r.want(id, domain.FlowFailed)
		if j := r.wantHook(id, domain.HookFailed); j.Result["by"] != "context" || j.Hook.Name != "" {
			t.Errorf("the hook is %+v", j)
		}
		b := blueprint(step("a", ""))
		b.On = &domain.Hooks{Succeeded: hook("set by blueprint")}
		id = r.submit(flow.Request{Plan: b})
		r.want(id, domain.FlowSucceeded)
		if j := r.wantHook(id, domain.HookSucceeded); j.Result["by"] != "blueprint" {
			t.Errorf("the hook is %+v", j)
		}
	})
}

// TestAHookAsksForSecrets: for those that it names, and a blueprint's hook for the blueprint's, too.
// This rig has no secrets, so that the step ends as errored.
func TestAHookAsksForSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooks := func() *domain.Hooks {
			return &domain.Hooks{Errored: &domain.Hook{Script: "set a b\n", ScriptType: "words", Secrets: map[string]string{"OWN": "chat"}}}
		}
		r := newRigOn(t, memboard.Open(), flow.Config{Hooks: func(context.Context, domain.TenantID) (*domain.Hooks, error) { return hooks(), nil }})
		defer r.stop()
		for _, tc := range []struct {
			on   *domain.Hooks
			want map[string]string
		}{
			{hooks(), map[string]string{"OWN": "chat", "ALL": "house"}},
			{nil, map[string]string{"OWN": "chat"}}, // the context's, which finds nothing that it does not name
		} {
			b := blueprint(step("a", ""))
			b.Secrets, b.On = map[string]string{"ALL": "house"}, tc.on
			id := r.submit(flow.Request{Plan: b})
			r.want(id, domain.FlowErrored)
			if j := r.wantHook(id, domain.HookErrored); !maps.Equal(j.Secrets, tc.want) {
				t.Errorf("the hook asks for %v, want %v", j.Secrets, tc.want)
			}
		}
	})
}

func TestHooksThatNobodyRunsAreRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		t := r
		for want, hook := range map[string]domain.Hook{
			"on.failed: there is nothing to be done":   {},
			"on.failed.script: an effect is given too": {Script: "x", ScriptType: "words", Effect: &domain.EffectCall{Target: "t"}},
			"on.failed.after: it is of late alone":     {Script: "x", ScriptType: "words", After: 5},
			"on.failed.retries: 256":                   {Script: "x", ScriptType: "words", Retries: 256},
			"on.failed: effect.payload":                {Effect: &domain.EffectCall{Target: "t", Payload: "hook."}},
		} {
			b := blueprint(step("a", ""))
			b.On = &domain.Hooks{Failed: &hook}
			got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: b}})
			if err == nil {
				err = got[0].Err
			}
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

// TestTheEnvironmentOfAHookIsFilledIn with what its flow is, also that of its blueprint; a param
// that the flow has not is empty, as the hook of a context is called for all flows.
func TestTheEnvironmentOfAHookIsFilledIn(t *testing.T) {
	bubble(t, func(r *rig) {
		b := blueprint(step("a", "set params.rows 3"))
		b.Params, b.Env = map[string]string{"day": "monday"}, map[string]string{"OF": "${flow.blueprint} ${params.day}"}
		b.On = &domain.Hooks{Succeeded: &domain.Hook{Script: "env T\nenv OF\n", ScriptType: "words",
			Env: map[string]string{"T": "${flow.id} ${flow.blueprint} ${flow.trigger} ${step} ${params.rows} <${params.none}> $${x}"}}}
		id := r.submit(flow.Request{Plan: b, Trigger: "t"})
		r.want(id, domain.FlowSucceeded)
		j := r.wantHook(id, domain.HookSucceeded)
		if want := fmt.Sprintf("%d test t succeeded 3 <> ${x}", id); j.Result["T"] != want || j.Result["OF"] != "test monday" {
			t.Errorf("it found %v (%s), want %q", j.Result, j.Error, want)
		}
	})
}

// TestAHookOfAContextHasItsOwnEnvironment: whoever submits a flow chooses nothing of the process that
// has the secrets which the context's admin gave the hook.
func TestAHookOfAContextHasItsOwnEnvironment(t *testing.T) {
	hooks := domain.Hooks{Succeeded: &domain.Hook{Script: "env T\n", ScriptType: "words", Env: map[string]string{"T": "${flow.id}"}}}
	env := map[string]string{"PATH": "/tmp/theirs", "LD_PRELOAD": "/tmp/theirs.so", "T": "${params.x}"}
	bubbleWith(t, flow.Config{Hooks: func(context.Context, domain.TenantID) (*domain.Hooks, error) { return &hooks, nil }}, func(r *rig) {
		planned := blueprint(step("a", ""))
		planned.Env = map[string]string{"BASH_ENV": "/tmp/theirs"}
		for what, q := range map[string]flow.Request{
			"jobs":        {Jobs: []*domain.Job{job(1, "")}, Env: env},
			"a blueprint": {Plan: planned, Env: env},
		} {
			id := r.submit(q)
			r.want(id, domain.FlowSucceeded)
			if j := r.wantHook(id, domain.HookSucceeded); !maps.Equal(j.EnvVars, hooks.Succeeded.Env) || j.Result["T"] != fmt.Sprint(id) {
				r.Errorf("of a flow of %s it has %v, and found %v (%s)", what, j.EnvVars, j.Result, j.Error)
			}
		}
	})
}
