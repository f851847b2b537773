package flow_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		test(r)
		r.stop()
	})
}

func job(id domain.JobID, text string, on ...domain.JobID) *domain.Job {
	return &domain.Job{ID: id, CallerID: 1, Script: text + "\n", ScriptType: "words", Dependends: on}
}

func TestAPlainFlowRunsInOrderAndGathersResults(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Env: map[string]string{"A": "1"}, Params: map[string]string{"p": "2"},
			Jobs: []*domain.Job{job(7, "need 3 x\nset y 5", 3), job(3, "set x 41")}})
		v := r.want(id, domain.FlowSucceeded)
		first, second := fmt.Sprint(v.Jobs[0]), fmt.Sprint(v.Jobs[1])
		want := map[string]string{first + ".x": "41", second + ".y": "5", second + ".got": "", "y": "5", "got": ""}
		if diff := cmp.Diff(want, v.Result); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		if v.Status != domain.FlowFinished || v.Progress != "100.00" || v.FinishedMs == 0 {
			t.Errorf("got %s, %s, finished %d", v.Status, v.Progress, v.FinishedMs)
		}
		for _, in := range r.words.seen {
			if in.env["A"] != "1" || in.Params["p"] != "" {
				t.Errorf("job %s: env %v, params %v", in.Job, in.env, in.Params)
			}
		}
	})
}

func TestABlueprintOfPlainStepsNeedsNoKeeperOnTheWay(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("a", "set x 1"), step("b", "need a x\nset params.k 9", needs("a")), step("c", "set z 3", needs("b")))
		p.Params = map[string]string{"k": "1", "l": "2"}
		p.Output = map[string]string{"answer": "b.got"}
		v := r.want(r.submit(flow.Request{Plan: p, Params: map[string]string{"l": "7"}}), domain.FlowSucceeded, "a succeeded", "b succeeded", "c succeeded")
		if diff := cmp.Diff(map[string]string{"answer": "1"}, v.Result); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		if v.Stepped {
			t.Error("the keeper made its jobs")
		}
		last := r.words.seen[2]
		if diff := cmp.Diff(map[string]string{"k": "9", "l": "7"}, last.Params); diff != "" || last.Step != "c" {
			t.Errorf("step %s: params (-want +got):\n%s", last.Step, diff)
		}
	})
}

func TestAPlainFlowAbortsAtTheFirstError(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("bad", "fail no luck"), step("after", "", needs("bad")),
			step("slow", "sleep 1m"), step("later", "", needs("slow")))
		v := r.want(id, domain.FlowFailed, "bad failed", "after skipped_by_failure", "slow succeeded", "later skipped_by_failure")
		if v.Error != "step bad: no luck" {
			t.Errorf("got error %q", v.Error)
		}
	})
}

func TestAPlainFlowThatContinuesLetsOtherBranchesGoOn(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("bad", "crash"), step("after", "", needs("bad")), step("slow", "sleep 1m"), step("later", "set x 1", needs("slow")))
		p.OnError = domain.OnErrorContinue
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowErrored, "bad errored", "after skipped_by_error", "slow succeeded", "later succeeded")
		if v.Result["later.x"] != "1" {
			t.Errorf("result %v", v.Result)
		}
	})
}

func TestAPlainFlowIsCancelled(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "gate never"), step("b", "", needs("a")))
		time.Sleep(time.Second)
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		v := r.want(id, domain.FlowCancelled, "a errored", "b skipped_by_error")
		if v.Cancel != "9" || v.Status != domain.FlowError {
			t.Errorf("got %q %s", v.Cancel, v.Status)
		}
		if err := r.act(id, flow.Order{Verb: flow.OrderCancel}); err == nil {
			t.Error("a flow was cancelled that had ended")
		}
	})
}

func TestAPlainFlowIsRetried(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "set x 1"), step("b", "crashonce", needs("a")), step("c", "set y 2", needs("b")))
		r.want(id, domain.FlowErrored, "a succeeded", "b errored", "c skipped_by_error")
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		v := r.want(id, domain.FlowSucceeded, "a succeeded", "b succeeded", "c succeeded")
		if v.Retried != 1 || v.Error != "" || v.Result["c.y"] != "2" {
			t.Errorf("got %+v", v.Flow)
		}
		for _, in := range r.words.seen {
			if n := r.words.runs[in.Job]; in.Step == "a" && n != 1 {
				t.Errorf("step a ran %d times", n)
			}
		}
	})
}

func TestFailedPartsAreRetriedOnlyWhenAsked(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "failonce"))
		r.want(id, domain.FlowFailed)
		if err := r.act(id, flow.Order{Verb: flow.OrderRetry}); err == nil {
			t.Fatal("failures were retried unasked")
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry, Failed: true})
		r.want(id, domain.FlowSucceeded)
	})
}

func TestShardsKeepToTheirWindow(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("s", "sleep 1s", shards(30, 4)), step("end", "", needs("s")))
		v := r.want(id, domain.FlowSucceeded, "s succeeded", "end succeeded")
		if r.words.most > 4 {
			t.Errorf("%d ran at once, the window is 4", r.words.most)
		}
		seen := map[int64]bool{}
		for _, in := range r.words.seen {
			if in.Shard != nil {
				seen[in.Shard.Index] = true
			}
		}
		if len(seen) != 30 || v.Steps[0].Ranges != "[0,29]" {
			t.Errorf("got %d shards, ranges %s", len(seen), v.Steps[0].Ranges)
		}
	})
}

func TestPacksSplitTheirRange(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("p", "", packs(100, 5, 250)))
		r.want(id, domain.FlowSucceeded, "p succeeded")
		var got []string
		for _, in := range r.words.seen {
			got = append(got, fmt.Sprintf("%d:%d-%d", in.Pack.ID, in.Pack.Start, in.Pack.End))
		}
		if diff := cmp.Diff(map[string]bool{"0:5-104": true, "1:105-204": true, "2:205-250": true}, set(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func set(list []string) map[string]bool {
	m := map[string]bool{}
	for _, s := range list {
		m[s] = true
	}
	return m
}

func TestTheEndOfPacksIsFoundOutByAJob(t *testing.T) {
	bubble(t, func(r *rig) {
		s := step("load", "", needs("count"))
		s.Pack = &domain.Pack{Size: 10}
		id := r.steps(step("count", "set steps.load.pack.end 24"), s)
		v := r.want(id, domain.FlowSucceeded, "load succeeded")
		if v.Steps[1].Ranges != "[0,24]" {
			t.Errorf("got %s", v.Steps[1].Ranges)
		}
	})
}

func TestEmptyRangesSucceedAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("p", "", packs(10, 5, 4)), step("end", "", needs("p")))
		r.want(id, domain.FlowSucceeded, "p succeeded", "end succeeded")
	})
}

func TestPhasesWaitForAllSmallerOnesWhateverTheirEnd(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("a", "sleep 10s"), step("bad", "crash"), step("never", "", needs("bad"), phase(1)), step("clean", "", phase(2)))
		p.OnError = domain.OnErrorContinue
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowErrored, "a succeeded", "bad errored", "never skipped_by_error", "clean succeeded")
		if v.Steps[3].SinceMs-v.Steps[0].EndMs < 0 {
			t.Error("clean began before a had ended")
		}
	})
}

func TestCleanUpRunsAfterAnAbort(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("bad", "crash"), step("slow", "sleep 10s", shards(100, 2)), step("clean", "", phase(5)))
		v := r.want(id, domain.FlowErrored, "bad errored", "clean succeeded")
		if s := v.Steps[1]; s.Status != domain.StepErrored || s.Done > 4 {
			t.Errorf("slow: %s, %d done", s.Status, s.Done)
		}
	})
}

func TestFailuresThatAreAccepted(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "fail x", mayFail), step("b", "", needs("a")), step("c", "", shards(5, 2), mayFail))
		r.want(id, domain.FlowSucceeded, "a failed_accepted", "b succeeded", "c succeeded")
	})
}

func TestErrorsAreNotAccepted(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "crash", mayFail), step("b", "", needs("a")))
		r.want(id, domain.FlowErrored, "a errored", "b skipped_by_error")
	})
}

func TestAFlowThatErroredNamesTheStepThatErred(t *testing.T) {
	for name, more := range map[string][]domain.Step{"plain": nil, "of steps": {step("split", "", shards(2, 2))}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				p := blueprint(append(more, step("first", "fail rows are missing"), step("second", "crash"))...)
				p.OnError = domain.OnErrorContinue
				v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowErrored, "first failed", "second errored")
				if !strings.HasPrefix(v.Error, "step second: ") {
					t.Errorf("the flow errored because of %q", v.Error)
				}
			})
		})
	}
}

func TestSkipsAndConditions(t *testing.T) {
	bubble(t, func(r *rig) {
		when := func(text string) func(*domain.Step) { return func(s *domain.Step) { s.When = text } }
		p := blueprint(step("a", "set rows 3"), step("b", "", maySkip), step("c", "", needs("a"), when(`needs.a.result.rows.parse_int() > 5`)),
			step("d", "", needs("a"), when(`params.mode == "full" && needs.a.state == "succeeded"`)), step("e", "", needs("c")))
		id := r.submit(flow.Request{Plan: p, Skip: []string{"b"}, Params: map[string]string{"mode": "full"}})
		r.want(id, domain.FlowSucceeded, "a succeeded", "b skipped", "c skipped", "d succeeded", "e succeeded")
	})
}

func TestAConditionThatCannotBeToldIsAnError(t *testing.T) {
	bubble(t, func(r *rig) {
		s := step("a", "")
		s.When = "params.none.len > 3"
		v := r.want(r.steps(s), domain.FlowErrored, "a errored")
		if v.Error == "" {
			t.Error("the flow does not say why")
		}
	})
}

func TestApprovals(t *testing.T) {
	bubble(t, func(r *rig) {
		plan := []domain.Step{step("a", ""), {Name: "ok", Kind: domain.StepApproval, Needs: []string{"a"}}, step("b", "need ok comment", needs("ok"))}
		id := r.steps(plan...)
		if err := r.act(id, flow.Order{Verb: flow.OrderApprove, Step: "a"}); err == nil {
			t.Error("a step was approved that is none")
		}
		time.Sleep(time.Hour)
		r.wantSteps(r.show(id), "a succeeded", "ok running", "b dormant")
		r.mustAct(id, flow.Order{Verb: flow.OrderApprove, Step: "ok", Text: "fine"})
		v := r.want(id, domain.FlowSucceeded, "ok succeeded", "b succeeded")
		if v.Result["ok.by"] != "9" || v.Result["ok.comment"] != "fine" {
			t.Errorf("result %v", v.Result)
		}
		id = r.steps(plan...)
		time.Sleep(time.Hour)
		r.mustAct(id, flow.Order{Verb: flow.OrderReject, Step: "ok", Text: "no"})
		r.want(id, domain.FlowFailed, "ok failed", "b skipped_by_failure")
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry, Failed: true})
		time.Sleep(time.Second)
		r.mustAct(id, flow.Order{Verb: flow.OrderApprove, Step: "ok"})
		r.want(id, domain.FlowSucceeded, "b succeeded")
	})
}

func TestASteppedFlowIsRetriedWhereItErred(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("s", "crashonce", shards(6, 3)), step("b", "", needs("s"), phase(1)))
		p.OnError = domain.OnErrorContinue
		id := r.submit(flow.Request{Plan: p})
		r.want(id, domain.FlowErrored, "s errored", "b skipped_by_error")
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.want(id, domain.FlowSucceeded, "s succeeded", "b succeeded")
	})
}

// TestJobsSayWhyTheirFlowEndedThem looks at the jobs of steps that nobody runs.
func TestJobsSayWhyTheirFlowEndedThem(t *testing.T) {
	for want, end := range map[string]func(r *rig, id domain.FlowID){
		"the flow was aborted because of bad": func(*rig, domain.FlowID) {},
		"cancelled by actor 9":                func(r *rig, id domain.FlowID) { r.mustAct(id, flow.Order{Verb: flow.OrderCancel, By: 9}) },
	} {
		t.Run(want, func(t *testing.T) {
			bubble(t, func(r *rig) {
				waits := step("waits", "x", shards(2, 2)) // a flow of steps
				waits.ScriptType = "nobody"
				bad := step("bad", "sleep 1s\nfail x")
				if want == "cancelled by actor 9" {
					bad = step("bad", "gate never")
				}
				id := r.steps(waits, bad)
				time.Sleep(500 * time.Millisecond)
				end(r, id)
				time.Sleep(time.Minute)
				said := 0
				for job := range domain.JobID(3) {
					if j, err := r.work.Show(r.ctx, tenant, domain.JobKey{Caller: 1, ID: job + 1}); err != nil {
						t.Error(err)
					} else if j.ScriptType == "nobody" {
						if said++; j.Error != want {
							t.Errorf("job %d of flow %d says %q, want %q", j.ID, id, j.Error, want)
						}
					}
				}
				if said != 2 {
					t.Errorf("looked at %d jobs, want both shards'", said)
				}
			})
		})
	}
}

// The step that fails for good does so after the one that erred is done: both begin
// at one instant.
func TestAnAbortedFlowIsRetriedWhole(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("s", "sleep 1s\nfailshard 3", shards(10, 2)), step("bad", "crashonce"), step("b", "", needs("s", "bad"), phase(1)))
		r.want(id, domain.FlowErrored, "bad errored", "b skipped_by_error")
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		v := r.want(id, domain.FlowFailed, "bad succeeded", "s failed", "b skipped_by_failure")
		if v.Retried != 1 {
			t.Errorf("retried %d", v.Retried)
		}
	})
}

func TestASteppedFlowIsCancelledAndDeleted(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.submit(flow.Request{Plan: blueprint(step("s", "gate never", shards(100, 3)), step("b", "", needs("s"))), Trigger: "t1"})
		time.Sleep(time.Second)
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		r.want(id, domain.FlowCancelled, "b skipped_by_error")
		r.mustAct(id, flow.Order{Verb: flow.OrderDelete})
		time.Sleep(time.Minute)
		if _, err := r.flows.Show(r.ctx, tenant, id); err == nil {
			t.Error("it is still there")
		}
		for _, prefix := range []string{"flow:", "ramet:flow:", "ramet:name:", "job:"} {
			keys, _, err := r.board.Keys(r.ctx, 1, prefix, "", 100)
			if err != nil || len(keys) > 0 {
				t.Errorf("%s: left are %v (%v)", prefix, keys, err)
			}
		}
	})
}

func TestAnEndlessStreamStaysSmallAndIsEndedByAnUpdate(t *testing.T) {
	bubble(t, func(r *rig) {
		s := step("stream", "sleep 1s")
		s.Pack = &domain.Pack{Size: 10, Endless: true, Window: 3}
		id := r.steps(s)
		time.Sleep(10*time.Minute + 500*time.Millisecond) // between two ends
		v := r.show(id)
		if s := v.Steps[0]; s.Status != domain.StepOpen || s.Open != 3 || s.Done < 10_000 || s.Ranges != fmt.Sprintf("[0,%d]", *s.Watermark) {
			t.Errorf("got %+v", s)
		}
		size, no := int64(1000), false
		r.mustAct(id, flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{"stream": {Size: size, Window: 5}}})
		time.Sleep(10 * time.Second)
		if s := r.show(id).Steps[0]; s.Open != 5 || s.Units[4].End-s.Units[4].Start != 999 {
			t.Errorf("got %+v", s)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{"stream": {Endless: &no}}})
		r.want(id, domain.FlowSucceeded, "stream succeeded")
	})
}

// TestAnOrderUnderATicketIsGivenOnce: given again it would undo what others have ordered since.
func TestAnOrderUnderATicketIsGivenOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		s := step("stream", "sleep 1s")
		s.Pack = &domain.Pack{Size: 10, Endless: true, Window: 3}
		id := r.steps(s)
		time.Sleep(500 * time.Millisecond)
		window := func(n int, ticket string) {
			t.Helper()
			r.mustAct(id, flow.Order{Verb: flow.OrderUpdate, Steps: map[string]domain.StepChange{"stream": {Window: n}}, Ticket: ticket})
			time.Sleep(3 * time.Second)
		}
		window(5, "aaaaaaaaaaaaaaaaaaaaaaaaaa-0")
		for others := range 34 { // more than the flow keeps answers of
			window(4, "")
			if others > 0 && others < 33 {
				window(3, "")
				continue
			}
			window(5, "aaaaaaaaaaaaaaaaaaaaaaaaaa-0")
			if s := r.show(id).Steps[0]; s.Open != 4 {
				t.Errorf("after %d updates: got %d open, want the 4 of the last", 2*others+1, s.Open)
			}
		}
		window(6, "bbbbbbbbbbbbbbbbbbbbbbbbbb-0")
		if s := r.show(id).Steps[0]; s.Open != 6 {
			t.Errorf("under another ticket: got %d open, want 6", s.Open)
		}
	})
}

func TestMaxParallelBoundsAllSteps(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("a", "sleep 1s", shards(20, 10)), step("b", "sleep 1s", shards(20, 10)))
		p.MaxParallel = 4
		r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded)
		if r.words.most != 4 {
			t.Errorf("%d ran at once, want 4", r.words.most)
		}
	})
}

func TestNothingBeginsEarly(t *testing.T) {
	bubble(t, func(r *rig) {
		at := domain.Instant(time.Now().Add(time.Hour).UnixMilli())
		late := step("b", "", needs("a"))
		late.After = at + 1_800_000
		p := blueprint(step("a", ""), late)
		v := r.want(r.submit(flow.Request{Plan: p, After: at}), domain.FlowSucceeded)
		if v.Steps[0].SinceMs < int64(at) || v.Steps[1].SinceMs < int64(late.After) || v.Steps[1].SinceMs > int64(late.After)+1000 {
			t.Errorf("a at %d, b at %d, want %d and %d", v.Steps[0].SinceMs, v.Steps[1].SinceMs, at, late.After)
		}
		plain := r.submit(flow.Request{Plan: blueprint(step("a", ""), step("b", "", needs("a"))), After: at + 7_200_000})
		if v := r.want(plain, domain.FlowSucceeded); v.Steps[0].SinceMs < int64(at)+7_200_000 {
			t.Error("a plain flow began early")
		}
	})
}

func TestANameIsGivenOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		q := flow.Request{Plan: blueprint(step("a", "sleep 1m")), Trigger: "day-1"}
		id := r.submit(q)
		if again := r.submit(q); again != id {
			t.Errorf("got another flow: %d and %d", id, again)
		}
		r.want(id, domain.FlowSucceeded)
		if again := r.submit(q); again != id {
			t.Errorf("after its end got another flow: %d and %d", id, again)
		}
	})
}

func TestOnlyOneLivesWhereTheBlueprintSaysSo(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("a", "sleep 1m"))
		p.UniqueAlive = true
		id := r.submit(flow.Request{Plan: p})
		got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: p}})
		if err != nil || got[0].Err == nil {
			t.Fatalf("a second one was made: %+v, %v", got, err)
		}
		r.want(id, domain.FlowSucceeded)
		r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded)
	})
}

func TestALargeFlowIsWrittenInPartsAndBeginsWithTheLast(t *testing.T) {
	bubble(t, func(r *rig) {
		var jobs []*domain.Job
		for i := range domain.JobID(1000) {
			switch {
			case i < 600:
				jobs = append(jobs, job(i+1, ""))
			default:
				jobs = append(jobs, job(i+1, "", i-599, i-500, i))
			}
		}
		id := r.submit(flow.Request{Jobs: jobs})
		r.want(id, domain.FlowSucceeded)
		if n := len(r.words.runs); n != 1000 {
			t.Errorf("%d jobs ran", n)
		}
	})
}

func TestIdsThatAreTakenAreDrawnAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		// By hand, where the flow's jobs would come.
		if _, err := r.work.Submit(r.ctx, tenant, []*domain.Job{job(2, ""), job(5, "")}); err != nil {
			t.Fatal(err)
		}
		v := r.want(r.steps(step("a", "set x 1"), step("b", "need a x", needs("a")), step("c", "", needs("b"))), domain.FlowSucceeded)
		if v.Result["b.got"] != "1" {
			t.Errorf("result %v", v.Result)
		}
		var jobs []*domain.Job
		for i := range domain.JobID(400) {
			if i == 0 {
				jobs = append(jobs, job(1, ""))
				continue
			}
			jobs = append(jobs, job(i+1, "", i))
		}
		if _, err := r.work.Submit(r.ctx, tenant, []*domain.Job{job(300, "")}); err != nil {
			t.Fatal(err)
		}
		r.want(r.submit(flow.Request{Jobs: jobs}), domain.FlowSucceeded)
	})
}

func TestAFlowWhoseStateCannotBeReadIsGivenUp(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("s", "gate g", shards(3, 1)))
		time.Sleep(time.Second)
		b := board.Batch{Space: 1}
		b.Set(layout.FlowState(id), board.Field{Name: layout.FlowStateData, Value: "no JSON"})
		if err := r.board.Commit(r.ctx, b); err != nil {
			t.Fatal(err)
		}
		close(r.words.gate("g"))
		time.Sleep(time.Minute)
		recs, err := r.board.Get(r.ctx, 1, domain.FlowKey(id))
		if err != nil || recs[0].Get(layout.FlowStatus) != "error" || recs[0].Get(layout.FlowReason) != "stuck" || recs[0].Get(layout.FlowError) == "" {
			t.Errorf("got %v, %v", recs[0], err)
		}
	})
}

func TestFlowIdsThatAreTakenAreDrawnAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		for n := 1; n <= 3; n++ {
			r.hset("flow:"+strconv.Itoa(n), "id", "1", "caller_id", "12", "status", "finished", "jobs", "[]")
		}
		r.soon(r.steps(step("a", "")), domain.FlowSucceeded)
		var jobs []*domain.Job
		for i := range domain.JobID(300) {
			jobs = append(jobs, job(i+1, ""))
		}
		r.hset("flow:5", "id", "1", "caller_id", "12", "status", "finished", "jobs", "[]")
		r.soon(r.submit(flow.Request{Jobs: jobs}), domain.FlowSucceeded)
	})
}

// What evicted the text of a flow's blueprint left a flow that nobody can move: explain and
// the audit say so, where they had only an error.
func TestAFlowWhoseBlueprintIsGoneIsStuck(t *testing.T) {
	for want, change := range map[string]func(b *board.Batch, plan string){
		"is gone from the board": func(b *board.Batch, plan string) { b.Delete(plan) },
		"cannot be read (the":    func(b *board.Batch, plan string) { b.Set(plan, board.Field{Name: layout.FlowPlanText, Value: "{"}) },
		"cannot be read (":       func(b *board.Batch, plan string) { b.Delete(plan).PushLeft(plan, "x") },
	} {
		unaudited(t, func(r *rig) {
			id := r.submit(flow.Request{Plan: blueprint(step("a", "", maySkip))})
			b := board.Batch{Space: layout.SpaceOf(tenant)}
			if change(&b, layout.FlowPlan(id)); r.board.Commit(r.ctx, b) != nil {
				t.Fatal("not changed")
			}
			time.Sleep(time.Minute)
			r.flows = flow.New(r.board, r.work, flow.Config{}) // a node that has not read it before
			want := "the text of its blueprint " + want
			x, err := r.flows.Explain(r.ctx, tenant, id)
			if err != nil || x.Outlook != domain.OutlookStuck || !strings.HasPrefix(x.Text, want) {
				t.Errorf("got %+v, %v, want that %s", x, err, want)
			}
			if found := r.audit(); len(found.Stuck) != 1 || !strings.HasPrefix(found.Stuck[0].Text, want) {
				t.Errorf("the audit: got %+v, want that %s", found, want)
			}
		})
	}
}

// TestAFlowWhoseBeginIsUnknownHasNoDuration: another program has taken the field away.
func TestAFlowWhoseBeginIsUnknownHasNoDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(lengths, 1)
		r := newRigOn(t, memboard.Open(), flow.Config{Observer: ended})
		id := r.submit(flow.Request{Plan: blueprint(step("a", "gate never", maySkip))})
		time.Sleep(time.Minute)
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: layout.SpaceOf(tenant)}).Unset(domain.FlowKey(id), layout.FlowStartedMs)); err != nil {
			t.Fatal(err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		r.soon(id, domain.FlowCancelled)
		if took := <-ended; took != 0 {
			t.Errorf("got %v, want nothing", took)
		}
		r.stop()
	})
}
