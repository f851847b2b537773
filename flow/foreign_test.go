package flow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// hset writes a record as a foreign program does: with the seeds' fields only.
func (r *rig) hset(key string, pairs ...string) {
	r.Helper()
	b := board.Batch{Space: 1}
	for i := 0; i < len(pairs); i += 2 {
		b.Set(key, board.Field{Name: pairs[i], Value: pairs[i+1]})
	}
	if err := r.board.Commit(r.ctx, b); err != nil {
		r.Fatal(err)
	}
}

// seedJob writes a job of actor 12.
func (r *rig) seedJob(id, text, dependends string) {
	r.Helper()
	r.hset("job:12:"+id, "id", id, "caller_id", "12", "context_id", "1", "script", text+"\n", "script_type", "words", "timeout", "0", "retries", "0",
		"env_vars", "{}", "result", "{}", "prerequisites", "[]", "dependends", dependends, "status", "dispatched")
}

func (r *rig) seedFlow(id, jobs string) {
	r.Helper()
	r.hset("flow:"+id, "id", id, "caller_id", "12", "context_id", "1", "jobs", jobs, "env_vars", `{"A":"1"}`, "result", "{}", "status", "dispatched")
}

func (r *rig) lpush(items ...string) {
	r.Helper()
	b := board.Batch{Space: 1}
	if err := r.board.Commit(r.ctx, *b.PushLeft("queue:words", items...)); err != nil {
		r.Fatal(err)
	}
}

func TestAFlowOfAForeignProgramIsTakenOver(t *testing.T) {
	for name, push := range map[string][]string{
		"only its first job was queued": {"job:12:2001"},
		"all its jobs were queued":      {"job:12:2001", "job:12:2002", "job:12:2003"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.seedJob("2001", "set x 1", "[]")
				r.seedJob("2002", "set y 2", "[2001]")
				r.seedJob("2003", "set z 3", "[2001,2002]")
				r.seedFlow("33", "[2001,2002,2003]")
				r.lpush(push...)
				v := r.want(33, domain.FlowSucceeded, "2001 succeeded", "2002 succeeded", "2003 succeeded")
				if v.Status != domain.FlowFinished || v.Result["2003.z"] != "3" || v.Result["2001.x"] != "1" {
					t.Errorf("got %s, %v", v.Status, v.Result)
				}
				for _, in := range r.words.seen {
					if r.words.runs[in.Job] != 1 {
						t.Errorf("%s ran %d times", in.Job, r.words.runs[in.Job])
					}
				}
			})
		})
	}
}

func TestAFlowOfAForeignProgramThatQueuedNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedFlow("33", "[2001,2002]")
		if n, err := r.flows.FindForeign(r.ctx, tenant); err != nil || n != 0 {
			t.Fatalf("taken over before its jobs were there: %d, %v", n, err)
		}
		r.seedJob("2001", "set x 1", "[]")
		r.seedJob("2002", "need 2001 x", "[2001]")
		if n, err := r.flows.FindForeign(r.ctx, tenant); err != nil || n != 1 {
			t.Fatalf("got %d flows, %v", n, err)
		}
		r.want(33, domain.FlowSucceeded)
		if in := r.words.seen[1]; in.env["A"] != "1" {
			t.Errorf("environment: %v", in.env)
		}
	})
}

func TestAFlowOfAForeignProgramFails(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("1", "fail no", "[]")
		r.seedJob("2", "", "[1]")
		r.seedJob("3", "sleep 10s", "[]")
		r.seedFlow("4", "[1,2,3]")
		r.lpush("job:12:1", "job:12:3")
		v := r.want(4, domain.FlowFailed, "1 failed", "2 skipped_by_failure", "3 succeeded")
		if v.Status != domain.FlowError {
			t.Errorf("got %s", v.Status)
		}
	})
}

func TestAFlowOfAForeignProgramThatHasAlreadyRunIsCounted(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("1", "set x 1", "[]")
		r.lpush("job:12:1")
		time.Sleep(time.Minute)
		r.seedJob("2", "gate g", "[1]")
		r.seedFlow("4", "[1,2]")
		r.lpush("job:12:2")
		time.Sleep(time.Minute) // it runs when its flow is found
		close(r.words.gate("g"))
		r.want(4, domain.FlowSucceeded, "1 succeeded", "2 succeeded")
	})
}

func TestAFlowOfAForeignProgramWithACircleEnds(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("1", "x", "[2]")
		r.seedJob("2", "x", "[1]")
		r.seedJob("3", "x", "[]")
		r.seedFlow("4", "[1,2,3]")
		if _, err := r.flows.FindForeign(r.ctx, tenant); err != nil {
			t.Fatal(err)
		}
		recs, err := r.board.Get(r.ctx, 1, "flow:4", "job:12:1", "job:12:2", "job:12:3")
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs { // its jobs end with it
			if rec.Get("status") != "error" || !strings.Contains(rec.Get("error"), "circle: job:12:") {
				t.Errorf("got %v", rec)
			}
		}
	})
}

func TestWhatIsNoFlowKeepsNoneFromBeingTakenOver(t *testing.T) {
	bubble(t, func(r *rig) {
		b := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *b.PushLeft("flow:1", "x")); err != nil {
			r.Fatal(err)
		}
		r.seedJob("2001", "set x 1", "[]")
		r.seedFlow("33", "[2001]")
		r.lpush("job:12:2001")
		r.want(33, domain.FlowSucceeded, "2001 succeeded")
		if flows, _, err := r.flows.List(r.ctx, tenant, flow.Filter{}, ""); err != nil || len(flows) != 1 {
			r.Errorf("list: got %v, %v, want one flow", flows, err)
		}
	})
}

// Lists where a job, what is known of a flow, and a job of another flow would be are
// the trouble of their own flows: another is taken over, and all are listed.
func TestAKeyOfTheWrongKindKeepsNoOtherFlowFromBeingTakenOver(t *testing.T) {
	bubble(t, func(r *rig) {
		b := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *b.PushLeft("job:12:9", "x").PushLeft(layout.FlowState(32), "x")); err != nil {
			r.Fatal(err)
		}
		r.seedJob("2001", "set x 1", "[]")
		r.seedFlow("31", "[9]")
		r.seedFlow("32", "[2001]")
		r.seedFlow("33", "[2001]")
		r.lpush("job:12:2001")
		r.want(33, domain.FlowSucceeded, "2001 succeeded")
	})
}

// A list where a job of a plain flow was is as a job that is gone: the flow is listed,
// cancelled and deleted.
func TestAFlowWithAJobOfTheWrongKindIsCancelled(t *testing.T) {
	bubble(t, func(r *rig) {
		id := r.steps(step("a", "gate never"), step("b", "x", needs("a")))
		other := r.steps(step("a", "gate never"))
		b := board.Batch{Space: 1}
		b.Delete("job:1:2").PushLeft("job:1:2", "x").Delete(layout.FlowWaits(other)).PushLeft(layout.FlowWaits(other), "x")
		if err := r.board.Commit(r.ctx, b); err != nil {
			r.Fatal(err)
		}
		if flows, _, err := r.flows.List(r.ctx, tenant, flow.Filter{}, ""); err != nil || len(flows) != 2 {
			r.Errorf("list: got %v, %v", flows, err)
		}
		r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
		r.want(id, domain.FlowCancelled)
		r.mustAct(id, flow.Order{Verb: flow.OrderDelete})
	})
}

func TestAFlowOfAForeignProgramIsRetriedWhateverItsOrder(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("2001", "crashonce", "[]")
		r.seedJob("2002", "set y 2", "[2001]")
		r.seedJob("2003", "set z 3", "[2002]")
		r.seedFlow("33", "[2003,2002,2001]")
		r.lpush("job:12:2001")
		r.soon(33, domain.FlowErrored)
		r.mustAct(33, flow.Order{Verb: flow.OrderRetry})
		r.soon(33, domain.FlowSucceeded, "2001 succeeded", "2002 succeeded", "2003 succeeded")
	})
}

func TestAFlowOfAForeignProgramThatNamesAJobTwice(t *testing.T) {
	for name, dependends := range map[string]string{"with edges": "[2001]", "without": "[]"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.seedJob("2001", "", "[]")
				r.seedJob("2002", "", dependends)
				r.seedFlow("33", "[2001,2002,2001,2002]")
				r.lpush("job:12:2001")
				time.Sleep(5 * time.Second) // before any audit
				if v := r.show(33); v.Reason != domain.FlowSucceeded {
					t.Errorf("it is %s %s", v.Status, v.Reason)
				}
			})
		})
	}
}

func TestAFlowOfAForeignProgramThatNamesJobsOfAnother(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("2001", "gate x", "[]")
		r.seedJob("2002", "gate y", "[]")
		r.seedFlow("33", "[2001]")
		r.lpush("job:12:2001")
		time.Sleep(2 * time.Second)
		r.seedFlow("34", "[2001,2002]")
		r.lpush("job:12:2002")
		time.Sleep(2 * time.Minute) // audits
		if a := r.audit(); len(a.Repaired) > 0 {
			t.Errorf("the audit found %v", a.Repaired)
		}
		r.mustAct(34, flow.Order{Verb: flow.OrderCancel})
		r.soon(34, domain.FlowCancelled)
		close(r.words.gate("x"))
		r.soon(33, domain.FlowSucceeded)
	})
}

func TestAFlowOfAForeignProgramThatNeverWasOneIsDeleted(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("2001", "", "[2002]")
		r.seedJob("2002", "", "[2001]")
		r.seedFlow("33", "[2001,2002]")
		r.lpush("job:12:2001")
		r.soon(33, domain.FlowErrored)
		if err := r.act(33, flow.Order{Verb: flow.OrderRetry}); err == nil {
			t.Error("a retry of it was done")
		}
		r.mustAct(33, flow.Order{Verb: flow.OrderDelete})
		if _, err := r.flows.Show(r.ctx, tenant, 33); err == nil {
			t.Error("it is still there")
		}
	})
}
