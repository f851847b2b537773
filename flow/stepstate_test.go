package flow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// TestOneBlueprintThroughEveryState walks a blueprint through every state that
// a step has, fact by fact: what jobs find out, a live update, a failure, an
// error, skips of all kinds, an approval, two retries, and the end. Where it
// stands is read as people see it, and last from the board's records.
func TestOneBlueprintThroughEveryState(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(
			step("load", "gate load\nset steps.parts.pack.end 39\nset params.k 7\nset rows 40"),
			step("parts", "gates parts", func(s *domain.Step) { s.Pack = &domain.Pack{Size: 10, Window: 2} }, needs("load")),
			step("check", "gate check\nfail tolerable", needs("parts"), mayFail),
			step("opt", "", needs("check"), maySkip),
			step("yes", "need load rows", needs("load"), when(`params.k == "7" && needs.load.result.rows == "40"`)),
			step("no", "", needs("load"), when(`params.k == "8"`)),
			step("bad", "gate bad\ncrashonce\nset x 1", phase(2)),
			step("afterbad", "need bad x", phase(2), needs("bad")),
			step("weak", "gate weak\nfailonce", phase(2)),
			step("afterweak", "", phase(2), needs("weak")),
			step("both", "", phase(2), needs("bad", "weak")),
			approval("sign", phase(5)),
			step("report", "set done yes", phase(9), needs("sign")),
		)
		p.OnError = domain.OnErrorContinue
		p.Output = map[string]string{"rows": "load.rows", "answer": "yes.got", "signed": "sign.comment", "bad": "afterbad.got", "done": "report.done"}
		id := r.submit(flow.Request{Plan: p, Trigger: "acceptance"})
		// fact lets something happen, and says where every step must stand then.
		fact := func(what string, happen func(), statuses ...string) domain.FlowView {
			t.Helper()
			happen()
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			v := r.show(id)
			r.wantSteps(v, statuses...)
			if t.Failed() {
				t.Fatalf("after: %s", what)
			}
			return v
		}
		open := func(gate string) func() { return func() { close(r.words.gate(gate)) } }
		order := func(o flow.Order) func() { return func() { t.Helper(); r.mustAct(id, o) } }

		fact("the submit", func() {}, "load running", "parts dormant", "check dormant", "opt dormant", "yes dormant", "no dormant", "bad dormant",
			"sign dormant", "report dormant")
		fact("an order to skip", order(flow.Order{Verb: flow.OrderSkip, Step: "opt"}), "opt dormant")
		v := fact("the load", open("load"), "load succeeded", "parts open", "yes succeeded", "no skipped", "check dormant", "bad dormant")
		if s := v.Steps[1]; s.Total != 40 || s.Open != 2 || v.Added["params.k"] != "7" {
			t.Errorf("parts: %+v, added %v", s, v.Added)
		}
		v = fact("the second pack", open("parts:1"), "parts open")
		if s := v.Steps[1]; s.Ranges != "[10,19]" || *s.Watermark != -1 || s.Progress != 0.25 {
			t.Errorf("parts: %+v", s)
		}
		v = fact("an update", order(flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{"parts": {Window: 5, Size: 4}}}), "parts running")
		if s := v.Steps[1]; s.Open != 5 {
			t.Errorf("parts: %+v", s)
		}
		fact("all packs", func() {
			for _, n := range []string{"0", "2", "3", "4", "5"} {
				open("parts:" + n)()
			}
		}, "parts succeeded", "check running", "opt dormant", "bad dormant")
		fact("a failure that is accepted", open("check"), "check failed_accepted", "opt skipped", "bad running", "weak running", "both dormant", "sign dormant")
		fact("an error", open("bad"), "bad errored", "afterbad skipped_by_error", "both dormant", "weak running")
		fact("a retry of a live flow", order(flow.Order{Verb: flow.OrderRetry}), "bad succeeded", "afterbad succeeded", "both dormant")
		fact("a failure", open("weak"), "weak failed", "afterweak skipped_by_failure", "both skipped_by_failure", "sign running", "report dormant")
		fact("an approval", order(flow.Order{Verb: flow.OrderApprove, Step: "sign", Text: "fine"}), "sign succeeded", "report succeeded")
		v = r.want(id, domain.FlowFailed)
		if v.Status != domain.FlowError || v.Error != "step weak: at first" {
			t.Errorf("got %s: %s", v.Status, v.Error)
		}
		fact("a retry of what failed", order(flow.Order{Verb: flow.OrderRetry, Failed: true}), "weak succeeded", "afterweak succeeded",
			"both succeeded", "sign succeeded")
		v = r.want(id, domain.FlowSucceeded)
		if diff := cmp.Diff(map[string]string{"rows": "40", "answer": "40", "signed": "fine", "bad": "1", "done": "yes"}, v.Result); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		r.acceptedRecords(id)
	})
}

// acceptedRecords looks at what the board has of the flow that has ended.
func (r *rig) acceptedRecords(id domain.FlowID) {
	r.Helper()
	recs, err := r.board.Get(r.ctx, 1, domain.FlowKey(id), layout.FlowWaits(id), layout.FlowName("test", "acceptance"), layout.FlowParams(id))
	if err != nil {
		r.Fatal(err)
	}
	for field, want := range map[string]string{layout.FlowStatus: "finished", layout.FlowReason: "succeeded", layout.FlowError: "", layout.FlowProgress: "100.00",
		layout.FlowRetried: "1", layout.FlowStale: "1", layout.FlowTrigger: "acceptance"} {
		if got := recs[0].Get(field); got != want {
			r.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
	if recs[1].Get(layout.WaitsArmed) != "1" || recs[1].Get(layout.WaitsPlain) != "0" {
		r.Errorf("counters: %v", recs[1])
	}
	if recs[2].Get(layout.FlowNameID) != "1" || recs[3].Get("steps.parts.pack.end") != "39" {
		r.Errorf("name %v, params %v", recs[2], recs[3])
	}
	lengths, err := r.board.Len(r.ctx, 1, layout.FlowEnded(id), layout.FlowOrders(id), queue.Keeper)
	if err != nil || lengths[0]+lengths[1]+lengths[2] != 0 {
		r.Errorf("left for a keeper: %v, %v", lengths, err)
	}
	live, err := r.board.Live(r.ctx, 1, board.LiveItem{}, 10)
	if err != nil || len(live) != 0 {
		r.Errorf("unfinished: %v, %v", live, err)
	}
	if _, set, err := r.board.AlarmOf(r.ctx, 1, layout.FlowAlarm(layout.AlarmFlow, id)); err != nil || set {
		r.Errorf("an alarm is set: %v", err)
	}
	if _, held, err := r.board.LeaseOf(r.ctx, 1, layout.FlowState(id)); err != nil || held {
		r.Errorf("somebody has it: %v", err)
	}
}
