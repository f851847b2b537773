package flow_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// asks is an approval that says more than yes or no.
func asks(a domain.Approval) func(*domain.Step) { return func(s *domain.Step) { s.Approval = &a } }

func approve(name string) flow.Order {
	return flow.Order{Verb: flow.OrderApprove, Step: name, Text: "fine"}
}

func reject(name string) flow.Order {
	return flow.Order{Verb: flow.OrderReject, Step: name, Text: "no"}
}

var retryFailed = flow.Order{Verb: flow.OrderRetry, Failed: true}

// later is the next round, when some time has passed.
func (p *play) later(d time.Duration) {
	p.Helper()
	p.now = p.now.Add(d)
	p.step(flow.Facts{})
}

func TestAdvanceApprovals(t *testing.T) {
	amount := domain.Approval{Answers: []domain.TypedField{{Name: "amount", Type: domain.TypeNumber, Required: true, Max: "100"},
		{Name: "why", Default: new("none")}}}
	notice := domain.Approval{Notice: &domain.EffectCall{Target: "chat"}}
	due := func(on domain.OnDeadline) func(*domain.Step) {
		return asks(domain.Approval{Deadline: 3600, OnDeadline: on, Answers: []domain.TypedField{{Name: "size", Default: new("5")}}})
	}
	runParts(t, []part{
		{"answers are checked and kept", blueprint(approval("ok", asks(amount)), step("b", "", needs("ok"))), func(p *play) {
			p.refused(approve("ok"), `answer "amount" is required`)
			o := approve("ok")
			o.Answers = map[string]string{"amount": "101"}
			p.refused(o, "at most 100")
			o.Answers = map[string]string{"amuont": "1"}
			p.refused(o, `did you mean "amount"?`)
			p.want("ok running")
			o.Answers = map[string]string{"amount": " 99.5 "}
			p.must(o)
			p.want("ok succeeded", "b running")
			if diff := cmp.Diff(map[string]string{"by": "9", "comment": "fine", "amount": "99.5", "why": "none"}, p.at("ok").Result); diff != "" {
				p.Errorf("result (-want +got):\n%s", diff)
			}
		}},
		{"who rejects need not answer", blueprint(approval("ok", asks(amount))), func(p *play) {
			p.must(reject("ok"))
			p.want("ok failed")
		}},
		{"what nobody decides in time is rejected", blueprint(approval("ok", due("")), step("b", "", needs("ok"))), func(p *play) {
			if left := p.last.WakeAt.Sub(p.now); left != time.Hour {
				p.Errorf("it is looked at in %s, want 1h", left)
			}
			p.later(time.Hour - 2*time.Second)
			p.want("ok running")
			p.later(time.Second)
			p.want("ok failed", "b skipped_by_failure")
			p.wantEnd(domain.FlowFailed, "nobody decided it within 1h0m0s, which rejects it")
			p.must(retryFailed)
			p.want("ok running")
			if left := p.last.WakeAt.Sub(p.now); left != time.Hour {
				p.Errorf("after the retry it is looked at in %s, want 1h", left)
			}
		}},
		{"or approved", blueprint(approval("ok", due(domain.DeadlineApprove)), step("b", "", needs("ok"))), func(p *play) {
			p.later(2 * time.Hour)
			p.want("ok succeeded", "b running")
			if r := p.at("ok").Result; r["by"] != "deadline" || r["size"] != "5" {
				p.Errorf("result %v", r)
			}
		}},
		{"or ends in error, which may_fail does not accept", blueprint(approval("ok", due(domain.DeadlineFail), mayFail)), func(p *play) {
			p.later(2 * time.Hour)
			p.want("ok errored")
			p.wantEnd(domain.FlowErrored, "nobody decided")
		}},
		{"a rejection by deadline may be accepted", blueprint(approval("ok", due(domain.DeadlineReject), mayFail), step("b", "", needs("ok"))), func(p *play) {
			p.later(2 * time.Hour)
			p.want("ok failed_accepted", "b running")
		}},
		{"what is decided in time is not decided again", blueprint(approval("ok", due("")), step("b", "", needs("ok"))), func(p *play) {
			p.must(approve("ok"))
			p.later(2 * time.Hour)
			p.want("ok succeeded", "b running")
		}},
		{"a deadline counts from the step's beginning", blueprint(step("a", ""), approval("ok", due(""), needs("a"))), func(p *play) {
			p.later(24 * time.Hour)
			p.end("a s")
			p.want("ok running")
		}},
		{"a notice is told once, and its end decides nothing", blueprint(approval("ok", asks(notice)), step("b", "", needs("ok"))), func(p *play) {
			p.want("ok running")
			p.wantMade("ok:0")
			p.end("ok:0 s")
			p.want("ok running", "b dormant")
			p.wantMade()
			p.wantEnd("", "")
			p.must(approve("ok"))
			p.want("ok succeeded")
			p.wantStopped(p.last.Abort)
		}},
		{"a notice that does not come through is said, and no failure", blueprint(approval("ok", asks(notice)), step("b", "", needs("ok"))), func(p *play) {
			p.end("ok:0 e")
			p.want("ok running")
			if text := p.at("ok").Text; !strings.Contains(text, "did not come through: the text of ok:0") {
				p.Errorf("text %q", text)
			}
			p.must(reject("ok"))
			p.must(retryFailed)
			p.wantMade("ok:0")
		}},
		{"a notice about what has been decided is not told any more", blueprint(approval("ok", asks(notice)), step("b", "", needs("ok"))), func(p *play) {
			p.must(approve("ok"))
			p.want("ok succeeded", "b running")
			p.wantStopped(p.last.Abort, "ok:0")
			p.end("ok:0 s")
			p.want("ok succeeded")
		}},
		{"a cancel ends the notice first", blueprint(approval("ok", asks(notice))), func(p *play) {
			p.must(flow.Order{Verb: flow.OrderCancel})
			p.wantStopped(p.last.Stop, "ok:0")
			p.end("ok:0 c")
			p.want("ok skipped_by_error")
			p.wantEnd(domain.FlowCancelled, "")
		}},
	})
}

func TestDeadlinesOfApprovals(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(approval("ok", asks(domain.Approval{Deadline: 3 * 3600, OnDeadline: domain.DeadlineApprove})), step("b", "need ok by", needs("ok")))
		time.Sleep(2 * time.Hour)
		v := r.show(id)
		r.wantSteps(v, "ok running", "b dormant")
		if a := v.Steps[0].Approval; a.OnDeadline != domain.DeadlineApprove || time.Until(time.UnixMilli(a.DueMs)).Round(time.Minute) != time.Hour {
			t.Errorf("it says %+v", a)
		}
		x, err := r.flows.Explain(r.ctx, tenant, id)
		if err != nil || x.Standing != domain.StandingDeciding || x.NextMs != v.Steps[0].Approval.DueMs {
			t.Errorf("explain: %+v, %v", x, err)
		}
		if a := r.audit(); len(a.Repaired)+len(a.Stuck) > 0 {
			t.Errorf("audit: %+v", a)
		}
		time.Sleep(2 * time.Hour)
		v = r.want(id, domain.FlowSucceeded, "ok succeeded", "b succeeded")
		if v.Result["got"] != "deadline" {
			t.Errorf("result %v", v.Result)
		}
	})
}

// TestAFlowStandsSinceItsJobDoes: what it is told to wait for began to wait long after the flow began.
func TestAFlowStandsSinceItsJobDoes(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "sleep 1h"), step("b", "x", needs("a"), func(s *domain.Step) { s.ScriptType = "cobol" }))
		began := time.Now()
		since := func(what string, want time.Time) {
			t.Helper()
			x, err := r.flows.Explain(r.ctx, tenant, id)
			if off := time.UnixMilli(x.SinceMs).Sub(want); err != nil || off < 0 || off > time.Minute {
				t.Errorf("%s: got %+v, %v: %v from what was wanted", what, x, err, off)
			}
		}
		time.Sleep(30 * time.Minute)
		since("while its first job runs", began)
		time.Sleep(90 * time.Minute)
		since("while its second waits for a runner", began.Add(time.Hour))
		if err := r.flows.Pause(r.ctx, tenant, id, true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if x, err := r.flows.Explain(r.ctx, tenant, id); err != nil || x.Standing != domain.StandingPaused || x.SinceMs != 0 {
			t.Errorf("got %+v, %v, want one that is paused, and not since its start", x, err)
		}
	})
}

// TestADecisionWaitsSinceItsStepBegan: its flow may have run for long before.
func TestADecisionWaitsSinceItsStepBegan(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "sleep 1h"), approval("ok", needs("a")))
		time.Sleep(3 * time.Hour)
		v := r.show(id)
		r.wantSteps(v, "a succeeded", "ok running")
		x, err := r.flows.Explain(r.ctx, tenant, id)
		if ago := time.UnixMilli(x.SinceMs).Sub(time.UnixMilli(v.StartedMs)); err != nil || x.Standing != domain.StandingDeciding || ago < time.Hour {
			t.Errorf("got %+v, %v: since %v after the flow's start, want that the step's begin is meant", x, err, ago)
		}
	})
}

func TestNoticesSayWhatTheyAreAbout(t *testing.T) {
	bubbleWith(t, flow.Config{PublicURL: "https://ramet.example.com/"}, func(r *rig) {
		ask := domain.Approval{Deadline: 3600, OnDeadline: domain.DeadlineApprove,
			Notice: &domain.EffectCall{Target: "chat", Params: map[string]string{"text": "${link}"}}}
		id := r.submit(flow.Request{Plan: blueprint(approval("ok", asks(ask)))})
		time.Sleep(time.Minute)
		v := r.show(id)
		if len(v.Steps[0].Units) != 1 {
			t.Fatalf("there is no notice: %+v", v.Steps[0])
		}
		key, err := domain.ParseJobKey(v.Steps[0].Units[0].Job)
		if err != nil {
			t.Fatal(err)
		}
		j, err := r.work.Show(r.ctx, tenant, key)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"flow": "flow:1", "step": "ok", "context": "1", "blueprint": "test",
			"deadline": time.UnixMilli(v.Steps[0].Approval.DueMs).UTC().Format(time.RFC3339), "link": "https://ramet.example.com/console/c/1/flows/1?step=ok"}
		if diff := cmp.Diff(want, j.Params); diff != "" {
			t.Errorf("params (-want +got):\n%s", diff)
		}
		if j.ScriptType != domain.ScriptEffect || j.Affinity[domain.LabelEffect] != "chat" {
			t.Errorf("the job is %+v", j)
		}
		time.Sleep(2 * time.Hour)
		r.want(id, domain.FlowSucceeded, "ok succeeded")
		if j, err = r.work.Show(r.ctx, tenant, key); err != nil || !j.Final() || !strings.Contains(j.Error, "has been decided") {
			t.Errorf("the notice is %s (%s), %v", j.Status, j.Error, err)
		}
	})
}

func TestWrongAnswersAreToldAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(approval("ok", asks(domain.Approval{Answers: []domain.TypedField{{Name: "n", Type: domain.TypeInteger}}})))
		time.Sleep(time.Second)
		err := r.act(id, flow.Order{Verb: flow.OrderApprove, Step: "ok", Answers: map[string]string{"n": "1.5"}})
		if !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderApprove, Step: "ok", Answers: map[string]string{"n": "15"}})
		if v := r.want(id, domain.FlowSucceeded); v.Result["n"] != "" && v.Result["ok.n"] != "15" {
			t.Errorf("result %v", v.Result)
		}
	})
}

// bubbleWith is bubble with a config of the flow engine.
func bubbleWith(t *testing.T, cfg flow.Config, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, memboard.Open(), cfg)
		test(r)
		r.stop()
	})
}
