package flow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

const askedBy = "message:9:1"

// ours is a blueprint of the context that names a secret and has an environment.
func ours() *domain.Blueprint {
	b := named("ours", map[string]string{"day": ""}, step("work", ""))
	b.Env, b.Secrets = map[string]string{"LANG": "C"}, map[string]string{"DB": "warehouse"}
	return b
}

// calls is a plan of a sender that has a blueprint of the context run in his environment.
func calls() *domain.Blueprint {
	return blueprint(call("sub", "ours", []string{"day", "mon"}, func(s *domain.Step) { s.Env = map[string]string{"LD_PRELOAD": "/tmp/theirs.so"} }))
}

// steals is one whose step and hook name a secret.
func steals() *domain.Blueprint {
	b := blueprint(step("a", "", func(s *domain.Step) { s.Secrets = map[string]string{"DB": "warehouse"} }))
	b.On = &domain.Hooks{Errored: &domain.Hook{Script: "set a b\n", ScriptType: "words", Secrets: map[string]string{"DB": "warehouse"}}}
	return b
}

// tells is one of which a hook's call, or a step's, names a secret in what it tells.
func tells(inHook bool, call domain.EffectCall) *domain.Blueprint {
	call.Target = "report"
	if inHook {
		b := blueprint(step("a", ""))
		b.On = &domain.Hooks{Errored: &domain.Hook{Effect: &call}}
		return b
	}
	return blueprint(domain.Step{Name: "a", Effect: &call})
}

func TestWhatAMessageMayAskFor(t *testing.T) {
	within(t, newCatalog(ours()), func(r *rig) {
		env := map[string]string{"http_proxy": "http://theirs"}
		for want, q := range map[string]flow.Request{
			"the message brings env for a blueprint":               {Blueprint: "ours", Env: env},
			"step sub of the flow that the message brings has env": {Plan: calls()},
			"names secrets of the context":                         {Plan: steals()},
			"triggers of messages begin with message-9-":           {Blueprint: "ours", Params: map[string]string{"day": "mon"}, Trigger: "message-8-tuesday"},
		} {
			q.Caller, q.Message = 1, askedBy
			got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{q})
			if err == nil {
				err = got[0].Err
			}
			if !errors.Is(err, domain.ErrForbidden) || !strings.Contains(err.Error(), want) {
				r.Errorf("got %v, want %s", err, want)
			}
		}
		for _, inHook := range []bool{true, false} {
			for _, c := range []domain.EffectCall{{Params: map[string]string{"x": "the ${secret.DB}"}}, {Payload: "`the ${secret.DB}`"}} {
				got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Message: askedBy, Plan: tells(inHook, c)}})
				if err == nil {
					err = got[0].Err
				}
				if !errors.Is(err, domain.ErrForbidden) || !strings.Contains(err.Error(), "a call of report in the flow that the message brings") {
					r.Errorf("in a hook: %v, %+v: got %v", inHook, c, err)
				}
			}
		}
		theirs := blueprint(step("a", ""))
		theirs.Version = 7 // as if it were one of the context's
		if f := r.show(r.submit(flow.Request{Plan: theirs, Env: env, Message: askedBy})); !f.BroughtPlan() || f.EnvVars["http_proxy"] == "" {
			r.Errorf("a plan of the sender's: got version %d, %v", f.Version, f.EnvVars)
		}
		if f := r.show(r.submit(flow.Request{Blueprint: "ours", Params: map[string]string{"day": "mon"}, Message: askedBy})); f.BroughtPlan() || len(f.EnvVars) != 1 {
			r.Errorf("a blueprint of the context: got version %d, %v", f.Version, f.EnvVars)
		}
		if f := r.show(r.submit(flow.Request{Blueprint: "ours", Env: env})); f.EnvVars["http_proxy"] == "" {
			r.Errorf("an executor of the context: got %v", f.EnvVars)
		}
	})
}

// TestAPlanThatCameInAMessageHasACacheOfItsOwn: it may have the name and the script of a blueprint
// here, and another environment.
func TestAPlanThatCameInAMessageHasACacheOfItsOwn(t *testing.T) {
	bubble(t, func(r *rig) {
		theirs := r.submit(flow.Request{Plan: cached("set x 7"), Message: askedBy})
		r.want(theirs, domain.FlowSucceeded)
		own := r.submit(flow.Request{Plan: cached("set x 7")})
		r.wantCached(r.want(own, domain.FlowSucceeded), 0)
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7"), Message: askedBy}), domain.FlowSucceeded), theirs)
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded), own)
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7"), Message: "message:8:1"}), domain.FlowSucceeded), 0)
	})
	// Once more, it is its sender's still.
	bubble(t, func(r *rig) {
		theirs := r.submit(flow.Request{Plan: cached("set x 7"), Message: askedBy})
		r.want(theirs, domain.FlowSucceeded)
		again, err := r.flows.Rerun(r.ctx, tenant, theirs, flow.Rerun{Caller: 1})
		if err != nil {
			r.Fatal(err)
		}
		r.wantCached(r.want(again.ID, domain.FlowSucceeded), theirs)
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded), 0)
	})
}

// TestAPlanThatCameInAMessageGetsNoSecrets, however it has come to name some: neither do its steps
// and hooks, nor does a blueprint of the context run in its environment, nor is it run once more.
func TestAPlanThatCameInAMessageGetsNoSecrets(t *testing.T) {
	within(t, newCatalog(ours()), func(r *rig) {
		later := func(b *domain.Blueprint) domain.FlowID {
			b.After = domain.Instant(time.Now().Add(time.Hour).UnixMilli())
			id := r.submit(flow.Request{Plan: b})
			mark := board.Batch{Space: 1}
			if err := r.board.Commit(r.ctx, *mark.Set(domain.FlowKey(id), board.Field{Name: layout.FlowMessage, Value: askedBy})); err != nil {
				r.Fatal(err)
			}
			return id
		}
		id, parent := later(steals()), later(calls())
		if v := r.want(id, domain.FlowErrored); !strings.Contains(v.Steps[0].Text, "came in a message") {
			r.Errorf("its step: got %q", v.Steps[0].Text)
		}
		if j := r.wantHook(id, domain.HookErrored); j.Secrets != nil || j.Status != domain.JobFinished {
			r.Errorf("its hook is %s, and is to get %v", j.Status, j.Secrets)
		}
		if v := r.want(parent, domain.FlowErrored); !strings.Contains(v.Steps[0].Text, "whose environment is its own") || v.Steps[0].Flow != "" {
			r.Errorf("its flow: got %+v", v.Steps[0])
		}
		for _, id := range []domain.FlowID{id, parent} {
			if _, err := r.flows.Rerun(r.ctx, tenant, id, flow.Rerun{Caller: 1}); !errors.Is(err, domain.ErrForbidden) {
				r.Errorf("once more: got %v", err)
			}
		}
	})
}

// TestAPlanThatCameInAMessageTakesNothingFromBlueprintsHere: it may have the name of one, its
// trigger and its keys, and neither is found in its stead nor keeps it from running.
func TestAPlanThatCameInAMessageTakesNothingFromBlueprintsHere(t *testing.T) {
	alone := func(text string) *domain.Blueprint {
		b := keyed("nightly", domain.Concurrency{Key: "db"}, text)
		b.UniqueAlive, b.Rate = true, &domain.Rate{Key: "db", PerMinute: 1}
		return b
	}
	bubble(t, func(r *rig) {
		begun := time.Now()
		q := flow.Request{Plan: alone("sleep 1h"), Trigger: "monday", Message: askedBy}
		theirs := r.submit(q)
		if f := r.show(theirs); f.Trigger != "message-9-monday" {
			r.Errorf("theirs has the trigger %q", f.Trigger)
		}
		time.Sleep(time.Second)
		own := r.submit(flow.Request{Plan: alone(""), Trigger: "monday"})
		if v := r.want(own, domain.FlowSucceeded); own == theirs || time.UnixMilli(v.FinishedMs).Sub(begun) > 5*time.Second {
			r.Errorf("one of the context ended after %v", time.UnixMilli(v.FinishedMs).Sub(begun))
		}
		if again := r.submit(q); again != theirs {
			r.Errorf("sent again it is flow %d, want %d", again, theirs)
		}
		for want, change := range map[string]func(*flow.Request){
			"wants only one at a time": func(q *flow.Request) { q.Trigger = "tuesday" },
			"begins with @message:":    func(q *flow.Request) { q.Plan.Concurrency.Key, q.Message, q.Trigger = "@message:9:db", "", "" },
			`trigger "message-9-`:      func(q *flow.Request) { q.Trigger = strings.Repeat("x", domain.MaxNameBytes) },
		} {
			q := flow.Request{Caller: 1, Plan: alone(""), Trigger: "monday", Message: askedBy}
			change(&q)
			got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{q})
			if err == nil {
				err = got[0].Err
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				r.Errorf("got %v, want %s", err, want)
			}
		}
		other := r.submit(flow.Request{Plan: alone(""), Trigger: "monday", Message: "message:8:1"}) // another sender's
		r.want(other, domain.FlowSucceeded)
		r.want(theirs, domain.FlowSucceeded)
		if next := r.submit(flow.Request{Plan: alone(""), Trigger: "tuesday", Message: askedBy}); r.want(next, domain.FlowSucceeded).Trigger != "message-9-tuesday" {
			r.Errorf("the place as the only one is not free again")
		}
		for _, prefix := range []string{"ramet:line:", "ramet:alive:"} {
			if keys, _, err := r.board.Keys(r.ctx, 1, prefix, "", 10); err != nil || len(keys) > 0 {
				r.Errorf("%v are left, %v", keys, err)
			}
		}
		if a := r.audit(); len(a.Repaired)+len(a.Stuck) > 0 {
			r.Errorf("audit: %+v", a)
		}
	})
}

// TestAPlanThatCameInAMessageIsItsSendersStillWhenRunOnceMore: the name, the place and the keys of whoever
// asks for it are not taken, also of one that is run once more again.
func TestAPlanThatCameInAMessageIsItsSendersStillWhenRunOnceMore(t *testing.T) {
	alone := func(text string) *domain.Blueprint {
		b := keyed("nightly", domain.Concurrency{Key: "db"}, text)
		b.UniqueAlive = true
		return b
	}
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Plan: alone("sleep 1h"), Trigger: "monday", Message: askedBy})
		r.want(id, domain.FlowSucceeded)
		for _, day := range []string{"tuesday", "wednesday"} {
			again, err := r.flows.Rerun(r.ctx, tenant, id, flow.Rerun{Caller: 1, Trigger: day})
			if err != nil {
				t.Fatal(err)
			}
			id = again.ID
			if f := r.show(id); f.Trigger != "message-9-"+day || f.Sender != 9 || f.Message != "" || f.CallerID != 1 {
				t.Errorf("got trigger %q, sender %d, message %q, caller %d", f.Trigger, f.Sender, f.Message, f.CallerID)
			}
			begun := time.Now()
			own := r.submit(flow.Request{Plan: alone(""), Trigger: day})
			if v := r.want(own, domain.FlowSucceeded); own == id || time.UnixMilli(v.FinishedMs).Sub(begun) > 5*time.Second {
				t.Errorf("flow %d of the context, beside %d, ended after %v", own, id, time.UnixMilli(v.FinishedMs).Sub(begun))
			}
			r.want(id, domain.FlowSucceeded)
		}
	})
}
