package effectscript_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/flow"
)

func TestAStepCallsAnEffectWithWhatCameBefore(t *testing.T) {
	payload := domain.EffectCall{Kind: "http", Target: "pay",
		Payload: `#{order: needs.reserve.result.id, amount: parse_float(params.amount), state: needs.reserve.state}`}
	for name, mayFail := range map[string]bool{"a plain flow": false, "a flow with a keeper": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				v := r.wait(r.submit(map[string]string{"amount": "7.5"}, step("reserve", "set id o-1"),
					call("pay", payload, func(s *domain.Step) { s.Needs, s.MayFail = []string{"reserve"}, mayFail }), step("ship", "need pay paid", "pay")))
				if v.Reason != domain.FlowSucceeded {
					t.Fatalf("got %s %s: %s", v.Reason, v.Error, states(v))
				}
				asked := r.bank.asked()
				if len(asked) != 1 {
					t.Fatalf("got %d calls", len(asked))
				}
				got := asked[0]
				if id, err := uuid.Parse(got.CommandID); err != nil || id.Version() != 7 {
					t.Errorf("got the command id %q", got.CommandID)
				}
				got.CommandID = ""
				want := effect.Call{Tenant: tenant, TenantName: "t7", Effect: "pay", Attempt: 1,
					Payload:  []byte(`{"amount":7.5,"order":"o-1","state":"succeeded"}`),
					Metadata: map[string]string{"causation_id": r.job(v, "pay").Key().String(), "flow": "1", "step": "pay"}}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the call (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(map[string]string{"exit_code": "0", "answer": r.bank.answer, "status": "200", "body": `{"id":"p-1"}`, "paid": "7.50"},
					r.job(v, "pay").Result); diff != "" {
					t.Errorf("the result (-want +got):\n%s", diff)
				}
				if v.Result["ship.got"] != "7.50" {
					t.Errorf("got the flow's result %v", v.Result)
				}
				if s := v.Steps[1]; s.Kind != domain.StepEffect || s.Job == "" {
					t.Errorf("got the step %+v", s)
				}
			})
		})
	}
}

func TestParamsAreFilledIn(t *testing.T) {
	bubble(t, func(r *rig) {
		r.wait(r.submit(map[string]string{"who": `Ann "A"`, "n": "2"},
			call("pay", domain.EffectCall{Target: "pay", Params: map[string]string{"to": "${who}", "text": "${n} of ${none}"}})))
		if got, want := string(r.bank.asked()[0].Payload), `{"text":"2 of ${none}","to":"Ann \"A\""}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestAttemptsHaveOneKeyAndOnePayload(t *testing.T) {
	bubble(t, func(r *rig) {
		r.bank.on(failing(2, &effect.RetryAfter{Err: errors.New("busy"), After: time.Hour}))
		began := time.Now()
		v := r.wait(r.submit(nil, call("pay", domain.EffectCall{Target: "pay", Params: map[string]string{"a": "b"}}, func(s *domain.Step) { s.Retries = 2 })))
		asked := r.bank.asked()
		if v.Reason != domain.FlowSucceeded || len(asked) != 3 || len(r.bank.applied) != 1 {
			t.Fatalf("got %s, %d calls", v.Reason, len(asked))
		}
		for i, c := range asked {
			if c.CommandID != asked[0].CommandID || string(c.Payload) != string(asked[0].Payload) || c.Attempt != i+1 {
				t.Errorf("got %+v, then %+v", asked[0], c)
			}
		}
		if took := time.Since(began); took < 2*time.Hour {
			t.Errorf("it was asked again after %v, though it wanted an hour each time", took)
		}
	})
}

// TestARetryByHandAsksTheSame: the target knows what it has done already.
func TestARetryByHandAsksTheSame(t *testing.T) {
	bubble(t, func(r *rig) {
		r.bank.on(failing(1, errors.New("away")))
		id := r.submit(nil, call("pay", domain.EffectCall{Target: "pay"}))
		if v := r.wait(id); v.Reason != domain.FlowErrored {
			t.Fatalf("got %s", v.Reason)
		}
		if _, err := r.flows.Act(r.Context(), tenant, id, flow.Order{Verb: flow.OrderRetry, By: 1}); err != nil {
			t.Fatal(err)
		}
		if v := r.wait(id); v.Reason != domain.FlowSucceeded {
			t.Fatalf("got %s", v.Reason)
		}
		if asked := r.bank.asked(); len(asked) != 2 || asked[0].CommandID != asked[1].CommandID {
			t.Errorf("got %+v", asked)
		}
	})
}

func TestHowStepsEnd(t *testing.T) {
	retry := func(s *domain.Step) { s.Retries = 1 }
	mayFail := func(s *domain.Step) { s.MayFail = true }
	for _, c := range []struct {
		name   string
		meets  func(context.Context, effect.Call) error
		change func(*domain.Step)
		calls  int
		state  domain.StepStatus
		reason domain.FlowReason
		text   string
	}{
		{"a refusal is not tried again", failing(9, &effect.Refused{Cause: "no funds"}), retry, 1, domain.StepFailed, domain.FlowFailed, "no funds"},
		{"a refusal may be accepted", failing(9, &effect.Refused{Cause: "no funds"}), mayFail, 1, domain.StepFailedAccepted, domain.FlowSucceeded, "no funds"},
		{"an error is tried again", failing(1, errors.New("away")), retry, 2, domain.StepSucceeded, domain.FlowSucceeded, ""},
		{"an error to the end", failing(9, errors.New("away")), retry, 2, domain.StepErrored, domain.FlowErrored, "away"},
		{"an error is not accepted", failing(9, errors.New("away")), mayFail, 1, domain.StepErrored, domain.FlowErrored, "away"},
		{"no answer in the effect's time", func(ctx context.Context, _ effect.Call) error { <-ctx.Done(); return ctx.Err() },
			func(s *domain.Step) { s.MayFail = false }, 1, domain.StepErrored, domain.FlowErrored, "no answer within 30s"},
		{"no answer in the step's time", func(ctx context.Context, _ effect.Call) error { <-ctx.Done(); return ctx.Err() },
			func(s *domain.Step) { s.Timeout = 5 }, 1, domain.StepErrored, domain.FlowErrored, "stopped after 5s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.bank.on(c.meets)
				v := r.wait(r.submit(nil, call("pay", domain.EffectCall{Target: "pay"}, c.change)))
				if n := len(r.bank.asked()); n != c.calls {
					t.Errorf("got %d calls, want %d", n, c.calls)
				}
				if s := v.Steps[0]; s.Status != c.state || v.Reason != c.reason || !strings.Contains(r.job(v, "pay").Error, c.text) {
					t.Errorf("got %s %q, the flow %s; want %s %q, %s", s.Status, r.job(v, "pay").Error, v.Reason, c.state, c.text, c.reason)
				}
			})
		})
	}
}

func TestARefusalHasItsAnswer(t *testing.T) {
	bubble(t, func(r *rig) {
		r.bank.on(failing(9, &effect.Refused{Cause: "no funds", Answer: []byte(`{"code":"E7","short":3}`)}))
		v := r.wait(r.submit(nil, call("pay", domain.EffectCall{Target: "pay"})))
		if diff := cmp.Diff(map[string]string{"exit_code": "1", "answer": `{"code":"E7","short":3}`, "code": "E7", "short": "3"},
			r.job(v, "pay").Result); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAnAnswerDoesNotSteerTheFlow: what the outside says is data.
func TestAnAnswerDoesNotSteerTheFlow(t *testing.T) {
	bubble(t, func(r *rig) {
		r.bank.answer = `{"params.amount":"0","steps.x.retries":"9","exit_code":"7","answer":"no","ok":"yes","a b":1,"":2,"long":"` +
			strings.Repeat("x", 100<<10) + `"}`
		v := r.wait(r.submit(map[string]string{"amount": "7"}, call("pay", domain.EffectCall{Target: "pay"}),
			call("again", domain.EffectCall{Target: "pay", Params: map[string]string{"amount": "${amount}"}}, func(s *domain.Step) { s.Needs = []string{"pay"} })))
		if diff := cmp.Diff(map[string]string{"exit_code": "0", "answer": r.bank.answer, "ok": "yes"}, r.job(v, "pay").Result); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if asked := r.bank.asked(); len(asked) != 2 || string(asked[1].Payload) != `{"amount":"7"}` {
			t.Errorf("got %+v", asked)
		}
	})
}

func TestAStepWaitsForANodeThatHasItsEffect(t *testing.T) {
	bubble(t, func(r *rig) {
		// A node without effects is there first, and takes nothing of it.
		r.node("n2")
		id := r.submit(nil, call("mail", domain.EffectCall{Target: "mail"}))
		time.Sleep(time.Hour)
		v, err := r.flows.Show(r.Context(), tenant, id)
		if err != nil || v.Final() {
			t.Fatalf("got %s, %v", states(v), err)
		}
		x, err := r.work.Explain(r.Context(), tenant, r.job(v, "mail").Key())
		if err != nil || x.Standing != domain.StandingQueued || !strings.Contains(x.Text, "no node that is alive serves effect with the labels effect=mail") {
			t.Errorf("got %+v, %v", x, err)
		}
		// A node reads its config again.
		if err := r.nodes[1].effects.Use(r.set("mail")); err != nil {
			t.Fatal(err)
		}
		if v := r.wait(id); v.Reason != domain.FlowSucceeded {
			t.Errorf("got %s %s", v.Reason, v.Error)
		}
		// The other way round: what it no longer has it does not take.
		if err := r.nodes[1].effects.Use(r.set()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // a claim under way may still get one
		again := r.submit(nil, call("mail", domain.EffectCall{Target: "mail"}), call("pay", domain.EffectCall{Target: "pay"}))
		time.Sleep(time.Minute)
		if v, err := r.flows.Show(r.Context(), tenant, again); err != nil || states(v) != "mail:open pay:succeeded" {
			t.Errorf("got %s, %v", states(v), err)
		}
	})
}

func TestABanHoldsAStepUp(t *testing.T) {
	bubble(t, func(r *rig) {
		scope := domain.BanScope{Kind: domain.BanEffect, Context: tenant, Name: "pay"}
		if _, err := r.bans.Set(r.Context(), domain.Ban{BanScope: scope, Level: domain.BanPick, By: 1, Reason: "audit"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		id := r.submit(nil, call("pay", domain.EffectCall{Target: "pay"}))
		time.Sleep(time.Minute)
		if n := len(r.bank.asked()); n != 0 {
			t.Fatalf("got %d calls", n)
		}
		v, err := r.flows.Show(r.Context(), tenant, id)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := r.work.Logs(r.Context(), tenant, r.job(v, "pay").Key(), 0, 10)
		if err != nil || len(lines) != 1 || !strings.HasPrefix(lines[0].Line, "effect pay waits: it is banned (pick) by actor 1") ||
			!strings.Contains(lines[0].Line, "audit") {
			t.Errorf("got the log %+v, %v", lines, err)
		}
		if _, err := r.bans.Lift(r.Context(), scope); err != nil {
			t.Fatal(err)
		}
		if v := r.wait(id); v.Reason != domain.FlowSucceeded {
			t.Errorf("got %s %s", v.Reason, v.Error)
		}
	})
}

// TestABreakerIsWaitedFor: a target that does not answer is left alone, and the
// steps that wait meanwhile spend no attempts.
func TestABreakerIsWaitedFor(t *testing.T) {
	bubble(t, func(r *rig) {
		r.bank.on(failing(3, errors.New("away")))
		for range 3 {
			r.wait(r.submit(nil, call("pay", domain.EffectCall{Target: "pay"})))
		}
		began := time.Now()
		if v := r.wait(r.submit(nil, call("pay", domain.EffectCall{Target: "pay"}))); v.Reason != domain.FlowSucceeded {
			t.Errorf("got %s %s", v.Reason, v.Error)
		}
		if took := time.Since(began); took < 9*time.Second || len(r.bank.asked()) != 4 {
			t.Errorf("got %d calls, the last after %v", len(r.bank.asked()), took)
		}
	})
}

// TestANodeIsKilledInTheMiddleOfACall: another makes it again under the same key.
func TestANodeIsKilledInTheMiddleOfACall(t *testing.T) {
	bubble(t, func(r *rig) {
		hung := make(chan struct{}, 10)
		r.bank.on(func(ctx context.Context, _ effect.Call) error { hung <- struct{}{}; <-ctx.Done(); return ctx.Err() })
		id := r.submit(nil, step("reserve", "set id o-1"),
			call("pay", domain.EffectCall{Target: "pay", Payload: `needs.reserve.result.id`}, func(s *domain.Step) { s.Needs = []string{"reserve"} }))
		<-hung
		r.nodes[0].board.cut()
		r.bank.on(nil)
		r.node("n2", "pay")
		v := r.wait(id)
		asked := r.bank.asked()
		if v.Reason != domain.FlowSucceeded || len(asked) != 2 || asked[0].CommandID != asked[1].CommandID || string(asked[1].Payload) != `"o-1"` {
			t.Errorf("got %s %s, calls %+v", v.Reason, v.Error, asked)
		}
		if j := r.job(v, "pay"); j.Losses != 1 || j.Failures != 0 {
			t.Errorf("got %d losses, %d failures", j.Losses, j.Failures)
		}
	})
}

// TestACallThatOnlyWaitsOutlivesItsNodes: a step that waits for a job elsewhere is not
// lost with the nodes that wait for it, however many; one that calls the outside is.
func TestACallThatOnlyWaitsOutlivesItsNodes(t *testing.T) {
	for _, c := range []struct {
		name string
		kind domain.EffectKind
		said string // in the step
		want domain.FlowReason
	}{
		{"a job, as the node knows", domain.EffectJob, "", domain.FlowSucceeded},
		{"a flow, as the step says", domain.EffectFlow, "flow", domain.FlowSucceeded},
		{"the outside", domain.EffectHTTP, "", domain.FlowErrored},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				use := func(n *node) {
					t.Helper()
					if err := n.effects.Use(r.open(effect.Definition{Name: "pay", Kind: c.kind})); err != nil {
						t.Fatal(err)
					}
				}
				use(r.nodes[0])
				hung := make(chan struct{}, 10)
				r.bank.on(func(ctx context.Context, _ effect.Call) error { hung <- struct{}{}; <-ctx.Done(); return ctx.Err() })
				id := r.submit(nil, call("pay", domain.EffectCall{Target: "pay", Kind: c.said}))
				for i := range domain.DefaultLosses {
					<-hung
					if i == domain.DefaultLosses-1 {
						r.bank.on(nil)
					}
					r.nodes[i].board.cut()
					use(r.node(fmt.Sprint("n", i+2), "pay"))
				}
				v := r.wait(id)
				if v.Reason != c.want {
					t.Errorf("got %s %s: %s", v.Reason, v.Error, states(v))
				}
			})
		})
	}
}

func TestACancelEndsACall(t *testing.T) {
	bubble(t, func(r *rig) {
		hung := make(chan struct{}, 1)
		r.bank.on(func(ctx context.Context, _ effect.Call) error { hung <- struct{}{}; <-ctx.Done(); return ctx.Err() })
		id := r.submit(nil, call("pay", domain.EffectCall{Target: "pay"}))
		<-hung
		if _, err := r.flows.Act(r.Context(), tenant, id, flow.Order{Verb: flow.OrderCancel, By: 1}); err != nil {
			t.Fatal(err)
		}
		if v := r.wait(id); v.Reason != domain.FlowCancelled {
			t.Errorf("got %s %s", v.Reason, states(v))
		}
	})
}

func TestCallsThatAreWrong(t *testing.T) {
	bubble(t, func(r *rig) {
		if err := r.nodes[0].effects.Use(r.open(effect.Definition{Name: "pay", Kind: domain.EffectHTTP},
			effect.Definition{Name: "theirs", Kind: domain.EffectHTTP, Contexts: []domain.TenantID{8}})); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			call domain.EffectCall
			want string
		}{
			{"another kind", domain.EffectCall{Kind: "smtp", Target: "pay"}, `effect pay is of kind http, not "smtp"`},
			{"another context's", domain.EffectCall{Target: "theirs"}, "effect theirs is not for context 7"},
			{"a payload that fails", domain.EffectCall{Target: "pay", Payload: `parse_int("x")`}, "payload: "},
			{"a payload that is too long", domain.EffectCall{Target: "pay", Params: map[string]string{"a": strings.Repeat("${big}", 3)}}, "more than"},
		} {
			v := r.wait(r.submit(map[string]string{"big": strings.Repeat("x", 100<<10)}, call("pay", c.call, func(s *domain.Step) { s.Retries = 3 })))
			if j := r.job(v, "pay"); v.Reason != domain.FlowFailed || !strings.Contains(j.Error, c.want) || j.Attempt != 1 {
				t.Errorf("%s: got %s %q after %d attempts, want %q", c.name, v.Reason, j.Error, j.Attempt, c.want)
			}
		}
		if n := len(r.bank.asked()); n != 0 {
			t.Errorf("got %d calls", n)
		}
	})
}

// TestJobsThatCallEffectsByHand are submitted without a flow.
func TestJobsThatCallEffectsByHand(t *testing.T) {
	bubble(t, func(r *rig) {
		at := func(name string) domain.Labels { return domain.Labels{domain.LabelEffect: name} }
		for text, c := range map[string]struct {
			script   string
			affinity domain.Labels
			status   domain.JobStatus
			want     string
		}{
			"a call":              {`{"target":"pay","params":{"a":"b"},"command_id":"c-1"}`, at("pay"), domain.JobFinished, ""},
			"without an id":       {`{"target":"pay"}`, at("pay"), domain.JobError, "command_id: want a UUID"},
			"no JSON":             {`pay`, at("pay"), domain.JobError, "the script is no call of an effect"},
			"a field too many":    {`{"target":"pay","command_id":"c-1","url":"x"}`, at("pay"), domain.JobError, `unknown field "url"`},
			"where it is not":     {`{"target":"mail","command_id":"c-1"}`, nil, domain.JobError, "a job that asks for affinity effect=mail goes to one that has"},
			"without an affinity": {`{"target":"pay","command_id":"c-2"}`, nil, domain.JobFinished, ""},
		} {
			j := &domain.Job{CallerID: 1, Script: c.script, ScriptType: domain.ScriptEffect, Affinity: c.affinity}
			if _, err := r.work.Submit(r.Context(), tenant, []*domain.Job{j}); err != nil {
				t.Fatal(err)
			}
			ended, err := r.work.Wait(r.Context(), tenant, j.Key())
			if err != nil || ended.Status != c.status || !strings.Contains(ended.Error, c.want) {
				t.Errorf("%s: got %s %q, %v, want %s %q", text, ended.Status, ended.Error, err, c.status, c.want)
			}
		}
	})
}
